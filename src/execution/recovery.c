/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Taking over what a former daemon left. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#include "audit/record.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "execution/internal.h"
#include "execution/recovery.h"

typedef struct Recovered {
        unsigned adopted, known, broken;
} Recovered;

/* The stored descriptor of that inode, or the one directory among them; -1 when it is not there. */
static int take_fd(StoredFds *fds, const char *id, uint64_t inode, mode_t type) {
        for (size_t i = 0; i < fds->n; i++) {
                struct stat info;

                if (fds->items[i].fd < 0 || !streq(fds->items[i].id, id) || fstat(fds->items[i].fd, &info) < 0)
                        continue;
                if ((info.st_mode & S_IFMT) != type || (inode && info.st_ino != inode))
                        continue;
                return hand_over_fd(fds->items[i].fd);
        }
        return -1;
}

static void on_recovered_start_deadline(Execution *execution) {
        execution_end(execution, CAUSE_START_TIMEOUT, NULL);
}

/* Not before systemd has answered: what ended while nobody was here did so in its own way, not by a late deadline. */
static void arm_deadline(Execution *execution) {
        uint64_t end = execution->facts.exec_usec + execution->plan->limit[LIMIT_TIMEOUT_MS] * 1000;
        /* Its compile step may be under way, and what was said of that is read already. */
        uint64_t compile = execution->plan->compile ? execution->plan->compile_timeout_ms * 1000 : 0;
        uint64_t now = clock_monotonic_usec();
        int r;

        /* Its runner may have been heard since, and that has set the deadline of a later step. */
        if (execution->state >= EXECUTION_COLLECTING || execution->on_deadline)
                return;
        if (execution->facts.started) {
                r = execution_watch_limits(execution);
                if (r >= 0)
                        r = execution_set_deadline(execution, end > now ? end - now : 0, execution_on_timeout);
        } else
                r = execution_set_deadline(execution, execution->list->deadlines.start_usec + compile,
                        on_recovered_start_deadline);
        if (r < 0)
                execution_end(execution, CAUSE_INTERNAL, "its deadline could not be set");
}

static int attach(Execution *execution, StoredFds *fds) {
        own(close_fdp) int out = -1, err = -1, listener = -1;
        own(freep) char *path = NULL;
        int r;

        execution->control = take_fd(fds, execution->id, execution->inode[0], S_IFSOCK);
        out = take_fd(fds, execution->id, execution->inode[1], S_IFIFO);
        err = take_fd(fds, execution->id, execution->inode[2], S_IFIFO);
        execution->scratch = take_fd(fds, execution->id, 0, S_IFDIR);

        listener = take_fd(fds, execution->id, 0, 0); /* an anonymous inode has no type */
        if (listener >= 0) {
                r = execution_listen_denials(execution, hand_over_fd(listener));
                if (r < 0)
                        return r;
        }
        if (out >= 0 && err >= 0) {
                r = execution_watch_streams(execution, hand_over_fd(out), hand_over_fd(err));
                if (r < 0)
                        return r;
        }
        r = unit_cgroup_path(execution->slice, execution->unit_name, &path);
        if (r < 0)
                return r;
        r = cgroup_open(execution->list->config.cgroup_root, path, &execution->cgroup);
        if (r < 0)
                execution->cgroup = NULL; /* gone: systemd tells the rest */
        r = execution_watch_unit(execution);
        if (r < 0)
                return r;
        if (execution->cgroup) {
                r = cgroup_watch(execution->cgroup, execution->list->event, execution_on_cgroup, execution);
                if (r < 0)
                        return r;
        }
        return execution->control < 0 ? 0 : execution_watch_control(execution);
}

static void restore(Execution *execution, const State *state) {
        execution->created_usec = state->created_realtime_usec;
        execution->finished_usec = state->finished_realtime_usec;
        execution->inode[0] = state->inode_control;
        execution->inode[1] = state->inode_out;
        execution->inode[2] = state->inode_err;
        execution->facts.accepted_usec = execution->facts.start_usec = state->created_monotonic_usec;
        execution->facts.exec_usec = state->started_monotonic_usec;
        if (state->invocation_id && strlen(state->invocation_id) < sizeof execution->invocation_id)
                strcpy(execution->invocation_id, state->invocation_id);
}

static int adopt(Executions *executions, State *state, StoredFds *fds) {
        own(execution_freep) Execution *execution = NULL;
        Execution *adopted;
        int r;

        r = execution_new(executions, state->id, &state->caller, &state->plan, &execution);
        if (r < 0)
                return r;
        restore(execution, state);

        if (state->step == STATE_FINISHED) {
                execution->state = EXECUTION_FINISHED;
                if (!state->status || status_from_name(state->status, &execution->status) < 0)
                        execution->status = STATUS_INTERNAL_ERROR;
                executions_add(executions, execution);
                execution = NULL;
                return 0;
        }

        execution->facts.recovered = true;
        execution->facts.handed_over = state->step != STATE_STARTING;
        execution->facts.started = state->step == STATE_RUNNING;
        execution->last_message = state->step == STATE_RUNNING ? MESSAGE_STARTED : MESSAGE_HAND_OVER;
        execution->state = state->step == STATE_RUNNING ? EXECUTION_RUNNING : EXECUTION_STARTING;
        executions_add(executions, execution);
        adopted = hand_over(execution);
        if (state->step != STATE_STARTING)
                adopted->on_unit_known = arm_deadline;
        r = attach(adopted, fds);
        if (r >= 0)
                r = unit_query(adopted->unit, /* adopt= */ true);
        if (r < 0) {
                char detail[128];

                /* It was accepted, so it has a result, whatever that says. */
                (void) snprintf(detail, sizeof detail, "it could not be taken over: %s", strerror(-r));
                execution_end(adopted, CAUSE_INTERNAL, detail);
        } else if (state->step == STATE_STARTING) /* the code was with the former daemon only */
                execution_end(adopted, CAUSE_INTERRUPTED, NULL);
        return 0;
}

