/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Mount sources in a temporary directory, links among them. */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "execution/mounts.h"

static char path[64];

static void set_up(void) {
        char name[96];
        int directory;

        (void) snprintf(path, sizeof path, "/tmp/unitcell-mounts-XXXXXX");
        cr_assert_not_null(mkdtemp(path));
        directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cr_assert_eq(mkdirat(directory, "real", 0755), 0);
        cr_assert_eq(mkdirat(directory, "real/inner", 0755), 0);
        cr_assert_eq(symlinkat("real", directory, "link"), 0);
        cr_assert_eq(symlinkat("/etc", directory, "out"), 0);
        cr_assert_eq(mkfifoat(directory, "fifo", 0600), 0);
        (void) snprintf(name, sizeof name, "%s/file", path);
        (void) close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        (void) close(directory);
}

static void tear_down(void) {
        char command[96];

        (void) snprintf(command, sizeof command, "rm -rf %s", path);
        cr_assert_eq(system(command), 0);
}

TestSuite(mounts, .init = set_up, .fini = tear_down);

Test(mounts, look) {
        static const struct {
                const char *name, *problem; /* NULL: taken */
        } rows[] = {
                {"real", NULL},
                {"real/inner", NULL},
                {"file", NULL},
                {"link", "symbolic link"},
                {"link/inner", "symbolic link"},
                {"out", "symbolic link"},
                {"out/passwd", "symbolic link"},
                {"fifo", "neither a directory nor a regular file"},
                {"gone", "No such file"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                char source[128];
                char *list[] = {source, (char *) "/data", NULL};
                const Plan plan = {.mounts = list};
                own(mounts_clear) Mounts mounts = {};
                own(freep) char *problem = NULL;
                struct stat info;
                int r;

                (void) snprintf(source, sizeof source, "%s/%s", path, rows[i].name);
                r = mounts_look(&plan, &mounts, &problem);
                if (rows[i].problem) {
                        cr_expect_eq(r, -EINVAL, "%s", rows[i].name);
                        cr_assert_not_null(problem);
                        cr_expect(strstr(problem, rows[i].problem) && strstr(problem, "mounts[0].source"), "%s", problem);
                        continue;
                }
                cr_assert_eq(r, 0, "%s", rows[i].name);
                cr_assert_eq(stat(source, &info), 0);
                cr_expect_eq(mounts.n, 1U);
                cr_expect_eq(mounts.items[0].inode, info.st_ino);
                cr_expect_eq(mounts.items[0].device, info.st_dev);
                cr_expect_str_eq(mounts.items[0].target, "/data");
        }
}
