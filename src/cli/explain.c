/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* unitcell explain: the plan and the unit's properties, without running anything. */

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "cli/bus.h"
#include "cli/document.h"
#include "cli/explain-text.h"
#include "cli/spec-input.h"

enum { OPTION_JSON = OPTION_LONG_ONLY + 64 };

static const Option options[] = {
        {OPTION_JSON, "json", NULL, "print the daemon's document, one line of JSON"},
        {'h', "help", NULL, "show this"},
};
static const OptionList option_list = OPTION_LIST(options);

typedef struct Explain {
        SpecInput input;
        bool json;
} Explain;

static void explain_clear(Explain *explain) {
        spec_input_clear(&explain->input);
}

static int on_option(int id, const char *value, void *userdata) {
        Explain *explain = userdata;

        if (id != OPTION_JSON)
                return spec_input_option(&explain->input, id, value);
        explain->json = true;
        return 0;
}

static int print_plan(const char *text, bool json) {
        own(json_freep) json_object *document = NULL;
        int r;

        if (json) {
                r = write_out(text, strlen(text));
                return r == 0 ? write_out("\n", 1) : r;
        }
        r = document_parse(text, &document);
        if (r >= 0)
                r = explain_print(document, isatty(STDOUT_FILENO), stdout);
        return r < 0 ? complain_errno(r, "The plan cannot be shown") : write_out("", 0);
}

static int run_explain(const Verb *verb, int argc, char **argv) {
        own(explain_clear) Explain explain = {.input.verb = verb};
        own(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        own(freep) char *spec = NULL, *plan = NULL;
        Operands operands;
        VerbAnswer answer;
        int r;

        answer = verb_read(verb, argc, argv, on_option, &explain, &operands);
        if (answer != VERB_GO_ON)
                return answer == VERB_DONE ? 0 : EXIT_USAGE;
        r = spec_input_check(&explain.input, &operands);
        if (r == 0)
                r = bus_open(&bus);
        if (r == 0)
                r = spec_input_read(&explain.input, &operands, bus, &spec);
        if (r == 0)
                r = bus_ask(bus, "Explain", "s", spec, &plan);
        return r == 0 ? print_plan(plan, explain.json) : r;
}

const Verb verb_explain = {
        .name = "explain",
        .synopsis = spec_synopsis,
        .summary = "Show the plan of an execution and its unit's properties, without running it",
        .lists = (const OptionList *const[]){&spec_option_list, &option_list, NULL},
        .details = spec_details,
        .run = run_explain,
};
