/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/json.h"

typedef struct Target {
        char *string;
        Bytes bytes, decoded;
        uint64_t number, any_number, decimal;
        bool boolean, number_given;
        char **strings;
        json_object *object, *array;
} Target;

static const JsonField fields[] = {
        {"string", JSON_STRING, offsetof(Target, string), 1, 5},
        {"bytes", JSON_BYTES, offsetof(Target, bytes)},
        {"base64", JSON_BYTES_BASE64, offsetof(Target, decoded), 0, 4},
        {"memory_mb", JSON_U64, offsetof(Target, number), 16, 1048576,
                .present = offsetof(Target, number_given) + 1, .unit = "MiB"},
        {"any", JSON_U64, offsetof(Target, any_number)},
        {"cpus", JSON_DECIMAL_MILLI, offsetof(Target, decimal), 10, 4000},
        {"boolean", JSON_BOOL, offsetof(Target, boolean)},
        {"strings", JSON_STRINGS, offsetof(Target, strings), 0, 2},
        {"object", JSON_OBJECT, offsetof(Target, object)},
        {"array", JSON_ARRAY, offsetof(Target, array), 0, 2},
};

static void target_clear(Target *target) {
        free(target->string);
        bytes_clear(&target->bytes);
        bytes_clear(&target->decoded);
        strv_freep(&target->strings);
        json_freep(&target->object);
        json_freep(&target->array);
}

static int read_text(const char *text, const JsonField *rows, size_t n, Target *target, JsonError *error) {
        own(json_freep) json_object *object = NULL;

        cr_assert_eq(json_parse(text, strlen(text), &object, error), 0, "%s: %s", text, error->message);
        return json_read_object(object, "in.", rows, n, target, error);
}

Test(json_read, reads_every_kind) {
        own(target_clear) Target target = {0};
        JsonError error = {0};

        cr_assert_eq(read_text("{\"string\":\"abc\",\"bytes\":\"xy\",\"base64\":\"AP8=\",\"memory_mb\":16,"
                               "\"any\":18446744073709551615,\"cpus\":0.5,\"boolean\":true,\"strings\":["
                               "\"a\",\"\"],"
                               "\"object\":{\"k\":1},\"array\":[1]}",
                             fields, ELEMENTS(fields), &target, &error),
                0, "%s %s", error.key, error.message);
        cr_expect_str_eq(target.string, "abc");
        cr_expect_eq(target.bytes.size, 2U);
        cr_expect_eq(target.decoded.size, 2U);
        cr_expect_eq(memcmp(target.decoded.data, "\x00\xff", 2), 0);
        cr_expect(target.number == 16 && target.number_given);
        cr_expect_eq(target.any_number, UINT64_MAX);
        cr_expect_eq(target.decimal, 500U);
        cr_expect(target.boolean);
        cr_expect_eq(strv_length(target.strings), 2U);
        cr_expect_eq(json_object_object_length(target.object), 1);
        cr_expect_eq(json_object_array_length(target.array), 1U);
}

Test(json_read, decimals) {
        static const struct {
                const char *text;
                uint64_t value;
        } rows[] = {{"{\"cpus\":1}", 1000}, {"{\"cpus\":0.01}", 10}, {"{\"cpus\":4}", 4000},
                {"{\"cpus\":1.001}", 1001}, {"{\"cpus\":2.5e0}", 2500}, {"{\"cpus\":0.3}", 300},
                {"{\"cpus\":5e-1}", 500}};

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(target_clear) Target target = {0};
                JsonError error = {0};

                cr_expect_eq(read_text(rows[i].text, fields, ELEMENTS(fields), &target, &error), 0);
                cr_expect_eq(target.decimal, rows[i].value, "%s", rows[i].text);
        }
}

