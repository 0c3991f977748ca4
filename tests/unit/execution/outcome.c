/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Every row of DESIGN section 5's status table from the facts that make it, and which fact wins where two
 * meet. */

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "execution/outcome.h"

#define EXIT(code) ((code) << 8)
#define UNKNOWN UINT64_MAX
#define NO_USAGE                                                                                            \
        { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN }

static Plan plan;

static void set_up(void) {
        plan.limit[LIMIT_TIMEOUT_MS] = 10000;
        plan.limit[LIMIT_MEMORY_MB] = 256;
        plan.limit[LIMIT_PIDS_MAX] = 64;
        plan.limit[LIMIT_DISK_MB] = 16;
        plan.compile_timeout_ms = 20000;
}

TestSuite(outcome, .init = set_up);

/* Facts as the daemon has them: what is not known is not zero. */
static Facts fill(const Facts *row) {
        Facts facts = *row;

        if (facts.usage.memory_peak == 0)
                facts.usage =
                        (CgroupUsage){facts.usage.oom_kills, UNKNOWN, facts.usage.pids_refused, UNKNOWN};
        if (facts.compile_usec == 0)
                facts.compile_usec = UNKNOWN;
        if (facts.unit.cpu_usage_nsec == 0)
                facts.unit.cpu_usage_nsec = UNKNOWN;
        return facts;
}

typedef struct Row {
        const char *what;
        Facts facts;
        Status status;
        int exit_code; /* -1: null */
        int signal;
        const char *says;
} Row;

#define CODE(wait) .started = true, .ended = true, .wait_status = (wait)

