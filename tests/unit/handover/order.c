/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Orders there and back, cut at every byte, changed at every byte, and descriptors that are no orders. */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/own.h"
#include "handover/order.h"

#define LIST(...) ((char *[]){__VA_ARGS__, NULL})
#define S(text) ((char *) (text))

static OrderFile files[] = {
        {.path = (char *) "work/data/in.csv", .content = {(char *) "a\0b", 3}, .mode = 0644},
        {.path = (char *) "code/main.py", .content = {NULL, 0}, .mode = 0600},
};
static OrderRlimit rlimits[] = {
        {.resource = RLIMIT_FSIZE, .soft = 1 << 20, .hard = UINT64_MAX},
        {.resource = RLIMIT_NOFILE, .soft = 1024, .hard = 4096},
};

static char *compile[] = {S("/usr/bin/cc"), S("-o"), S("program"), NULL};
static char *argv[] = {S("/usr/bin/python3"), S(""), S("größe"), NULL};
static char *env[] = {S("PATH=/usr/bin"), S("A="), NULL};
static char *make_directories[] = {S("/tmp/output"), NULL};

static OrderMount mounts[] = {{(char *) "/data", 7, UINT64_C(1) << 40}};

static Order whole(void) {
        return (Order){
                .compile = compile,
                .argv = argv,
                .env = env,
                .directory = S("/workspace"),
                .make_directories = make_directories,
                .files = files,
                .n_files = ELEMENTS(files),
                .stdin_data = {S("in\0put"), 6},
                .rlimits = rlimits,
                .n_rlimits = ELEMENTS(rlimits),
                .mounts = mounts,
                .n_mounts = ELEMENTS(mounts),
                .filter = {S("filter\0!"), 8},
                .filter_reports = true,
                .read_only = true,
                .deadline_ms = 12345,
        };
}

static void expect_list(char *const *found, char *const *expected) {
        cr_expect_eq(strv_length(found), strv_length(expected));
        for (size_t i = 0; expected && expected[i] && found && found[i]; i++)
                cr_expect_str_eq(found[i], expected[i]);
}

/* order_write(), as bytes. */
static Bytes written(const Order *order) {
        Bytes bytes = {};
        int fd;

        cr_assert_eq(order_write(order, &fd), 0);
        cr_assert_eq(fd_read_all(fd, 1 << 26, &bytes), 0);
        (void) close(fd);
        return bytes;
}

static int read_bytes(const void *data, size_t size, Order *ret) {
        int fd, r;

        cr_assert_eq(memfd_sealed("test", data, size, &fd), 0);
        r = order_read(fd, ret);
        (void) close(fd);
        return r;
}

Test(order, round_trip) {
        Order order = whole(), read = {};
        int fd;

        cr_assert_eq(order_write(&order, &fd), 0);
        cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
        cr_assert_eq(order_read(fd, &read), 0);
        (void) close(fd);

        expect_list(read.compile, order.compile);
        expect_list(read.argv, order.argv);
        expect_list(read.env, order.env);
        expect_list(read.make_directories, order.make_directories);
        cr_expect_str_eq(read.directory, "/workspace");
        cr_assert_eq(read.n_files, 2);
        cr_expect_str_eq(read.files[0].path, "work/data/in.csv");
        cr_expect_eq(read.files[0].content.size, 3);
        cr_expect_eq(memcmp(read.files[0].content.data, "a\0b", 3), 0);
        cr_expect_eq(read.files[0].mode, 0644);
        cr_expect_eq(read.files[1].content.size, 0);
        cr_expect_eq(read.stdin_data.size, 6);
        cr_expect_eq(memcmp(read.stdin_data.data, "in\0put", 6), 0);
        cr_assert_eq(read.n_rlimits, 2);
        cr_expect_eq(read.rlimits[0].hard, UINT64_MAX);
        cr_expect_eq(read.rlimits[1].soft, 1024);
        cr_expect_eq(read.deadline_ms, 12345);
        cr_assert_eq(read.n_mounts, 1);
        cr_expect_str_eq(read.mounts[0].target, "/data");
        cr_expect_eq(read.mounts[0].device, 7);
        cr_expect_eq(read.mounts[0].inode, UINT64_C(1) << 40);
        cr_expect(read.filter_reports && read.read_only);
        cr_assert_eq(read.filter.size, 8);

        /* the command line outlives the bulk */
        order_release_bulk(&read);
        cr_expect_eq(read.n_files, 0);
        cr_expect_eq(memcmp(read.filter.data, "filter\0!", 8), 0, "the filter outlives the bulk too");
        cr_expect_eq(read.stdin_data.size, 0);
        cr_expect_null(read.mapping);
        expect_list(read.argv, order.argv);
        order_clear(&read);
        cr_expect_null(read.argv);
        order_clear(&read);
}

