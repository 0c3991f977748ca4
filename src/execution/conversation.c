/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The conversation with the runner. Everything from it is treated as hostile: a message out of order, of the wrong
 * shape or with the wrong descriptors ends this execution and no other. Times it tells are clamped to what we know.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "execution/fd-store.h"
#include "execution/internal.h"

#define MIB UINT64_C(1048576)

/* Messages a turn of the loop: a runner that talks without end delays only itself. */
#define MESSAGES_A_TURN 8

static bool may_follow(const Execution *execution, MessageType next) {
        static const struct {
                MessageType next, last;
        } order[] = {
                {MESSAGE_HELLO, 0},
                {MESSAGE_PREPARED, MESSAGE_HELLO},
                {MESSAGE_COMPILING, MESSAGE_PREPARED},
                {MESSAGE_COMPILED, MESSAGE_COMPILING},
                {MESSAGE_STARTED, MESSAGE_PREPARED},
                {MESSAGE_STARTED, MESSAGE_COMPILED},
                {MESSAGE_ENDED, MESSAGE_STARTED},
                {MESSAGE_FAILED, 0},
                {MESSAGE_FAILED, MESSAGE_HELLO},
                {MESSAGE_FAILED, MESSAGE_PREPARED},
                {MESSAGE_FAILED, MESSAGE_COMPILING},
                {MESSAGE_FAILED, MESSAGE_COMPILED},
        };

        /* What a former daemon has read already is not known; forward it must go all the same. */
        if (execution->facts.recovered && next >= MESSAGE_COMPILING && next <= MESSAGE_ENDED)
                return next > execution->last_message;

        /* Only a plan with a compile step has one, and there the code cannot start before it. */
        if (next == (execution->plan->compile ? MESSAGE_STARTED : MESSAGE_COMPILING) &&
                execution->last_message == MESSAGE_PREPARED)
                return false;
        for (size_t i = 0; i < ELEMENTS(order); i++)
                if (order[i].next == next && order[i].last == execution->last_message)
                        return true;
        return false;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high) {
        return value < low ? low : value > high ? high : value;
}

/* ---- HELLO: the unit is there; are the kernel's limits the plan's? ---- */

static int compare_limit(Execution *execution, Controller controller, bool has, bool equal, uint64_t found,
        const char *key) {
        char detail[160];
        int r;

        if (has && equal) {
                r = json_add_u64(execution->limits_found, key, found);
                return r;
        }
        if (!has && (execution->list->config.allow_missing & (1U << controller)))
                return json_add_bool(execution->limits_found, key, false);
        if (execution->is_canary) /* the canary reports, it is not refused */
                return has ? json_add_string(execution->limits_found, key, "differs") :
                             json_add_bool(execution->limits_found, key, false);

        (void) snprintf(detail, sizeof detail, has ? "%s of its cgroup differs from the plan" :
                        "the %s controller is not there", has ? key : controller_names[controller]);
        execution_end(execution, CAUSE_CANNOT_ENFORCE, detail);
        return -EPERM;
}

static int check_limits(Execution *execution) {
        const uint64_t *limit = execution->plan->limit;
        CgroupLimits found;
        uint64_t cpus = 0;
        int r;

        execution->limits_found = json_object_new_object();
        if (!execution->limits_found)
                return -ENOMEM;

        cgroup_read_limits(execution->cgroup, &found);
        if (found.cpu_period_usec != UINT64_MAX && found.cpu_period_usec > 0)
                cpus = found.cpu_quota_usec * 1000 / found.cpu_period_usec;

        r = compare_limit(execution, CONTROLLER_MEMORY, found.has_memory,
                found.memory_max == limit[LIMIT_MEMORY_MB] * MIB, found.memory_max, "memory_max_bytes");
        if (r < 0)
                return r;
        /* No swap file for it where the kernel has no swap accounting: then there is nothing to limit. */
        r = compare_limit(execution, CONTROLLER_MEMORY, found.has_memory,
                found.swap_max == 0 || found.swap_max == UINT64_MAX, 0, "memory_swap_max_bytes");
        if (r < 0)
                return r;
        r = compare_limit(execution, CONTROLLER_PIDS, found.has_pids, found.pids_max == limit[LIMIT_PIDS_MAX] + 1,
                found.pids_max, "pids_max");
        if (r < 0)
                return r;
        /* systemd rounds the quota to whole microseconds of its period. */
        return compare_limit(execution, CONTROLLER_CPU, found.has_cpu,
                cpus + cpus / 100 + 1 >= limit[LIMIT_CPU_CPUS] && cpus <= limit[LIMIT_CPU_CPUS] + 1, cpus,
                "cpu_thousandths");
}