static const Row rows[] = {
        /* the program's own end */
        {"exit 0", {CODE(EXIT(0))}, STATUS_SUCCESS, 0, 0, "Finished."},
        {"exit 1", {CODE(EXIT(1))}, STATUS_FAILED, 1, 0, "exit status 1"},
        {"exit 137, its own", {CODE(EXIT(137))}, STATUS_FAILED, 137, 0, "137"},
        {"exit 203, its own", {CODE(EXIT(203))}, STATUS_FAILED, 203, 0, "203"},
        {"exit 255", {CODE(EXIT(255))}, STATUS_FAILED, 255, 0, "255"},
        {"SIGSEGV", {CODE(SIGSEGV)}, STATUS_SIGNALED, -1, SIGSEGV, "SIGSEGV"},
        {"SIGSEGV with a core", {CODE(SIGSEGV | 0x80)}, STATUS_SIGNALED, -1, SIGSEGV, "SIGSEGV"},
        {"SIGTERM: not clean, whatever systemd thinks", {CODE(SIGTERM), .unit.result = "success"},
                STATUS_SIGNALED, -1, SIGTERM, "SIGTERM"},
        {"SIGPIPE", {CODE(SIGPIPE)}, STATUS_SIGNALED, -1, SIGPIPE, "SIGPIPE"},
        {"its own SIGKILL", {CODE(SIGKILL)}, STATUS_SIGNALED, -1, SIGKILL, "SIGKILL"},

        /* limits */
        {"OOM kill of the main process", {CODE(SIGKILL), .usage.oom_kills = 1}, STATUS_MEMORY_LIMIT, -1, 0,
                "256 MiB"},
        {"OOM kill of a child that mattered", {CODE(EXIT(1)), .usage.oom_kills = 2}, STATUS_MEMORY_LIMIT, 1,
                0, "memory"},
        {"OOM kill of a child that did not", {CODE(EXIT(0)), .usage.oom_kills = 1}, STATUS_SUCCESS, 0, 0,
                "memory limit"},
        {"OOM as systemd has it", {CODE(SIGKILL), .unit.result = "oom-kill"}, STATUS_MEMORY_LIMIT, -1, 0,
                "memory"},
        {"OOM not known", {CODE(SIGKILL), .usage.oom_kills = UNKNOWN}, STATUS_SIGNALED, -1, SIGKILL,
                "SIGKILL"},
        {"forks refused, and failed", {CODE(EXIT(2)), .usage.pids_refused = 3}, STATUS_TASKS_LIMIT, 2, 0,
                "64"},
        {"forks refused, and well", {CODE(EXIT(0)), .usage.pids_refused = 3}, STATUS_SUCCESS, 0, 0,
                "Finished"},
        {"forks not counted", {CODE(EXIT(2)), .usage.pids_refused = UNKNOWN}, STATUS_FAILED, 2, 0, "2"},
        {"workspace full, and failed", {CODE(EXIT(1)), .disk_full = true}, STATUS_DISK_LIMIT, 1, 0,
                "16 MiB"},
        {"workspace full, and well", {CODE(EXIT(0)), .disk_full = true}, STATUS_SUCCESS, 0, 0, "Finished"},
        {"memory before tasks before disk", {CODE(EXIT(1)), .usage = {1, 1, 1, 1}, .disk_full = true},
                STATUS_MEMORY_LIMIT, 1, 0, "memory"},
        {"tasks before disk", {CODE(EXIT(1)), .usage = {0, 1, 1, 1}, .disk_full = true}, STATUS_TASKS_LIMIT,
                1, 0, "processes"},

        /* what we did */
        {"time", {CODE(SIGKILL), .cause = CAUSE_TIMEOUT}, STATUS_TIMEOUT, -1, 0, "10 s"},
        {"time, with an exit status of its own", {CODE(EXIT(3)), .cause = CAUSE_TIMEOUT}, STATUS_TIMEOUT, -1,
                0, "endless loop"},
        {"time, without any report", {.started = true, .cause = CAUSE_TIMEOUT}, STATUS_TIMEOUT, -1, 0,
                "10 s"},
        {"time by the runner, we were dead", {CODE(SIGKILL), .runner_deadline = true}, STATUS_TIMEOUT, -1, 0,
                "runner"},
        {"time by systemd, both were dead", {.started = true, .unit = {.result = "timeout", .over = true}},
                STATUS_TIMEOUT, -1, 0, "systemd"},
        {"time beats OOM", {CODE(SIGKILL), .cause = CAUSE_TIMEOUT, .usage.oom_kills = 1}, STATUS_TIMEOUT, -1,
                0, "10 s"},
        {"output", {CODE(SIGKILL), .cause = CAUSE_OUTPUT_LIMIT, .detail = "more than 256 MiB"},
                STATUS_OUTPUT_LIMIT, -1, 0, "256 MiB"},
        {"canceled", {CODE(SIGKILL), .cause = CAUSE_CANCELED, .detail = "by its owner"}, STATUS_CANCELED, -1,
                0, "Canceled: by its owner."},
        {"canceled in the queue", {.cause = CAUSE_CANCELED}, STATUS_CANCELED, -1, 0, "Canceled."},
        {"canceled, then refused", {.cause = CAUSE_CANCELED, .refused = true}, STATUS_CANCELED, -1, 0,
                "Canceled."},
        {"interrupted", {.cause = CAUSE_INTERRUPTED}, STATUS_INTERRUPTED, -1, 0, "nothing of it ran"},
        {"protocol", {.cause = CAUSE_PROTOCOL, .detail = "not a message"}, STATUS_INTERNAL_ERROR, -1, 0,
                "not a message"},
        {"our trouble", {.cause = CAUSE_INTERNAL, .detail = "no memory"}, STATUS_INTERNAL_ERROR, -1, 0,
                "no memory"},
        {"limits not in force", {.cause = CAUSE_CANNOT_ENFORCE, .detail = "pids_max"}, STATUS_START_FAILED,
                -1, 0, "pids_max"},

        /* what kept it from starting */
        {"start deadline", {.cause = CAUSE_START_TIMEOUT}, STATUS_START_FAILED, -1, 0, "Try again"},
        {"refused", {.refused = true, .detail = "Unit exists (x.y)"}, STATUS_START_FAILED, -1, 0,
                "Unit exists (x.y)"},
        {"no such program",
                {.failed = true, .failure = {FAILED_EXEC, 2}, .failure_text = "/x: No such file"},
                STATUS_START_FAILED, -1, 0, "/x: No such file"},
        {"files did not fit", {.failed = true, .failure = {FAILED_FILES, 28}, .failure_text = "in.csv"},
                STATUS_DISK_LIMIT, -1, 0, "disk"},
        {"unit set-up",
                {.unit = {.over = true,
                         .exec_main_code = CLD_EXITED,
                         .exec_main_status = 226,
                         .result = "exit-code"}},
                STATUS_START_FAILED, -1, 0, "226"},
        {"job failed", {.unit = {.over = true, .result = "resources"}}, STATUS_START_FAILED, -1, 0,
                "resources"},
        {"never heard of it", {.unit = {.over = true}}, STATUS_START_FAILED, -1, 0, "unknown"},

        /* compile step */
        {"does not compile", {.compile_ended = true, .compile_status = EXIT(1)}, STATUS_COMPILE_ERROR, 1, 0,
                "stderr"},
        {"compiler crashed", {.compile_ended = true, .compile_status = SIGSEGV}, STATUS_COMPILE_ERROR, -1, 0,
                "SIGSEGV"},
        {"compiler out of memory", {.compile_ended = true, .compile_status = SIGKILL, .usage.oom_kills = 1},
                STATUS_COMPILE_ERROR, -1, 0, "memory"},
        {"compiler too slow", {.cause = CAUSE_COMPILE_TIMEOUT}, STATUS_COMPILE_ERROR, -1, 0, "20 s"},
        {"compiled, then exit 4", {.compile_ended = true, CODE(EXIT(4))}, STATUS_FAILED, 4, 0, "4"},

        /* the runner said nothing */
        {"kill -9 -1",
                {.started = true,
                        .unit = {.over = true,
                                .exec_main_code = CLD_KILLED,
                                .exec_main_status = SIGKILL,
                                .result = "signal"}},
                STATUS_SIGNALED, -1, SIGKILL, "from inside"},
        {"kill -9 -1 as its first act",
                {.handed_over = true,
                        .unit = {.over = true,
                                .exec_main_code = CLD_KILLED,
                                .exec_main_status = SIGKILL,
                                .result = "signal"}},
                STATUS_SIGNALED, -1, SIGKILL, "SIGKILL"},
        {"killed before it had the work",
                {.unit = {.over = true,
                         .exec_main_code = CLD_KILLED,
                         .exec_main_status = SIGKILL,
                         .result = "signal"}},
                STATUS_START_FAILED, -1, 0, "signal"},
        {"OOM took the runner too",
                {.started = true,
                        .usage.oom_kills = 1,
                        .unit = {.over = true,
                                .exec_main_code = CLD_KILLED,
                                .exec_main_status = SIGKILL,
                                .result = "oom-kill"}},
                STATUS_MEMORY_LIMIT, -1, 0, "memory"},
        {"gone while we were",
                {.started = true, .recovered = true, .unit = {.over = true, .exec_main_code = CLD_EXITED}},
                STATUS_INTERRUPTED, -1, 0, "not known"},
        {"left without a word",
                {.started = true,
                        .unit = {.over = true,
                                .exec_main_code = CLD_EXITED,
                                .exec_main_status = 1,
                                .result = "exit-code"}},
                STATUS_INTERNAL_ERROR, -1, 0, "without a report"},
};

