/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A process under a reporting filter, and its refusals answered from an event loop. */

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/json.h"
#include "execution/denials.h"
#include "handover/message.h"
#include "unit/filter.h"

static char first[256];

static void on_first(void *userdata, const char *name) {
        (*(unsigned *) userdata)++;
        strncat(first, name, sizeof first - strlen(first) - 2);
        strcat(first, " ");
}

/* Sends its listener, makes the calls, and leaves with how many were answered EPERM. */
static _Noreturn void process(int socket, unsigned mounts, unsigned keyctls) {
        static char *allow[] = {"@system-service", NULL}, *deny[] = {"@keyring", NULL};
        const FilterRequest request = {.allow = allow, .deny = deny, .report = true};
        Started started = {};
        struct sock_fprog program;
        unsigned refused = 0;
        const char *word;
        Bytes bytes;
        int listener;

        if (filter_compile(&request, &bytes, &word) < 0)
                _exit(100);
        program = (struct sock_fprog) {.len = (unsigned short) (bytes.size / 8), .filter = (void *) bytes.data};
        (void) prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        listener = (int) syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
        if (listener < 0 || message_send(socket, MESSAGE_STARTED, &started, sizeof started, NULL, &listener, 1) < 0)
                _exit(101);
        for (unsigned i = 0; i < mounts; i++)
                refused += syscall(SYS_mount, NULL, NULL, NULL, 0, NULL) < 0 && errno == EPERM;
        for (unsigned i = 0; i < keyctls; i++)
                refused += syscall(SYS_keyctl, 0, 0, 0, 0, 0) < 0 && errno == EPERM;
        _exit((int) refused);
}

static int on_child(sd_event_source *source, const siginfo_t *info, void *userdata) {
        *(int *) userdata = info->si_status;
        return sd_event_exit(sd_event_source_get_event(source), 0);
}

Test(denials, answered_and_counted) {
        own(sd_event_unrefp) sd_event *event = NULL;
        own(denials_freep) Denials *denials = NULL;
        own(json_freep) json_object *document = NULL;
        unsigned firsts = 0;
        int sockets[2], status = -1;
        Message message;
        sigset_t mask;
        pid_t pid;

        (void) sigemptyset(&mask);
        (void) sigaddset(&mask, SIGCHLD);
        (void) sigprocmask(SIG_BLOCK, &mask, NULL);
        cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
        pid = fork();
        if (pid == 0)
                process(sockets[1], 3, 60);

        cr_assert_geq(sd_event_new(&event), 0);
        cr_assert_eq(message_receive(sockets[0], &message), 1);
        cr_assert_eq(message.n_fds, 1U);
        cr_assert_eq(denials_new(event, on_first, &firsts, &denials), 0);
        cr_assert_geq(denials_listen(denials, message.fds[0]), 0);
        cr_assert_geq(sd_event_add_child(event, NULL, pid, WEXITED, on_child, &status), 0);
        cr_assert_eq(sd_event_loop(event), 0);

        cr_expect_eq(status, 63, "each refused call was answered EPERM: %d", status);
        cr_expect_eq(firsts, 2U);
        cr_expect_str_eq(first, "mount keyctl ");
        cr_assert_eq(denials_to_json(denials, &document), 0);
        cr_expect_str_eq(json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN),
                "[{\"name\":\"mount\",\"count\":3},{\"name\":\"keyctl\",\"count\":60}]");
        (void) close(sockets[0]);
        (void) close(sockets[1]);
}
