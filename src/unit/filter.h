/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The inner system call filter: a policy's exact allow-list, compiled by libseccomp into a finished BPF program that
 * the runner loads just before exec. What is refused is told to the daemon (SECCOMP_RET_USER_NOTIF), which answers
 * EPERM and counts; a number this libseccomp does not know answers ENOSYS, so that libc falls back; a foreign ABI
 * (x32) answers ENOSYS. Pure: no kernel is asked.
 */

#include "base/text.h"

/* What is refused under every policy, since it reaches into other processes of the same uid, the runner's included. */
extern const char *const filter_always_denied[];

/*
 * report: refusals go to a listener; otherwise they are answered EPERM by the kernel alone.
 * allow and deny are words of a policy: names and @groups; deny takes away from what allow gives. *ret is an array
 * of struct sock_filter (8 bytes each, at most BPF_MAXINSNS of them). -EINVAL with *reterr_word (pointing into the
 * lists) for a group that does not exist; a name that this libseccomp does not know is skipped: it stays ENOSYS.
 */
typedef struct FilterRequest {
        char *const *allow, *const *deny;
        bool report;
        bool threads_only; /* no new process: clone needs CLONE_THREAD; clone3, whose flags no filter sees, is ENOSYS */
        bool read_only;    /* no truncate(2), which Landlock of Linux 6.1 does not stop */
} FilterRequest;

int filter_compile(const FilterRequest *request, Bytes *ret, const char **reterr_word);

/* The name of a system call of this architecture; a new string, "#<number>" for one without a known name. */
int filter_syscall_name(int number, char **ret);
