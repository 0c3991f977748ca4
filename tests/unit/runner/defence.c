/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Raised in a forked process, which then looks at itself and says by its exit status which line was wrong.
 */

#include "surroundings.h"

#include <linux/kcmp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "runner/defence.h"

#define MUST(condition)                                                                                     \
        do {                                                                                                \
                if (!(condition)) {                                                                         \
                        fprintf(stderr, "not so: %s\n", #condition);                                        \
                        _exit(1);                                                                           \
                }                                                                                           \
        } while (0)

static int in_process(void (*look)(Runner *runner)) {
        int sockets[2], status;
        pid_t pid;

        cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
        (void) fflush(NULL);
        pid = fork();
        if (pid == 0) {
                Runner runner;

                (void) dup2(sockets[1], 0);
                MUST(runner_init(&runner) == 0);
                MUST(defence_raise(&runner) == 0);
                look(&runner);
                /* Not _exit(): a sanitizer does more before it than the narrow filter lets. */
                (void) syscall(SYS_exit_group, 0);
        }
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        (void) close(sockets[0]);
        (void) close(sockets[1]);
        return status;
}

static void look_at_state(Runner *runner) {
        struct stat null, input;
        sigset_t mask;
        int subreaper = 0;

        MUST(prctl(PR_GET_DUMPABLE) == 0);
        MUST(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
        MUST(prctl(PR_GET_CHILD_SUBREAPER, &subreaper) == 0 && subreaper == 1);
        MUST(sigprocmask(SIG_SETMASK, NULL, &mask) == 0);
        for (int i = 1; i < 32; i++)
                MUST(i == SIGKILL || i == SIGSTOP || sigismember(&mask, i) == 1);

        MUST(fstat(0, &input) == 0 && fstat(runner->null, &null) == 0 && input.st_rdev == null.st_rdev);
        MUST(runner->socket >= 100);
        for (int fd = 3; fd < 256; fd++)
                MUST(fcntl(fd, F_GETFD) < 0 || fcntl(fd, F_GETFD) == FD_CLOEXEC);
        MUST((fcntl(runner->socket, F_GETFL) & O_NONBLOCK) != 0);
        MUST(runner->oom_score >= 0);
}

static void look_at_filter(Runner *runner) {
        pid_t self = getpid();

        MUST(defence_narrow() == 0);
        MUST(syscall(SYS_ptrace, PTRACE_PEEKDATA, self, 0, 0) < 0 && errno == EPERM);
        MUST(process_vm_readv(self, NULL, 0, NULL, 0, 0) < 0 && errno == EPERM);
        MUST(process_vm_writev(self, NULL, 0, NULL, 0, 0) < 0 && errno == EPERM);
        MUST(syscall(SYS_pidfd_getfd, -1, 0, 0) < 0 && errno == EPERM);
        MUST(syscall(SYS_kcmp, self, self, KCMP_VM, 0, 0) < 0 && errno == EPERM);
        MUST(syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY) < 0 && errno == EPERM);
        MUST(syscall(SYS_execve, "/bin/true", NULL, NULL) < 0 && errno == EPERM);
        MUST(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) < 0 && errno == EPERM);
        MUST(syscall(SYS_getppid) < 0 && errno == EPERM);
#if defined(__x86_64__)
        MUST(syscall(0x40000000 | SYS_getpid) < 0 && errno == EPERM);
#endif
        MUST(close(runner->null) == 0);
}

Test(defence, state) {
        cr_expect_eq(in_process(look_at_state), 0);
}

Test(defence, filter) {
        cr_expect_eq(in_process(look_at_filter), 0);
}
