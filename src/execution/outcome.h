/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * How an execution ended, from facts alone: what we did (the cause), what the runner reported, what the kernel
 * counted and what systemd says, never from what the code printed. Pure, so every row of unitcell-spec(5)'s status
 * table is a row of a test.
 */

#include <stdbool.h>
#include <stdint.h>

#include "handover/message.h"
#include "manager/cgroup.h"
#include "manager/manager.h"
#include "policy/plan.h"
#include "spec/result.h"

/* Why we ended it, if we did. The first cause stays. */
typedef enum Cause {
        CAUSE_NONE,
        CAUSE_CANCELED,        /* the caller asked, or is gone */
        CAUSE_TIMEOUT,         /* wall clock of the code */
        CAUSE_COMPILE_TIMEOUT, /* wall clock of the compile step */
        CAUSE_START_TIMEOUT,   /* not started in time */
        CAUSE_CPU_LIMIT,       /* cpu_ms used up */
        CAUSE_MEMORY_WARN,     /* the policy says terminate at the warning */
        CAUSE_OUTPUT_LIMIT,    /* policy says kill, or the ceiling */
        CAUSE_CANNOT_ENFORCE,  /* the kernel's limits of the unit are not the plan's */
        CAUSE_PROTOCOL,        /* the runner's place is taken by something that is not our runner */
        CAUSE_INTERRUPTED,     /* the daemon went away before the work was handed over */
        CAUSE_INTERNAL,        /* we could not go on (memory, descriptors) */
} Cause;

typedef struct Facts {
        Cause cause;
        char detail[256]; /* to the cause or refusal, in words; "" for none */

        bool refused; /* systemd refused the unit */
        bool handed_over; /* the runner had all it needs to start the code */
        bool started;     /* exec of the code was seen */

        bool failed; /* the runner gave up before exec */
        Failed failure;
        char failure_text[256];

        bool compile_ended;
        int compile_status; /* wait status */

        bool ended; /* the runner reported the code's end */
        int wait_status;
        bool runner_deadline; /* the runner's own deadline ended it: the daemon was not there */

        UnitState unit;
        CgroupUsage usage;
        uint64_t cpu_before_usec; /* CPU time of the unit's set-up, before the code; UINT64_MAX: not known */
        bool memory_warned;
        char *stopped_at; /* the stack at the time limit, borrowed, or NULL */
        bool disk_full;  /* blocks or inodes at zero at the end */
        bool file_cut;   /* a file of exactly file_mb is there: a hint that a write was cut */
        bool recovered;  /* a former daemon started it: output from before may be lost */

        uint64_t accepted_usec, queued_usec, start_usec, exec_usec, end_usec; /* monotonic; 0: did not happen */
        uint64_t compile_usec; /* how long the compile step took; UINT64_MAX: none */
} Facts;

/* Fills status, message, exit_code, signal, usage, flags and times of result; leaves the rest. -ENOMEM. */
int outcome_decide(const Facts *facts, const Plan *plan, Result *result);
