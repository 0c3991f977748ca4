/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Round trips of every message, and what a hostile peer could send instead. */

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "handover/message.h"

/* As on the wire: written down again here, since the format is what is tested. */
typedef struct Wire {
        uint32_t magic, version, type, body_size, text_size, n_fds;
        char rest[4096];
} Wire;

#define HEADER_SIZE 24

static void pair(int ret[static 2]) {
        cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret), 0);
}

static void unpair(int sockets[static 2]) {
        (void) close_fd(sockets[0]);
        (void) close_fd(sockets[1]);
}

static size_t open_fds(void) {
        DIR *dir = opendir("/proc/self/fd");
        size_t n = 0;

        cr_assert_not_null(dir);
        while (readdir(dir))
                n++;
        (void) closedir(dir);
        return n;
}

static void send_raw(int socket, const void *data, size_t size, const int *fds, size_t n_fds) {
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int) * 32)];
        } control = {};
        struct iovec part = {.iov_base = (void *) data, .iov_len = size};
        struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};

        cr_assert_leq(n_fds, 32);
        if (n_fds > 0) {
                struct cmsghdr *rights;

                packet.msg_control = &control;
                packet.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
                rights = CMSG_FIRSTHDR(&packet);
                *rights = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                        .cmsg_type = SCM_RIGHTS,
                        .cmsg_len = CMSG_LEN(sizeof(int) * n_fds)};
                memcpy(CMSG_DATA(rights), fds, sizeof(int) * n_fds);
        }
        cr_assert_eq(sendmsg(socket, &packet, MSG_NOSIGNAL), (ssize_t) size);
}

Test(message, round_trips) {
        Prepare prepare = {.cgroup_files = 0xb, .host_namespace = {1, 2, 3, UINT64_MAX}};
        Failed failed = {.stage = FAILED_FILES, .errno_number = ENOSPC};
        Ended ended = {
                .wait_status = 3 << 8, .deadline = 1, .monotonic_usec = 5, .oom_kills = HANDOVER_UNKNOWN};
        Started started = {.monotonic_usec = 99};
        const struct {
                MessageType type;
                const void *body;
                size_t size;
                const char *text;
                size_t n_fds;
        } rows[] = {
                {MESSAGE_HELLO},
                {MESSAGE_PREPARE, &prepare, sizeof prepare, NULL, 3},
                {MESSAGE_PREPARED, NULL, 0, NULL, 1},
                {MESSAGE_HAND_OVER, NULL, 0, NULL, 1},
                {MESSAGE_COMPILING, &started, sizeof started},
                {MESSAGE_COMPILED, &ended, sizeof ended},
                {MESSAGE_STARTED, &started, sizeof started},
                {MESSAGE_FAILED, &failed, sizeof failed, "cannot write größe.csv: No space left on device"},
                {MESSAGE_FAILED, &failed, sizeof failed, ""},
                {MESSAGE_ENDED, &ended, sizeof ended},
                {MESSAGE_DONE},
        };
        int sockets[2], fds[] = {0, 1, 2};
        size_t before;

        pair(sockets);
        before = open_fds();
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                Message message = {};

                cr_assert_eq(message_send(sockets[0], rows[i].type, rows[i].body, rows[i].size, rows[i].text,
                                     fds, rows[i].n_fds),
                        0);
                cr_assert_eq(message_receive(sockets[1], &message), 1, "row %zu", i);
                cr_expect_eq(message.type, rows[i].type);
                if (rows[i].size > 0)
                        cr_expect_eq(memcmp(&message.prepare, rows[i].body, rows[i].size), 0);
                cr_expect_str_eq(message.text, rows[i].text ?: "");
                cr_expect_eq(message.n_fds, rows[i].n_fds);
                for (size_t j = 0; j < message.n_fds; j++)
                        cr_expect_eq(fcntl(message.fds[j], F_GETFD), FD_CLOEXEC);
                message_clear(&message);
                cr_expect_eq(open_fds(), before, "row %zu", i);
        }
        cr_expect_eq(message_receive(sockets[1], &(Message){}), 0, "nothing is left");
        unpair(sockets);
}

