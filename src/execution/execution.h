/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One execution: a state machine driven by callbacks, whose every wait has a deadline.
 *
 *   queued ─► starting ─► running ─► collecting ─► finished
 *      └─────────┴───────────┴────────────┘  cancel, limit, refusal, or the end of the service lead here too
 *
 * starting covers the unit's start, the runner's preparation, the hand-over and the compile step; running is from
 * the code's exec to its exit; collecting until nobody of the unit is left and everything has been read. There is
 * exactly one result for each, whatever dies in between.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/own.h"
#include "policy/plan.h"
#include "spec/caller.h"
#include "spec/result.h"

typedef struct Execution Execution;

typedef enum ExecutionState {
        EXECUTION_QUEUED,
        EXECUTION_STARTING,
        EXECUTION_RUNNING,
        EXECUTION_COLLECTING,
        EXECUTION_FINISHED,
        EXECUTION_STATE_N
} ExecutionState;

const char *execution_id(const Execution *execution);
ExecutionState execution_state(const Execution *execution);
const char *execution_state_name(ExecutionState state);
const Caller *execution_caller(const Execution *execution);
const Plan *execution_plan(const Execution *execution);
const char *execution_unit_name(const Execution *execution);
/* The status of a finished one, or NULL. */
const char *execution_status(const Execution *execution);
uint64_t execution_created_usec(const Execution *execution);  /* CLOCK_REALTIME */
uint64_t execution_finished_usec(const Execution *execution); /* 0: not yet */

/* The result document of a finished one; a new string. -EAGAIN: not finished; -ENOENT: not kept any more. */
int execution_get_result(const Execution *execution, char **ret);

/* Ends it as canceled. Idempotent: on a finished or collecting one nothing happens. why: in words, or NULL. */
void execution_cancel(Execution *execution, const char *why);
