/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The execution as an object: what it is, its transitions, and how it is ended early. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "execution/fd-store.h"
#include "execution/internal.h"

static const char *const state_names[EXECUTION_STATE_N] = {
        [EXECUTION_QUEUED] = "queued",
        [EXECUTION_STARTING] = "starting",
        [EXECUTION_RUNNING] = "running",
        [EXECUTION_COLLECTING] = "collecting",
        [EXECUTION_FINISHED] = "finished",
};

const char *execution_state_name(ExecutionState state) {
        return state_names[state];
}

int execution_new(Executions *list, const char *id, const Caller *caller, Plan **plan, Execution **ret) {
        own(execution_freep) Execution *execution = calloc(1, sizeof *execution);
        int r;

        if (!execution)
                return -ENOMEM;

        execution->list = list;
        execution->control = execution->runner_control = execution->runner_out = execution->runner_err = -1;
        execution->scratch = -1;
        execution->facts.compile_usec = UINT64_MAX;
        execution->facts.usage = (CgroupUsage) {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
        execution->facts.unit.cpu_usage_nsec = UINT64_MAX;
        execution->facts.cpu_before_usec = UINT64_MAX;
        execution->facts.accepted_usec = clock_monotonic_usec();
        execution->created_usec = clock_realtime_usec();
        memcpy(execution->id, id, sizeof execution->id);
        keep_init(&execution->out_keep, (*plan)->limit[LIMIT_STDOUT_BYTES]);
        keep_init(&execution->err_keep, (*plan)->limit[LIMIT_STDERR_BYTES]);

        r = caller_copy(caller, &execution->caller);
        if (r < 0)
                return r;
        r = unit_name_from_id(id, &execution->unit_name);
        if (r < 0)
                return r;
        r = unit_slice_from_uid(caller->uid, &execution->slice);
        if (r < 0)
                return r;

        execution->plan = hand_over(*plan);
        *ret = hand_over(execution);
        return 0;
}

Execution *execution_free(Execution *execution) {
        if (!execution)
                return NULL;

        sd_event_source_disable_unref(execution->deadline);
        sd_event_source_disable_unref(execution->release);
        sd_event_source_disable_unref(execution->control_source);
        unit_free(execution->unit);
        cgroup_free(execution->cgroup);
        reader_free(execution->out);
        reader_free(execution->err);
        keep_clear(&execution->out_keep);
        keep_clear(&execution->err_keep);
        mounts_clear(&execution->mounts);
        denials_free(execution->denials);
        keep_clear(&execution->stack_keep);
        execution_unwatch_limits(execution);
        close_fd(execution->control);
        close_fd(execution->runner_control);
        close_fd(execution->runner_out);
        close_fd(execution->runner_err);
        close_fd(execution->scratch);
        json_object_put(execution->limits_found);
        spec_free(execution->spec);
        plan_free(execution->plan);
        caller_clear(&execution->caller);
        free(execution->unit_name);
        free(execution->slice);
        free(execution->result);
        free(execution);
        return NULL;
}

const char *execution_id(const Execution *execution) {
        return execution->id;
}

ExecutionState execution_state(const Execution *execution) {
        return execution->state;
}

const Caller *execution_caller(const Execution *execution) {
        return &execution->caller;
}

const Plan *execution_plan(const Execution *execution) {
        return execution->plan;
}

const char *execution_unit_name(const Execution *execution) {
        return execution->unit_name;
}

const char *execution_status(const Execution *execution) {
        return execution->state == EXECUTION_FINISHED ? status_name(execution->status) : NULL;
}

uint64_t execution_created_usec(const Execution *execution) {
        return execution->created_usec;
}

uint64_t execution_finished_usec(const Execution *execution) {
        return execution->finished_usec;
}

int execution_get_result(const Execution *execution, char **ret) {
        own(bytes_clear) Bytes text = {};
        char name[48];
        int r;

        if (execution->state != EXECUTION_FINISHED)
                return -EAGAIN;
        if (execution->result) {
                char *copy = strdup(execution->result);

                if (!copy)
                        return -ENOMEM;
                *ret = copy;
                return 0;
        }

        (void) snprintf(name, sizeof name, "%s.json", execution->id);
        r = file_read_at(execution->list->result_directory, name, RESULT_SIZE_MAX, &text);
        if (r < 0)
                return r;

        *ret = hand_over(text.data);
        return 0;
}

/* ---- transitions ---- */

void execution_set_state(Execution *execution, ExecutionState state) {
        Executions *list = execution->list;

        execution->state = state;
        if (state > EXECUTION_STARTING && execution->in_flight) {
                execution->in_flight = false;
                executions_schedule(list);
        }
        if (execution->is_canary) {
                if (execution->canary_userdata)
                        execution->canary_on_state(execution, execution->canary_userdata);
        } else if (list->observer.on_state)
                list->observer.on_state(list->userdata, execution);
}

int execution_save(Execution *execution, StateStep step) {
        State state = {
                .step = step,
                .caller = execution->caller,
                .plan = execution->plan,
                .slice = execution->slice,
                .created_realtime_usec = execution->created_usec,
                .created_monotonic_usec = execution->facts.accepted_usec,
                .started_monotonic_usec = execution->facts.exec_usec,
                .finished_realtime_usec = execution->finished_usec,
                .inode_control = execution->inode[0],
                .inode_out = execution->inode[1],
                .inode_err = execution->inode[2],
                .invocation_id = execution->invocation_id[0] ? execution->invocation_id : NULL,
                .status = (char *) (step == STATE_FINISHED ? status_name(execution->status) : NULL),
        };

        if (execution->is_canary) /* a canary that outlives its daemon is nobody's: recovery stops its unit */
                return 0;
        memcpy(state.id, execution->id, sizeof state.id);
        return state_save(execution->list->state_directory, &state);
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
        Execution *execution = userdata;
        void (*handler)(Execution *) = execution->on_deadline;

        execution->on_deadline = NULL;
        if (handler)
                handler(execution);
        return 0;
}

int execution_set_deadline(Execution *execution, uint64_t usec, void (*handler)(Execution *)) {
        int r;

        execution->on_deadline = handler;
        if (!handler) {
                execution->deadline = sd_event_source_disable_unref(execution->deadline);
                return 0;
        }
        if (execution->deadline) {
                r = sd_event_source_set_time(execution->deadline, clock_monotonic_usec() + usec);
                if (r < 0)
                        return r;
                return sd_event_source_set_enabled(execution->deadline, SD_EVENT_ONESHOT);
        }

        /* 1 ms of accuracy: a deadline is exact, and a handful of timers wakes nobody too often. */
        return sd_event_add_time(execution->list->event, &execution->deadline, CLOCK_MONOTONIC,
                clock_monotonic_usec() + usec, 1000, on_deadline, execution);
}

/* ---- an early end ---- */

void execution_set_cause(Execution *execution, Cause cause, const char *detail) {
        if (execution->facts.cause != CAUSE_NONE)
                return;
        execution->facts.cause = cause;
        (void) snprintf(execution->facts.detail, sizeof execution->facts.detail, "%s", detail ? detail : "");
}

void execution_end(Execution *execution, Cause cause, const char *detail) {
        if (execution->state >= EXECUTION_COLLECTING)
                return;

        execution_set_cause(execution, cause, detail);
        if (execution->facts.end_usec == 0)
                execution->facts.end_usec = clock_monotonic_usec();
        if (execution->cgroup) {
                CgroupUsage usage;

                cgroup_read_usage(execution->cgroup, &usage);
                cgroup_usage_keep_largest(&execution->facts.usage, &usage);
                execution->killed = true;
                if (cgroup_kill(execution->cgroup) < 0 && execution->unit)
                        (void) unit_stop(execution->unit);
        } else if (execution->unit)
                (void) unit_stop(execution->unit);
        execution_collect(execution);
}

void execution_cancel(Execution *execution, const char *why) {
        execution_end(execution, CAUSE_CANCELED, why);
}