Test(order, least) {
        Order order = {.argv = LIST(S("/bin/true"))}, read = {};
        int fd;

        cr_assert_eq(order_write(&order, &fd), 0);
        cr_assert_eq(order_read(fd, &read), 0);
        (void) close(fd);
        cr_expect_null(read.compile);
        cr_expect_null(read.env);
        cr_expect_null(read.files);
        cr_expect_str_eq(read.directory, "/");
        order_clear(&read);

        cr_expect_eq(order_write(&(Order){}, &fd), -EINVAL);
}

Test(order, large) {
        size_t size = 30U << 20;
        char *data = malloc(size);
        OrderFile file = {.path = S("work/big"), .content = {data, size}, .mode = 0644};
        Order order = {.argv = LIST(S("/bin/true")), .files = &file, .n_files = 1}, read = {};
        int fd;

        cr_assert_not_null(data);
        memset(data, 'x', size);
        cr_assert_eq(order_write(&order, &fd), 0);
        cr_assert_eq(order_read(fd, &read), 0);
        cr_expect_eq(read.files[0].content.size, size);
        cr_expect_eq(memcmp(read.files[0].content.data, data, size), 0);
        order_clear(&read);
        (void) close(fd);

        file.content.size = size;
        order.stdin_data = (Bytes){data, size};
        order.compile = LIST(S("/bin/cc"));
        order.files = (OrderFile[]){file, file};
        order.n_files = 2;
        cr_expect_eq(order_write(&order, &fd), -E2BIG);
        free(data);
}

/* No prefix of an order is one, and nothing may follow it. */
Test(order, cut) {
        Order order = whole(), read = {.deadline_ms = 77};
        Bytes bytes = written(&order);
        char *longer = malloc(bytes.size + 1);

        for (size_t size = 0; size < bytes.size; size++)
                cr_expect_eq(read_bytes(bytes.data, size, &read), -EBADMSG, "%zu bytes", size);
        cr_expect_eq(read.deadline_ms, 77, "ret is written on success only");

        cr_assert_not_null(longer);
        memcpy(longer, bytes.data, bytes.size);
        longer[bytes.size] = 0;
        cr_expect_eq(read_bytes(longer, bytes.size + 1, &read), -EBADMSG);
        free(longer);
        bytes_clear(&bytes);
}

/* Counts and lengths of every size at every place. */
Test(order, wrong_numbers) {
        static const uint64_t numbers[] = {
                0,
                1,
                0x7fffffff,
                0x80000000,
                0xffffffff,
                0x100000000,
                INT64_MAX,
                UINT64_MAX,
                UINT64_MAX - 7,
        };
        Order order = whole();
        Bytes bytes = written(&order);

        for (size_t at = 0; at + 8 <= bytes.size; at++)
                for (size_t i = 0; i < ELEMENTS(numbers); i++)
                        for (size_t width = 4; width <= 8; width += 4) {
                                Order read = {};
                                char saved[8];
                                int r;

                                memcpy(saved, bytes.data + at, 8);
                                memcpy(bytes.data + at, &numbers[i], width);
                                r = read_bytes(bytes.data, bytes.size, &read);
                                cr_assert(r == 0 || r == -EBADMSG);
                                if (r == 0)
                                        order_clear(&read);
                                memcpy(bytes.data + at, saved, 8);
                        }
        bytes_clear(&bytes);
}

