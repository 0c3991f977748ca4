/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* unitcell run: the program's bytes and exit status, as if it had run here. */

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "cli/bus.h"
#include "cli/follow.h"
#include "cli/show.h"
#include "cli/spec-input.h"

enum { OPTION_JSON = OPTION_LONG_ONLY + 64 };

static const Option options[] = {
        {OPTION_JSON, "json", NULL, "print the result document, one line of JSON"},
        {'q', "quiet", NULL, "say nothing of how it ended"},
        {'h', "help", NULL, "show this"},
};
static const OptionList option_list = OPTION_LIST(options);

typedef struct Run {
        SpecInput input;
        bool json, quiet;
} Run;

static void run_clear(Run *run) {
        spec_input_clear(&run->input);
}

static int on_option(int id, const char *value, void *userdata) {
        Run *run = userdata;

        switch (id) {
        case OPTION_JSON:
                run->json = true;
                return 0;
        case 'q':
                run->quiet = true;
                return 0;
        default:
                return spec_input_option(&run->input, id, value);
        }
}

/* A line of ours begins a line, wherever the program left off. */
static void print_remarks(const Shown *shown) {
        if (!shown->remarks)
                return;
        if (shown->err.size > 0 && shown->err.data[shown->err.size - 1] != '\n')
                (void) fputc('\n', stderr);
        for (size_t i = 0; shown->remarks[i]; i++)
                complain("%s", shown->remarks[i]);
}

static int print_result(const char *result, bool json, bool quiet) {
        own(shown_clear) Shown shown = {};
        int r;

        r = show_result(result, &shown);
        if (r < 0)
                return complain_errno(r, "The result cannot be read");
        if (json) {
                r = write_out(result, strlen(result));
                if (r == 0)
                        r = write_out("\n", 1);
                return r == 0 ? shown.exit_status : r;
        }

        r = write_out(shown.out.data, shown.out.size);
        if (shown.err.size > 0)
                (void) fwrite(shown.err.data, 1, shown.err.size, stderr);
        if (!quiet)
                print_remarks(&shown);
        return r == 0 ? shown.exit_status : r;
}

static int run_run(const Verb *verb, int argc, char **argv) {
        own(run_clear) Run run = {.input.verb = verb};
        own(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        own(freep) char *spec = NULL, *result = NULL;
        Operands operands;
        VerbAnswer answer;
        int r;

        answer = verb_read(verb, argc, argv, on_option, &run, &operands);
        if (answer != VERB_GO_ON)
                return answer == VERB_DONE ? 0 : EXIT_USAGE;
        r = spec_input_check(&run.input, &operands);
        if (r == 0)
                r = bus_open(&bus);
        if (r == 0)
                r = spec_input_read(&run.input, &operands, bus, &spec);
        if (r == 0)
                r = follow_spec(&bus, spec, &result);
        return r == 0 ? print_result(result, run.json, run.quiet) : r;
}

const Verb verb_run = {
        .name = "run",
        .synopsis = spec_synopsis,
        .summary = "Run code or a program, pass its output and exit status through",
        .lists = (const OptionList *const[]){&spec_option_list, &option_list, NULL},
        .details = spec_details,
        .run = run_run,
};
