/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * From the code's end to the result: wait until nobody of the unit is left, read what is still in the pipes and in
 * the socket, look at the workspace, decide, record, tell. The answer does not wait for systemd's own clean-up of
 * the unit, except where only systemd knows how the runner died.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#include "audit/record.h"
#include "base/clock.h"
#include "base/file.h"
#include "execution/fd-store.h"
#include "execution/internal.h"
#include "execution/workspace.h"

static void finalize(Execution *execution);

static bool is_end_known(const Execution *execution) {
        const Facts *facts = &execution->facts;

        return facts->ended || facts->failed || facts->refused || facts->cause != CAUSE_NONE ||
               (facts->compile_ended && facts->compile_status != 0);
}

/* Goes on to the result as soon as everything that it needs is there. */
static void finalize_when_complete(Execution *execution) {
        bool over = !execution->unit || unit_state(execution->unit)->over || execution->facts.refused;

        if (execution->state == EXECUTION_FINISHED)
                return;
        if (execution->cgroup && !execution->empty && !over)
                return;
        if (!over && !execution->cgroup)
                return;
        if (!over) {
                execution_drain_control(execution);
                if (!is_end_known(execution) || execution->state == EXECUTION_FINISHED)
                        return;
        }
        finalize(execution);
}

static void on_empty_deadline(Execution *execution) {
        const char *what = execution->empty ? "systemd did not tell how its runner ended" :
                                              "its processes did not go away when they were killed";

        sd_journal_print(LOG_WARNING, "%s: %s, ending without that", execution->unit_name, what);
        execution->empty = true;
        execution_set_cause(execution, CAUSE_INTERNAL, what);
        finalize(execution);
}

/* It was told to leave and has not, or only systemd can tell more. */
static void on_leave_deadline(Execution *execution) {
        if ((!execution->cgroup || cgroup_kill(execution->cgroup) < 0) && execution->unit)
                (void) unit_stop(execution->unit);
        (void) execution_set_deadline(execution, execution->list->deadlines.empty_usec, on_empty_deadline);
}

void execution_collect(Execution *execution) {
        const Deadlines *deadlines = &execution->list->deadlines;
        bool told_to_leave = !execution->killed && execution->cgroup;

        if (execution->state >= EXECUTION_COLLECTING)
                return;
        execution_set_state(execution, EXECUTION_COLLECTING);
        if (!execution->unit || execution->facts.refused) {
                finalize(execution);
                return;
        }

        (void) execution_set_deadline(execution, told_to_leave ? deadlines->leave_usec : deadlines->empty_usec,
                told_to_leave ? on_leave_deadline : on_empty_deadline);
        finalize_when_complete(execution);
}

void execution_on_cgroup(void *userdata) {
        Execution *execution = userdata;
        CgroupUsage usage;

        cgroup_read_usage(execution->cgroup, &usage);
        cgroup_usage_keep_largest(&execution->facts.usage, &usage);
        if (cgroup_is_populated(execution->cgroup)) {
                execution_look_at_memory(execution);
                return;
        }

        cgroup_unwatch(execution->cgroup);
        execution->empty = true;
        execution_drain_control(execution);
        if (execution->facts.end_usec == 0)
                execution->facts.end_usec = clock_monotonic_usec();
        if (execution->state < EXECUTION_COLLECTING)
                execution_collect(execution);
        else
                finalize_when_complete(execution);
}

static int on_release(sd_event_source *source, void *userdata) {
        Execution *execution = userdata;

        execution->release = sd_event_source_disable_unref(execution->release);
        (void) execution_set_deadline(execution, 0, NULL);
        unit_release(execution->unit);
        execution->unit = unit_free(execution->unit);
        executions_schedule(execution->list);
        return 0;
}

/* Handlers of the unit may be on the stack: it is let go from the loop. */
static void schedule_release(Execution *execution) {
        if (execution->unit && !execution->release)
                (void) sd_event_add_defer(execution->list->event, &execution->release, on_release, execution);
}

void execution_on_unit_over(Execution *execution) {
        Facts *facts = &execution->facts;

        execution->empty = true;
        execution_drain_control(execution);
        /* Of one that ended while the daemon was dead only systemd knows when. */
        if (facts->end_usec == 0)
                facts->end_usec = facts->unit.exec_main_exit_usec > facts->exec_usec ?
                                          facts->unit.exec_main_exit_usec : clock_monotonic_usec();
        if (execution->state < EXECUTION_COLLECTING)
                execution_collect(execution);
        if (execution->state != EXECUTION_FINISHED)
                finalize(execution);

        schedule_release(execution);
}

