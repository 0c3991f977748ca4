/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "handover/message.h"
#include "handover/order.h"

/* What becomes the code, or the compile step. 1 and 2 are inherited as they are. */
typedef struct ChildRequest {
        char *const *argv; /* argv[0] is absolute */
        char *const *env;  /* the whole environment; may be NULL for none */
        const char *directory;
        const OrderRlimit *rlimits;
        size_t n_rlimits;
        const Bytes *filter; /* the inner filter; NULL or empty: none */
        bool filter_reports;
        bool read_only; /* no writable place (Landlock) */
        int stdin_fd;
        int null;      /* takes the place of 0 again afterwards */
        int oom_score; /* our own oom_score_adj, or -1 */
} ChildRequest;

typedef struct ChildProblem {
        FailedStage stage;
        const char *what; /* a constant: "chdir", … */
} ChildProblem;

/*
 * Returns when exec has happened (0), or negative with *reterr: the process is gone and reaped then.
 * *ret_started_usec is the time just before exec; *ret_listener the inner filter's, or -1 when it does not report.
 */
int child_start(const ChildRequest *request, pid_t *ret_pid, uint64_t *ret_started_usec, int *ret_listener,
        ChildProblem *reterr);
