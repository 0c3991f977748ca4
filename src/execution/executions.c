/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The list of executions: admission, the order of starting, and forgetting. A caller may have so many at once (more
 * is refused) and so many starts in flight (more wait: PID 1 has one thread, and one caller's burst must not fill
 * it).
 */

#include <errno.h>
#include <fcntl.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#include "audit/record.h"
#include "base/clock.h"
#include "base/file.h"
#include "execution/internal.h"

#define RETENTION_USEC UINT64_C(30000000)

static const Deadlines deadlines = {
        .start_usec = 60000000,
        .leave_usec = 1000000,
        .empty_usec = 30000000,
        .gone_usec = 30000000,
};

const char *const controller_names[CONTROLLER_N] = {
        [CONTROLLER_MEMORY] = "memory",
        [CONTROLLER_PIDS] = "pids",
        [CONTROLLER_CPU] = "cpu",
};

void wall_clear(Wall *wall) {
        wall->failures = strv_free(wall->failures);
        json_object_put(wall->enforced);
        *wall = (Wall) {};
}

/* ---- the list ---- */

void executions_add(Executions *executions, Execution *execution) {
        Execution *before = executions->last;

        /* A new one is the latest; those of a former daemon are found in no order. */
        while (before && before->created_usec > execution->created_usec)
                before = before->previous;
        execution->previous = before;
        execution->next = before ? before->next : executions->first;
        if (execution->next)
                execution->next->previous = execution;
        else
                executions->last = execution;
        if (before)
                before->next = execution;
        else
                executions->first = execution;
        (void) lh_table_insert(executions->by_id, execution->id, execution);
}

void executions_remove(Executions *executions, Execution *execution) {
        if (execution->previous)
                execution->previous->next = execution->next;
        else
                executions->first = execution->next;
        if (execution->next)
                execution->next->previous = execution->previous;
        else
                executions->last = execution->previous;
        (void) lh_table_delete(executions->by_id, execution->id);
}

Execution *executions_find(const Executions *executions, const char *id) {
        void *found;

        if (!lh_table_lookup_ex(executions->by_id, id, &found) || ((Execution *) found)->is_canary)
                return NULL;
        return found;
}

Execution *executions_next(const Executions *executions, const Execution *after) {
        Execution *execution = after ? after->next : executions->first;

        while (execution && execution->is_canary)
                execution = execution->next;
        return execution;
}

size_t executions_count_running(const Executions *executions) {
        size_t n = 0;

        for (const Execution *e = executions->first; e; e = e->next)
                n += !e->is_canary && e->state != EXECUTION_FINISHED;
        return n;
}

static unsigned count_of(const Executions *executions, const Caller *caller, bool in_flight) {
        unsigned n = 0;

        for (const Execution *e = executions->first; e; e = e->next)
                if (!e->is_canary && caller_is_same(&e->caller, caller))
                        n += in_flight ? e->in_flight : e->state != EXECUTION_FINISHED;
        return n;
}

/* ---- forgetting ---- */

static void forget(Executions *executions, Execution *execution) {
        char name[48];

        if (!execution->is_canary) {
                if (executions->observer.on_forgotten)
                        executions->observer.on_forgotten(executions->userdata, execution);
                state_remove(executions->state_directory, execution->id);
                (void) snprintf(name, sizeof name, "%s.json", execution->id);
                (void) unlinkat(executions->result_directory, name, 0);
        }
        executions_remove(executions, execution);
        execution_free(execution);
}

/* A result is kept for its time and while its caller has not more than so many newer ones. */
static bool is_due(const Executions *executions, const Execution *execution, uint64_t now) {
        unsigned newer = 0;

        if (execution->state != EXECUTION_FINISHED || execution->unit)
                return false;
        if (execution->is_canary)
                return !execution->canary_userdata;
        if (now >= execution->finished_usec + executions->config.results_kept_usec)
                return true;
        for (const Execution *e = executions->first; e; e = e->next)
                newer += !e->is_canary && e->state == EXECUTION_FINISHED && e->finished_usec > execution->finished_usec &&
                         caller_is_same(&e->caller, &execution->caller);
        return newer >= executions->config.results_kept;
}

