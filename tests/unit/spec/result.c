/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "spec/result.h"

Test(result, statuses) {
        static const struct {
                const char *name;
                bool retryable, counts_as_failure;
                int exit_status;
        } rows[STATUS_N] = {
                {"success", false, false, -1},
                {"failed", false, true, -1},
                {"signaled", false, true, -1},
                {"timeout", true, false, 124},
                {"cpu_limit", true, false, 124},
                {"memory_limit", true, false, 123},
                {"output_limit", true, false, 122},
                {"disk_limit", true, false, 122},
                {"tasks_limit", true, false, 122},
                {"compile_error", false, true, 121},
                {"canceled", true, false, 130},
                {"interrupted", true, false, 120},
                {"start_failed", true, false, 125},
                {"internal_error", true, false, 125},
        };

        for (Status status = 0; status < STATUS_N; status++) {
                Status found = STATUS_N;

                cr_expect_str_eq(status_name(status), rows[status].name);
                cr_expect_eq(
                        status_table[status].retryable, rows[status].retryable, "%s", rows[status].name);
                cr_expect_eq(status_table[status].counts_as_failure, rows[status].counts_as_failure);
                cr_expect_eq(
                        status_table[status].exit_status, rows[status].exit_status, "%s", rows[status].name);
                cr_expect_eq(status_from_name(rows[status].name, &found), 0);
                cr_expect_eq(found, status);
        }
        cr_expect_eq(status_from_name("Success", &(Status){0}), -EINVAL);
}

static void fill(Result *result) {
        *result = (Result){
                .id = strdup("0123"),
                .task_id = strdup("t"),
                .message = strdup("all is well"),
                .exit_code = 0,
                .duration_ms = 143,
                .start_ms = 12,
                .compile_ms = USAGE_UNKNOWN,
                .cpu_ms = 31,
                .memory_peak_bytes = 9437184,
                .policy = strdup("default"),
                .language = strdup("python"),
                .unit = strdup("unitcell-x-0123.service"),
                .invocation_id = strdup("abcd"),
        };
        cr_assert_eq(bytes_copy("4950\n", 5, &result->out.head), 0);
        result->out.produced = 5;
}

Test(result, document) {
        own(result_clear) Result result = {0};
        own(json_freep) json_object *object = NULL;
        own(freep) char *text = NULL;

        fill(&result);
        cr_assert_eq(result_to_json(&result, &object), 0);
        cr_assert_eq(json_to_text(object, false, &text), 0);
        cr_expect_str_eq(text,
                "{\"id\":\"0123\",\"task_id\":\"t\",\"status\":\"success\",\"retryable\":false,\"counts_as_"
                "failure\":false,"
                "\"message\":\"all is "
                "well\",\"exit_code\":0,\"signal\":null,\"stdout\":\"4950\\n\",\"stdout_bytes\":5,"
                "\"stdout_truncated\":false,\"stderr\":\"\",\"stderr_bytes\":0,\"stderr_truncated\":false,"
                "\"duration_ms\":143,\"queue_ms\":0,\"start_ms\":12,\"cpu_ms\":31,\"memory_peak_bytes\":"
                "9437184,"
                "\"memory_warned\":false,\"oom_killed\":false,\"tasks_limit_hit\":false,\"file_limit_hit\":"
                "false,"
                "\"disk_limit_hit\":false,\"suspected_runaway\":false,\"denied_syscalls\":[],\"report\":"
                "null,"
                "\"report_truncated\":false,\"stopped_at\":null,\"artifacts\":[],\"egress\":{\"allowed\":0,"
                "\"blocked\":0},"
                "\"policy\":\"default\",\"language\":\"python\",\"unit\":\"unitcell-x-0123.service\","
                "\"invocation_id\":\"abcd\",\"enforced\":{}}");
}

Test(result, what_is_unknown_is_null) {
        own(result_clear) Result result = {.status = STATUS_SIGNALED,
                .exit_code = -1,
                .signal = 11,
                .duration_ms = USAGE_UNKNOWN,
                .compile_ms = 7,
                .cpu_ms = USAGE_UNKNOWN,
                .memory_peak_bytes = USAGE_UNKNOWN};
        own(json_freep) json_object *object = NULL;
        own(freep) char *text = NULL;
        static const char *const parts[] = {
                "\"task_id\":null",
                "\"status\":\"signaled\"",
                "\"counts_as_failure\":true",
                "\"exit_code\":null",
                "\"signal\":\"SIGSEGV\"",
                "\"duration_ms\":null",
                "\"compile_ms\":7",
                "\"cpu_ms\":null",
                "\"memory_peak_bytes\":null",
                "\"invocation_id\":null",
                "\"language\":null",
                "\"enforced\":{\"a\":true}",
        };

        result.enforced = json_object_new_object();
        cr_assert_eq(json_add_bool(result.enforced, "a", true), 0);
        cr_assert_eq(result_to_json(&result, &object), 0);
        cr_assert_eq(json_to_text(object, false, &text), 0);
        for (size_t i = 0; i < ELEMENTS(parts); i++)
                cr_expect_not_null(strstr(text, parts[i]), "%s in %s", parts[i], text);
}