static void recover_one(Executions *executions, const char *name, StoredFds *fds, Recovered *count) {
        own(state_freep) State *state = NULL;
        char id[UNIT_ID_SIZE] = "", broken[80];
        JsonError error = {};
        StateStep step;
        int r;

        memcpy(id, name, sizeof id - 1);
        r = unit_id_is_valid(id) ? state_load(executions->state_directory, id, &state, &error) : -EINVAL;
        if (r >= 0 && !streq(state->id, id))
                r = -EINVAL;
        if (r < 0) {
                sd_journal_print(LOG_ERR, "State file %s cannot be read (%s: %s %s), put aside as %s.broken", name,
                        strerror(-r), error.key, error.message, name);
                (void) snprintf(broken, sizeof broken, "%s.broken", name);
                (void) renameat(executions->state_directory, name, executions->state_directory, broken);
                count->broken++;
                return;
        }

        step = state->step;
        r = adopt(executions, state, fds);
        if (r < 0) {
                sd_journal_print(LOG_ERR, "Execution %s cannot be taken over: %s", id, strerror(-r));
                count->broken++;
        } else if (step == STATE_FINISHED)
                count->known++;
        else
                count->adopted++;
}

/* ---- units nobody owns ---- */

static void stop_unit(sd_bus *bus, const char *member, const char *name, const char *mode) {
        own(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        if (sd_bus_message_new_method_call(bus, &call, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                    "org.freedesktop.systemd1.Manager", member) < 0)
                return;
        if ((mode ? sd_bus_message_append(call, "ss", name, mode) : sd_bus_message_append(call, "s", name)) < 0)
                return;
        (void) sd_bus_message_set_expect_reply(call, 0);
        (void) sd_bus_send(bus, call, NULL);
}

static int on_units(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Executions *executions = userdata;
        sd_bus *bus = sd_bus_message_get_bus(message);
        int r;

        if (sd_bus_message_is_method_error(message, NULL))
                return 0;
        r = sd_bus_message_enter_container(message, 'a', "(ssssssouso)");
        while (r > 0) {
                const char *name;
                char id[UNIT_ID_SIZE];
                void *found;

                r = sd_bus_message_enter_container(message, 'r', "ssssssouso");
                if (r <= 0)
                        break;
                if (sd_bus_message_read(message, "s", &name) < 0 || sd_bus_message_skip(message, "sssssouso") < 0)
                        break;
                if (unit_name_to_id(name, id) >= 0 && !lh_table_lookup_ex(executions->by_id, id, &found)) {
                        sd_journal_print(LOG_NOTICE, "Stopping %s: nobody owns it", name);
                        stop_unit(bus, "StopUnit", name, "replace");
                        stop_unit(bus, "ResetFailedUnit", name, NULL);
                }
                r = sd_bus_message_exit_container(message) < 0 ? -1 : 1;
        }
        return 0;
}

static void record_recovery(const Recovered *count) {
        own(record_freep) Record *record = NULL;
        own(freep) char *message = NULL;
        int r;

        if (asprintf(&message, "Took over from a former daemon: %u executions adopted, %u finished ones known, %u broken",
                    count->adopted, count->known, count->broken) < 0)
                return;
        r = record_new(AUDIT_RECOVERED, message, &record);
        if (r >= 0)
                r = record_send(record);
        if (r < 0)
                sd_journal_print(LOG_ERR, "The recovery could not be recorded: %s", strerror(-r));
}

static int compare_entries(const struct dirent **a, const struct dirent **b) {
        return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_state_file(const struct dirent *entry) {
        return strlen(entry->d_name) == UNIT_ID_SIZE - 1 + strlen(".json") && ends_with(entry->d_name, ".json");
}

int recovery_run(Executions *executions, sd_bus *bus, StoredFds *fds) {
        struct dirent **entries = NULL;
        Recovered count = {};
        int n;

        n = scandirat(executions->state_directory, ".", &entries, is_state_file, compare_entries);
        if (n < 0)
                return -errno;
        for (int i = 0; i < n; i++) {
                recover_one(executions, entries[i]->d_name, fds, &count);
                free(entries[i]);
        }
        free(entries);

        /* What was stored for executions that nobody knows any more. */
        for (size_t i = 0; i < fds->n; i++) {
                void *found;

                if (fds->items[i].fd >= 0 && !lh_table_lookup_ex(executions->by_id, fds->items[i].id, &found))
                        fd_store_drop(fds->items[i].id);
        }
        if (count.adopted + count.known + count.broken > 0)
                record_recovery(&count);

        return sd_bus_call_method_async(bus, &executions->leftovers, "org.freedesktop.systemd1",
                "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "ListUnitsByPatterns", on_units, executions, "asas", 0, 1,
                "unitcell-x-*.service");
}
