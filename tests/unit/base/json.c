/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

Test(json, accepts) {
        static const char *const rows[] = {
                "{}",
                " \t\r\n{ } \n",
                "{\"a\":[]}",
                "{\"a\":{},\"b\":[{},[1,-0,0.5,-1.5e+10,1E-2]]}",
                "{\"a\":true,\"b\":false,\"c\":null}",
                "{\"\":1}",
                "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\"}",
                "{\"a\":\"\\ud83d\\ude00\"}",
                "{\"a\":\"\xf0\x9f\x98\x80\x7f\"}",
                "{\"a\":1,\"A\":1,\"aa\":1}",
                "{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}",
                "{\"a\":[{\"x\":1},{\"x\":2}]}",
                "{\"a\":123456789012345678901234567890}",
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(json_freep) json_object *object = NULL;
                JsonError error = {0};

                cr_expect_eq(json_parse(rows[i], strlen(rows[i]), &object, &error), 0, "%s: %s", rows[i],
                        error.message);
        }
}

Test(json, refuses) {
        static const struct {
                const char *text, *key, *message;
                unsigned line;
        } rows[] = {
                {"", "", "a value was expected", 1},
                {"  \n\n ", "", "a value was expected", 3},
                {"[]", "", "must be a JSON object", 0},
                {"\"a\"", "", "must be a JSON object", 0},
                {"null", "", "must be a JSON object", 0},
                {"1", "", "must be a JSON object", 0},
                {"{", "", "a key in double quotes", 1},
                {"{}x", "", "text after the end", 1},
                {"{}{}", "", "text after the end", 1},
                {"{} // comment", "", "text after the end", 1},
                {"/* c */{}", "", "a value was expected", 1},
                {"{\"a\":1,}", "a", "a key in double quotes", 1},
                {"{\"a\":[1,]}", "a[1]", "a value was expected", 1},
                {"{\"a\":[1 2]}", "a[1]", "',' or ']'", 1},
                {"{'a':1}", "", "a key in double quotes", 1},
                {"{a:1}", "", "a key in double quotes", 1},
                {"{\"a\" 1}", "a", "':' was expected", 1},
                {"{\"a\":}", "a", "a value was expected", 1},
                {"{\"a\":1 \"b\":2}", "a", "',' or '}'", 1},
                {"{\"a\":NaN}", "a", "a value was expected", 1},
                {"{\"a\":Infinity}", "a", "a value was expected", 1},
                {"{\"a\":nul}", "a", "a value was expected", 1},
                {"{\"a\":nulll}", "a", "',' or '}'", 1},
                {"{\"a\":True}", "a", "a value was expected", 1},
                {"{\"a\":01}", "a", "leading zero", 1},
                {"{\"a\":-}", "a", "a value was expected", 1},
                {"{\"a\":+1}", "a", "a value was expected", 1},
                {"{\"a\":.5}", "a", "a value was expected", 1},
                {"{\"a\":1.}", "a", "decimal point", 1},
                {"{\"a\":1e}", "a", "exponent", 1},
                {"{\"a\":0x10}", "a", "',' or '}'", 1},
                {"{\"a\":\"x}", "a", "does not end", 1},
                {"{\"a\":\"x\ny\"}", "a", "raw control character (0x0a)", 1},
                {"{\"a\":\"\\x\"}", "a", "unknown escape", 1},
                {"{\"a\":\"\\u12g4\"}", "a", "four hex digits", 1},
                {"{\"a\":\"\\u12", "a", "four hex digits", 1},
                {"{\"a\":\"\\u0000\"}", "a", "NUL", 1},
                {"{\"a\\u0000b\":1}", "", "NUL", 1},
                {"{\"a\":\"\\ud800\"}", "a", "surrogate", 1},
                {"{\"a\":\"\\ud800x\"}", "a", "surrogate", 1},
                {"{\"a\":\"\\ud800\\u0041\"}", "a", "surrogate", 1},
                {"{\"a\":\"\\udc00\"}", "a", "surrogate", 1},
                {"{\"a\":\"\xff\"}", "a", "UTF-8", 1},
                {"{\"a\":\"\xed\xa0\x80\"}", "a", "UTF-8", 1},
                {"{\"a\":\"\xc3", "a", "UTF-8", 1},
                {"{\"a\xff\":1}", "", "UTF-8", 1},
                {"\xef\xbb\xbf{}", "", "a value was expected", 1}, /* a byte order mark */
                {"{\"a\":1,\"a\":2}", "a", "stands twice", 1},
                {"{\"a\":1,\n\"b\":2,\n\"\\u0061\":3}", "a", "first on line 1", 3},
                {"{\"x\":{\"k\":[1,{\"z\":1,\"y\":1,\n\"z\":2}]}}", "x.k[1].z", "stands twice", 2},
                {"{\"\":1,\"\":1}", "", "stands twice", 1},
                {"{\"\\\"\":1,\"\\u0022\":1}", "\"", "stands twice", 1},
                {"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":1}", "\xf0\x9f\x98\x80", "stands twice", 1},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                json_object *object = NULL;
                JsonError error = {0};

                cr_expect_eq(json_parse(rows[i].text, strlen(rows[i].text), &object, &error), -EINVAL, "%s",
                        rows[i].text);
                cr_expect_null(object);
                cr_expect_str_eq(error.key, rows[i].key, "%s: key %s", rows[i].text, error.key);
                cr_expect_not_null(
                        strstr(error.message, rows[i].message), "%s: %s", rows[i].text, error.message);
                cr_expect_eq(error.line, rows[i].line, "%s: line %u", rows[i].text, error.line);
        }
}

