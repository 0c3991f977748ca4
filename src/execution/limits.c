/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What is watched while the code runs: CPU time, the memory mark, half of the time limit, and the time limit with
 * the stack that is asked for before the end.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#include "audit/record.h"
#include "base/clock.h"
#include "execution/internal.h"

#define MIB UINT64_C(1048576)

/* CPU time is looked at when it could be used up at the earliest, but not more often than this. */
#define CPU_LOOK_MIN_USEC UINT64_C(5000)

/* The stack: as long as it still comes, in steps, and never longer than all of them. */
#define STACK_STEP_USEC UINT64_C(100000)
#define STACK_STEPS 10U
#define STACK_MAX (16U * 1024)

static void record_warning(Execution *execution, const char *kind, const char *text) {
        own(record_freep) Record *record = NULL;
        own(freep) char *message = NULL;
        int r;

        if (execution->is_canary || asprintf(&message, "Execution %s: %s", execution->id, text) < 0)
                return;
        r = record_new(AUDIT_WARNING, message, &record);
        if (r >= 0)
                r = record_add(record, "UNITCELL_EXECUTION", execution->id);
        if (r >= 0)
                r = record_add(record, "UNITCELL_WARNING", kind);
        if (r >= 0)
                r = record_add_caller(record, &execution->caller);
        if (r >= 0)
                r = record_send(record);
        if (r < 0)
                sd_journal_print(LOG_ERR, "%s: a warning could not be recorded: %s", execution->id, strerror(-r));
        if (execution->list->observer.on_warning)
                execution->list->observer.on_warning(execution->list->userdata, execution, kind, text);
}

/* ---- CPU time ---- */

static int on_cpu_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Execution *execution = userdata;
        uint64_t limit = execution->plan->limit[LIMIT_CPU_MS] * 1000, used, left;
        CgroupUsage usage;

        if (execution->state != EXECUTION_RUNNING || !execution->cgroup)
                return 0;
        cgroup_read_usage(execution->cgroup, &usage);
        cgroup_usage_keep_largest(&execution->facts.usage, &usage);
        used = execution->facts.usage.cpu_usec;
        if (used == UINT64_MAX)
                return 0;
        if (execution->facts.cpu_before_usec != UINT64_MAX && used >= execution->facts.cpu_before_usec)
                used -= execution->facts.cpu_before_usec;
        if (used >= limit) {
                execution_end(execution, CAUSE_CPU_LIMIT, NULL);
                return 0;
        }

        /* So many CPUs at most can be busy for it. */
        left = (limit - used) * 1000 / execution->plan->limit[LIMIT_CPU_CPUS];
        (void) sd_event_source_set_time(
                source, clock_monotonic_usec() + (left > CPU_LOOK_MIN_USEC ? left : CPU_LOOK_MIN_USEC));
        (void) sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
}

static int on_half_time(sd_event_source *source, uint64_t usec, void *userdata) {
        Execution *execution = userdata;

        if (execution->state == EXECUTION_RUNNING)
                record_warning(execution, "runaway", "half of its time limit is over");
        return 0;
}

int execution_watch_limits(Execution *execution) {
        sd_event *event = execution->list->event;
        uint64_t half = execution->facts.exec_usec + execution->plan->limit[LIMIT_TIMEOUT_MS] * 500;
        int r;

        r = sd_event_add_time(event, &execution->half_time, CLOCK_MONOTONIC, half, 10000, on_half_time, execution);
        if (r < 0 || execution->plan->limit[LIMIT_CPU_MS] == 0)
                return r;
        /* A first look at once tells when the next is due. */
        return sd_event_add_time(event, &execution->cpu_timer, CLOCK_MONOTONIC,
                clock_monotonic_usec() + CPU_LOOK_MIN_USEC, 1000, on_cpu_timer, execution);
}

void execution_unwatch_limits(Execution *execution) {
        execution->cpu_timer = sd_event_source_disable_unref(execution->cpu_timer);
        execution->half_time = sd_event_source_disable_unref(execution->half_time);
}

/* ---- the memory mark ---- */

static void set_memory_high(Execution *execution, uint64_t bytes) {
        own(properties_clear) Properties properties = {};
        int r;

        r = property_add_u64(&properties, "MemoryHigh", bytes);
        if (r >= 0)
                r = unit_set_properties(execution->unit, &properties);
        if (r < 0)
                execution_end(execution, CAUSE_INTERNAL, "the memory mark could not be moved");
}

