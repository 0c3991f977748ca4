/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Descriptors to a service manager that we play ourselves, and back from one. */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "execution/fd-store.h"

#define ID "0123456789abcdef0123456789abcdef"

static char directory[] = "/tmp/unitcell-test-XXXXXX";
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int notify;

static void set_up(void) {
        cr_assert_not_null(mkdtemp(directory));
        (void) snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", directory);
        notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        cr_assert_eq(bind(notify, (struct sockaddr *) &address, sizeof address), 0);
        cr_assert_eq(setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
}

static void tear_down(void) {
        close(notify);
        unlink(address.sun_path);
        rmdir(directory);
}

TestSuite(fd_store, .init = set_up, .fini = tear_down);

/* What was sent, how many descriptors came along, and their inodes. */
static void expect_sent(const char *text, const int *fds, size_t n_fds) {
        char data[256] = "", control[CMSG_SPACE(sizeof(int) * 8) + CMSG_SPACE(64)];
        struct iovec part = {data, sizeof data - 1};
        struct msghdr packet = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        size_t n = 0;

        cr_assert_geq(recvmsg(notify, &packet, MSG_CMSG_CLOEXEC), 0, "nothing came");
        cr_expect_str_eq(data, text);
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&packet); c; c = CMSG_NXTHDR(&packet, c)) {
                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                for (; n < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); n++) {
                        struct stat got, meant;
                        int fd;

                        memcpy(&fd, CMSG_DATA(c) + n * sizeof fd, sizeof fd);
                        cr_assert_eq(fstat(fd, &got), 0);
                        cr_assert_lt(n, n_fds);
                        cr_assert_eq(fstat(fds[n], &meant), 0);
                        cr_expect_eq(got.st_ino, meant.st_ino);
                        close(fd);
                }
        }
        cr_expect_eq(n, n_fds);
}

Test(fd_store, put_and_drop) {
        int pipes[2], more[3];

        cr_assert_eq(pipe2(pipes, O_CLOEXEC), 0);
        more[0] = pipes[0];
        more[1] = pipes[1];
        more[2] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cr_expect_eq(fd_store_put(ID, more, 3), 0);
        /* FDPOLL=0: a hung-up pipe with unread data in it must stay. */
        expect_sent("FDSTORE=1\nFDPOLL=0\nFDNAME=x-" ID, more, 3);
        cr_expect_eq(fd_store_put(ID, more + 2, 1), 0);
        expect_sent("FDSTORE=1\nFDPOLL=0\nFDNAME=x-" ID, more + 2, 1);
        fd_store_drop(ID);
        expect_sent("FDSTOREREMOVE=1\nFDNAME=x-" ID, NULL, 0);

        /* Ours stay open. */
        for (size_t i = 0; i < 3; i++)
                cr_expect_eq(close(more[i]), 0);
}

Test(fd_store, nobody_keeps_them) {
        cr_assert_eq(unsetenv("NOTIFY_SOCKET"), 0);
        cr_expect_eq(fd_store_put(ID, &notify, 1), 0);
        fd_store_drop(ID);

        /* Somebody should, and does not: the execution may not start. */
        cr_assert_eq(setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1), 0);
        cr_expect_lt(fd_store_put(ID, &notify, 1), 0);
}

/* systemd hands them from 3 on, where this process has descriptors of Criterion's: for a child only. */
static void hand_in(const char *names, int n) {
        char text[16];
        int null = open("/dev/null", O_RDONLY);

        for (int fd = 3; fd < 3 + n; fd++)
                if (fd != null)
                        (void) dup2(null, fd);
        (void) snprintf(text, sizeof text, "%d", getpid());
        (void) setenv("LISTEN_PID", text, 1);
        (void) snprintf(text, sizeof text, "%d", n);
        (void) setenv("LISTEN_FDS", text, 1);
        (void) setenv("LISTEN_FDNAMES", names, 1);
}

/* The line of the first thing that is not as it should be, or 0. */
#define MUST(condition)                                                                                     \
        if (!(condition))                                                                                   \
        return __LINE__

static int take_back(void) {
        StoredFds fds;

        hand_in("x-" ID ":x-" ID ":stored:x-0123:x-fedcba9876543210fedcba9876543210", 5);
        MUST(fd_store_take(&fds) == 0);
        MUST(fds.n == 3);
        MUST(streq(fds.items[0].id, ID) && fds.items[0].fd == 3);
        MUST(streq(fds.items[1].id, ID) && fds.items[1].fd == 4);
        MUST(streq(fds.items[2].id, "fedcba9876543210fedcba9876543210") && fds.items[2].fd == 7);
        for (size_t i = 0; i < fds.n; i++)
                MUST(fcntl(fds.items[i].fd, F_GETFD) == FD_CLOEXEC);
        MUST(fcntl(5, F_GETFD) < 0 && fcntl(6, F_GETFD) < 0); /* foreign names are closed */
        MUST(!getenv("LISTEN_FDS"));

        MUST(close(hand_over_fd(fds.items[1].fd)) == 0);
        stored_fds_clear(&fds);
        MUST(fcntl(3, F_GETFD) < 0 && fcntl(7, F_GETFD) < 0);
        stored_fds_clear(&fds);
        return 0;
}

Test(fd_store, taken_back) {
        pid_t child = fork();
        int status;

        if (child == 0)
                _exit(take_back() & 0xff); /* a line below 256 */
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_expect_eq(status, 0, "line %d", WEXITSTATUS(status));
}

Test(fd_store, nothing_left) {
        StoredFds fds;

        cr_assert_eq(fd_store_take(&fds), 0);
        cr_expect_eq(fds.n, 0);
        stored_fds_clear(&fds);
}