static void forget_due(Executions *executions) {
        uint64_t now = clock_realtime_usec();
        Execution *next;

        for (Execution *e = executions->first; e; e = next) {
                next = e->next;
                if (is_due(executions, e, now))
                        forget(executions, e);
        }
}

static int on_retention(sd_event_source *source, uint64_t usec, void *userdata) {
        forget_due(userdata);
        (void) sd_event_source_set_time(source, clock_monotonic_usec() + RETENTION_USEC);
        (void) sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
}

/* ---- starting ---- */

static void refuse_broken(Execution *execution) {
        execution_end(execution, CAUSE_CANNOT_ENFORCE, execution->list->wall.failures[0]);
}

static int on_kick(sd_event_source *source, void *userdata) {
        Executions *executions = userdata;
        Execution *next;

        for (Execution *e = executions->first; e; e = next) {
                next = e->next;
                if (e->state != EXECUTION_QUEUED || e->is_canary)
                        continue;
                if (executions->wall.verdict == WALL_UNCHECKED)
                        break;
                if (executions->wall.verdict == WALL_BROKEN)
                        refuse_broken(e);
                else if (count_of(executions, &e->caller, /* in_flight= */ true) < executions->config.starts_in_flight)
                        (void) execution_start(e);
        }
        forget_due(executions);
        return 0;
}

void executions_schedule(Executions *executions) {
        if (executions->kick)
                (void) sd_event_source_set_enabled(executions->kick, SD_EVENT_ONESHOT);
}

/* ---- admission ---- */

/* What this plan needs beyond what every plan needs, held against what the canary found. */
static const char *unenforceable(const Wall *wall, const Plan *plan) {
        json_object *landlock = NULL;

        if (plan->egress)
                return "network: policies with \"network\": \"egress\" need the egress proxy, which this version does not have";
        if (wall->enforced)
                (void) json_object_object_get_ex(wall->enforced, "landlock", &landlock);
        if (plan->read_only && wall->verdict == WALL_HOLDS && (!landlock || json_object_get_int64(landlock) < 1))
                return "writable: a policy without a writable place needs Landlock, which this kernel does not enforce "
                       "(CONFIG_SECURITY_LANDLOCK and \"landlock\" in lsm=)";
        return NULL;
}

static int admit(const Executions *executions, const Plan *plan, const Caller *caller, char **reterr_message) {
        const Wall *wall = &executions->wall;
        unsigned running;

        if (wall->verdict == WALL_BROKEN) {
                own(freep) char *all = NULL;

                for (size_t i = 0; wall->failures[i]; i++) {
                        char *longer;

                        if (asprintf(&longer, "%s%s%s", all ? all : "", all ? "; " : "", wall->failures[i]) < 0)
                                return -ENOMEM;
                        free(all);
                        all = longer;
                }
                if (asprintf(reterr_message, "This host does not enforce what executions need: %.3000s", all) < 0)
                        return -ENOMEM;
                return ADMISSION_CANNOT_ENFORCE;
        }

        if (unenforceable(wall, plan)) {
                *reterr_message = strdup(unenforceable(wall, plan));
                return *reterr_message ? ADMISSION_CANNOT_ENFORCE : -ENOMEM;
        }

        running = count_of(executions, caller, /* in_flight= */ false);
        if (running >= executions->config.executions_at_once) {
                if (asprintf(reterr_message,
                            "%u executions of this caller are not finished yet, and %u at once are allowed; wait for "
                            "one to end or cancel one",
                            running, executions->config.executions_at_once) < 0)
                        return -ENOMEM;
                return ADMISSION_BUSY;
        }
        return ADMISSION_OK;
}

