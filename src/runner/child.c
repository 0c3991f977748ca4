/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Starts one process. The child shares our descriptor table until exec (a later system call filter leaves
 * its listener there, where the child could not send it from any more), so it touches no descriptor itself:
 * its stdin is put at 0 beforehand, everything above 2 is close-on-exec. CLONE_VFORK holds us until it has
 * called exec or is gone, so what a page of shared memory says then is final, and there is no pipe whose end
 * the shared table would keep open. Memory is not shared (no CLONE_VM): a child that fails harms only
 * itself.
 */

#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/own.h"
#include "runner/child.h"
#include "runner/landlock.h"

/* Likelier to be picked than the runner when the cgroup is out of memory. */
#define CODE_OOM_SCORE 1000

typedef struct Report {
        FailedStage stage; /* 0: nothing failed yet */
        int errno_number;
        const char *what;
        uint64_t started_usec; /* 0: did not come as far as exec */
        int listener; /* in the shared descriptor table; -1: none */
} Report;

static _Noreturn void give_up(Report *report, FailedStage stage, const char *what) {
        report->errno_number = errno;
        report->what = what;
        report->stage = stage;
        _exit(1);
}

static int signals_reset(void) {
        struct sigaction action = {.sa_handler = SIG_DFL};
        sigset_t none;

        /* systemd leaves SIGPIPE ignored. Some numbers belong to libc and are refused: they have no handler.
         */
        for (int i = 1; i < _NSIG; i++)
                (void) sigaction(i, &action, NULL);

        (void) sigemptyset(&none);
        return sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The listener stays in the table we share with the runner; exec takes it away from us only. */
static int filter_load(const ChildRequest *request, int *ret_listener) {
        struct sock_fprog program;
        long fd;

        if (!request->filter || request->filter->size == 0)
                return 0;

        program = (struct sock_fprog){
                .len = (unsigned short) (request->filter->size / sizeof(struct sock_filter)),
                .filter = (struct sock_filter *) request->filter->data,
        };
        fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                request->filter_reports ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &program);
        if (fd < 0)
                return -errno;
        if (request->filter_reports)
                *ret_listener = (int) fd;
        return 0;
}

static _Noreturn void child_run(const ChildRequest *request, Report *report) {
        char *const no_environment[] = {NULL};

        if (setsid() < 0)
                give_up(report, FAILED_CHILD, "start a session");
        if (chdir(request->directory) < 0)
                give_up(report, FAILED_CHILD, "enter the working directory");
        (void) umask(022);

        for (size_t i = 0; i < request->n_rlimits; i++) {
                struct rlimit limit = {
                        .rlim_cur = request->rlimits[i].soft, .rlim_max = request->rlimits[i].hard};

                if (setrlimit((__rlimit_resource_t) request->rlimits[i].resource, &limit) < 0)
                        give_up(report, FAILED_CHILD, "set a resource limit");
        }

        if (request->read_only && landlock_read_only() < 0)
                give_up(report, FAILED_CHILD, "give up every writable place (Landlock)");
        if (signals_reset() < 0)
                give_up(report, FAILED_CHILD, "unblock the signals");

        /* Last: from here on only exec. The time is taken before, since asking for it may be a system call. */
        report->started_usec = clock_monotonic_usec();
        if (filter_load(request, &report->listener) < 0) {
                report->started_usec = 0;
                give_up(report, FAILED_CHILD, "load its system call filter");
        }
        (void) execve(request->argv[0], request->argv, request->env ?: no_environment);
        give_up(report, FAILED_EXEC, "execute");
}

/* The score is inherited by fork; the child could not raise its own (it is not dumpable before exec). */
static void oom_score_write(int fd, const char *text) {
        if (fd >= 0)
                (void) pwrite(fd, text, strlen(text), 0); /* a hint to the kernel, no wall: stepped over */
}

static void oom_score_read(int fd, char ret[static 16]) {
        ssize_t n = fd >= 0 ? pread(fd, ret, 15, 0) : -1;

        ret[n > 0 ? n : 0] = 0;
}

static int clone_child(const ChildRequest *request, Report *report, pid_t *ret) {
        char score[16], code_score[16];
        long pid;

        oom_score_read(request->oom_score, score);
        (void) snprintf(code_score, sizeof code_score, "%d", CODE_OOM_SCORE);

        if (score[0])
                oom_score_write(request->oom_score, code_score);
        pid = syscall(SYS_clone, CLONE_FILES | CLONE_VFORK | SIGCHLD, 0L, 0L, 0L, 0L);
        if (pid == 0)
                child_run(request, report);
        if (pid < 0)
                pid = -errno;
        if (score[0])
                oom_score_write(request->oom_score, score);

        if (pid < 0)
                return (int) pid;
        *ret = (pid_t) pid;
        return 0;
}

int child_start(const ChildRequest *request, pid_t *ret_pid, uint64_t *ret_started_usec, int *ret_listener,
        ChildProblem *reterr) {
        Report *shared, report;
        pid_t pid = 0;
        int r;

        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) {
                *reterr = (ChildProblem){FAILED_CHILD, "share a page of memory"};
                return -errno;
        }

        shared->listener = -1;
        r = dup2(request->stdin_fd, STDIN_FILENO) < 0 ? -errno : 0;
        if (r == 0)
                r = clone_child(request, shared, &pid);
        (void) dup2(request->null, STDIN_FILENO);
        report = *shared;
        (void) munmap(shared, sizeof *shared);
        if (r < 0) {
                *reterr = (ChildProblem){FAILED_CHILD, "start a process"};
                return r;
        }

        if (report.stage == 0 && report.started_usec > 0) {
                *ret_listener = report.listener;
                *ret_pid = pid;
                *ret_started_usec = report.started_usec;
                return 0;
        }

        close_fd(report.listener);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        if (report.stage == 0) {
                *reterr = (ChildProblem){FAILED_CHILD, "live until exec"};
                return -ECANCELED;
        }
        *reterr = (ChildProblem){report.stage, report.what};
        return report.errno_number > 0 ? -report.errno_number : -EIO;
}
