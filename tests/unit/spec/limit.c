/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "spec/limit.h"

/* DESIGN section 3, written down once more: whoever changes the table changes a promise. */
Test(limit, table) {
        static const struct {
                const char *key;
                uint64_t min, fallback, max;
        } rows[LIMIT_N] = {
                {"timeout_ms", 1, 10000, 300000},
                {"cpu_cpus", 10, 1000, UINT64_MAX},
                {"cpu_ms", 1, 0, 3600000},
                {"memory_mb", 16, 256, 2048},
                {"memory_warn_mb", 1, 0, 2048},
                {"pids_max", 1, 64, 512},
                {"disk_mb", 1, 64, 1024},
                {"file_mb", 1, 32, 2048},
                {"stdout_bytes", 0, 65536, 16777216},
                {"stderr_bytes", 0, 65536, 16777216},
                {"artifact_mb", 0, 64, 1024},
                {"external_calls", 0, 0, 0},
        };

        for (LimitId id = 0; id < LIMIT_N; id++) {
                LimitId found = LIMIT_N;

                cr_expect_str_eq(limits[id].key, rows[id].key);
                cr_expect_eq(limits[id].min, rows[id].min, "%s", rows[id].key);
                cr_expect_eq(limits[id].fallback, rows[id].fallback, "%s", rows[id].key);
                cr_expect_eq(limits[id].fallback_max, rows[id].max, "%s", rows[id].key);
                cr_expect(limits[id].ceiling >= limits[id].fallback_max || id == LIMIT_CPU_CPUS);
                cr_expect(limits[id].fallback >= limits[id].min || limits[id].zero_is_none);
                cr_expect_eq(limit_find(rows[id].key, &found), &limits[id]);
                cr_expect_eq(found, id);
        }
        cr_expect_null(limit_find("memory", NULL));
        cr_expect_null(limit_find("", NULL));
}

static int read_text(const char *text, bool with_top_level, Limits *ret, JsonError *error) {
        own(json_freep) json_object *object = NULL;

        cr_assert_eq(json_parse(text, strlen(text), &object, error), 0);
        return limits_read(object, "limits.", with_top_level, ret, error);
}

Test(limit, reads) {
        Limits read = {0};
        JsonError error = {0};

        cr_assert_eq(read_text("{\"cpu_cpus\":0.5,\"memory_mb\":16,\"cpu_ms\":0,\"stdout_bytes\":0,"
                               "\"timeout_ms\":1}",
                             true, &read, &error),
                0, "%s %s", error.key, error.message);
        cr_expect_eq(read.value[LIMIT_CPU_CPUS], 500U);
        cr_expect_eq(read.value[LIMIT_MEMORY_MB], 16U);
        cr_expect(
                read.given[LIMIT_CPU_MS] && read.given[LIMIT_STDOUT_BYTES] && read.given[LIMIT_TIMEOUT_MS]);
        cr_expect(!read.given[LIMIT_PIDS_MAX]);
}

/* Every limit, just outside its range, and just inside. */
Test(limit, refuses_out_of_range) {
        for (LimitId id = 0; id < LIMIT_N; id++) {
                uint64_t values[] = {
                        limits[id].min - 1, limits[id].ceiling + 1, limits[id].min, limits[id].ceiling};

                for (size_t i = 0; i < ELEMENTS(values); i++) {
                        char text[96], value[LIMIT_TEXT_SIZE], key[64];
                        bool outside = i < 2 && !(i == 0 && limits[id].zero_is_none);
                        Limits read = {0};
                        JsonError error = {0};

                        if (i == 0 && limits[id].min == 0)
                                continue;
                        limit_format(id, values[i], value);
                        (void) snprintf(text, sizeof text, "{\"%s\":%s}", limits[id].key, value);
                        cr_expect_eq(
                                read_text(text, true, &read, &error), outside ? -EINVAL : 0, "%s", text);
                        if (!outside)
                                continue;
                        (void) snprintf(key, sizeof key, "limits.%s", limits[id].key);
                        cr_expect_str_eq(error.key, key);
                        limit_format(id, limits[id].ceiling, value);
                        cr_expect_not_null(strstr(error.message, value), "%s: %s", text, error.message);
                }
        }
}

Test(limit, says_where_a_key_belongs) {
        Limits read = {0};
        JsonError error = {0};

        cr_expect_eq(read_text("{\"timeout_ms\":1}", false, &read, &error), -EINVAL);
        cr_expect_str_eq(error.key, "limits.timeout_ms");
        cr_expect_not_null(strstr(error.message, "key of the spec itself"));
        cr_expect_eq(read_text("{\"memory\":64}", false, &read, &error), -EINVAL);
        cr_expect_not_null(strstr(error.message, "known here: cpu_cpus, "), "%s", error.message);
}

Test(limit, formats) {
        static const struct {
                LimitId id;
                uint64_t value;
                const char *text, *json;
        } rows[] = {
                {LIMIT_CPU_CPUS, 500, "0.5", "{\"cpu_cpus\":0.5}"},
                {LIMIT_CPU_CPUS, 1000, "1", "{\"cpu_cpus\":1}"},
                {LIMIT_CPU_CPUS, 10, "0.01", "{\"cpu_cpus\":0.01}"},
                {LIMIT_CPU_CPUS, 1001, "1.001", "{\"cpu_cpus\":1.001}"},
                {LIMIT_CPU_CPUS, 100, "0.1", "{\"cpu_cpus\":0.1}"},
                {LIMIT_MEMORY_MB, 1000, "1000", "{\"memory_mb\":1000}"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(json_freep) json_object *object = json_object_new_object();
                own(freep) char *json = NULL;
                char text[LIMIT_TEXT_SIZE];
                json_object *value;
                uint64_t read;
                JsonError error;

                limit_format(rows[i].id, rows[i].value, text);
                cr_expect_str_eq(text, rows[i].text);
                cr_assert_eq(limit_add_json(object, rows[i].id, rows[i].value), 0);
                cr_assert_eq(json_to_text(object, false, &json), 0);
                cr_expect_str_eq(json, rows[i].json);
                cr_assert(json_object_object_get_ex(object, limits[rows[i].id].key, &value));
                cr_assert_eq(limit_read_value(rows[i].id, value, "", &read, &error), 0);
                cr_expect_eq(read, rows[i].value);
        }
}

Test(limit, wider) {
        cr_expect(limit_is_wider(LIMIT_MEMORY_MB, 512, 256));
        cr_expect(!limit_is_wider(LIMIT_MEMORY_MB, 256, 256) && !limit_is_wider(LIMIT_MEMORY_MB, 16, 256));
        cr_expect(limit_is_wider(LIMIT_CPU_MS, 0, 5) && limit_is_wider(LIMIT_CPU_MS, 6, 5));
        cr_expect(!limit_is_wider(LIMIT_CPU_MS, 5, 0) && !limit_is_wider(LIMIT_CPU_MS, 0, 0));
        cr_expect(!limit_is_wider(LIMIT_EXTERNAL_CALLS, 0, 5) && limit_is_wider(LIMIT_EXTERNAL_CALLS, 5, 0));
}