/* systemd does not start the unit, or has not answered: nothing is left to wait for. */
void execution_on_unit_refused(Execution *execution) {
        if (execution->state < EXECUTION_COLLECTING)
                execution_collect(execution);
        else
                finalize_when_complete(execution);
}

/* The result is out, its unit is not gone; news of it may have been lost. */
static void on_gone_deadline(Execution *execution) {
        (void) unit_stop(execution->unit);
        (void) unit_query(execution->unit, /* adopt= */ false);
        (void) execution_set_deadline(execution, execution->list->deadlines.gone_usec, on_gone_deadline);
}

static void wait_for_unit(Execution *execution) {
        if (!execution->unit || unit_state(execution->unit)->over)
                return;
        if (execution->facts.refused) {
                /* The answer may only have been late, and the unit be there after all: stop asked after start. */
                (void) unit_stop(execution->unit);
                (void) unit_query(execution->unit, /* adopt= */ false);
        }
        (void) execution_set_deadline(execution, execution->list->deadlines.gone_usec, on_gone_deadline);
}

/* ---- the result ---- */

static int fill_names(Execution *execution, Result *result) {
        const struct {
                char **target;
                const char *value;
        } names[] = {
                {&result->id, execution->id},
                {&result->task_id, execution->plan->task_id},
                {&result->policy, execution->plan->policy},
                {&result->language, execution->plan->language},
                {&result->unit, execution->unit_name},
                {&result->invocation_id, execution->invocation_id[0] ? execution->invocation_id : NULL},
        };

        for (size_t i = 0; i < ELEMENTS(names); i++) {
                if (!names[i].value)
                        continue;
                *names[i].target = strdup(names[i].value);
                if (!*names[i].target)
                        return -ENOMEM;
        }
        return 0;
}

/* What the canary found for all executions, and what this one's own cgroup files said. */
static int fill_enforced(Execution *execution, Result *result) {
        json_object *enforced = NULL;

        if (execution->list->wall.enforced) {
                if (json_object_deep_copy(execution->list->wall.enforced, &enforced, NULL) < 0)
                        return -ENOMEM;
        } else
                enforced = json_object_new_object();
        if (!enforced)
                return -ENOMEM;
        result->enforced = enforced;
        return json_add_object(enforced, "limits", json_object_get(execution->limits_found));
}

static int fill_outputs(Execution *execution, Result *result) {
        int r;

        r = execution_take_stack(execution, &result->stopped_at);
        if (r < 0)
                return r;
        execution->facts.stopped_at = result->stopped_at;
        r = keep_take(&execution->out_keep, &result->out);
        if (r < 0)
                return r;
        r = keep_take(&execution->err_keep, &result->err);
        if (r < 0)
                return r;
        if (execution->facts.recovered && execution->facts.handed_over)
                result->out.truncated = result->err.truncated = true;
        return 0;
}

/* Refused calls into the result, and into what a program that failed is told. */
static int fill_denied(Execution *execution, Result *result) {
        if (!execution->denials)
                return 0;
        return denials_to_json(execution->denials, &result->denied_syscalls);
}

void execution_record_denied(Execution *execution, const char *name) {
        own(record_freep) Record *record = NULL;
        own(freep) char *message = NULL;
        int r;

        if (execution->is_canary ||
                asprintf(&message, "Execution %s: system call %s was refused by policy %s", execution->id, name,
                        execution->plan->policy) < 0)
                return;
        r = record_new(AUDIT_DENIED, message, &record);
        if (r >= 0)
                r = record_add(record, "UNITCELL_EXECUTION", execution->id);
        if (r >= 0)
                r = record_add(record, "UNITCELL_SYSCALL", name);
        if (r >= 0)
                r = record_add_caller(record, &execution->caller);
        if (r >= 0)
                r = record_send(record);
        if (r < 0)
                sd_journal_print(LOG_ERR, "%s: a refused system call could not be recorded: %s", execution->id,
                        strerror(-r));
}

static int make_result(Execution *execution, Result *result, char **ret_text) {
        own(json_freep) json_object *document = NULL;
        int r;

        r = fill_names(execution, result);
        if (r < 0)
                return r;
        r = fill_outputs(execution, result);
        if (r < 0)
                return r;
        r = fill_enforced(execution, result);
        if (r < 0)
                return r;
        r = fill_denied(execution, result);
        if (r < 0)
                return r;
        r = outcome_decide(&execution->facts, execution->plan, result);
        if (r < 0)
                return r;
        r = result_to_json(result, &document);
        if (r < 0)
                return r;
        return json_to_text(document, /* pretty= */ false, ret_text);
}