static int record_accepted(const Execution *execution) {
        own(record_freep) Record *record = NULL;
        own(freep) char *message = NULL;
        int r;

        if (asprintf(&message, "Execution %s accepted for uid %u under policy %s", execution->id,
                    (unsigned) execution->caller.uid, execution->plan->policy) < 0)
                return -ENOMEM;
        r = record_new(AUDIT_ACCEPTED, message, &record);
        if (r < 0)
                return r;
        r = record_add(record, "UNITCELL_EXECUTION", execution->id);
        if (r < 0)
                return r;
        r = record_add(record, "UNITCELL_DECISION", "accepted");
        if (r < 0)
                return r;
        r = record_add_caller(record, &execution->caller);
        if (r < 0)
                return r;
        r = record_add_plan(record, execution->plan, execution->spec);
        if (r < 0)
                return r;
        return record_send(record);
}

int executions_submit(Executions *executions, Spec **spec, Plan **plan, const Caller *caller, char **reterr_message,
        Execution **ret) {
        own(execution_freep) Execution *execution = NULL;
        own(mounts_clear) Mounts mounts = {};
        char id[UNIT_ID_SIZE];
        int r;

        r = admit(executions, *plan, caller, reterr_message);
        if (r != ADMISSION_OK)
                return r;

        r = mounts_look(*plan, &mounts, reterr_message);
        if (r == -EINVAL)
                return ADMISSION_INVALID;
        if (r < 0)
                return r;
        r = unit_id_new(id);
        if (r < 0)
                return r;
        r = execution_new(executions, id, caller, plan, &execution);
        if (r < 0)
                return r;
        execution->spec = hand_over(*spec);
        execution->mounts = mounts;
        mounts = (Mounts) {};

        /* While it waits in the queue, too, it has an end if we die. A failure shows when it is started, which writes
         * the state again. */
        (void) execution_save(execution, STATE_STARTING);
        /* No record, no execution: what ran must be found in the journal. */
        r = record_accepted(execution);
        if (r < 0) {
                state_remove(executions->state_directory, execution->id);
                return r;
        }

        executions_add(executions, execution);
        executions_schedule(executions);
        *ret = hand_over(execution);
        return 0;
}

/* ---- the object ---- */

int executions_new(sd_event *event, Manager *manager, const Host *host, const ExecutionsConfig *config,
        Executions **ret) {
        own(executions_freep) Executions *executions = calloc(1, sizeof *executions);
        int r;

        if (!executions)
                return -ENOMEM;
        executions->event = sd_event_ref(event);
        executions->manager = manager;
        executions->host = *host;
        executions->config = *config;
        executions->deadlines = deadlines;
        executions->state_directory = executions->result_directory = -1;
        executions->by_id = lh_kchar_table_new(64, /* free_fn= */ NULL);
        if (!executions->by_id)
                return -ENOMEM;

        executions->state_directory = open(config->state_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (executions->state_directory < 0)
                return -errno;
        executions->result_directory = open(config->result_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (executions->result_directory < 0)
                return -errno;

        r = sd_event_add_time(event, &executions->retention, CLOCK_MONOTONIC,
                clock_monotonic_usec() + RETENTION_USEC, 1000000, on_retention, executions);
        if (r < 0)
                return r;
        r = sd_event_add_defer(event, &executions->kick, on_kick, executions);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(executions->kick, SD_EVENT_OFF);
        if (r < 0)
                return r;

        *ret = hand_over(executions);
        return 0;
}

Executions *executions_free(Executions *executions) {
        if (!executions)
                return NULL;

        executions->kick = sd_event_source_disable_unref(executions->kick);
        sd_event_source_disable_unref(executions->retention);
        sd_bus_slot_unref(executions->leftovers);
        while (executions->first) {
                Execution *execution = executions->first;

                executions_remove(executions, execution);
                execution_free(execution);
        }
        if (executions->by_id)
                lh_table_free(executions->by_id);
        wall_clear(&executions->wall);
        filters_clear(&executions->filters);
        close_fd(executions->state_directory);
        close_fd(executions->result_directory);
        sd_event_unref(executions->event);
        free(executions);
        return NULL;
}

void executions_set_observer(Executions *executions, const ExecutionsObserver *observer, void *userdata) {
        executions->observer = *observer;
        executions->userdata = userdata;
}
