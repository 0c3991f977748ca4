/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Filters are compiled, loaded in a forked process, and asked by the calls they are about. */

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "unit/filter.h"

static char *allow_service[] = {"@system-service", NULL};
static char *deny_some[] = {"@keyring", "userfaultfd", NULL};

static void load(const FilterRequest *request) {
        own(bytes_clear) Bytes program = {};
        struct sock_fprog loaded;
        const char *word;

        if (filter_compile(request, &program, &word) < 0)
                _exit(90);
        loaded = (struct sock_fprog) {
                .len = (unsigned short) (program.size / sizeof(struct sock_filter)),
                .filter = (struct sock_filter *) program.data,
        };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &loaded) < 0)
                _exit(91);
}

/* The errno that call gives under the filter; 0: it worked. */
static int under(const FilterRequest *request, long (*call)(void)) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                load(request);
                _exit(call() < 0 ? errno : 0);
        }
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_assert(WIFEXITED(status), "ended by %d", WTERMSIG(status));
        return WEXITSTATUS(status);
}

static long call_getpid(void) {
        return syscall(SYS_getpid);
}

static long call_mount(void) {
        return syscall(SYS_mount, NULL, NULL, NULL, 0, NULL);
}

static long call_keyctl(void) {
        return syscall(SYS_keyctl, 0, 0, 0, 0, 0);
}

static long call_ptrace(void) {
        return syscall(SYS_ptrace, 9999, 0, 0, 0);
}

static long call_unknown(void) {
        return syscall(1023);
}

static long call_truncate(void) {
        return syscall(SYS_truncate, "/nonexistent", 0);
}

static long call_fork(void) {
        long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

        if (pid == 0)
                _exit(0);
        return pid;
}

static long call_clone3(void) {
        return syscall(SYS_clone3, NULL, 0);
}

static void *nothing(void *argument) {
        return argument;
}

static long call_thread(void) {
        pthread_t thread;

        errno = pthread_create(&thread, NULL, nothing, NULL);
        return errno ? -1 : pthread_join(thread, NULL);
}

Test(filter, answers) {
        static char *allow_ptrace[] = {"@system-service", "ptrace", NULL};
        const FilterRequest service = {.allow = allow_service, .deny = deny_some};
        const FilterRequest generous = {.allow = allow_ptrace};
        const FilterRequest threads = {.allow = allow_service, .threads_only = true};
        const FilterRequest read_only = {.allow = allow_service, .read_only = true};
        const struct {
                const char *what;
                const FilterRequest *request;
                long (*call)(void);
                int expected;
        } rows[] = {
                {"an allowed call", &service, call_getpid, 0},
                {"a call that is not in the list", &service, call_mount, EPERM},
                {"a call that is taken away again", &service, call_keyctl, EPERM},
                {"ptrace, whatever the policy allows", &generous, call_ptrace, EPERM},
                {"a number nobody knows", &service, call_unknown, ENOSYS},
                {"a new process", &service, call_fork, 0},
                {"a new process where threads only are allowed", &threads, call_fork, EPERM},
                {"clone3 there", &threads, call_clone3, ENOSYS},
                {"a thread there", &threads, call_thread, 0},
                {"truncate", &service, call_truncate, ENOENT},
                {"truncate without a writable place", &read_only, call_truncate, EPERM},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++)
                cr_expect_eq(under(rows[i].request, rows[i].call), rows[i].expected, "%s", rows[i].what);
}

/* With a report a refused call is not answered by the kernel: without a listener that is ENOSYS. */
Test(filter, report) {
        const FilterRequest request = {.allow = allow_service, .report = true};

        cr_expect_eq(under(&request, call_mount), ENOSYS);
        cr_expect_eq(under(&request, call_getpid), 0);
}

Test(filter, unknown_group) {
        static char *words[] = {"@system-service", "@no-such-group", NULL};
        const FilterRequest request = {.allow = words};
        const char *word = NULL;
        Bytes program = {};

        cr_assert_eq(filter_compile(&request, &program, &word), -EINVAL);
        cr_expect_str_eq(word, "@no-such-group");
        cr_expect_null(program.data);
}

Test(filter, names) {
        own(freep) char *name = NULL, *unknown = NULL;

        cr_assert_eq(filter_syscall_name(SYS_mount, &name), 0);
        cr_expect_str_eq(name, "mount");
        cr_assert_eq(filter_syscall_name(100000, &unknown), 0);
        cr_expect_str_eq(unknown, "#100000");
}
