/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* unitcell languages and unitcell policies: what there is, as tables. */

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cli/bus.h"
#include "cli/cli.h"
#include "cli/document.h"
#include "cli/table.h"

static const Option options[] = {
        {OPTION_LONG_ONLY, "json", NULL, "print the daemon's document, one line of JSON"},
        {'h', "help", NULL, "show this"},
};
static const OptionList option_list = OPTION_LIST(options);

/* The strings of a list with ", " between them. */
static int join(json_object *list, char **ret) {
        own(freep) char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);

        if (!stream)
                return -ENOMEM;
        for (size_t i = 0; list && i < json_object_array_length(list); i++) {
                const char *word = json_object_get_string(json_object_array_get_idx(list, i));

                (void) fprintf(stream, "%s%s", i > 0 ? ", " : "", word ? word : "");
        }
        if (fclose(stream) != 0)
                return -ENOMEM;
        *ret = hand_over(text);
        return 0;
}

static int add_list(Table *table, json_object *list) {
        own(freep) char *text = NULL;
        int r;

        r = join(list, &text);
        return r < 0 ? r : table_add(table, text);
}

static int add_language(Table *table, json_object *language) {
        bool available = document_flag(language, "available");
        int r;

        r = table_add(table, document_text(language, "name"));
        if (r >= 0)
                r = add_list(table, document_list(language, "suffixes"));
        if (r >= 0)
                r = table_add(table, available ? "yes" : "no");
        if (r >= 0)
                r = table_add(table, document_text(language, "description"));
        return r < 0 ? r : table_add(table, document_text(language, available ? "interpreter" : "reason"));
}

static int add_policy(Table *table, json_object *policy) {
        int r;

        r = table_add(table, document_text(policy, "name"));
        if (r >= 0)
                r = table_add(table, document_flag(policy, "restricted") ? "yes" : "no");
        if (r >= 0)
                r = add_list(table, document_list(policy, "languages"));
        if (r >= 0)
                r = table_add(table, document_text(policy, "description"));
        return r < 0 ? r : table_add(table, document_text(policy, "source"));
}

static int print_table(const char *text, const char *const *headings, size_t n,
        int (*add)(Table *table, json_object *row)) {
        own(json_freep) json_object *list = NULL;
        own(table_freep) Table *table = NULL;
        int r;

        r = document_parse_list(text, &list);
        if (r >= 0)
                r = table_new(headings, n, &table);
        for (size_t i = 0; r >= 0 && i < json_object_array_length(list); i++)
                r = add(table, json_object_array_get_idx(list, i));
        if (r < 0)
                return complain_errno(r, "The list cannot be shown");
        table_print(table, /* indent= */ 0, isatty(STDOUT_FILENO), stdout);
        return write_out("", 0);
}

static int run_list(const Verb *verb, int argc, char **argv, const char *member, const char *const *headings,
        size_t n, int (*add)(Table *table, json_object *row)) {
        own(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        own(freep) char *text = NULL;
        Operands operands;
        VerbAnswer answer;
        bool json;
        int r;

        answer = verb_read_json(verb, argc, argv, &json, &operands);
        if (answer != VERB_GO_ON)
                return answer == VERB_DONE ? 0 : EXIT_USAGE;
        if (operands.n > 0)
                return complain_usage(verb, "\"%s\" is one word too many", operands.list[0]);

        r = bus_open(&bus);
        if (r == 0)
                r = bus_ask(bus, member, /* types= */ NULL, /* argument= */ NULL, &text);
        if (r != 0)
                return r;
        return json ? write_line(text) : print_table(text, headings, n, add);
}

static int run_languages(const Verb *verb, int argc, char **argv) {
        static const char *const headings[] = {
                "NAME", "SUFFIXES", "AVAILABLE", "DESCRIPTION", "INTERPRETER OR REASON"};

        return run_list(verb, argc, argv, "ListLanguages", headings, ELEMENTS(headings), add_language);
}

static int run_policies(const Verb *verb, int argc, char **argv) {
        static const char *const headings[] = {"NAME", "RESTRICTED", "LANGUAGES", "DESCRIPTION", "FILE"};

        return run_list(verb, argc, argv, "ListPolicies", headings, ELEMENTS(headings), add_policy);
}

const Verb verb_languages = {
        .name = "languages",
        .synopsis = "[--json]",
        .summary = "List the languages, and whether their interpreters are here",
        .lists = (const OptionList *const[]){&option_list, NULL},
        .run = run_languages,
};

const Verb verb_policies = {
        .name = "policies",
        .synopsis = "[--json]",
        .summary = "List the policies that loaded",
        .lists = (const OptionList *const[]){&option_list, NULL},
        .run = run_policies,
};
