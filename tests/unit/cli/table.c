/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <string.h>

#include "cli/table.h"

static char *print(const Table *table, size_t indent, bool bold) {
        char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);

        table_print(table, indent, bold, stream);
        cr_assert_eq(fclose(stream), 0);
        return text;
}

Test(table, aligned_by_characters) {
        own(table_freep) Table *table = NULL;
        own(freep) char *text = NULL;
        static const char *const cells[] = {"a", "1", "longer", "2", "\xc3\xa4\xc3\xb6", NULL};

        cr_assert_eq(table_new((const char *const[]){"NAME", "N"}, 2, &table), 0);
        for (size_t i = 0; i < ELEMENTS(cells); i++)
                cr_assert_eq(table_add(table, cells[i]), 0);
        text = print(table, 1, /* bold= */ false);
        cr_expect_str_eq(text, " NAME    N\n a       1\n longer  2\n \xc3\xa4\xc3\xb6      \n");
}

Test(table, bold_headings) {
        own(table_freep) Table *table = NULL;
        own(freep) char *text = NULL;

        cr_assert_eq(table_new((const char *const[]){"A", "B"}, 2, &table), 0);
        text = print(table, 0, /* bold= */ true);
        cr_expect_str_eq(text, "\033[1mA  B\033[0m\n");
}

Test(table, nothing_reaches_the_terminal) {
        static const struct {
                const char *text, *clean;
        } rows[] = {
                {"plain \xc3\xa4", "plain \xc3\xa4"},
                {"\033[2J", "?[2J"},
                {"a\nb\tc\r", "a?b?c?"},
                {"\x7f", "?"},
                {"\xc2\x9b", "?"},
                {"\xff\xfe", "??"},
                {"\xc2\xa0", "\xc2\xa0"},
                {"", ""},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(freep) char *clean = NULL;

                cr_assert_eq(text_printable(rows[i].text, &clean), 0);
                cr_expect_str_eq(clean, rows[i].clean, "row %zu", i);
        }
}
