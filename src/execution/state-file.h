/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What must be known of an execution after the daemon died: one small versioned file each, written aside and renamed
 * at each step, in /run/unitcell/executions (mode 0600: plans carry environments). The result itself, which may be
 * large, goes to /var/lib/unitcell/results. Files are read back strictly; one that does not read is reported and
 * left for a person to look at, renamed to "<id>.broken".
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/plan.h"
#include "spec/caller.h"
#include "unit/name.h"

#define STATE_DIRECTORY "/run/unitcell/executions"
#define RESULT_DIRECTORY "/var/lib/unitcell/results"
#define STATE_VERSION 1U

/* How far an execution had come. */
typedef enum StateStep {
        STATE_STARTING,    /* descriptors are stored; the unit may or may not exist */
        STATE_HANDED_OVER, /* the work order is on its way: the runner can go on without us */
        STATE_RUNNING,     /* the code's exec was seen */
        STATE_FINISHED,    /* the result is in RESULT_DIRECTORY, the end record is written */
        STATE_STEP_N
} StateStep;

typedef struct State {
        char id[UNIT_ID_SIZE];
        StateStep step;
        Caller caller;
        Plan *plan;
        char *slice;
        uint64_t created_realtime_usec;
        uint64_t created_monotonic_usec;
        uint64_t started_monotonic_usec; /* 0: not yet */
        uint64_t finished_realtime_usec; /* 0: not yet */
        uint64_t inode_control, inode_out, inode_err; /* of the stored descriptors */
        char *invocation_id; /* or NULL */
        char *status;        /* of a finished one, or NULL */
} State;

State *state_free(State *state);
DEFINE_OWN(State, state_free);

int state_to_json(const State *state, json_object **ret);
int state_read(const char *text, size_t size, State **ret, JsonError *reterr);

/* directory is an open directory. */
int state_save(int directory, const State *state);
int state_load(int directory, const char *id, State **ret, JsonError *reterr);
void state_remove(int directory, const char *id);
