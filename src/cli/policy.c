/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* unitcell policy check: files, without the daemon. unitcell policy show: what the daemon has read. */

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "cli/bus.h"
#include "cli/cli.h"
#include "cli/document.h"
#include "cli/policy-check.h"
#include "cli/table.h"

enum { OPTION_JSON = OPTION_LONG_ONLY, OPTION_AS };

static const Option options[] = {
        {OPTION_JSON, "json", NULL, "print a document, one line of JSON"},
        {OPTION_AS, "as", "KIND", "check: policy or language, wherever the file is"},
        {'h', "help", NULL, "show this"},
};
static const OptionList option_list = OPTION_LIST(options);

typedef struct Settings {
        const Verb *verb;
        bool json;
        CheckKind kind;
} Settings;

static int on_option(int id, const char *value, void *userdata) {
        Settings *settings = userdata;

        if (id == OPTION_JSON)
                settings->json = true;
        else if (streq(value, "policy"))
                settings->kind = CHECK_POLICY;
        else if (streq(value, "language"))
                settings->kind = CHECK_LANGUAGE;
        else {
                (void) complain_usage(settings->verb, "--as must be policy or language, not \"%s\"", value);
                return -EINVAL;
        }
        return 0;
}

/* ---- check ---- */

typedef struct Checks {
        FileCheck *list;
        size_t n, n_failed;
} Checks;

static void checks_clear(Checks *checks) {
        for (size_t i = 0; i < checks->n; i++)
                file_check_clear(checks->list + i);
        free(checks->list);
}

static int print_lines(const Checks *checks) {
        int exit_status = 0;

        for (size_t i = 0; i < checks->n && exit_status == 0; i++) {
                own(freep) char *line = NULL, *clean = NULL;
                int r;

                r = file_check_line(checks->list + i, &line);
                if (r >= 0)
                        r = text_printable(line, &clean);
                if (r < 0)
                        return complain_errno(r, "The files cannot be checked");
                exit_status = write_line(clean);
        }
        return exit_status;
}

static int print_checks(const Checks *checks) {
        own(json_freep) json_object *document = NULL;
        own(freep) char *text = NULL;
        int r;

        r = file_checks_to_json(checks->list, checks->n, &document);
        if (r >= 0)
                r = json_to_text(document, /* pretty= */ false, &text);
        return r < 0 ? complain_errno(r, "The files cannot be checked") : write_line(text);
}

static int check(const Settings *settings, const Operands *operands) {
        own(checks_clear) Checks checks = {};
        int r;

        if (operands->n == 0)
                return complain_usage(settings->verb, "which files?");
        checks.list = calloc((size_t) operands->n, sizeof *checks.list);
        if (!checks.list)
                return complain_errno(-ENOMEM, "The files cannot be checked");
        for (int i = 0; i < operands->n; i++) {
                r = file_check(operands->list[i], settings->kind, checks.list + i);
                if (r < 0)
                        return complain_errno(r, "The files cannot be checked");
                checks.n++;
                checks.n_failed += !checks.list[i].ok;
        }

        r = settings->json ? print_checks(&checks) : print_lines(&checks);
        if (r != 0)
                return r;
        return checks.n_failed > 0 ? EXIT_FAILED : 0;
}

/* ---- show ---- */

static int print_pretty(const char *text) {
        own(json_freep) json_object *policy = NULL;
        own(freep) char *pretty = NULL;
        int r;

        r = document_parse(text, &policy);
        if (r >= 0)
                r = json_to_text(policy, /* pretty= */ true, &pretty);
        return r < 0 ? complain_errno(r, "The policy cannot be shown") : write_line(pretty);
}

static int show(const Settings *settings, const Operands *operands) {
        own(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        own(freep) char *text = NULL;
        int r;

        if (operands->n != 1)
                return complain_usage(settings->verb, "name one policy; \"unitcell policies\" lists them");
        r = bus_open(&bus);
        if (r == 0)
                r = bus_ask(bus, "GetPolicy", "s", operands->list[0], &text);
        if (r != 0)
                return r;
        return settings->json ? write_line(text) : print_pretty(text);
}

static int run_policy(const Verb *verb, int argc, char **argv) {
        static const struct {
                const char *word;
                int (*act)(const Settings *settings, const Operands *operands);
        } actions[] = {{"check", check}, {"show", show}};
        Settings settings = {.verb = verb};
        Operands words, operands;
        VerbAnswer answer;

        answer = verb_read(verb, argc, argv, on_option, &settings, &words);
        if (answer == VERB_GO_ON && words.n == 0)
                return complain_usage(verb, "check or show?");
        if (answer == VERB_GO_ON)
                answer = verb_read(verb, words.n, words.list, on_option, &settings, &operands);
        if (answer != VERB_GO_ON)
                return answer == VERB_DONE ? 0 : EXIT_USAGE;

        for (size_t i = 0; i < ELEMENTS(actions); i++)
                if (streq(actions[i].word, words.list[0]))
                        return actions[i].act(&settings, &operands);
        return complain_usage(verb, "there is no \"policy %s\", only check and show", words.list[0]);
}

const Verb verb_policy = {
        .name = "policy",
        .synopsis = "check [--json] [--as KIND] FILE…\nshow [--json] NAME",
        .summary = "Check policy and language files, or show a policy with every value filled",
        .lists = (const OptionList *const[]){&option_list, NULL},
        .details = "\"check\" reads files as the daemon would, and needs no daemon. A file in a directory "
                   "called\n"
                   "languages is a language, any other a policy. Exit status 1: one of them is wrong.\n",
        .run = run_policy,
};
