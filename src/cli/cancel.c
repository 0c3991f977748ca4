/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* unitcell cancel: ends executions; whoever waits for their results gets them, as canceled. */

#include <errno.h>
#include <stdio.h>

#include "base/own.h"
#include "bus/names.h"
#include "cli/bus.h"
#include "cli/cli.h"

static const Option options[] = {
        {'h', "help", NULL, "show this"},
};
static const OptionList option_list = OPTION_LIST(options);

static int cancel_one(sd_bus *bus, const char *id) {
        own(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        own(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *path;
        int r;

        /* the daemon makes the path: it knows what an id is */
        r = sd_bus_call_method(bus, UNITCELL_NAME, UNITCELL_PATH, UNITCELL_MANAGER, "GetExecution", &error,
                &reply, "s", id);
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &path);
        if (r >= 0)
                r = sd_bus_call_method(bus, UNITCELL_NAME, path, UNITCELL_EXECUTION, "Cancel", &error,
                        /* reply= */ NULL,
                        /* types= */ NULL);
        if (sd_bus_error_is_set(&error))
                return bus_complain(&error);
        return r < 0 ? complain_errno(r, id) : 0;
}

static int on_option(int id, const char *value, void *userdata) {
        return -EINVAL;
}

static int run_cancel(const Verb *verb, int argc, char **argv) {
        own(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        Operands operands;
        VerbAnswer answer;
        int r;

        answer = verb_read(verb, argc, argv, on_option, /* userdata= */ NULL, &operands);
        if (answer != VERB_GO_ON)
                return answer == VERB_DONE ? 0 : EXIT_USAGE;
        if (operands.n == 0)
                return complain_usage(verb, "Which execution? Give the id of at least one");

        r = bus_open(&bus);
        if (r != 0)
                return r;
        for (int i = 0; i < operands.n; i++) {
                int one = cancel_one(bus, operands.list[i]);

                r = r == 0 ? one : r;
        }
        return r;
}

const Verb verb_cancel = {
        .name = "cancel",
        .synopsis = "ID…",
        .summary = "End executions",
        .lists = (const OptionList *const[]){&option_list, NULL},
        .run = run_cancel,
};
