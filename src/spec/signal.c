/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Signals by name. The numbers differ between architectures, so only the macros know them. */

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "base/own.h"
#include "spec/result.h"

#define ROW(name)                                                                                           \
        { name, #name }
#define REAL_TIME_ROW(n) "SIGRTMIN+" #n

/* clang-format off */
static const struct {
        int number;
        const char *name;
} names[] = {
        ROW(SIGHUP), ROW(SIGINT), ROW(SIGQUIT), ROW(SIGILL), ROW(SIGTRAP), ROW(SIGABRT), ROW(SIGBUS),
        ROW(SIGFPE),
        ROW(SIGKILL), ROW(SIGUSR1), ROW(SIGSEGV), ROW(SIGUSR2), ROW(SIGPIPE), ROW(SIGALRM), ROW(SIGTERM),
        ROW(SIGCHLD), ROW(SIGCONT), ROW(SIGSTOP), ROW(SIGTSTP), ROW(SIGTTIN), ROW(SIGTTOU), ROW(SIGURG),
        ROW(SIGXCPU), ROW(SIGXFSZ), ROW(SIGVTALRM), ROW(SIGPROF), ROW(SIGWINCH), ROW(SIGIO), ROW(SIGPWR),
        ROW(SIGSYS),
#ifdef SIGSTKFLT
        ROW(SIGSTKFLT),
#endif
        /* libc keeps these for its threads, but kill(2) sends them */
        {32, "SIG32"}, {33, "SIG33"},
};

static const char *const real_time_names[] = {
        "SIGRTMIN", REAL_TIME_ROW(1), REAL_TIME_ROW(2), REAL_TIME_ROW(3), REAL_TIME_ROW(4), REAL_TIME_ROW(5),
        REAL_TIME_ROW(6), REAL_TIME_ROW(7), REAL_TIME_ROW(8), REAL_TIME_ROW(9), REAL_TIME_ROW(10),
        REAL_TIME_ROW(11), REAL_TIME_ROW(12), REAL_TIME_ROW(13), REAL_TIME_ROW(14), REAL_TIME_ROW(15),
        REAL_TIME_ROW(16), REAL_TIME_ROW(17), REAL_TIME_ROW(18), REAL_TIME_ROW(19), REAL_TIME_ROW(20),
        REAL_TIME_ROW(21), REAL_TIME_ROW(22), REAL_TIME_ROW(23), REAL_TIME_ROW(24), REAL_TIME_ROW(25),
        REAL_TIME_ROW(26), REAL_TIME_ROW(27), REAL_TIME_ROW(28), REAL_TIME_ROW(29), REAL_TIME_ROW(30),
};
/* clang-format on */

const char *signal_name(int number) {
        /* SIGRTMIN is a function call in glibc */
        if (number >= SIGRTMIN && number <= SIGRTMAX &&
                (size_t) (number - SIGRTMIN) < ELEMENTS(real_time_names))
                return real_time_names[number - SIGRTMIN];
        for (size_t i = 0; i < ELEMENTS(names); i++)
                if (names[i].number == number)
                        return names[i].name;
        return NULL;
}

int signal_number(const char *name) {
        for (size_t i = 0; i < ELEMENTS(names); i++)
                if (streq(names[i].name, name))
                        return names[i].number;
        for (size_t i = 0; i < ELEMENTS(real_time_names); i++)
                if (streq(real_time_names[i], name))
                        return SIGRTMIN + (int) i;
        return -EINVAL;
}
