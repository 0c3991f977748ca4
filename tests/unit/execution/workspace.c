/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A workspace as hostile code leaves it, made in a temporary directory. */

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "execution/workspace.h"

#define SIZE 1048576

static char path[64];
static int scratch = -1;

static void make_file(int directory, const char *name, off_t size) {
        own(close_fdp) int fd = openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        cr_assert_geq(fd, 0);
        cr_assert_eq(ftruncate(fd, size), 0);
}

static void set_up(void) {
        (void) snprintf(path, sizeof path, "/tmp/unitcell-workspace-XXXXXX");
        cr_assert_not_null(mkdtemp(path));
        scratch = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cr_assert_geq(scratch, 0);
        cr_assert_eq(mkdirat(scratch, "work", 0700), 0);
}

static void tear_down(void) {
        char command[96];

        scratch = close_fd(scratch);
        (void) snprintf(command, sizeof command, "rm -rf %s", path);
        cr_assert_eq(system(command), 0);
}

TestSuite(workspace, .init = set_up, .fini = tear_down);

Test(workspace, file_of_the_limit) {
        own(close_fdp) int work = openat(scratch, "work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        make_file(scratch, "small", SIZE - 1);
        make_file(scratch, "large", SIZE + 1);
        cr_expect_not(workspace_has_file_of(scratch, SIZE));
        make_file(work, "cut", SIZE);
        cr_expect(workspace_has_file_of(scratch, SIZE));
        cr_expect_not(workspace_has_file_of(-1, SIZE));
}

Test(workspace, links_are_not_followed) {
        char outside[80], command[96];
        own(close_fdp) int directory = -1;

        (void) snprintf(outside, sizeof outside, "%s-outside", path);
        cr_assert_eq(mkdir(outside, 0700), 0);
        directory = open(outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        make_file(directory, "theirs", SIZE);
        cr_assert_eq(symlinkat(outside, scratch, "work/way-out"), 0);
        cr_expect_not(workspace_has_file_of(scratch, SIZE));
        cr_expect(workspace_has_file_of(directory, SIZE));
        (void) snprintf(command, sizeof command, "rm -rf %s", outside);
        cr_assert_eq(system(command), 0);
}

Test(workspace, bounded) {
        own(close_fdp) int directory = fcntl(scratch, F_DUPFD_CLOEXEC, 3);

        cr_assert_eq(mkfifoat(scratch, "work/fifo", 0600), 0); /* looked at, never opened */
        for (unsigned i = 0; i < WORKSPACE_DEPTH_MAX + 4; i++) {
                int next;

                cr_assert_eq(mkdirat(directory, "d", 0700), 0);
                next = openat(directory, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                cr_assert_geq(next, 0);
                close_fd(directory);
                directory = next;
        }
        make_file(directory, "too-deep", SIZE);
        cr_expect_not(workspace_has_file_of(scratch, SIZE));
}

Test(workspace, full) {
        cr_expect_not(workspace_is_full(scratch));
        cr_expect_not(workspace_is_full(-1));
}
