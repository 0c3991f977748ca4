/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>

#include "base/own.h"
#include "spec/result.h"

Test(signal, names) {
        static const struct {
                int number;
                const char *name;
        } rows[] = {{SIGSEGV, "SIGSEGV"}, {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGXFSZ, "SIGXFSZ"},
                {SIGSYS, "SIGSYS"}, {SIGIO, "SIGIO"}, {33, "SIG33"}};

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                cr_assert_not_null(signal_name(rows[i].number));
                cr_expect_str_eq(signal_name(rows[i].number), rows[i].name);
                cr_expect_eq(signal_number(rows[i].name), rows[i].number);
        }
        cr_expect_str_eq(signal_name(SIGRTMIN), "SIGRTMIN");
        cr_expect_str_eq(signal_name(SIGRTMIN + 3), "SIGRTMIN+3");
        cr_expect_eq(signal_number("SIGRTMIN+3"), SIGRTMIN + 3);
}

Test(signal, every_number_there_and_back) {
        for (int number = 1; number <= SIGRTMAX; number++) {
                cr_assert_not_null(signal_name(number), "%d", number);
                cr_expect_eq(signal_number(signal_name(number)), number);
        }
}

Test(signal, no_signals) {
        static const char *const rows[] = {
                "", "SEGV", "sigsegv", "SIG", "SIGRTMIN+", "SIGRTMIN+31", "SIGRTMIN+03", "11"};

        cr_expect_null(signal_name(0));
        cr_expect_null(signal_name(-1));
        cr_expect_null(signal_name(SIGRTMAX + 1));
        for (size_t i = 0; i < ELEMENTS(rows); i++)
                cr_expect_eq(signal_number(rows[i]), -EINVAL, "%s", rows[i]);
}
