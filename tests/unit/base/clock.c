/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>

#include "base/clock.h"
#include "base/own.h"

Test(clock, formats) {
        static const struct {
                uint64_t usec;
                const char *text;
        } rows[] = {
                {0, "1970-01-01T00:00:00.000Z"},
                {1000, "1970-01-01T00:00:00.001Z"},
                {1795973452123456, "2026-11-29T17:30:52.123Z"},
                {951782400000000, "2000-02-29T00:00:00.000Z"},
        };
        char text[CLOCK_TEXT_SIZE];

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                clock_format(rows[i].usec, text);
                cr_expect_str_eq(text, rows[i].text);
        }
        clock_format(UINT64_MAX, text);
        cr_expect(strlen(text) < CLOCK_TEXT_SIZE && text[strlen(text) - 1] == 'Z', "got %s", text);
}

Test(clock, goes_forward) {
        uint64_t before = clock_monotonic_usec();

        cr_expect(clock_monotonic_usec() >= before);
        cr_expect(clock_realtime_usec() > 1600000000000000);
}