void execution_look_at_memory(Execution *execution) {
        uint64_t mark = execution->plan->limit[LIMIT_MEMORY_WARN_MB] * MIB;
        CgroupMemory memory;
        char text[160];

        if (mark == 0 || execution->facts.memory_warned || execution->state >= EXECUTION_COLLECTING || !execution->unit)
                return;
        cgroup_read_memory(execution->cgroup, &memory);
        if (memory.high_events == UINT64_MAX || memory.high_events <= execution->high_events ||
                memory.current == UINT64_MAX)
                return;
        execution->high_events = memory.high_events;

        /* Reading a large file is not using memory: page cache is given back when it is needed. */
        if (memory.current < mark + memory.reclaimable) {
                set_memory_high(execution, mark + memory.reclaimable + mark / 8);
                return;
        }

        execution->facts.memory_warned = true;
        (void) snprintf(text, sizeof text, "its memory passed the mark of %" PRIu64 " MiB (memory_warn_mb)", mark / MIB);
        record_warning(execution, "memory", text);
        if (execution->plan->on_memory_warn == ON_MEMORY_WARN_TERMINATE)
                execution_end(execution, CAUSE_MEMORY_WARN, NULL);
        else
                set_memory_high(execution, UINT64_MAX); /* or it would be throttled into its time limit */
}

/* ---- the time limit ---- */

static void on_stack_step(Execution *execution) {
        uint64_t produced = execution->err ? reader_produced(execution->err) : 0;
        bool comes = produced > execution->stack_seen || (execution->stack_waits == 0 && produced == 0);

        execution->stack_seen = produced;
        if (comes && ++execution->stack_waits < STACK_STEPS &&
                execution_set_deadline(execution, STACK_STEP_USEC, on_stack_step) >= 0)
                return;
        execution_end(execution, CAUSE_TIMEOUT, NULL);
}

void execution_on_timeout(Execution *execution) {
        /* It may have ended in time, with the report still in the socket. */
        execution_drain_control(execution);
        if (execution->state != EXECUTION_RUNNING)
                return;

        execution_set_cause(execution, CAUSE_TIMEOUT, NULL);
        execution->facts.end_usec = clock_monotonic_usec();
        if (!execution->plan->reports_stack || !execution->err ||
                message_send(execution->control, MESSAGE_DUMP, NULL, 0, NULL, NULL, 0) < 0) {
                execution_end(execution, CAUSE_TIMEOUT, NULL);
                return;
        }

        execution->stack_asked = true;
        keep_init(&execution->stack_keep, STACK_MAX);
        reader_turn(execution->err, &execution->err_keep.sink, &execution->stack_keep.sink);
        execution->stack_seen = reader_produced(execution->err);
        if (execution_set_deadline(execution, STACK_STEP_USEC, on_stack_step) < 0)
                execution_end(execution, CAUSE_TIMEOUT, NULL);
}

/* Our own file's frames tell nobody anything. */
static void drop_bootstrap(char *stack) {
        char *line = stack, *to = stack;

        while (*line) {
                size_t size = strcspn(line, "\n");
                size_t whole = size + (line[size] == '\n');

                if (!memmem(line, size, "/unitcell/bootstrap/", strlen("/unitcell/bootstrap/"))) {
                        memmove(to, line, whole);
                        to += whole;
                }
                line += whole;
        }
        *to = '\0';
}

int execution_take_stack(Execution *execution, char **ret) {
        Output output = {};
        const char *start = NULL;
        size_t own_size;
        int r;

        *ret = NULL;
        if (!execution->stack_asked)
                return 0;
        r = keep_take(&execution->stack_keep, &output);
        if (r < 0)
                return r;

        /* "Thread 0x…" or, for the one that had the signal, "Current thread 0x…". */
        if (output.head.data) {
                const char *thread = strstr(output.head.data, "Thread 0x"), *current = strstr(output.head.data, "Current thread 0x");

                start = !thread || (current && current < thread) ? current : thread;
        }
        own_size = start ? (size_t) (start - output.head.data) : output.head.size;
        if (own_size > 0)
                execution->err_keep.sink.take(&execution->err_keep.sink, output.head.data, own_size);
        if (start) {
                *ret = strdup(start);
                if (*ret)
                        drop_bootstrap(*ret);
        }
        bytes_clear(&output.head);
        bytes_clear(&output.tail);
        return start && !*ret ? -ENOMEM : 0;
}