Test(order, wrong_head) {
        Order order = whole(), read = {};
        Bytes bytes = written(&order);

        bytes.data[0] ^= 1;
        cr_expect_eq(read_bytes(bytes.data, bytes.size, &read), -EBADMSG, "magic");
        bytes.data[0] ^= 1;
        bytes.data[4]++;
        cr_expect_eq(read_bytes(bytes.data, bytes.size, &read), -EBADMSG, "version");
        bytes_clear(&bytes);
}

Test(order, wrong_values) {
        Order order = whole(), read = {};
        Bytes bytes;
        char *at;

        bytes = written(&order);
        at = memmem(bytes.data, bytes.size, "PATH=", 5);
        cr_assert_not_null(at);
        at[2] = 0;
        cr_expect_eq(read_bytes(bytes.data, bytes.size, &read), -EBADMSG, "NUL in a string");
        bytes_clear(&bytes);

        order.files = (OrderFile[]){{.path = S("work/a"), .mode = 04755}};
        order.n_files = 1;
        bytes = written(&order);
        cr_expect_eq(read_bytes(bytes.data, bytes.size, &read), -EBADMSG, "a mode beyond 0777");
        bytes_clear(&bytes);

        order.files[0] = (OrderFile){.path = S(""), .mode = 0644};
        bytes = written(&order);
        cr_expect_eq(read_bytes(bytes.data, bytes.size, &read), -EBADMSG, "an empty path");
        bytes_clear(&bytes);
}

Test(order, wrong_descriptors) {
        Order order = whole(), read = {};
        Bytes bytes = written(&order);
        int pipes[2], fd;

        fd = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        cr_assert_geq(fd, 0);
        cr_assert_eq(fd_write_all(fd, bytes.data, bytes.size), 0);
        cr_expect_eq(order_read(fd, &read), -EBADMSG, "not sealed");
        cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
        cr_expect_eq(order_read(fd, &read), -EBADMSG, "not sealed for good");
        cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL), 0);
        cr_expect_eq(order_read(fd, &read), 0, "sealed");
        order_clear(&read);
        (void) close(fd);

        fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0) {
                cr_assert_eq(fd_write_all(fd, bytes.data, bytes.size), 0);
                cr_expect_eq(order_read(fd, &read), -EBADMSG, "a file");
                (void) close(fd);
        }

        cr_assert_eq(pipe2(pipes, O_CLOEXEC), 0);
        cr_expect_eq(order_read(pipes[0], &read), -EBADMSG, "a pipe");
        (void) close(pipes[0]);
        (void) close(pipes[1]);

        cr_expect_eq(order_read(-1, &read), -EBADMSG, "none");
        fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
        cr_expect_eq(order_read(fd, &read), -EBADMSG, "a device");
        (void) close(fd);
        bytes_clear(&bytes);
}

Test(order, noise) {
        Order order = whole();
        Bytes bytes = written(&order);
        char *noisy = malloc(bytes.size);

        cr_assert_not_null(noisy);
        srandom(1);
        for (unsigned i = 0; i < 20000; i++) {
                Order read = {};
                int r;

                memcpy(noisy, bytes.data, bytes.size);
                for (long flips = 1 + random() % 8; flips > 0; flips--)
                        noisy[(size_t) random() % bytes.size] = (char) random();
                r = read_bytes(noisy, bytes.size, &read);
                cr_assert(r == 0 || r == -EBADMSG, "%d", r);
                if (r == 0)
                        order_clear(&read);
        }
        free(noisy);
        bytes_clear(&bytes);
}
