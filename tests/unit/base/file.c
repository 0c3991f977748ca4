/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/own.h"

static char directory[] = "/tmp/unitcell-test-XXXXXX";
static int dir = -1;

static void set_up(void) {
        cr_assert_not_null(mkdtemp(directory));
        dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cr_assert(dir >= 0);
}

static void tear_down(void) {
        static const char *const names[] = {"a", "fifo"};

        for (size_t i = 0; i < ELEMENTS(names); i++)
                (void) unlinkat(dir, names[i], 0);
        (void) rmdir(directory);
        dir = close_fd(dir);
}

TestSuite(file, .init = set_up, .fini = tear_down);

Test(file, replaces_and_reads) {
        own(bytes_clear) Bytes read = {0};
        struct stat st;

        cr_assert_eq(file_replace_at(dir, "a", "old", 3, 0600), 0);
        cr_assert_eq(file_replace_at(dir, "a", "new\0er", 6, 0640), 0);
        cr_assert_eq(file_read_at(dir, "a", 6, &read), 0);
        cr_expect_eq(read.size, 6U);
        cr_expect_eq(memcmp(read.data, "new\0er", 7), 0, "a NUL follows");
        cr_assert_eq(fstatat(dir, "a", &st, 0), 0);
        cr_expect_eq(st.st_mode & 07777, 0640U);
        cr_expect_eq(faccessat(dir, ".a.new", F_OK, 0), -1, "nothing is left aside");
}

Test(file, survives_a_writer_that_died) {
        own(close_fdp) int left = openat(dir, ".a.new", O_CREAT | O_WRONLY | O_CLOEXEC, 0);

        cr_assert(left >= 0);
        cr_expect_eq(file_replace_at(dir, "a", "x", 1, 0600), 0);
}

Test(file, bounds) {
        own(bytes_clear) Bytes read = {0};
        char big[10000];

        memset(big, 'x', sizeof big);
        cr_assert_eq(file_replace_at(dir, "a", big, sizeof big, 0600), 0);
        cr_expect_eq(file_read_at(dir, "a", sizeof big - 1, &read), -EFBIG);
        cr_expect_null(read.data);
        cr_expect_eq(file_read_at(dir, "a", sizeof big, &read), 0);
        cr_expect_eq(read.size, sizeof big);
}

Test(file, refuses_what_is_no_file) {
        own(bytes_clear) Bytes read = {0};

        cr_assert_eq(mkfifoat(dir, "fifo", 0600), 0);
        cr_expect_eq(file_read_at(dir, "fifo", 10, &read), -EINVAL, "a FIFO would hang");
        cr_expect_eq(file_read_at(dir, ".", 10, &read), -EISDIR);
        cr_expect_eq(file_read_at(dir, "missing", 10, &read), -ENOENT);
        cr_expect_eq(file_read("/dev/null", 10, &read), 0);
        cr_expect_eq(read.size, 0U);
}

Test(file, held_descriptor) {
        own(bytes_clear) Bytes first = {0}, second = {0};
        own(close_fdp) int fd = -1;

        cr_assert_eq(file_replace_at(dir, "a", "12345", 5, 0600), 0);
        fd = openat(dir, "a", O_RDONLY | O_CLOEXEC);
        cr_assert_eq(fd_pread_text(fd, 3, &first), 0);
        cr_expect_str_eq(first.data, "123");
        cr_assert_eq(fd_pread_text(fd, 100, &second), 0);
        cr_expect_str_eq(second.data, "12345", "from the start again");
}

Test(file, memfd_is_sealed) {
        own(bytes_clear) Bytes read = {0};
        own(close_fdp) int fd = -1;

        cr_assert_eq(memfd_sealed("test", "ab\0c", 4, &fd), 0);
        cr_assert_eq(fd_read_all(fd, 4, &read), 0, "position 0");
        cr_expect_eq(read.size, 4U);
        cr_expect_eq(fcntl(fd, F_GET_SEALS), F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
        cr_expect_eq(write(fd, "x", 1), -1);
        cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

Test(file, nonblock) {
        int ends[2];

        cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
        cr_expect_eq(fd_set_nonblock(ends[0], true), 0);
        cr_expect(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
        cr_expect_eq(fd_set_nonblock(ends[0], false), 0);
        cr_expect(!(fcntl(ends[0], F_GETFL) & O_NONBLOCK));
        cr_expect_eq(fd_set_nonblock(-1, true), -EBADF);
        (void) close_fd(ends[0]);
        (void) close_fd(ends[1]);
}

Test(file, mkdir) {
        own(freep) char *path = NULL, *plain = NULL;

        cr_assert(asprintf(&path, "%s/d", directory) > 0 && asprintf(&plain, "%s/a", directory) > 0);
        cr_expect_eq(mkdir_if_missing(path, 0700), 0);
        cr_expect_eq(mkdir_if_missing(path, 0700), 0);
        cr_assert_eq(file_replace_at(dir, "a", "", 0, 0600), 0);
        cr_expect_eq(mkdir_if_missing(plain, 0700), -ENOTDIR);
        (void) rmdir(path);
}