static int on_hello(Execution *execution) {
        own(freep) char *path = NULL;
        Prepare prepare = {};
        int fds[CGROUP_FILE_N];
        size_t n_fds = 0;
        int r;

        r = unit_cgroup_path(execution->slice, execution->unit_name, &path);
        if (r < 0)
                return r;
        r = cgroup_open(execution->list->config.cgroup_root, path, &execution->cgroup);
        if (r < 0) {
                execution_end(execution, CAUSE_CANNOT_ENFORCE, "its cgroup is not where the plan puts it");
                return 0;
        }
        r = check_limits(execution);
        if (r == -EPERM)
                return 0;
        if (r < 0)
                return r;
        r = cgroup_watch(execution->cgroup, execution->list->event, execution_on_cgroup, execution);
        if (r < 0)
                return r;

        for (size_t i = 0; i < CGROUP_FILE_N; i++) {
                int fd = cgroup_fd(execution->cgroup, (CgroupFileId) i);

                if (fd < 0)
                        continue;
                prepare.cgroup_files |= 1U << i;
                fds[n_fds++] = fd;
        }
        memcpy(prepare.host_namespace, execution->list->host.namespaces, sizeof prepare.host_namespace);
        return message_send(execution->control, MESSAGE_PREPARE, &prepare, sizeof prepare, NULL, fds, n_fds);
}

/* ---- PREPARED: the workspace ---- */

static int on_prepared(Execution *execution, Message *message) {
        struct stat info;
        int r;

        if (message->n_fds != 1 || fstat(message->fds[0], &info) < 0 || !S_ISDIR(info.st_mode))
                return -EBADMSG;
        execution->scratch = hand_over_fd(message->fds[0]);
        message->n_fds = 0;

        if (!execution->is_canary) {
                r = fd_store_put(execution->id, &execution->scratch, 1);
                if (r < 0)
                        return r;
        }
        return execution_hand_over(execution);
}

/* ---- the compile step ---- */

static void on_compile_deadline(Execution *execution) {
        execution_end(execution, CAUSE_COMPILE_TIMEOUT, NULL);
}

static void on_exec_deadline(Execution *execution) {
        execution_end(execution, CAUSE_START_TIMEOUT, NULL);
}

static void on_denied(void *userdata, const char *name) {
        execution_record_denied(userdata, name);
}

/* Takes over fd. Refused calls wait for an answer: whoever sends a listener has them answered. */
int execution_listen_denials(Execution *execution, int fd) {
        int r = 0;

        if (!execution->denials)
                r = denials_new(execution->list->event, on_denied, execution, &execution->denials);
        if (r < 0) {
                close_fd(fd);
                return r;
        }
        return denials_listen(execution->denials, fd);
}

static int take_listener(Execution *execution, Message *message) {
        int fd, r;

        if (message->n_fds == 0)
                return execution->plan->syscalls_report ? -EBADMSG : 0;
        if (!execution->plan->syscalls_report)
                return -EBADMSG;
        fd = message->fds[0];
        message->n_fds = 0;
        if (!execution->is_canary) {
                r = fd_store_put(execution->id, &fd, 1);
                if (r < 0) {
                        close_fd(fd);
                        return r;
                }
        }
        return execution_listen_denials(execution, fd);
}

static int on_compiling(Execution *execution, Message *message) {
        int r = take_listener(execution, message);

        if (r < 0)
                return r;
        execution->facts.compile_usec = clamp(message->started.monotonic_usec, execution->facts.start_usec,
                clock_monotonic_usec());
        return execution_set_deadline(execution, execution->plan->compile_timeout_ms * 1000, on_compile_deadline);
}

static int on_compiled(Execution *execution, const Message *message) {
        Facts *facts = &execution->facts;
        uint64_t now = clock_monotonic_usec();
        uint64_t end = clamp(message->ended.monotonic_usec, facts->compile_usec, now);

        facts->compile_usec = end - facts->compile_usec;
        facts->compile_ended = true;
        facts->compile_status = message->ended.wait_status;
        if (facts->compile_status == 0)
                return execution_set_deadline(execution, execution->list->deadlines.start_usec, on_exec_deadline);

        (void) message_send(execution->control, MESSAGE_DONE, NULL, 0, NULL, NULL, 0);
        execution_collect(execution);
        return 0;
}

/* ---- the code ---- */

static int on_started(Execution *execution, Message *message) {
        uint64_t now = clock_monotonic_usec();
        uint64_t timeout = execution->plan->limit[LIMIT_TIMEOUT_MS] * 1000, spent;
        int r;

        r = take_listener(execution, message);
        if (r < 0)
                return r;
        execution->facts.started = true;
        execution->facts.exec_usec = clamp(message->started.monotonic_usec, execution->facts.start_usec, now);
        r = execution_save(execution, STATE_RUNNING);
        if (r < 0)
                return r;

        execution->facts.cpu_before_usec = message->started.cpu_usec;
        r = execution_watch_limits(execution);
        if (r < 0)
                return r;

        spent = now - execution->facts.exec_usec;
        r = execution_set_deadline(execution, spent < timeout ? timeout - spent : 0, execution_on_timeout);
        if (r < 0)
                return r;
        execution_set_state(execution, EXECUTION_RUNNING);
        return 0;
}

