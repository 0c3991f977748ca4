/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of this layer know of an execution and of the list. */

#include <systemd/sd-event.h>

#include "capture/keep.h"
#include "capture/reader.h"
#include "execution/execution.h"
#include "execution/denials.h"
#include "execution/executions.h"
#include "execution/filters.h"
#include "execution/mounts.h"
#include "execution/outcome.h"
#include "execution/state-file.h"
#include "execution/wall.h"
#include "handover/message.h"
#include "manager/cgroup.h"
#include "manager/manager.h"
#include "spec/spec.h"
#include "unit/name.h"

/* Past this an output stream is only drained to be thrown away: the execution is ended. */
#define OUTPUT_CEILING (UINT64_C(256) * 1024 * 1024)

/* How long what never comes is waited for. Tests shorten them. */
typedef struct Deadlines {
        uint64_t start_usec; /* from StartTransientUnit to the code's exec, the compile step apart */
        uint64_t leave_usec; /* a runner that was told to leave */
        uint64_t empty_usec; /* after cgroup.kill: the kernel has its own pace */
        uint64_t gone_usec;  /* a finished execution's unit, until systemd is asked about it again */
} Deadlines;

struct Execution {
        Executions *list;
        Execution *next, *previous; /* in order of acceptance */
        char id[UNIT_ID_SIZE];
        Caller caller;
        Spec *spec; /* until it is handed over */
        Plan *plan;
        ExecutionState state;
        bool is_canary; /* ours: no caller, no records */
        void (*canary_on_state)(Execution *execution, void *userdata);
        void *canary_userdata; /* NULL once the canary has been judged: it may go */
        bool in_flight; /* counted as a start in flight */

        /* the unit */
        char *unit_name;
        char *slice;
        Unit *unit;
        Cgroup *cgroup;
        sd_event_source *release; /* lets the unit go, from the loop */
        void (*on_unit_known)(Execution *execution); /* once, when systemd has told of an adopted unit that lives */

        /* descriptors and what listens on them */
        int control;
        int runner_control, runner_out, runner_err; /* the unit's ends, until systemd has them */
        int scratch;
        sd_event_source *control_source;
        sd_event_source *deadline;
        void (*on_deadline)(Execution *execution);
        Reader *out, *err;
        Keep out_keep, err_keep;
        Keep stack_keep; /* stderr from the moment the stack was asked for */
        bool stack_asked;
        uint64_t stack_seen;
        unsigned stack_waits;
        sd_event_source *cpu_timer, *half_time;
        uint64_t high_events; /* of memory.events, as last seen */
        Mounts mounts; /* as looked at, until they are handed over */
        Denials *denials; /* refused system calls, when the policy reports them */
        MessageType last_message; /* of the runner: order is part of the protocol */
        bool empty;               /* nobody of the unit is left */
        bool killed;

        Facts facts;
        json_object *limits_found; /* what the cgroup files said */
        char invocation_id[33];

        /* the end */
        uint64_t created_usec, finished_usec; /* realtime */
        Status status;
        char *result; /* only while it could not be stored */
        uint64_t inode[3]; /* control, out, err */
};

struct Executions {
        sd_event *event;
        Manager *manager;
        Host host;
        ExecutionsConfig config;
        Deadlines deadlines;
        int state_directory, result_directory;
        ExecutionsObserver observer;
        void *userdata;
        Wall wall;
        Filters filters;
        Execution *first, *last;
        struct lh_table *by_id;
        sd_event_source *retention;
        sd_event_source *kick;
        sd_bus_slot *leftovers; /* the question for units nobody owns */
};

/* execution.c */
int execution_new(Executions *list, const char *id, const Caller *caller, Plan **plan, Execution **ret);
Execution *execution_free(Execution *execution);
DEFINE_OWN(Execution, execution_free);
void execution_set_state(Execution *execution, ExecutionState state);
int execution_save(Execution *execution, StateStep step);
/* on_deadline is called once, usec from now; NULL disarms. */
int execution_set_deadline(Execution *execution, uint64_t usec, void (*on_deadline)(Execution *execution));
/* The first cause stays; detail in words or NULL. */
void execution_set_cause(Execution *execution, Cause cause, const char *detail);
/* Sets the cause and brings the execution to its end by killing what is there. */
void execution_end(Execution *execution, Cause cause, const char *detail);

/* start.c */
int execution_start(Execution *execution);
int execution_watch_unit(Execution *execution);
int execution_watch_streams(Execution *execution, int out, int err);
int execution_hand_over(Execution *execution);

/* finish.c: the first refused call of a kind, into the journal */
void execution_record_denied(Execution *execution, const char *name);

/* limits.c: what is watched while the code runs */
int execution_watch_limits(Execution *execution);
void execution_unwatch_limits(Execution *execution);
void execution_look_at_memory(Execution *execution);
/* The time limit: the stack first, where the language can tell it, then the end. */
void execution_on_timeout(Execution *execution);
/* Parts what came on stderr after the stack was asked for; *ret is the stack, or NULL. */
int execution_take_stack(Execution *execution, char **ret);

/* conversation.c */
int execution_watch_control(Execution *execution);
int execution_listen_denials(Execution *execution, int fd);
/* Reads what the runner still said; true when its ENDED report is in. */
void execution_drain_control(Execution *execution);

/* finish.c */
void execution_collect(Execution *execution);
void execution_on_cgroup(void *userdata);
void execution_on_unit_over(Execution *execution);
void execution_on_unit_refused(Execution *execution);

/* executions.c */
void executions_add(Executions *executions, Execution *execution);
void executions_remove(Executions *executions, Execution *execution);
void executions_schedule(Executions *executions); /* look for what may start, from the loop */
