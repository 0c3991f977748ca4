/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "cli/options.h"

static const Option shared_rows[] = {
        {'l', "language", "LANGUAGE", "which"},
        {OPTION_LONG_ONLY, "limit", "KEY=VALUE", "first line\nsecond line"},
};
static const Option own_rows[] = {
        {'q', "quiet", NULL, "hush"},
};
static const OptionList shared = OPTION_LIST(shared_rows), own_list = OPTION_LIST(own_rows);
static const OptionList *const lists[] = {&shared, &own_list, NULL};

/* "id=value " for each option, then "|" and the operands; "!" for an error. */
static void read_all(const char *const *words, char *ret, size_t size) {
        OptionReader reader = {.argv = (char **) words};
        const char *value;
        size_t n = 0;
        int id;

        while (words[reader.argc])
                reader.argc++;
        ret[0] = 0;
        while ((id = option_next(&reader, lists, &value)) > 0)
                n += (size_t) snprintf(ret + n, size - n, "%d=%s ", id, value ? value : "-");
        n += (size_t) snprintf(ret + n, size - n, "%s", id < 0 ? "!" : reader.dashes ? "--|" : "|");
        for (int i = reader.at; i < reader.argc && id == 0; i++)
                n += (size_t) snprintf(ret + n, size - n, "%s ", words[i]);
        if (id < 0)
                cr_expect(reader.problem[0], "an error is told");
}

Test(options, forms) {
        static const struct {
                const char *words[8];
                const char *expected;
        } rows[] = {
                {{NULL}, "|"},
                {{"code"}, "|code "},
                {{"-"}, "|- "},
                {{""}, "| "},
                {{"--language", "c", "code"}, "108=c |code "},
                {{"--language=c", "code"}, "108=c |code "},
                {{"--language="}, "108= |"},
                {{"--language", "--"}, "108=-- |"},
                {{"-l", "c", "-q"}, "108=c 113=- |"},
                {{"-lc", "x"}, "108=c |x "},
                {{"-l", "-q"}, "108=-q |"},
                {{"--limit=a=b=c"}, "256=a=b=c |"},
                {{"code", "--quiet"}, "|code --quiet "},
                {{"-q", "--", "--quiet", "--"}, "113=- --|--quiet -- "},
                {{"--"}, "--|"},
                {{"--quiet=1"}, "!"},
                {{"-q1"}, "!"},
                {{"--language"}, "!"},
                {{"-l"}, "!"},
                {{"--lang", "c"}, "!"},
                {{"--languages", "c"}, "!"},
                {{"--=x"}, "!"},
                {{"-x"}, "!"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                char seen[256];

                read_all(rows[i].words, seen, sizeof seen);
                cr_expect_str_eq(seen, rows[i].expected, "row %zu: %s", i, seen);
        }
}

Test(options, help_shows_each) {
        own(freep) char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);

        options_print(lists, stream);
        cr_assert_eq(fclose(stream), 0);
        cr_expect(strstr(text, "  -l, --language LANGUAGE     which\n"));
        cr_expect(strstr(text,
                "      --limit KEY=VALUE       first line\n                              second line\n"));
        cr_expect(strstr(text, "  -q, --quiet                 hush\n"));
}
