/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * System calls and sockets. The arguments of each are such that the kernel refuses them before it looks at
 * capabilities wherever it can be asked that way; the errno in the row's comment is what an open door
 * answers. Rows marked "weak" ask the capability first, so EPERM there does not prove the filter: the daemon
 * then relies on the other rows of the same property.
 */

#include <errno.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/own.h"
#include "runner/inspect.h"

#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif

#define NOWHERE "/nonexistent/unitcell"
#define TEXT(text) ((long) (intptr_t) (text))

/* No namespace flag goes together with these: EINVAL before anything else, also for root. */
#define UNSHARE_INVALID ((long) CLONE_IO)
#define CLONE_INVALID ((long) CLONE_THREAD) /* without CLONE_SIGHAND */

#define USERFAULTFD_USER_MODE_ONLY 1L

static const struct {
        const char *name;
        long number;
        long arguments[5];
} calls[] = {
        /* SystemCallFilter= */
        {"mount", __NR_mount, {0, TEXT(NOWHERE), 0, 0, 0}},                         /* ENOENT */
        {"umount2", __NR_umount2, {TEXT(NOWHERE), 0}},                              /* ENOENT */
        {"chroot", __NR_chroot, {TEXT(NOWHERE)}},                                   /* ENOENT */
        {"open_tree", __NR_open_tree, {-1, 0, -1L}},                                /* EINVAL */
        {"mount_setattr", __NR_mount_setattr, {-1, 0, -1L, 0, 0}},                  /* EINVAL */
        {"keyctl", __NR_keyctl, {9999}},                                            /* EOPNOTSUPP */
        {"add_key", __NR_add_key, {1, 1, 0, 0, 0}},                                 /* EFAULT */
        {"request_key", __NR_request_key, {1, 1, 0, 0}},                            /* EFAULT */
        {"io_uring_setup", __NR_io_uring_setup, {0, 1}},                            /* EFAULT */
        {"bpf", __NR_bpf, {9999, 1, 0}},                                            /* EINVAL, weak */
        {"perf_event_open", __NR_perf_event_open, {1, 0, -1, -1, -1L}},             /* EINVAL */
        {"userfaultfd", __NR_userfaultfd, {1L << 30 | USERFAULTFD_USER_MODE_ONLY}}, /* EINVAL */
        {"quotactl", __NR_quotactl, {-1L, 0, 0, 0}},                                /* EINVAL */
        {"init_module", __NR_init_module, {0, 0, 0}},                               /* ENOEXEC, weak */
        {"reboot", __NR_reboot, {0, 0, 0, 0}},                                      /* EINVAL, weak */
        {"swapon", __NR_swapon, {0, -1L}},                                          /* EINVAL */
        /* the runner's own filter too */
        {"ptrace", __NR_ptrace, {9999, 0x7ffffff0L, 0, 0}},             /* ESRCH */
        {"process_vm_readv", __NR_process_vm_readv, {0, 0, 0, 0, 0}},   /* ok or ESRCH */
        {"process_vm_writev", __NR_process_vm_writev, {0, 0, 0, 0, 0}}, /* ok or ESRCH */
        {"pidfd_getfd", __NR_pidfd_getfd, {-1, -1, 1}},                 /* EINVAL */
        {"kcmp", __NR_kcmp, {0x7ffffff0L, 0x7ffffff0L, 0, 0, 0}},       /* ESRCH */
        /* RestrictNamespaces= */
        {"setns", __NR_setns, {-1, 0}},                                        /* EBADF */
        {"clone3", __NR_clone3, {0, 0}},                                       /* EINVAL */
        {"unshare-cgroup", __NR_unshare, {CLONE_NEWCGROUP | UNSHARE_INVALID}}, /* EINVAL */
        {"unshare-ipc", __NR_unshare, {CLONE_NEWIPC | UNSHARE_INVALID}},
        {"unshare-net", __NR_unshare, {CLONE_NEWNET | UNSHARE_INVALID}},
        {"unshare-mnt", __NR_unshare, {CLONE_NEWNS | UNSHARE_INVALID}},
        {"unshare-pid", __NR_unshare, {CLONE_NEWPID | UNSHARE_INVALID}},
        {"unshare-user", __NR_unshare, {CLONE_NEWUSER | UNSHARE_INVALID}},
        {"unshare-uts", __NR_unshare, {CLONE_NEWUTS | UNSHARE_INVALID}},
        {"clone-cgroup", __NR_clone, {CLONE_NEWCGROUP | CLONE_INVALID}}, /* EINVAL */
        {"clone-ipc", __NR_clone, {CLONE_NEWIPC | CLONE_INVALID}},
        {"clone-net", __NR_clone, {CLONE_NEWNET | CLONE_INVALID}},
        {"clone-mnt", __NR_clone, {CLONE_NEWNS | CLONE_INVALID}},
        {"clone-pid", __NR_clone, {CLONE_NEWPID | CLONE_INVALID}},
        {"clone-user", __NR_clone, {CLONE_NEWUSER | CLONE_INVALID}},
        {"clone-uts", __NR_clone, {CLONE_NEWUTS | CLONE_INVALID}},
        /* RestrictRealtime=: a real-time priority of 0 is invalid. The parameter is filled in below. */
        {"sched-fifo", __NR_sched_setscheduler, {0, SCHED_FIFO, 0}}, /* EINVAL */
        {"sched-rr", __NR_sched_setscheduler, {0, SCHED_RR, 0}},     /* EINVAL */
        /* RestrictSUIDSGID= */
        {"chmod-setuid", __NR_fchmodat, {-1, TEXT(NOWHERE), S_ISUID | 0755}},         /* ENOENT */
        {"chmod-setgid", __NR_fchmodat, {-1, TEXT(NOWHERE), S_ISGID | 0755}},         /* ENOENT */
        {"fchmodat2-setuid", __NR_fchmodat2, {-1, TEXT(NOWHERE), S_ISUID | 0755, 0}}, /* ENOENT */
        /* ProtectHostname=, ProtectKernelLogs= */
        {"sethostname", __NR_sethostname, {0, -1L}}, /* EINVAL, weak */
        {"syslog", __NR_syslog, {9999, 0, 0}},       /* EINVAL, weak */
        /* ProtectClock= */
        {"clock_settime", __NR_clock_settime, {0, 1}}, /* EFAULT */
        {"clock_adjtime", __NR_clock_adjtime, {0, 1}}, /* EFAULT */
        {"settimeofday", __NR_settimeofday, {1, 0}},   /* EFAULT */
        {"adjtimex", __NR_adjtimex, {1}},              /* EFAULT */
#ifdef __NR_iopl
        /* PrivateDevices= (@raw-io) */
        {"iopl", __NR_iopl, {99}},                   /* EINVAL */
        {"ioperm", __NR_ioperm, {1L << 20, 1, 0}},   /* EINVAL */
        {"modify_ldt", __NR_modify_ldt, {99, 0, 0}}, /* ENOSYS */
#endif
};

