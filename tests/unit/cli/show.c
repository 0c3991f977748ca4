/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/show.h"
#include "spec/result.h"

static Shown show(const char *document) {
        Shown shown = {};

        cr_assert_eq(show_result(document, &shown), 0, "%s", document);
        return shown;
}

static char *finished(const char *status, const char *more) {
        char *text;

        cr_assert_geq(
                asprintf(&text, "{\"status\":\"%s\",\"message\":\"why.\",\"stdout\":\"\",\"stderr\":\"\"%s}",
                        status, more),
                0);
        return text;
}

Test(show, exit_statuses) {
        static const struct {
                const char *status, *more;
                int exit_status;
        } rows[] = {
                {"success", ",\"exit_code\":0", 0},
                {"failed", ",\"exit_code\":3", 3},
                {"failed", ",\"exit_code\":255", 255},
                {"failed", "", 1}, /* never "it went well" by mistake */
                {"signaled", ",\"signal\":\"SIGSEGV\",\"exit_code\":null", 128 + SIGSEGV},
                {"signaled", ",\"signal\":\"SIGKILL\"", 137},
                {"signaled", ",\"signal\":\"SIGNEW\"", 125},
                {"signaled", "", 125},
                {"timeout", ",\"exit_code\":null", 124},
                {"cpu_limit", "", 124},
                {"memory_limit", ",\"exit_code\":1", 123},
                {"output_limit", "", 122},
                {"disk_limit", ",\"exit_code\":1", 122},
                {"tasks_limit", "", 122},
                {"compile_error", ",\"exit_code\":1", 121},
                {"interrupted", "", 120},
                {"canceled", "", 130},
                {"start_failed", "", 125},
                {"internal_error", "", 125},
                {"of_a_newer_daemon", "", 125},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(freep) char *document = finished(rows[i].status, rows[i].more);
                own(shown_clear) Shown shown = show(document);

                cr_expect_eq(shown.exit_status, rows[i].exit_status, "%s: %d", document, shown.exit_status);
                cr_expect_eq(strv_length(shown.remarks), streq(rows[i].status, "success") ? 0 : 1, "%s",
                        document);
        }
}

Test(show, each_status_of_the_table_is_known) {
        for (Status status = 0; status < STATUS_N; status++) {
                own(freep) char *document =
                        finished(status_name(status), ",\"exit_code\":7,\"signal\":\"SIGHUP\"");
                own(shown_clear) Shown shown = show(document);
                int expected = status_table[status].exit_status;

                if (expected < 0)
                        expected = status == STATUS_SIGNALED ? 129 : 7;
                cr_expect_eq(shown.exit_status, expected, "%s", document);
        }
}

Test(show, one_line_says_how_it_ended) {
        own(freep) char *document = finished("timeout", "");
        own(shown_clear) Shown shown = show(document);

        cr_assert_eq(strv_length(shown.remarks), 1);
        cr_expect_str_eq(shown.remarks[0], "timeout: why.");
}

Test(show, text_is_the_bytes) {
        own(shown_clear) Shown shown = show("{\"status\":\"success\",\"stdout\":\"a\\n\\u0000\\n\xc3\xa4\","
                                            "\"stderr\":\"no newline\",\"stdout_truncated\":false}");

        cr_assert_eq(shown.out.size, 6);
        cr_expect_eq(memcmp(shown.out.data, "a\n\0\n\xc3\xa4", 6), 0);
        cr_assert_eq(shown.err.size, 10);
        cr_expect_str_eq(shown.err.data, "no newline");
        cr_expect_eq(strv_length(shown.remarks), 0);
}

Test(show, base64_wins_over_text) {
        own(shown_clear) Shown shown = show("{\"status\":\"success\",\"stdout\":\"\xef\xbf\xbd\",\"stdout_"
                                            "base64\":\"/wD/\",\"stderr\":\"\"}");

        cr_assert_eq(shown.out.size, 3);
        cr_expect_eq(memcmp(shown.out.data, "\xff\0\xff", 3), 0);
}

Test(show, what_was_cut_is_said) {
        own(shown_clear) Shown shown =
                show("{\"status\":\"success\",\"stdout\":\"a\\n[unitcell: 96 bytes left out]\\nb\","
                     "\"stdout_base64\":\"YWJjZA==\",\"stdout_bytes\":100,\"stdout_truncated\":true,"
                     "\"stderr\":\"\"}");

        cr_assert_eq(shown.out.size, 4, "head and tail, without the mark");
        cr_expect_str_eq(shown.out.data, "abcd");
        cr_assert_eq(strv_length(shown.remarks), 1);
        cr_expect_str_eq(shown.remarks[0],
                "stdout was cut: 100 bytes were printed, 4 of them are passed on (limit stdout_bytes)");
        cr_expect_eq(shown.exit_status, 0);
}

/* The bytes of which a former daemon took the count with it: all that are known are there. */
Test(show, what_may_be_missing_is_said) {
        own(shown_clear) Shown shown =
                show("{\"status\":\"success\",\"stdout\":\"a\",\"stdout_base64\":\"YQ==\","
                     "\"stdout_bytes\":1,\"stdout_truncated\":true,\"stderr\":\"\"}");

        cr_assert_eq(strv_length(shown.remarks), 1);
        cr_expect_str_eq(
                shown.remarks[0], "stdout may be incomplete: the service was restarted while this ran");
}

/* What the daemon writes is what is read here. */
Test(show, written_and_read) {
        static const struct {
                const char *data;
                size_t size;
        } rows[] = {{"", 0}, {"4950\n", 5}, {"a\n\0b", 4}, {"\xff\xfe\n", 3}, {"\xed\xa0\xbd", 3},
                {"\033\"\\/\b", 5}};

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                Result result = {.status = STATUS_SUCCESS,
                        .out.produced = rows[i].size,
                        .out.head = {.data = (char *) rows[i].data, .size = rows[i].size}};
                own(json_freep) json_object *object = NULL;
                own(freep) char *document = NULL;
                own(shown_clear) Shown shown = {};

                cr_assert_eq(result_to_json(&result, &object), 0);
                cr_assert_eq(json_to_text(object, /* pretty= */ false, &document), 0);
                shown = show(document);
                cr_assert_eq(shown.out.size, rows[i].size, "row %zu", i);
                cr_expect_eq(memcmp(shown.out.data, rows[i].data, rows[i].size), 0, "row %zu", i);
        }
}

Test(show, no_result) {
        static const char *const bad[] = {
                "",
                "[]",
                "{}",
                "{\"status\":1}",
                "{\"status\":\"success\"}",
                "{\"status\":\"success\",\"stdout\":\"\",\"stderr\":\"\",\"stdout_base64\":\"=\"}",
                "{\"status\":\"success\",\"stdout\":\"\",\"stderr\":7}",
        };

        for (size_t i = 0; i < ELEMENTS(bad); i++) {
                Shown shown;

                cr_expect_eq(show_result(bad[i], &shown), -EINVAL, "%s", bad[i]);
        }
}
