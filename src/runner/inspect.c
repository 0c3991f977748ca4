/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The look from inside, run as the code of a canary execution. It only prints; what the facts ought to be is
 * known to the daemon (execution/canary-facts.c). Every probe ends by itself and does nothing where the wall
 * is missing: a call is given arguments that the kernel refuses with another errno than the wall's, so
 * "open" and "closed" can be told apart without ever doing what is asked. It can be run by hand as root on
 * any machine.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runner/inspect.h"

#define VALUE_MAX 1024

void fact(const char *name, const char *format, ...) {
        char value[VALUE_MAX];
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(value, sizeof value, format, arguments);
        va_end(arguments);

        for (char *c = value; *c; c++)
                if ((unsigned char) *c < ' ' || *c == 127)
                        *c = '?';
        printf("%s %s\n", name, value);
}

const char *errno_word(int error, char buffer[static 16]) {
        const char *name = error == 0 ? "ok" : strerrorname_np(error);

        if (name)
                return name;
        (void) snprintf(buffer, 16, "E%d", error);
        return buffer;
}

void fact_errno(const char *kind, const char *name, int error) {
        char whole[128], buffer[16];

        (void) snprintf(whole, sizeof whole, "%s:%s", kind, name);
        fact(whole, "%s", errno_word(error, buffer));
}

int inspect(void) {
        inspect_process();
        inspect_places();
        inspect_calls();

        return fflush(stdout) == 0 ? 0 : 1;
}