static void call_probe(size_t i) {
        const struct sched_param no_priority = {};
        const long *a = calls[i].arguments;
        long r, third = calls[i].number == __NR_sched_setscheduler ? TEXT(&no_priority) : a[2];

        errno = 0;
        r = syscall(calls[i].number, a[0], a[1], third, a[3], a[4]);
        if (calls[i].number == __NR_clone && r == 0)
                _exit(0); /* cannot be: the flags contradict each other */
        fact_errno("syscall", calls[i].name, r < 0 ? errno : 0);
}

/* Runs probe in a process of its own, whose state it may spoil. How that ended: 0 or an errno, or negative:
 * signal. */
static int in_child(int (*probe)(void)) {
        int status = 0;
        pid_t pid;

        pid = fork();
        if (pid < 0)
                return errno;
        if (pid == 0)
                _exit(probe());

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return errno;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* LockPersonality= */
static int personality_probe(void) {
        return personality(ADDR_NO_RANDOMIZE) < 0 ? errno : 0;
}

/* SystemCallArchitectures=native kills here; a kernel without the 32-bit entry answers with SIGSEGV. */
static int foreign_abi_probe(void) {
#if defined(__x86_64__)
        long r = 20; /* getpid of i386 */

        __asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
        return r < 0 ? (int) -r : 0;
#else
        return ENOSYS;
#endif
}

static void foreign_abi(void) {
        char buffer[16];
        int r = in_child(foreign_abi_probe);

#if !defined(__x86_64__)
        fact("syscall:foreign-abi", "none");
        return;
#endif
        if (r < 0)
                fact("syscall:foreign-abi", "SIG%s", sigabbrev_np(-r) ?: "?");
        else
                fact("syscall:foreign-abi", "%s", errno_word(r, buffer));
}

/*
 * A family that must be refused is asked for with an impossible type: EINVAL where nothing filters, before
 * any module is loaded; EAFNOSUPPORT is RestrictAddressFamilies=. The others must work.
 */
static void sockets(void) {
        static const struct {
                const char *name;
                int family, type;
        } families[] = {
                {"unix", AF_UNIX, SOCK_STREAM},
                {"inet", AF_INET, SOCK_STREAM},
                {"inet6", AF_INET6, SOCK_STREAM},
                {"netlink", AF_NETLINK, SOCK_RAW},
                {"packet", AF_PACKET, 15},
                {"vsock", AF_VSOCK, 15},
                {"alg", AF_ALG, 15},
                {"can", AF_CAN, 15},
                {"bluetooth", AF_BLUETOOTH, 15},
                {"key", AF_KEY, 15},
                {"xdp", AF_XDP, 15},
                {"tipc", AF_TIPC, 15},
        };

        for (size_t i = 0; i < ELEMENTS(families); i++) {
                int fd = socket(families[i].family, families[i].type | SOCK_CLOEXEC, 0);

                fact_errno("socket", families[i].name, fd < 0 ? errno : 0);
                (void) close_fd(fd);
        }
}

void inspect_calls(void) {
        for (size_t i = 0; i < ELEMENTS(calls); i++)
                call_probe(i);
        fact_errno("syscall", "personality", in_child(personality_probe));
        foreign_abi();
        sockets();
}
