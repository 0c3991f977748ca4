/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* unitcell reload: the daemon reads its policies and languages again. */

#include "base/own.h"
#include "cli/bus.h"
#include "cli/cli.h"

static int on_option(int id, const char *value, void *userdata) {
        return 0;
}

static const Option options[] = {
        {'h', "help", NULL, "show this"},
};
static const OptionList option_list = OPTION_LIST(options);

static int run_reload(const Verb *verb, int argc, char **argv) {
        own(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        Operands operands;
        VerbAnswer answer;
        int r;

        answer = verb_read(verb, argc, argv, on_option, /* userdata= */ NULL, &operands);
        if (answer != VERB_GO_ON)
                return answer == VERB_DONE ? 0 : EXIT_USAGE;
        if (operands.n > 0)
                return complain_usage(verb, "\"%s\" is one word too many", operands.list[0]);

        r = bus_open(&bus);
        return r == 0 ? bus_tell(bus, "Reload") : r;
}

const Verb verb_reload = {
        .name = "reload",
        .synopsis = "",
        .summary = "Let the service read its policies and languages again",
        .lists = (const OptionList *const[]){&option_list, NULL},
        .run = run_reload,
};