static void fill_output(Output *output, const char *pattern, size_t size, size_t tail) {
        size_t n = strlen(pattern);
        own(freep) char *data = malloc(size + 1);

        cr_assert_not_null(data);
        for (size_t i = 0; i < size; i++)
                data[i] = pattern[i % n];
        cr_assert_eq(bytes_copy(data, size - tail, &output->head), 0);
        cr_assert_eq(bytes_copy(data + size - tail, tail, &output->tail), 0);
        output->truncated = tail > 0;
        output->produced = size + (tail > 0 ? 1000000 : 0);
}

/* Two streams at their hard limit, of every kind that grows in the document. */
Test(result, never_too_large, .timeout = 300) {
        static const struct {
                const char *out, *err;
                size_t out_size, err_size, tail;
                bool out_cut, err_cut, out_base64, err_base64;
        } rows[] = {
                {"x", "x", 16777216, 1000, 0, false, false, false, false},
                {"x", "x", 16777216, 16777216, 0, true, true, true, true},
                {"x", "\x01", 11000000, 16777216, 0, false, true, false, true},
                {"\x01", "\x01", 16777216, 16777216, 0, true, true, true, true},
                {"\x01", "\x01", 16777216, 16777216, 8388608, true, true, true, true},
                {"\x01", "x", 16777216, 10, 0, false, false, true, false},
                {"\xff", "\xff", 16777216, 16777216, 1, true, true, true, true},
                {"\xff", "", 16777216, 0, 0, false, false, true, false},
                {"\"", "\\", 16777216, 16777216, 0, true, true, true, true},
                {"\xc3\xa4", "\xe2\x82\xac", 16777216, 16777216, 8388607, true, true, true, true},
                {"\x01", "\x01", 4000000, 4000000, 0, false, false, true, true},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(result_clear) Result result = {0};
                own(json_freep) json_object *object = NULL, *again = NULL;
                own(freep) char *text = NULL;
                JsonError error = {0};
                json_object *value;

                fill_output(&result.out, rows[i].out, rows[i].out_size, rows[i].tail);
                if (rows[i].err_size > 0)
                        fill_output(&result.err, rows[i].err, rows[i].err_size, rows[i].tail);
                cr_assert_eq(result_to_json(&result, &object), 0);
                cr_assert_eq(json_to_text(object, false, &text), 0);
                cr_expect(strlen(text) < RESULT_SIZE_MAX, "row %zu: %zu", i, strlen(text));
                cr_expect_eq(utf8_is_valid(text, strlen(text)), true);

                cr_assert(json_object_object_get_ex(object, "stdout_truncated", &value));
                cr_expect_eq(json_object_get_boolean(value), rows[i].out_cut, "row %zu", i);
                cr_assert(json_object_object_get_ex(object, "stderr_truncated", &value));
                cr_expect_eq(json_object_get_boolean(value), rows[i].err_cut, "row %zu", i);
                cr_expect_eq(json_object_object_get_ex(object, "stdout_base64", NULL), rows[i].out_base64,
                        "row %zu", i);
                cr_expect_eq(json_object_object_get_ex(object, "stderr_base64", NULL), rows[i].err_base64,
                        "row %zu", i);
                cr_expect_eq(json_parse(text, strlen(text), &again, &error), 0, "%s", error.message);
        }
}

Test(result, summary_is_short) {
        own(result_clear) Result result = {0};
        own(json_freep) json_object *object = NULL;
        own(freep) char *text = NULL;
        json_object *value;

        fill(&result);
        fill_output(&result.err, "\xff", 1000000, 1000);
        cr_assert_eq(result_summary(&result, &object), 0);
        cr_assert_eq(json_to_text(object, false, &text), 0);
        cr_expect(strlen(text) < 4096, "%zu", strlen(text));
        cr_assert(json_object_object_get_ex(object, "stdout", &value));
        cr_expect_str_eq(json_object_get_string(value), "4950\n");
        cr_assert(json_object_object_get_ex(object, "stderr_bytes", &value));
        cr_expect_eq(json_object_get_int64(value), 2000000);
        cr_expect(!json_object_object_get_ex(object, "stderr_base64", NULL));
}