Test(json, refuses_nul_bytes) {
        static const char inside[] = "{\"a\":\"x\0y\"}", after[] = "{}\0";
        json_object *object = NULL;
        JsonError error;

        cr_expect_eq(json_parse(inside, sizeof inside - 1, &object, &error), -EINVAL);
        cr_expect_eq(json_parse(after, sizeof after - 1, &object, &error), -EINVAL);
}

static void nest(char *text, size_t depth) {
        size_t n = 0;

        n += (size_t) sprintf(text, "{\"a\":");
        for (size_t i = 1; i < depth; i++)
                text[n++] = '[';
        for (size_t i = 1; i < depth; i++)
                text[n++] = ']';
        text[n++] = '}';
        text[n] = 0;
}

Test(json, depth) {
        char text[256];
        json_object *object = NULL;
        JsonError error;

        nest(text, JSON_DEPTH_MAX);
        cr_assert_eq(json_parse(text, strlen(text), &object, &error), 0, "%s", error.message);
        json_freep(&object);
        object = NULL;
        nest(text, JSON_DEPTH_MAX + 1);
        cr_expect_eq(json_parse(text, strlen(text), &object, &error), -EINVAL);
        cr_expect_not_null(strstr(error.message, "16 levels"));
}

/* A hostile document: as many keys as one may have, and one more. Quadratic work would time out. */
Test(json, many_keys, .timeout = 60) {
        size_t room = JSON_VALUES_MAX * 24UL;
        own(freep) char *text = malloc(room);
        own(json_freep) json_object *object = NULL;
        JsonError error;
        size_t n = 1;

        cr_assert_not_null(text);
        text[0] = '{';
        for (unsigned i = 0; i < JSON_VALUES_MAX - 1; i++)
                n += (size_t) snprintf(text + n, room - n, "%s\"k%u\":1", i > 0 ? "," : "", i);
        (void) snprintf(text + n, room - n, "}");
        cr_expect_eq(json_parse(text, n + 1, &object, &error), 0);
        (void) snprintf(text + n, room - n, ",\"x\":1}");
        json_freep(&object);
        object = NULL;
        cr_expect_eq(json_parse(text, n + 7, &object, &error), -EINVAL);
        cr_expect_not_null(strstr(error.message, "one value too many"), "%s", error.message);
        (void) snprintf(text + n - strlen("\"k131070\":1"), room, "\"k7\":1}");
        cr_expect_eq(json_parse(text, strlen(text), &object, &error), -EINVAL);
        cr_expect_str_eq(error.key, "k7");
}