static void keep_report(Execution *execution, const Ended *ended) {
        CgroupUsage told = {ended->oom_kills, ended->memory_peak, ended->pids_refused, ended->cpu_usec}, usage;

        /* The kernel's word first; the runner's only where the cgroup was gone before we looked. */
        if (execution->cgroup) {
                cgroup_read_usage(execution->cgroup, &usage);
                cgroup_usage_keep_largest(&execution->facts.usage, &usage);
        }
        cgroup_usage_keep_unknown(&execution->facts.usage, &told);
}

static int on_ended(Execution *execution, const Message *message) {
        Facts *facts = &execution->facts;

        facts->started = facts->ended = true;
        facts->wait_status = message->ended.wait_status;
        facts->runner_deadline = message->ended.deadline != 0;
        if (facts->end_usec == 0)
                facts->end_usec =
                        clamp(message->ended.monotonic_usec, facts->exec_usec, clock_monotonic_usec());
        keep_report(execution, &message->ended);
        (void) message_send(execution->control, MESSAGE_DONE, NULL, 0, NULL, NULL, 0);
        execution_collect(execution);
        return 0;
}

static int on_failed(Execution *execution, const Message *message) {
        execution->facts.failed = true;
        execution->facts.failure = message->failed;
        (void) snprintf(
                execution->facts.failure_text, sizeof execution->facts.failure_text, "%.255s",
                message->text);
        /* It waits for that, and then leaves in order: no failed unit for what was the caller's mistake. */
        (void) message_send(execution->control, MESSAGE_DONE, NULL, 0, NULL, NULL, 0);
        execution_collect(execution);
        return 0;
}

static int dispatch(Execution *execution, Message *message) {
        if (!may_follow(execution, message->type))
                return -EBADMSG;
        execution->last_message = message->type;
        /* Once it is being ended only its last report still counts. */
        if (execution->state >= EXECUTION_COLLECTING && message->type != MESSAGE_ENDED)
                return 0;

        switch (message->type) {
        case MESSAGE_HELLO:
                return on_hello(execution);
        case MESSAGE_PREPARED:
                return on_prepared(execution, message);
        case MESSAGE_COMPILING:
                return on_compiling(execution, message);
        case MESSAGE_COMPILED:
                return on_compiled(execution, message);
        case MESSAGE_STARTED:
                return on_started(execution, message);
        case MESSAGE_ENDED:
                return on_ended(execution, message);
        case MESSAGE_FAILED:
                return on_failed(execution, message);
        case MESSAGE_PREPARE:
        case MESSAGE_HAND_OVER:
        case MESSAGE_DONE:
        case MESSAGE_DUMP:
                break; /* ours to send: may_follow() never lets them through */
        }
        return -EBADMSG;
}

static void stop_listening(Execution *execution) {
        execution->control_source = sd_event_source_disable_unref(execution->control_source);
}

/* One message, if there is one: 1, 0 for none, negative when nothing will come any more. */
static int receive(Execution *execution) {
        Message message;
        int r;

        r = message_receive(execution->control, &message);
        if (r <= 0) {
                if (r < 0)
                        stop_listening(execution);
                if (r == -EBADMSG)
                        execution_end(execution, CAUSE_PROTOCOL, "not a message");
                return r;
        }

        r = dispatch(execution, &message);
        message_clear(&message);
        if (r == -EBADMSG) {
                stop_listening(execution);
                execution_end(execution, CAUSE_PROTOCOL, "a message out of order or with the wrong contents");
                return r;
        }
        if (r == -EPIPE || r == -ECONNRESET) {
                stop_listening(execution); /* nobody is there any more: systemd tells how that came */
                return r;
        }
        if (r < 0) {
                char detail[128];

                (void) snprintf(detail, sizeof detail, "%s while it was being started", strerror(-r));
                execution_end(execution, CAUSE_INTERNAL, detail);
        }
        return 1;
}

static int on_control(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Execution *execution = userdata;

        for (unsigned i = 0; i < MESSAGES_A_TURN && execution->control_source; i++)
                if (receive(execution) <= 0)
                        break;
        return 0;
}

int execution_watch_control(Execution *execution) {
        return sd_event_add_io(execution->list->event, &execution->control_source, execution->control, EPOLLIN,
                on_control, execution);
}

void execution_drain_control(Execution *execution) {
        for (unsigned i = 0; i < MESSAGES_A_TURN && execution->control >= 0; i++)
                if (receive(execution) <= 0)
                        break;
}
