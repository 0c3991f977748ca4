/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the tests of the runner share: a directory in the place of "/" with the skeleton's links, and a
 * daemon's end of the conversation. The runner itself always runs in a forked process, for it blocks
 * signals, becomes a subreaper and installs a filter; and it kills through /proc/self/…/children only, never
 * by uid.
 */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/own.h"
#include "handover/message.h"
#include "handover/order.h"
#include "runner/runner.h"

typedef struct Stage {
        char path[64]; /* the root */
        int socket;    /* the daemon's end */
        int output;    /* reads what the code prints on 1 and 2 */
        pid_t runner;
} Stage;

__attribute__((unused)) static void stage_root(char path[static 64]) {
        static const struct {
                const char *target, *name;
        } links[] = {
                {"scratch/work", "workspace"},
                {"scratch/tmp", "tmp"},
                {"../scratch/tmp", "var/tmp"},
                {"scratch/output", "output"},
        };
        int root;

        (void) snprintf(path, 64, "/tmp/unitcell-runner-test-XXXXXX");
        cr_assert_not_null(mkdtemp(path));
        root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        cr_assert_geq(root, 0);
        cr_assert_eq(mkdirat(root, "scratch", 0777), 0);
        cr_assert_eq(mkdirat(root, "var", 0755), 0);
        for (size_t i = 0; i < ELEMENTS(links); i++)
                cr_assert_eq(symlinkat(links[i].target, root, links[i].name), 0);
        (void) close(root);
}

__attribute__((unused)) static void stage_remove(const char *path) {
        char command[128];

        (void) snprintf(command, sizeof command, "rm -rf '%s'", path);
        cr_assert_eq(system(command), 0);
}

/* Instead of kill(-1): the children that the runner has at this moment. Orphans become children and have
 * their turn. */
__attribute__((unused)) static int kill_children(void) {
        char path[64];
        FILE *list;
        int pid;

        (void) snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
        list = fopen(path, "re");
        if (!list)
                return -errno;
        while (fscanf(list, "%d", &pid) == 1)
                (void) kill(pid, SIGKILL);
        (void) fclose(list);
        return 0;
}

/* The stage's own kill_children opens files; the narrow filter has its own test (defence). */
__attribute__((unused)) static int stay_wide(void) {
        return 0;
}

__attribute__((unused)) static void stage_start(Stage *stage) {
        int sockets[2], output[2];

        stage_root(stage->path);
        cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
        cr_assert_eq(pipe2(output, O_CLOEXEC), 0);
        (void) fflush(NULL);
        stage->runner = fork();
        cr_assert_geq(stage->runner, 0);
        if (stage->runner == 0) {
                Runner runner;
                int r;

                (void) dup2(sockets[1], 0);
                (void) dup2(output[1], 1);
                (void) dup2(output[1], 2);
                (void) close(sockets[0]);
                (void) close(sockets[1]);
                (void) close(output[0]);
                (void) close(output[1]);
                if (runner_init(&runner) < 0)
                        _exit(99);
                (void) close(runner.root);
                runner.root = open(stage->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
                runner.kill_everything = kill_children;
                runner.narrow = stay_wide;
                runner.done_wait_usec = 300 * 1000;
                r = runner_supervise(&runner);
                runner_clear(&runner);
                _exit(r);
        }

        (void) close(sockets[1]);
        (void) close(output[1]);
        stage->socket = sockets[0];
        stage->output = output[0];
        cr_assert_eq(setsockopt(stage->socket, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 20},
                             sizeof(struct timeval)),
                0);
}

__attribute__((unused)) static Message stage_expect(Stage *stage, MessageType type) {
        Message message = {};
        int r = message_receive(stage->socket, &message);

        cr_assert_eq(r, 1, "message %d did not come: %s", type, strerror(-r));
        cr_assert_eq(message.type, type, "message %d came instead of %d: %s", message.type, type,
                message.type == MESSAGE_FAILED ? message.text : "");
        return message;
}

/* How the runner left, as waitpid() says. */
__attribute__((unused)) static int stage_end(Stage *stage) {
        int status = -1;

        cr_assert_eq(waitpid(stage->runner, &status, 0), stage->runner);
        (void) close(stage->socket);
        (void) close(stage->output);
        stage_remove(stage->path);
        return status;
}

/* What was printed so far, without waiting for more than there is once the code has ended. */
__attribute__((unused)) static const char *stage_output(Stage *stage, char *buffer, size_t size) {
        size_t used = 0;

        while (used + 1 < size) {
                struct pollfd fd = {.fd = stage->output, .events = POLLIN};
                ssize_t n;

                if (poll(&fd, 1, 100) <= 0)
                        break;
                n = read(stage->output, buffer + used, size - used - 1);
                if (n <= 0)
                        break;
                used += (size_t) n;
        }
        buffer[used] = 0;
        return buffer;
}
