/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * No core, no ptrace, no /proc/<runner>/mem: PR_SET_DUMPABLE=0. No signal handler to be interrupted in: all
 * are blocked, SIGCHLD comes as a descriptor. No descriptor that outlives exec. What reaches into another process of
 * the same uid (ptrace and its kind) the code's inner filter refuses; and once the code runs, the runner keeps only
 * the few calls that it still needs. That filter is put together by hand, because the runner is static and
 * libseccomp is not needed for two dozen lines.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "base/own.h"
#include "runner/defence.h"
#include "runner/runner.h"

#if defined(__x86_64__)
#define ARCH_NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH_NATIVE AUDIT_ARCH_AARCH64
#else
#error "the runner knows x86_64 and aarch64"
#endif

/* Above what a shell or a test has open, below any limit. */
#define SOCKET_FD_MIN 100

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define ANSWER_ERRNO(number) ANSWER(SECCOMP_RET_ERRNO | (number))
#define PERMIT(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), ANSWER(SECCOMP_RET_ALLOW)

/* What is left to do once the code runs: wait, read, report, kill, leave. */
int defence_narrow(void) {
        struct sock_filter program[] = {
                LOAD(arch),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_NATIVE, 1, 0),
                ANSWER(SECCOMP_RET_KILL_PROCESS),
                LOAD(nr),
                PERMIT(ppoll),
                PERMIT(read),
                PERMIT(pread64),
                PERMIT(recvmsg),
                PERMIT(sendmsg),
                PERMIT(wait4),
                PERMIT(kill),
                PERMIT(getresuid),
                PERMIT(clock_gettime),
                PERMIT(close),
                PERMIT(brk),
                PERMIT(mmap),
                PERMIT(munmap),
                PERMIT(mremap),
                PERMIT(fcntl),
                PERMIT(newfstatat),
                PERMIT(fstat),
                PERMIT(restart_syscall),
                PERMIT(rt_sigreturn),
                PERMIT(exit_group),
                ANSWER_ERRNO(EPERM),
        };
        struct sock_fprog filter = {.len = ELEMENTS(program), .filter = program};

        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) < 0)
                return -errno;

        return 0;
}

static int signals_block(int *ret) {
        const uint64_t all = UINT64_MAX; /* the kernel's own set: a bit for each of 64 signals */
        sigset_t child;
        int fd;

        /* libc keeps 32 and 33 to itself and would leave them open, and each kills who has no handler for it. */
        if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all) < 0)
                return -errno;

        (void) sigemptyset(&child);
        (void) sigaddset(&child, SIGCHLD);
        fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
        if (fd < 0)
                return -errno;

        /* An ignored SIGCHLD, inherited, would reap children behind our back. */
        if (signal(SIGCHLD, SIG_DFL) == SIG_ERR) {
                (void) close(fd);
                return -EINVAL;
        }

        *ret = fd;
        return 0;
}

/* The control socket leaves 0, where a child would inherit it. */
static int socket_take(Runner *runner) {
        runner->socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, SOCKET_FD_MIN);
        if (runner->socket < 0)
                return -errno;

        runner->null = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);
        if (runner->null < 0)
                return -errno;
        if (dup2(runner->null, STDIN_FILENO) < 0)
                return -errno;
        if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
                return -errno;

        return fd_set_nonblock(runner->socket, /* nonblock= */ true);
}

int defence_raise(Runner *runner) {
        int r;

        /* Later it is refused: the file belongs to root once the process is not dumpable. */
        runner->oom_score = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);

        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                return -errno;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
                return -errno;

        r = signals_block(&runner->signals);
        if (r < 0)
                return r;
        return socket_take(runner);
}