Test(json, large_string) {
        size_t size = 16UL * 1024 * 1024;
        own(freep) char *text = malloc(size + 32);
        own(json_freep) json_object *object = NULL;
        json_object *value;
        JsonError error;
        size_t n;

        cr_assert_not_null(text);
        n = (size_t) sprintf(text, "{\"a\":\"");
        memset(text + n, 'x', size);
        n += size;
        n += (size_t) sprintf(text + n, "\"}");
        cr_assert_eq(json_parse(text, n, &object, &error), 0);
        cr_assert(json_object_object_get_ex(object, "a", &value));
        cr_expect_eq((size_t) json_object_get_string_len(value), size);
}

Test(json, finds_lines) {
        static const char text[] = "{\n\"a\": 1,\n\"b\": {\n\"c\": [1,\n2, {\"d\":\n3}]}}";
        static const struct {
                const char *key;
                unsigned line;
        } rows[] = {{"a", 2}, {"b", 3}, {"b.c", 4}, {"b.c[1]", 5}, {"b.c[2].d", 6}, {"b.x", 3}, {"x", 0},
                {"", 0}};

        for (size_t i = 0; i < ELEMENTS(rows); i++)
                cr_expect_eq(json_find_line(text, strlen(text), rows[i].key), rows[i].line, "%s: %u",
                        rows[i].key, json_find_line(text, strlen(text), rows[i].key));
}

/* Text of callers in errors: no control characters, whole characters, within the bounds. */
Test(json, errors_are_printable) {
        char key[300];
        JsonError error;

        json_error_set(&error, "a\x1b[31m\n",
                "x\ty\x7fz\xc2\x9b"
                "31m");
        cr_expect_str_eq(error.key, "a?[31m?");
        cr_expect_str_eq(error.message, "x?y?z??31m");

        for (size_t i = 0; i < 298; i += 2)
                memcpy(key + i, "\xc3\xa4", 2);
        key[298] = 0;
        json_error_set(&error, key, "%s%s", key, key);
        cr_expect_eq(strlen(error.key), sizeof error.key - 2, "127 is in the middle of a character");
        cr_expect(utf8_is_valid(error.key, strlen(error.key)));
        cr_expect(utf8_is_valid(error.message, strlen(error.message)));
        json_error_set(NULL, "a", "nobody asks");
}

Test(json, builds) {
        own(json_freep) json_object *object = json_object_new_object();
        own(freep) char *text = NULL;
        char *list[] = {"x", "y\xff", NULL};

        cr_assert_eq(json_add_string(object, "s", "a/\"\n\xff"), 0);
        cr_assert_eq(json_add_string(object, "n", NULL), 0);
        cr_assert_eq(json_add_bytes(object, "b", "a\0b", 3), 0);
        cr_assert_eq(json_add_bytes(object, "e", NULL, 0), 0);
        cr_assert_eq(json_add_u64(object, "u", UINT64_MAX), 0);
        cr_assert_eq(json_add_bool(object, "t", true), 0);
        cr_assert_eq(json_add_strings(object, "l", list), 0);
        cr_assert_eq(json_add_strings(object, "l0", NULL), 0);
        cr_assert_eq(json_add_object(object, "o", json_object_new_object()), 0);
        cr_assert_eq(json_to_text(object, false, &text), 0);
        cr_expect_str_eq(text,
                "{\"s\":\"a/\\\"\\n\xef\xbf\xbd\",\"n\":null,\"b\":\"a\\u0000b\",\"e\":\"\","
                "\"u\":18446744073709551615,\"t\":true,\"l\":[\"x\",\"y\xef\xbf\xbd\"],\"l0\":[],\"o\":{}}");
        freep(&text);
        cr_assert_eq(json_to_text(object, true, &text), 0);
        cr_expect_not_null(strchr(text, '\n'));
}
