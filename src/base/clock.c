/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Time as one number. Both clocks exist on every Linux, so reading them cannot fail. */

#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

static uint64_t clock_usec(clockid_t clock) {
        struct timespec now;
        int r;

        r = clock_gettime(clock, &now);
        assert(r == 0);
        (void) r;
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

uint64_t clock_monotonic_usec(void) {
        return clock_usec(CLOCK_MONOTONIC);
}

uint64_t clock_realtime_usec(void) {
        return clock_usec(CLOCK_REALTIME);
}

void clock_format(uint64_t realtime_usec, char ret[static CLOCK_TEXT_SIZE]) {
        time_t seconds = (time_t) (realtime_usec / 1000000);
        unsigned milliseconds = (unsigned) (realtime_usec / 1000 % 1000);
        struct tm tm = {0};
        char date[24] = "";

        /* 64 bits of microseconds end in the year 586524: gmtime_r() and the buffers have room for that. */
        (void) gmtime_r(&seconds, &tm);
        (void) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
        (void) snprintf(ret, CLOCK_TEXT_SIZE, "%s.%03uZ", date, milliseconds);
}
