/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#include "base/own.h"
#include "runner/usage.h"

static int memfd_with(const char *text) {
        int fd = memfd_create("test", MFD_CLOEXEC);

        cr_assert_geq(fd, 0);
        cr_assert_eq(write(fd, text, strlen(text)), (ssize_t) strlen(text));
        return fd;
}

Test(usage, reads) {
        static const struct {
                const char *text[CGROUP_FILE_N]; /* NULL: no descriptor */
                uint64_t oom_kills, memory_peak, pids_refused, cpu_usec;
        } rows[] = {
                {{"low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 0\n", "9437184\n", "max 7\n",
                         "usage_usec 31415\nuser_usec 1\nsystem_usec 2\n"},
                        4, 9437184, 7, 31415},
                {{NULL, NULL, NULL, NULL}, HANDOVER_UNKNOWN, HANDOVER_UNKNOWN, HANDOVER_UNKNOWN,
                        HANDOVER_UNKNOWN},
                {{"", "", "", ""}, HANDOVER_UNKNOWN, HANDOVER_UNKNOWN, HANDOVER_UNKNOWN, HANDOVER_UNKNOWN},
                {{"oom_kill x\n", "max\n", "max max\n", "usage_usec -1\n"}, HANDOVER_UNKNOWN,
                        HANDOVER_UNKNOWN, HANDOVER_UNKNOWN, HANDOVER_UNKNOWN},
                {{"oom_kills 9\noom_kill 1", "1", "maximum 3\nmax 0", "nusage_usec 3\nusage_usec 5"}, 1, 1,
                        0, 5},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                int cgroup[CGROUP_FILE_N];
                Ended ended = {};

                for (size_t j = 0; j < CGROUP_FILE_N; j++)
                        cgroup[j] = rows[i].text[j] ? memfd_with(rows[i].text[j]) : -1;
                for (int again = 0; again < 2; again++) { /* each time from the start of the file */
                        usage_read(cgroup, &ended);
                        cr_expect_eq(ended.oom_kills, rows[i].oom_kills, "row %zu", i);
                        cr_expect_eq(ended.memory_peak, rows[i].memory_peak, "row %zu", i);
                        cr_expect_eq(ended.pids_refused, rows[i].pids_refused, "row %zu", i);
                        cr_expect_eq(ended.cpu_usec, rows[i].cpu_usec, "row %zu", i);
                }
                for (size_t j = 0; j < CGROUP_FILE_N; j++)
                        (void) close_fd(cgroup[j]);
        }
}