Test(outcome, rows) {
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                Facts facts = fill(&rows[i].facts);
                Result result = {};

                cr_assert_eq(outcome_decide(&facts, &plan, &result), 0);
                cr_expect_eq(result.status, rows[i].status, "%s: %s (%s)", rows[i].what,
                        status_name(result.status), result.message);
                cr_expect_eq(result.exit_code, rows[i].exit_code, "%s: exit code %d", rows[i].what,
                        result.exit_code);
                cr_expect_eq(result.signal, rows[i].signal, "%s: signal %d", rows[i].what, result.signal);
                cr_expect(strstr(result.message, rows[i].says), "%s: %s", rows[i].what, result.message);
                result_clear(&result);
        }
}

/* Each status of the table that this layer decides is in a row above. */
Test(outcome, every_status_has_a_row) {
        for (Status status = 0; status < STATUS_N; status++) {
                bool seen = status == STATUS_CPU_LIMIT; /* not built yet */

                for (size_t i = 0; i < ELEMENTS(rows); i++)
                        seen = seen || rows[i].status == status;
                cr_expect(seen, "%s", status_name(status));
        }
}

/* A hostile runner may say anything of the end, and any cause and flag may come along: there is always one
 * status. */
Test(outcome, any_facts_give_one) {
        for (unsigned bits = 0; bits < 256; bits++)
                for (Cause cause = CAUSE_NONE; cause <= CAUSE_INTERNAL; cause++)
                        for (int wait = -1; wait < 300; wait += 7) {
                                Facts facts = {.cause = cause,
                                        .refused = bits & 1,
                                        .started = bits & 2,
                                        .failed = bits & 4,
                                        .compile_ended = bits & 8,
                                        .ended = bits & 16,
                                        .runner_deadline = bits & 32,
                                        .recovered = bits & 64,
                                        .disk_full = bits & 128,
                                        .wait_status = wait,
                                        .compile_status = wait,
                                        .failure = {(uint32_t) wait, wait},
                                        .usage = NO_USAGE,
                                        .unit = {.exec_main_code = wait, .exec_main_status = wait}};
                                Result result = {};

                                memset(facts.detail, 'd', sizeof facts.detail - 1);
                                memset(facts.failure_text, 'f', sizeof facts.failure_text - 1);
                                cr_assert_eq(outcome_decide(&facts, &plan, &result), 0);
                                cr_assert_lt(result.status, STATUS_N);
                                cr_assert_gt(strlen(result.message), 5U);
                                cr_assert(result.exit_code == -1 || result.signal == 0);
                                cr_assert(result.signal == 0 || result.status == STATUS_SIGNALED);
                                result_clear(&result);
                        }
}