Test(message, sending_refuses) {
        Prepare prepare = {.cgroup_files = 0x3};
        int sockets[2], fds[9] = {};
        Ended ended = {};

        pair(sockets);
        cr_expect_eq(message_send(sockets[0], MESSAGE_HELLO, &ended, sizeof ended, NULL, NULL, 0), -EINVAL);
        cr_expect_eq(message_send(sockets[0], MESSAGE_ENDED, &ended, 8, NULL, NULL, 0), -EINVAL);
        cr_expect_eq(message_send(sockets[0], MESSAGE_DONE, NULL, 0, "text", NULL, 0), -EINVAL);
        cr_expect_eq(message_send(sockets[0], MESSAGE_PREPARED, NULL, 0, NULL, NULL, 0), -EINVAL);
        cr_expect_eq(message_send(sockets[0], MESSAGE_PREPARED, NULL, 0, NULL, fds, 9), -EINVAL);
        cr_expect_eq(
                message_send(sockets[0], MESSAGE_PREPARE, &prepare, sizeof prepare, NULL, fds, 1), -EINVAL);
        cr_expect_eq(message_send(sockets[0], (MessageType) 0, NULL, 0, NULL, NULL, 0), -EINVAL);
        cr_expect_eq(message_send(sockets[0], (MessageType) 99, NULL, 0, NULL, NULL, 0), -EINVAL);
        cr_expect_eq(message_receive(sockets[1], &(Message){}), 0);
        sockets[1] = close_fd(sockets[1]);
        cr_expect_eq(message_send(sockets[0], MESSAGE_DONE, NULL, 0, NULL, NULL, 0), -EPIPE);
        cr_expect_eq(message_receive(sockets[0], &(Message){}), -ENODATA);
        unpair(sockets);
}

/* A text is cut between characters, and what is not UTF-8 does not go out. */
Test(message, text_fits) {
        char longer[HANDOVER_TEXT_MAX + 10];
        Failed failed = {.stage = FAILED_FILES};
        Message message = {};
        int sockets[2];

        pair(sockets);
        memset(longer, 'x', sizeof longer);
        memcpy(longer + HANDOVER_TEXT_MAX - 1, "ü", 2);
        longer[sizeof longer - 1] = 0;
        cr_assert_eq(message_send(sockets[0], MESSAGE_FAILED, &failed, sizeof failed, longer, NULL, 0), 0);
        cr_assert_eq(message_receive(sockets[1], &message), 1);
        cr_expect_eq(strlen(message.text), HANDOVER_TEXT_MAX - 1);

        cr_assert_eq(
                message_send(sockets[0], MESSAGE_FAILED, &failed, sizeof failed, "a\xff\xc3", NULL, 0), 0);
        cr_assert_eq(message_receive(sockets[1], &message), 1);
        cr_expect_str_eq(message.text, "a??");
        unpair(sockets);
}

Test(message, refused_packets) {
        const uint32_t ended = sizeof(Ended), prepare = sizeof(Prepare), failed = sizeof(Failed);
        const struct {
                const char *what;
                Wire wire;
                size_t size, n_fds;
        } rows[] = {
                {"one byte", {}, 1},
                {"a cut header", {HANDOVER_MAGIC, 1, MESSAGE_HELLO}, HEADER_SIZE - 1},
                {"another magic", {1, 1, MESSAGE_HELLO}, HEADER_SIZE},
                {"another version", {HANDOVER_MAGIC, HANDOVER_VERSION + 1, MESSAGE_HELLO}, HEADER_SIZE},
                {"type 0", {HANDOVER_MAGIC, 1, 0}, HEADER_SIZE},
                {"an unknown type", {HANDOVER_MAGIC, 1, 11}, HEADER_SIZE},
                {"a huge type", {HANDOVER_MAGIC, 1, UINT32_MAX}, HEADER_SIZE},
                {"a cut body", {HANDOVER_MAGIC, 1, MESSAGE_ENDED, ended}, HEADER_SIZE + sizeof(Ended) - 1},
                {"a longer body", {HANDOVER_MAGIC, 1, MESSAGE_ENDED, ended},
                        HEADER_SIZE + sizeof(Ended) + 1},
                {"a wrong body size", {HANDOVER_MAGIC, 1, MESSAGE_ENDED, 8}, HEADER_SIZE + 8},
                {"a huge body size", {HANDOVER_MAGIC, 1, MESSAGE_ENDED, UINT32_MAX}, HEADER_SIZE + 8},
                {"a huge text size", {HANDOVER_MAGIC, 1, MESSAGE_FAILED, failed, UINT32_MAX},
                        HEADER_SIZE + 8},
                {"a text too long", {HANDOVER_MAGIC, 1, MESSAGE_FAILED, failed, 1025},
                        HEADER_SIZE + 8 + 1025},
                {"a text with NUL", {HANDOVER_MAGIC, 1, MESSAGE_FAILED, failed, 3}, HEADER_SIZE + 8 + 3},
                {"a text not UTF-8",
                        {HANDOVER_MAGIC, 1, MESSAGE_FAILED, failed, 1, 0, "\1\0\0\0\0\0\0\0\xff"},
                        HEADER_SIZE + 8 + 1},
                {"a text where none goes", {HANDOVER_MAGIC, 1, MESSAGE_HELLO, 0, 1, 0, "x"},
                        HEADER_SIZE + 1},
                {"descriptors announced only", {HANDOVER_MAGIC, 1, MESSAGE_PREPARED, 0, 0, 1}, HEADER_SIZE},
                {"no descriptor", {HANDOVER_MAGIC, 1, MESSAGE_PREPARED, 0, 0, 0}, HEADER_SIZE},
                {"a descriptor not announced", {HANDOVER_MAGIC, 1, MESSAGE_HELLO}, HEADER_SIZE, 1},
                {"one too many", {HANDOVER_MAGIC, 1, MESSAGE_PREPARED, 0, 0, 2}, HEADER_SIZE, 2},
                {"far too many", {HANDOVER_MAGIC, 1, MESSAGE_PREPARED, 0, 0, 32}, HEADER_SIZE, 32},
                {"too many, one announced", {HANDOVER_MAGIC, 1, MESSAGE_PREPARED, 0, 0, 1}, HEADER_SIZE, 9},
                {"a mask of 1, two descriptors", {HANDOVER_MAGIC, 1, MESSAGE_PREPARE, prepare, 0, 2, "\1"},
                        HEADER_SIZE + sizeof(Prepare), 2},
                {"a mask of unknown bits", {HANDOVER_MAGIC, 1, MESSAGE_PREPARE, prepare, 0, 1, "\x10"},
                        HEADER_SIZE + sizeof(Prepare), 1},
                {"a reserved field", {HANDOVER_MAGIC, 1, MESSAGE_PREPARE, prepare, 0, 0, "\0\0\0\0\1"},
                        HEADER_SIZE + sizeof(Prepare)},
                {"a whole page", {HANDOVER_MAGIC, 1, MESSAGE_ENDED, ended}, sizeof(Wire)},
                {"a descriptor with garbage", {}, 3, 5},
        };
        int sockets[2], fds[32] = {};
        size_t before;

        pair(sockets);
        before = open_fds();
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                Message message = {.n_fds = 77};

                send_raw(sockets[0], &rows[i].wire, rows[i].size, fds, rows[i].n_fds);
                cr_expect_eq(message_receive(sockets[1], &message), -EBADMSG, "%s", rows[i].what);
                cr_expect_eq(message.n_fds, 77, "%s: ret is written on success only", rows[i].what);
                cr_expect_eq(open_fds(), before, "%s", rows[i].what);
        }
        unpair(sockets);
}

