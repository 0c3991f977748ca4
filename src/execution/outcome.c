/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The decision. Order matters: what we did ourselves comes first (a program killed by us "died by SIGKILL" too),
 * then what kept it from starting, then what the kernel counted, and the program's own exit last.
 */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/text.h"
#include "execution/outcome.h"

typedef struct Decision {
        Status status;
        char message[640];
} Decision;

static void say(Decision *decision, Status status, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static void say(Decision *decision, Status status, const char *format, ...) {
        va_list arguments;

        decision->status = status;
        va_start(arguments, format);
        (void) vsnprintf(decision->message, sizeof decision->message, format, arguments);
        va_end(arguments);
}

/* "10 s", "1.5 s", "200 ms" */
static const char *duration_text(uint64_t ms, char *buffer, size_t size) {
        if (ms % 1000 == 0)
                (void) snprintf(buffer, size, "%" PRIu64 " s", ms / 1000);
        else if (ms >= 1000)
                (void) snprintf(buffer, size, "%.1f s", (double) ms / 1000);
        else
                (void) snprintf(buffer, size, "%" PRIu64 " ms", ms);
        return buffer;
}

static bool is_oom(const Facts *facts) {
        return (facts->usage.oom_kills != UINT64_MAX && facts->usage.oom_kills > 0) ||
               streq(facts->unit.result, "oom-kill");
}

static bool is_tasks_limit(const Facts *facts) {
        return facts->usage.pids_refused != UINT64_MAX && facts->usage.pids_refused > 0;
}

/* ---- what we did ourselves ---- */

static bool decide_by_cause(const Facts *facts, const Plan *plan, Decision *ret) {
        char time[32];

        switch (facts->cause) {
        case CAUSE_NONE:
                return false;
        case CAUSE_CANCELED:
                say(ret, STATUS_CANCELED, "Canceled%s%s.", facts->detail[0] ? ": " : "", facts->detail);
                return true;
        case CAUSE_TIMEOUT:
                say(ret, STATUS_TIMEOUT,
                        "Stopped after %s, the time limit (timeout_ms). Look for an endless loop or a wait for input; "
                        "if the work needs longer, ask for a larger timeout_ms or split it.",
                        duration_text(plan->limit[LIMIT_TIMEOUT_MS], time, sizeof time));
                return true;
        case CAUSE_COMPILE_TIMEOUT:
                say(ret, STATUS_COMPILE_ERROR,
                        "The compiler was stopped after %s, the policy's limit for compiling "
                        "(compile_timeout_ms). Make the source smaller or simpler to compile.",
                        duration_text(plan->compile_timeout_ms, time, sizeof time));
                return true;
        case CAUSE_START_TIMEOUT:
                say(ret, STATUS_START_FAILED,
                        "The unit was not ready in time; the machine may be overloaded. Try again later.%s%s",
                        facts->detail[0] ? " " : "", facts->detail);
                return true;
        case CAUSE_CPU_LIMIT:
                say(ret, STATUS_CPU_LIMIT,
                        "Stopped after %s of CPU time, the limit (cpu_ms). Make the computation cheaper, or ask for a "
                        "larger cpu_ms.",
                        duration_text(plan->limit[LIMIT_CPU_MS], time, sizeof time));
                return true;
        case CAUSE_MEMORY_WARN:
                say(ret, STATUS_MEMORY_LIMIT,
                        "Stopped at the memory mark of %" PRIu64 " MiB (memory_warn_mb), as the policy says. Process the "
                        "data in smaller pieces, or ask for larger memory_warn_mb and memory_mb.",
                        plan->limit[LIMIT_MEMORY_WARN_MB]);
                return true;
        case CAUSE_OUTPUT_LIMIT:
                say(ret, STATUS_OUTPUT_LIMIT,
                        "Stopped because it printed too much%s%s. Print less, or write the data to a file.",
                        facts->detail[0] ? ": " : "", facts->detail);
                return true;
        case CAUSE_CANNOT_ENFORCE:
                say(ret, STATUS_START_FAILED, "Not started, since this host does not enforce what it needs: %s%s",
                        facts->detail, ends_with(facts->detail, ".") ? "" : ".");
                return true;
        case CAUSE_PROTOCOL:
                say(ret, STATUS_INTERNAL_ERROR, "The execution was stopped: its runner broke the protocol (%s).",
                        facts->detail);
                return true;
        case CAUSE_INTERRUPTED:
                say(ret, STATUS_INTERRUPTED,
                        "The service was restarted before the code was handed over; nothing of it ran. Try again.");
                return true;
        case CAUSE_INTERNAL:
                say(ret, STATUS_INTERNAL_ERROR, "The service could not go on with this execution: %s.",
                        facts->detail);
                return true;
        }
        return false;
}

/* ---- what kept the code from starting ---- */

static void decide_failure(const Facts *facts, Decision *ret) {
        int error = facts->failure.errno_number;

        switch ((FailedStage) facts->failure.stage) {
        case FAILED_EXEC:
                say(ret, STATUS_START_FAILED,
                        "The program could not be started: %s. Inside, only what unitcell-spec(5) lists exists.",
                        facts->failure_text);
                return;
        case FAILED_FILES:
                if (error == ENOSPC || error == EFBIG) {
                        say(ret, STATUS_DISK_LIMIT,
                                "The input files do not fit the workspace: %s. Ask for a larger disk_mb or send less.",
                                facts->failure_text);
                        return;
                }
                say(ret, STATUS_START_FAILED, "The input files could not be made: %s.", facts->failure_text);
                return;
        case FAILED_PREPARE:
        case FAILED_ORDER:
        case FAILED_CHILD:
                break;
        }
        say(ret, STATUS_START_FAILED, "The confined environment could not be prepared: %s.", facts->failure_text);
}

static bool decide_by_start(const Facts *facts, Decision *ret) {
        if (facts->refused && facts->cause == CAUSE_NONE) {
                say(ret, STATUS_START_FAILED, "systemd refused the unit: %s.", facts->detail);
                return true;
        }
        if (facts->failed) {
                decide_failure(facts, ret);
                return true;
        }
        return false;
}

static bool decide_by_compile(const Facts *facts, Decision *ret) {
        int status = facts->compile_status;

        if (!facts->compile_ended || status == 0)
                return false;

        if (is_oom(facts))
                say(ret, STATUS_COMPILE_ERROR,
                        "The compiler was killed at the memory limit. Ask for a larger memory_mb or a smaller source.");
        else if (WIFEXITED(status))
                say(ret, STATUS_COMPILE_ERROR,
                        "The source does not compile (the compiler's exit status is %d); its messages are in stderr.",
                        WEXITSTATUS(status));
        else
                say(ret, STATUS_COMPILE_ERROR, "The compiler was ended by %s.", signal_name(WTERMSIG(status)));
        return true;
}

/* ---- how the code ended ---- */

static void decide_by_exit(const Facts *facts, const Plan *plan, int wait_status, Decision *ret) {
        bool failed = !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0;

        if (!failed) {
                say(ret, STATUS_SUCCESS, is_oom(facts) ?
                                "Finished, but a process of it was killed at the memory limit on the way." :
                                "Finished.");
                return;
        }
        if (is_oom(facts)) {
                say(ret, STATUS_MEMORY_LIMIT,
                        "Killed at the memory limit of %" PRIu64 " MiB (memory_mb; files in the workspace count too). "
                        "Process the data in smaller pieces, or ask for a larger memory_mb.",
                        plan->limit[LIMIT_MEMORY_MB]);
                return;
        }
        if (is_tasks_limit(facts)) {
                say(ret, STATUS_TASKS_LIMIT,
                        "It failed after reaching the limit of %" PRIu64 " processes and threads (pids_max). "
                        "Start fewer at a time, or ask for a larger pids_max.",
                        plan->limit[LIMIT_PIDS_MAX]);
                return;
        }
        if (facts->disk_full) {
                say(ret, STATUS_DISK_LIMIT,
                        "It failed with the workspace full: %" PRIu64 " MiB (disk_mb). "
                        "Write less or delete what is not needed, or ask for a larger disk_mb.",
                        plan->limit[LIMIT_DISK_MB]);
                return;
        }
        if (WIFEXITED(wait_status))
                say(ret, STATUS_FAILED, "The program ended with exit status %d; see stderr.",
                        WEXITSTATUS(wait_status));
        else
                say(ret, STATUS_SIGNALED, "The program was ended by %s.", signal_name(WTERMSIG(wait_status)));
}

/* The runner said nothing of the end: systemd and the kernel are asked. */
static void decide_by_unit(const Facts *facts, const Plan *plan, Decision *ret) {
        const UnitState *unit = &facts->unit;
        char time[32];

        bool killed = unit->exec_main_code == CLD_KILLED || unit->exec_main_code == CLD_DUMPED;

        /* Code whose first act is "kill -9 -1" takes the report of its start along. */
        if (!facts->started && !facts->compile_ended && !(facts->handed_over && killed)) {
                if (facts->handed_over && facts->recovered)
                        say(ret, STATUS_INTERRUPTED,
                                "The service went away while this was being started, and whether and how it ran is not known.");
                else if (unit->exec_main_code == CLD_EXITED && unit->exec_main_status >= 200)
                        say(ret, STATUS_START_FAILED,
                                "The unit could not be set up (systemd's exit status %d, %s).", unit->exec_main_status,
                                unit->result);
                else
                        say(ret, STATUS_START_FAILED, "The unit did not start (systemd says \"%s\").",
                                unit->result[0] ? unit->result : "unknown");
                return;
        }
        if (is_oom(facts)) {
                decide_by_exit(facts, plan, SIGKILL, ret);
                return;
        }
        if (streq(unit->result, "timeout")) {
                say(ret, STATUS_TIMEOUT, "Stopped by systemd after the time limit of %s.",
                        duration_text(plan->limit[LIMIT_TIMEOUT_MS], time, sizeof time));
                return;
        }
        if (killed) {
                /* They share a uid: "kill -9 -1" of the code reaches its runner too. */
                say(ret, STATUS_SIGNALED, "The program and its runner were ended by %s, sent from inside.",
                        signal_name(unit->exec_main_status));
                return;
        }
        if (facts->recovered || !unit->over)
                say(ret, STATUS_INTERRUPTED, "The service went away while this ran, and how it ended is not known.");
        else
                say(ret, STATUS_INTERNAL_ERROR, "The runner left without a report (systemd says \"%s\", status %d).",
                        unit->result, unit->exec_main_status);
}

/* The innermost frame that is the code's own, from a stack as faulthandler writes it: most recent call first. */
static void say_where(const Facts *facts, Decision *decision) {
        static const char ours[] = "File \"" PLAN_CODE_DIRECTORY "/";
        const char *from = facts->stopped_at ? strstr(facts->stopped_at, "Current thread ") : NULL;
        size_t used = strlen(decision->message);
        const char *frame;

        frame = facts->stopped_at ? strstr(from ? from : facts->stopped_at, ours) : NULL;
        if (decision->status != STATUS_TIMEOUT || !frame)
                return;
        (void) snprintf(decision->message + used, sizeof decision->message - used, " It was at %.*s.",
                (int) strcspn(frame, "\n"), frame);
}

/* "What blocked me?" is the first question about a sandbox: a program that failed is told. */
static void say_denied(const Result *result, Decision *decision) {
        size_t n = result->denied_syscalls ? json_object_array_length(result->denied_syscalls) : 0;
        size_t used = strlen(decision->message);

        if (n == 0 || (decision->status != STATUS_FAILED && decision->status != STATUS_SIGNALED))
                return;
        for (size_t i = 0; i < n && i < 8; i++) {
                json_object *item = json_object_array_get_idx(result->denied_syscalls, i), *name = NULL;

                (void) json_object_object_get_ex(item, "name", &name);
                used += (size_t) snprintf(decision->message + used, sizeof decision->message - used, "%s%s",
                        i == 0 ? " System calls refused by the policy: " : ", ", name ? json_object_get_string(name) : "?");
                if (used >= sizeof decision->message - 2)
                        return;
        }
        (void) snprintf(decision->message + used, sizeof decision->message - used, ".");
}

static void fill_exit(const Facts *facts, Status status, Result *result) {
        bool own_end = facts->ended && facts->cause == CAUSE_NONE && !facts->runner_deadline;

        result->exit_code = -1;
        result->signal = 0;
        if (status == STATUS_COMPILE_ERROR) {
                if (facts->compile_ended && WIFEXITED(facts->compile_status))
                        result->exit_code = WEXITSTATUS(facts->compile_status);
                return;
        }
        if (own_end && WIFEXITED(facts->wait_status))
                result->exit_code = WEXITSTATUS(facts->wait_status);
        else if (status == STATUS_SIGNALED)
                result->signal = facts->ended ? WTERMSIG(facts->wait_status) : facts->unit.exec_main_status;
}

static uint64_t elapsed_ms(uint64_t from_usec, uint64_t to_usec) {
        return from_usec == 0 || to_usec < from_usec ? USAGE_UNKNOWN : (to_usec - from_usec) / 1000;
}

static void fill_times(const Facts *facts, const Plan *plan, Result *result) {
        uint64_t duration = elapsed_ms(facts->exec_usec, facts->end_usec);
        uint64_t queue = elapsed_ms(facts->accepted_usec, facts->start_usec);
        uint64_t start = elapsed_ms(facts->start_usec, facts->exec_usec);

        result->duration_ms = duration;
        result->queue_ms = queue == USAGE_UNKNOWN ? 0 : queue;
        result->compile_ms = facts->compile_usec == UINT64_MAX ? USAGE_UNKNOWN : facts->compile_usec / 1000;
        if (start != USAGE_UNKNOWN && result->compile_ms != USAGE_UNKNOWN)
                start = start > result->compile_ms ? start - result->compile_ms : 0;
        result->start_ms = start;
        result->suspected_runaway =
                duration != USAGE_UNKNOWN && duration * 2 > plan->limit[LIMIT_TIMEOUT_MS];
}

static void fill_usage(const Facts *facts, Result *result) {
        result->cpu_ms = USAGE_UNKNOWN;
        if (facts->usage.cpu_usec != UINT64_MAX) {
                uint64_t before = facts->cpu_before_usec;

                if (before == UINT64_MAX || before > facts->usage.cpu_usec)
                        before = 0;
                result->cpu_ms = (facts->usage.cpu_usec - before) / 1000;
        }
        else if (facts->unit.cpu_usage_nsec != UINT64_MAX)
                result->cpu_ms = facts->unit.cpu_usage_nsec / 1000000;
        result->memory_peak_bytes = facts->usage.memory_peak;
        result->memory_warned = facts->memory_warned;
        result->oom_killed = is_oom(facts);
        result->tasks_limit_hit = is_tasks_limit(facts);
        result->disk_limit_hit = facts->disk_full;
        result->file_limit_hit = facts->file_cut || (facts->ended && WIFSIGNALED(facts->wait_status) &&
                                                            WTERMSIG(facts->wait_status) == SIGXFSZ);
}

int outcome_decide(const Facts *facts, const Plan *plan, Result *result) {
        Decision decision = {};
        char *message;
        char time[32];

        if (decide_by_start(facts, &decision) || decide_by_cause(facts, plan, &decision) ||
                decide_by_compile(facts, &decision))
                ;
        else if (facts->runner_deadline)
                say(&decision, STATUS_TIMEOUT,
                        "Stopped after the time limit of %s by its runner, while the service was away.",
                        duration_text(plan->limit[LIMIT_TIMEOUT_MS], time, sizeof time));
        else if (facts->ended)
                decide_by_exit(facts, plan, facts->wait_status, &decision);
        else
                decide_by_unit(facts, plan, &decision);

        say_where(facts, &decision);
        say_denied(result, &decision);
        if (facts->recovered && facts->cause != CAUSE_INTERRUPTED && strlen(decision.message) + 100 < sizeof decision.message)
                strcat(decision.message,
                        " The service was restarted meanwhile; output from before that may be missing.");

        message = strdup(decision.message);
        if (!message)
                return -ENOMEM;
        free(result->message);
        result->message = message;
        result->status = decision.status;
        fill_exit(facts, decision.status, result);
        fill_times(facts, plan, result);
        fill_usage(facts, result);
        return 0;
}