Test(json_read, refuses) {
        static const struct {
                const char *text, *key, *message;
        } rows[] = {
                {"{\"string\":\"\"}", "in.string", "must be a string of 1 to 5 bytes, not 0"},
                {"{\"string\":\"abcdef\"}", "in.string", "must be a string of 1 to 5 bytes, not 6"},
                {"{\"string\":1}", "in.string", "must be a string of 1 to 5 bytes, not a number"},
                {"{\"string\":null}", "in.string", "must be a string of 1 to 5 bytes, not null"},
                {"{\"bytes\":[]}", "in.bytes", "must be a string, not an array"},
                {"{\"base64\":\"AP8\"}", "in.base64", "is not base64"},
                {"{\"base64\":\"AAAAAAA=\"}", "in.base64",
                        "must be base64 of at most 4 decoded bytes, not 5"},
                {"{\"memory_mb\":8}", "in.memory_mb",
                        "must be a whole number from 16 to 1048576 (MiB), not 8"},
                {"{\"memory_mb\":-1}", "in.memory_mb",
                        "must be a whole number from 16 to 1048576 (MiB), not -1"},
                {"{\"memory_mb\":1048577}", "in.memory_mb", "from 16 to 1048576 (MiB), not 1048577"},
                {"{\"memory_mb\":99999999999999999999999999}", "in.memory_mb", "from 16 to 1048576 (MiB)"},
                {"{\"memory_mb\":-99999999999999999999999999}", "in.memory_mb", "from 16 to 1048576 (MiB)"},
                {"{\"memory_mb\":18446744073709551632}", "in.memory_mb",
                        "from 16 to 1048576 (MiB)"}, /* 2^64 + 16 */
                {"{\"memory_mb\":64.0}", "in.memory_mb", "whole number from 16 to 1048576 (MiB), not 64.0"},
                {"{\"memory_mb\":1e2}", "in.memory_mb", "whole number"},
                {"{\"memory_mb\":\"64\"}", "in.memory_mb", "not a string"},
                {"{\"memory_mb\":true}", "in.memory_mb", "not a boolean"},
                {"{\"memory_mb\":null}", "in.memory_mb", "not null"},
                {"{\"any\":-1}", "in.any", "must be a whole number, 0 or more, not -1"},
                {"{\"cpus\":0.001}", "in.cpus", "must be a number from 0.01 to 4, not 0.001"},
                {"{\"cpus\":4.001}", "in.cpus", "must be a number from 0.01 to 4, not 4.001"},
                {"{\"cpus\":1e400}", "in.cpus", "from 0.01 to 4"},
                {"{\"cpus\":-1e400}", "in.cpus", "from 0.01 to 4"},
                {"{\"cpus\":0.0105}", "in.cpus", "three decimals"},
                {"{\"cpus\":\"1\"}", "in.cpus", "not a string"},
                {"{\"boolean\":1}", "in.boolean", "must be true or false, not a number"},
                {"{\"boolean\":\"true\"}", "in.boolean", "must be true or false"},
                {"{\"strings\":\"a\"}", "in.strings",
                        "must be an array of strings of at most 2 entries, not a string"},
                {"{\"strings\":[\"a\",\"b\",\"c\"]}", "in.strings", "at most 2 entries, not 3"},
                {"{\"strings\":[\"a\",1]}", "in.strings[1]", "must be a string, not a number"},
                {"{\"strings\":[null]}", "in.strings[0]", "must be a string, not null"},
                {"{\"object\":[]}", "in.object", "must be an object, not an array"},
                {"{\"array\":{}}", "in.array", "must be an array of at most 2 entries, not an object"},
                {"{\"array\":[1,2,3]}", "in.array", "at most 2 entries, not 3"},
                {"{\"memroy_mb\":64}", "in.memroy_mb", "did you mean \"memory_mb\"?"},
                {"{\"zzz\":64}", "in.zzz",
                        "is not a known key; known here: string, bytes, base64, memory_mb"},
                {"{\"String\":\"a\"}", "in.String", "did you mean \"string\"?"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(target_clear) Target target = {0};
                JsonError error = {0};

                cr_expect_eq(read_text(rows[i].text, fields, ELEMENTS(fields), &target, &error), -EINVAL,
                        "%s", rows[i].text);
                cr_expect_str_eq(error.key, rows[i].key, "%s: %s", rows[i].text, error.key);
                cr_expect_not_null(
                        strstr(error.message, rows[i].message), "%s: %s", rows[i].text, error.message);
                cr_expect(!target.number_given);
        }
}

Test(json_read, mandatory) {
        static const JsonField rows[] = {
                {"string", JSON_STRING, offsetof(Target, string), .mandatory = true},
                {"boolean", JSON_BOOL, offsetof(Target, boolean), .mandatory = true},
        };
        own(target_clear) Target target = {0};
        JsonError error = {0};

        cr_expect_eq(read_text("{\"string\":\"\"}", rows, ELEMENTS(rows), &target, &error), -EINVAL);
        cr_expect_str_eq(error.key, "in.boolean");
        cr_expect_str_eq(error.message, "is missing");
}
