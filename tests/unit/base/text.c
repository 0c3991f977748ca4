/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

Test(text, hex) {
        char text[9];

        hex_encode("\x00\xff\x1a\x2b", 4, text);
        cr_expect_str_eq(text, "00ff1a2b");
        hex_encode(NULL, 0, text);
        cr_expect_str_eq(text, "");
}

/* RFC 4648, section 10, and bytes that are no text. */
static const struct {
        const char *data;
        size_t size;
        const char *text;
} base64_rows[] = {
        {"", 0, ""},
        {"f", 1, "Zg=="},
        {"fo", 2, "Zm8="},
        {"foo", 3, "Zm9v"},
        {"foob", 4, "Zm9vYg=="},
        {"fooba", 5, "Zm9vYmE="},
        {"foobar", 6, "Zm9vYmFy"},
        {"\xff\xfe\x00\x01", 4, "//4AAQ=="},
        {"\xfb\xff\xbf", 3, "+/+/"},
};

Test(text, base64) {
        for (size_t i = 0; i < ELEMENTS(base64_rows); i++) {
                own(freep) char *text = NULL;
                own(bytes_clear) Bytes data = {0};

                cr_assert_eq(base64_encode(base64_rows[i].data, base64_rows[i].size, &text), 0);
                cr_expect_str_eq(text, base64_rows[i].text);
                cr_assert_eq(base64_decode(base64_rows[i].text, strlen(base64_rows[i].text), &data), 0);
                cr_expect_eq(data.size, base64_rows[i].size);
                cr_expect_eq(memcmp(data.data, base64_rows[i].data, data.size), 0);
        }
}

Test(text, base64_is_strict) {
        static const char *const rows[] = {
                "Z",
                "Zg",
                "Zg=",
                "Zg= =",
                "Z===",
                "====",
                "=",
                "Zm9v\n",
                "Zm9v ",
                " Zm9v",
                "Zm 9v",
                "Zg==Zg==",
                "Zm9-",
                "Zm9_",
                "Zh==",
                "Zm9=",
                "Zg==\n",
                "\xff\xff\xff\xff",
                "Zg=a",
                "Zm=v",
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                Bytes data = {0};

                cr_expect_eq(base64_decode(rows[i], strlen(rows[i]), &data), -EINVAL, "\"%s\"", rows[i]);
                cr_expect_null(data.data);
        }
        cr_expect_eq(base64_decode("Zm\0v", 4, &(Bytes){0}), -EINVAL);
}

Test(text, lists) {
        own(strv_freep) char **list = NULL, **copy = NULL, **empty = calloc(1, sizeof(char *));

        cr_expect_eq(strv_length(NULL), 0U);
        cr_expect(!strv_contains(NULL, "a"));
        for (unsigned i = 0; i < 100; i++) {
                char word[16];

                (void) snprintf(word, sizeof word, "w%u", i);
                cr_assert_eq(strv_append(&list, word), 0);
        }
        cr_expect_eq(strv_length(list), 100U);
        cr_expect(strv_contains(list, "w99") && !strv_contains(list, "w100"));
        cr_assert_eq(strv_copy(list, &copy), 0);
        cr_expect_str_eq(copy[57], "w57");
        cr_expect_null(copy[100]);
        cr_assert_eq(strv_append(&empty, "one"), 0);
        cr_expect_str_eq(empty[0], "one");
        cr_assert_eq(strv_append(&copy, "more"), 0);
        cr_expect_eq(strv_length(copy), 101U);
        copy = strv_free(copy);
        cr_assert_eq(strv_copy(NULL, &copy), 0);
        cr_expect_null(copy);
}

Test(text, numbers) {
        static const struct {
                const char *text;
                int result;
                uint64_t value;
        } rows[] = {
                {"0", 0, 0},
                {"1", 0, 1},
                {"18446744073709551615", 0, UINT64_MAX},
                {"18446744073709551616", -ERANGE, 0},
                {"99999999999999999999999", -ERANGE, 0},
                {"", -EINVAL, 0},
                {"-1", -EINVAL, 0},
                {"+1", -EINVAL, 0},
                {" 1", -EINVAL, 0},
                {"1 ", -EINVAL, 0},
                {"01", -EINVAL, 0},
                {"00", -EINVAL, 0},
                {"1a", -EINVAL, 0},
                {"0x1", -EINVAL, 0},
                {"1.5", -EINVAL, 0},
                {"99999999999999999999999x", -EINVAL, 0},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                uint64_t value = 0;

                cr_expect_eq(parse_u64(rows[i].text, &value), rows[i].result, "\"%s\"", rows[i].text);
                cr_expect_eq(value, rows[i].value);
        }
}

Test(text, names) {
        static const char *const good[] = {"a", "default", "a.b-c_D9", "9"};
        static const char *const bad[] = {
                "", ".", "..", ".a", "-a", "a/b", "a b", "a\n", "\xc3\xa4", "123456789x"};

        for (size_t i = 0; i < ELEMENTS(good); i++)
                cr_expect(name_is_valid(good[i], 9), "\"%s\"", good[i]);
        for (size_t i = 0; i < ELEMENTS(bad); i++)
                cr_expect(!name_is_valid(bad[i], 9), "\"%s\"", bad[i]);
}

Test(text, ends) {
        cr_expect(starts_with("abc", "ab") && starts_with("abc", "") && !starts_with("a", "ab"));
        cr_expect(ends_with("abc", "bc") && ends_with("abc", "") && !ends_with("c", "bc"));
}

Test(text, bytes) {
        own(bytes_clear) Bytes bytes = {0};

        cr_assert_eq(bytes_copy("a\0b", 3, &bytes), 0);
        cr_expect_eq(memcmp(bytes.data, "a\0b", 4), 0);
        bytes_clear(&bytes);
        cr_expect_null(bytes.data);
        cr_assert_eq(bytes_copy(NULL, 0, &bytes), 0);
        cr_expect_str_eq(bytes.data, "");
}