static void record_end(Execution *execution, const Result *result) {
        own(record_freep) Record *record = NULL;
        own(freep) char *message = NULL;
        int r;

        if (asprintf(&message, "Execution %s ended: %s. %s", execution->id, status_name(result->status),
                    result->message) < 0)
                return;
        r = record_new(AUDIT_FINISHED, message, &record);
        if (r >= 0)
                r = record_add(record, "UNITCELL_EXECUTION", execution->id);
        if (r >= 0)
                r = record_add_caller(record, &execution->caller);
        if (r >= 0)
                r = record_add_plan(record, execution->plan, /* spec= */ NULL);
        if (r >= 0)
                r = record_add_result(record, result);
        if (r >= 0)
                r = record_send(record);
        if (r < 0)
                sd_journal_print(LOG_ERR, "%s: the end could not be recorded: %s", execution->id, strerror(-r));
}

static void store_result(Execution *execution, char **text) {
        char name[48];
        int r;

        if (execution->is_canary) {
                execution->result = hand_over(*text);
                return;
        }
        (void) snprintf(name, sizeof name, "%s.json", execution->id);
        r = file_replace_at(execution->list->result_directory, name, *text, strlen(*text), 0600);
        if (r < 0) {
                sd_journal_print(LOG_WARNING, "%s: its result cannot be stored (%s), kept in memory", execution->id,
                        strerror(-r));
                execution->result = hand_over(*text);
        }
}

/* Even without memory for a whole result there is one: the smallest that says so. */
static char *emergency_result(const Execution *execution) {
        char *text;

        return asprintf(&text,
                       "{\"id\":\"%s\",\"status\":\"internal_error\",\"retryable\":false,\"counts_as_failure\":true,"
                       "\"message\":\"The service had no memory for the result.\"}",
                       execution->id) < 0 ?
                       NULL :
                       text;
}

static void close_all(Execution *execution) {
        execution_unwatch_limits(execution);
        execution->control_source = sd_event_source_disable_unref(execution->control_source);
        execution->control = close_fd(execution->control);
        execution->runner_control = close_fd(execution->runner_control);
        execution->runner_out = close_fd(execution->runner_out);
        execution->runner_err = close_fd(execution->runner_err);
        execution->scratch = close_fd(execution->scratch); /* the workspace is gone with it */
        execution->out = reader_free(execution->out);
        execution->err = reader_free(execution->err);
        execution->cgroup = cgroup_free(execution->cgroup);
        execution->spec = spec_free(execution->spec);
        keep_clear(&execution->out_keep);
        keep_clear(&execution->err_keep);
        execution->denials = denials_free(execution->denials);
        if (!execution->is_canary)
                fd_store_drop(execution->id);
}

static void finalize(Execution *execution) {
        own(result_clear) Result result = {.exit_code = -1};
        own(freep) char *text = NULL;
        int r;

        (void) execution_set_deadline(execution, 0, NULL);
        execution_drain_control(execution);
        if (execution->out)
                reader_drain(execution->out);
        if (execution->err)
                reader_drain(execution->err);
        execution->facts.disk_full = workspace_is_full(execution->scratch);
        execution->facts.file_cut = workspace_has_file_of(
                execution->scratch, execution->plan->limit[LIMIT_FILE_MB] * 1024 * 1024);
        if (execution->facts.end_usec == 0)
                execution->facts.end_usec = clock_monotonic_usec();

        r = make_result(execution, &result, &text);
        if (r < 0) {
                sd_journal_print(LOG_ERR, "%s: no result could be made: %s", execution->id, strerror(-r));
                result.status = STATUS_INTERNAL_ERROR;
                if (!result.message)
                        result.message = strdup("The service had no memory for the result.");
                text = emergency_result(execution);
        }

        execution->status = result.status;
        execution->finished_usec = clock_realtime_usec();
        if (text)
                store_result(execution, &text);
        if (!execution->is_canary)
                record_end(execution, &result);
        r = execution_save(execution, STATE_FINISHED);
        if (r < 0)
                sd_journal_print(LOG_WARNING, "%s: its state cannot be stored: %s, ignoring", execution->id, strerror(-r));
        close_all(execution);
        wait_for_unit(execution);
        execution_set_state(execution, EXECUTION_FINISHED);
        executions_schedule(execution->list);
}