Test(outcome, times) {
        static const struct {
                Facts facts;
                uint64_t duration, queue, start, compile;
                bool runaway;
        } cases[] = {
                {{CODE(0), .accepted_usec = 1000000, .start_usec = 1100000, .exec_usec = 1120000,
                         .end_usec = 1263000, .compile_usec = UNKNOWN},
                        143, 100, 20, UNKNOWN, false},
                {{CODE(0), .accepted_usec = 1, .start_usec = 1, .exec_usec = 1000001, .end_usec = 6000001,
                         .compile_usec = UNKNOWN},
                        5000, 0, 1000, UNKNOWN, false},
                {{CODE(0), .accepted_usec = 1, .start_usec = 1, .exec_usec = 1000001, .end_usec = 6001001,
                         .compile_usec = UNKNOWN},
                        5001, 0, 1000, UNKNOWN, true},
                /* compiling is neither starting nor running */
                {{CODE(0), .accepted_usec = 1, .start_usec = 1, .exec_usec = 3000001, .end_usec = 3000001,
                         .compile_usec = 2900000},
                        0, 0, 100, 2900, false},
                /* never ran */
                {{.accepted_usec = 5, .end_usec = 1000, .compile_usec = UNKNOWN}, UNKNOWN, UNKNOWN, UNKNOWN,
                        UNKNOWN, false},
                {{.accepted_usec = 5, .start_usec = 2005, .end_usec = 9000, .compile_usec = UNKNOWN},
                        UNKNOWN, 2, UNKNOWN, UNKNOWN, false},
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Result result = {};

                cr_assert_eq(outcome_decide(&cases[i].facts, &plan, &result), 0);
                cr_expect_eq(result.duration_ms, cases[i].duration, "case %zu", i);
                if (cases[i].queue != UNKNOWN)
                        cr_expect_eq(result.queue_ms, cases[i].queue, "case %zu", i);
                cr_expect_eq(result.start_ms, cases[i].start, "case %zu", i);
                cr_expect_eq(result.compile_ms, cases[i].compile, "case %zu", i);
                cr_expect_eq(result.suspected_runaway, cases[i].runaway, "case %zu", i);
                result_clear(&result);
        }
}

Test(outcome, usage_and_flags) {
        Facts facts = {CODE(SIGXFSZ), .usage = {2, 4096, 3, 31999}, .disk_full = true,
                .compile_usec = UNKNOWN, .unit.cpu_usage_nsec = 99000000};
        Result result = {};

        cr_assert_eq(outcome_decide(&facts, &plan, &result), 0);
        cr_expect_eq(result.cpu_ms, 31);
        cr_expect_eq(result.memory_peak_bytes, 4096);
        cr_expect(result.oom_killed && result.tasks_limit_hit && result.disk_limit_hit &&
                  result.file_limit_hit);
        result_clear(&result);

        /* systemd's count where the cgroup has none */
        facts = (Facts){
                CODE(EXIT(0)), .usage = NO_USAGE, .compile_usec = UNKNOWN, .unit.cpu_usage_nsec = 99000000};
        cr_assert_eq(outcome_decide(&facts, &plan, &result), 0);
        cr_expect_eq(result.cpu_ms, 99);
        cr_expect_eq(result.memory_peak_bytes, USAGE_UNKNOWN);
        cr_expect_not(result.oom_killed || result.tasks_limit_hit || result.disk_limit_hit ||
                      result.file_limit_hit);
        result_clear(&result);

        facts.unit.cpu_usage_nsec = UNKNOWN;
        cr_assert_eq(outcome_decide(&facts, &plan, &result), 0);
        cr_expect_eq(result.cpu_ms, USAGE_UNKNOWN);
        result_clear(&result);
}

Test(outcome, recovered_is_said) {
        Facts facts = {CODE(EXIT(0)), .recovered = true, .usage = NO_USAGE, .compile_usec = UNKNOWN};
        Result result = {};

        cr_assert_eq(outcome_decide(&facts, &plan, &result), 0);
        cr_expect_eq(result.status, STATUS_SUCCESS);
        cr_expect(strstr(result.message, "restarted meanwhile"));
        result_clear(&result);
}

/* The signal's number may be one that has no name. */
Test(outcome, a_signal_without_a_name) {
        Facts facts = {.started = true,
                .usage = NO_USAGE,
                .compile_usec = UNKNOWN,
                .unit = {.over = true, .exec_main_code = CLD_KILLED, .exec_main_status = 9999}};
        Result result = {};

        cr_assert_eq(outcome_decide(&facts, &plan, &result), 0);
        cr_expect_eq(result.status, STATUS_SIGNALED);
        result_clear(&result);
}