/* Packets of ours that the peer left unread must not hide the ones it sent before it closed. */
Test(message, closed_with_unread_packets) {
        Message message = {};
        int sockets[2];

        pair(sockets);
        cr_assert_eq(message_send(sockets[0], MESSAGE_DONE, NULL, 0, NULL, NULL, 0), 0);
        cr_assert_eq(message_send(sockets[1], MESSAGE_HELLO, NULL, 0, NULL, NULL, 0), 0);
        sockets[1] = close_fd(sockets[1]);
        cr_expect_eq(message_receive(sockets[0], &message), 1);
        cr_expect_eq(message.type, MESSAGE_HELLO);
        cr_expect_eq(message_receive(sockets[0], &message), -ENODATA);
        cr_expect_eq(message_receive(sockets[0], &message), -ENODATA);
        unpair(sockets);
}

/* Random bytes, and good packets with random bytes in them. */
Test(message, noise) {
        int sockets[2], fds[8] = {};
        size_t before;

        srandom(1);
        pair(sockets);
        before = open_fds();
        for (unsigned i = 0; i < 50000; i++) {
                Wire wire = {HANDOVER_MAGIC, 1, (uint32_t) random() % 12};
                static const size_t bodies[] = {
                        0, sizeof(Prepare), sizeof(Failed), sizeof(Ended), sizeof(Started)};
                size_t size, n_fds = random() % 4 == 0 ? (size_t) random() % 9 : 0;
                Message message = {};
                int r;

                wire.body_size = (uint32_t) bodies[random() % 5];
                wire.n_fds = random() % 2 ? (uint32_t) n_fds : 0;
                wire.text_size = random() % 2 ? (uint32_t) random() % 16 : 0;
                size = HEADER_SIZE + wire.body_size + wire.text_size;
                for (size_t j = 0; j < 64; j++)
                        wire.rest[j] = (char) (random() % 3 ? 0 : random());
                for (long flips = random() % 4; flips > 0; flips--)
                        ((char *) &wire)[(size_t) random() % size] ^= (char) (1 << random() % 8);
                send_raw(sockets[0], &wire, random() % 8 ? size : 1 + (size_t) random() % size, fds, n_fds);
                r = message_receive(sockets[1], &message);
                cr_assert(r == 1 || r == -EBADMSG, "%d", r);
                if (r == 1)
                        message_clear(&message);
        }
        cr_expect_eq(open_fds(), before);
        unpair(sockets);
}
