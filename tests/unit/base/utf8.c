/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

#define BAD "\xef\xbf\xbd"

static const struct {
        const char *data, *repaired;
} rows[] = {
        {"", ""},
        {"plain", "plain"},
        {"\x7f\x01", "\x7f\x01"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"}, /* U+10FFFF */
        {"\xed\x9f\xbf", "\xed\x9f\xbf"},         /* U+D7FF */
        {"\x80", BAD},
        {"a\xff"
         "b",
                "a" BAD "b"},
        {"\xc0\x80", BAD BAD},         /* overlong NUL */
        {"\xc1\xbf", BAD BAD},         /* overlong */
        {"\xe0\x9f\xbf", BAD BAD BAD}, /* overlong */
        {"\xf0\x8f\xbf\xbf", BAD BAD BAD BAD},
        {"\xed\xa0\x80", BAD BAD BAD},         /* a surrogate */
        {"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* above U+10FFFF */
        {"\xf5\x80\x80\x80", BAD BAD BAD BAD},
        {"\xe2\x82", BAD BAD}, /* cut */
        {"\xe2\x82z", BAD BAD "z"},
        {"12345678\xc3", "12345678" BAD},
        {"1234567\xc3\xa4"
         "89",
                "1234567\xc3\xa4"
                "89"},
};

Test(utf8, repair) {
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(bytes_clear) Bytes text = {0};
                bool exact, same = streq(rows[i].data, rows[i].repaired);

                cr_assert_eq(utf8_repair(rows[i].data, strlen(rows[i].data), &text, &exact), 0);
                cr_expect_str_eq(text.data, rows[i].repaired, "row %zu", i);
                cr_expect_eq(text.size, strlen(rows[i].repaired));
                cr_expect_eq(exact, same);
                cr_expect_eq(utf8_is_valid(rows[i].data, strlen(rows[i].data)), same);
                cr_expect(utf8_is_valid(text.data, text.size));
        }
}

Test(utf8, character_sizes) {
        cr_expect_eq(utf8_character("a", 1), 1U);
        cr_expect_eq(utf8_character("", 1), 1U, "NUL is a character");
        cr_expect_eq(utf8_character("\xc3\xa4", 2), 2U);
        cr_expect_eq(utf8_character("\xe2\x82\xac", 3), 3U);
        cr_expect_eq(utf8_character("\xf0\x9f\x98\x80", 4), 4U);
        cr_expect_eq(utf8_character("\xf0\x9f\x98\x80", 3), 0U, "cut");
        cr_expect_eq(utf8_character("", 0), 0U);
}

Test(utf8, empty_without_data) {
        own(bytes_clear) Bytes text = {0};

        cr_assert_eq(utf8_repair(NULL, 0, &text, NULL), 0);
        cr_expect_eq(text.size, 0U);
        cr_expect(utf8_is_valid(NULL, 0));
}
