/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Executions from submission to result, beside a systemd that does as it should. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/json.h"
#include "world.h"

static World world;

static void set_up(void) {
        world_begin(&world);
}

static void tear_down(void) {
        world_close(&world);
}

TestSuite(executions, .init = set_up, .fini = tear_down, .timeout = 100);

#define SPEC "{\"argv\":[\"/bin/a\"]}"
#define COMPILED "{\"language\":\"cc\",\"code\":\"\"}"

static json_object *result_of(Execution *execution) {
        own(freep) char *text = NULL;
        json_object *result;
        JsonError error;

        UNTIL(&world, execution_state(execution) == EXECUTION_FINISHED);
        cr_assert_eq(execution_get_result(execution, &text), 0);
        cr_assert_eq(json_parse(text, strlen(text), &result, &error), 0);
        return result;
}

static void expect_value(json_object *result, const char *key, const char *expected) {
        json_object *value;

        cr_assert(json_object_object_get_ex(result, key, &value), "%s", key);
        cr_expect_str_eq(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), expected, "%s", key);
}

Test(executions, one) {
        own(json_freep) json_object *result = NULL;
        Execution *execution;
        FakeUnit *unit;

        world.scripts[0] = (Script){.out = "hello\n", .err = "oh\n", .wait_status = 3 << 8};
        execution = world_submit(&world, 1000, SPEC);
        cr_expect_eq(execution_state(execution), EXECUTION_QUEUED);
        expect_result(&world, execution, STATUS_FAILED, "exit status 3");
        result = result_of(execution);
        expect_value(result, "exit_code", "3");
        expect_value(result, "stdout", "\"hello\\n\"");
        expect_value(result, "stderr", "\"oh\\n\"");
        expect_value(result, "stdout_truncated", "false");
        /* the kernel's word, not the runner's */
        expect_value(result, "cpu_ms", "31");
        expect_value(result, "memory_peak_bytes", "4096");
        expect_value(result, "oom_killed", "false");
        expect_value(result, "invocation_id", "\"01020300000000000000000000000000\"");

        UNTIL(&world, !execution->unit);
        unit = world_unit_of(&world, execution);
        cr_expect_eq(unit->n_prepare, 1);
        cr_expect_eq(unit->n_hand_over, 1);
        cr_expect_eq(unit->n_done, 1);
        UNTIL(&world, unit->unrefs == 1);
        cr_expect_eq(unit->resets, 0);
        cr_expect_eq(unit->stops, 0);
        cr_expect_str_eq(unit->slice, "unitcell-u1000.slice");
        cr_expect_eq(world.finished, 1);
        cr_expect_eq(executions_count_running(world.executions), 0);
}

/* ---- what is there before systemd is asked ---- */

static int notified;
static unsigned n_stored, n_dropped;

static void read_notifications(void) {
        char data[128], control[CMSG_SPACE(sizeof(int) * 8) + CMSG_SPACE(64)];
        struct iovec part = {data, sizeof data - 1};
        ssize_t n;

        for (;;) {
                struct msghdr packet = {.msg_iov = &part,
                        .msg_iovlen = 1,
                        .msg_control = control,
                        .msg_controllen = sizeof control};

                n = recvmsg(notified, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
                if (n < 0)
                        return;
                data[n] = '\0';
                n_dropped += !!strstr(data, "FDSTOREREMOVE=1");
                for (struct cmsghdr *c = CMSG_FIRSTHDR(&packet); c; c = CMSG_NXTHDR(&packet, c))
                        for (size_t i = 0;
                                c->cmsg_type == SCM_RIGHTS && i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                                i++) {
                                int fd;

                                memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
                                close(fd);
                                n_stored++;
                        }
        }
}

static void on_start(World *where) {
        Execution *execution = executions_next(world.executions, NULL);
        char path[128];

        read_notifications();
        cr_expect_eq(n_stored, 3, "control and two pipes are stored");
        (void) snprintf(path, sizeof path, "%s/%s.json", world.state_directory, execution_id(execution));
        cr_expect_eq(access(path, F_OK), 0, "its state is written");
        cr_expect_eq(world_count_records(&world, "accepted", NULL), 1, "it is recorded");
}

Test(executions, nothing_is_asked_before_it_can_be_found_again) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        Execution *execution;

        notified = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        (void) snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", world.root);
        cr_assert_eq(bind(notified, (struct sockaddr *) &address, sizeof address), 0);
        cr_assert_eq(setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
        world.on_start = on_start;
        execution = world_submit(&world, 1000, SPEC);
        expect_result(&world, execution, STATUS_SUCCESS, "Finished");
        read_notifications();
        cr_expect_eq(n_stored, 4, "and the workspace");
        cr_expect_eq(n_dropped, 1, "all are dropped by their one name");
        cr_assert_eq(unsetenv("NOTIFY_SOCKET"), 0);
        close(notified);
}

/* ---- being canceled ---- */

static void cancel_at(ExecutionState state, Script script) {
        Execution *execution, *beside;
        size_t first = world.n_units;

        world.scripts[first] = script;
        execution = world_submit(&world, 1000, SPEC);
        UNTIL(&world, execution_state(execution) == state);
        beside = world_submit(&world, 1000, SPEC);
        execution_cancel(execution, "by its owner");
        execution_cancel(execution, "again");
        expect_result(&world, execution, STATUS_CANCELED, "by its owner");
        execution_cancel(execution, "too late");
        expect_result(&world, execution, STATUS_CANCELED, "by its owner");
        expect_result(&world, beside, STATUS_SUCCESS, "Finished");
        UNTIL(&world, !execution->unit && !beside->unit);
}

Test(executions, canceled_in_the_queue) {
        cancel_at(EXECUTION_QUEUED, (Script){});
        cr_expect_eq(world.n_units, 1, "nothing was started for it");
}

Test(executions, canceled_while_its_job_waits) {
        cancel_at(EXECUTION_STARTING, (Script){.job_stays = true});
        cr_expect_geq(world.units[0]->stops, 1);
}

Test(executions, canceled_before_its_runner_speaks) {
        cancel_at(EXECUTION_STARTING, (Script){.in_place_of[STEP_HELLO] = runner_silent});
}

Test(executions, canceled_while_it_runs) {
        cancel_at(EXECUTION_RUNNING, (Script){.stays = true});
        /* killed through its cgroup: a failed unit, which is forgotten */
        cr_expect_eq(world.units[0]->stops, 0);
        UNTIL(&world, world.units[0]->resets == 1 && world.units[0]->unrefs == 1);
}

/* The end is known already: it stays. */
Test(executions, canceled_while_it_is_collected) {
        Execution *execution;

        world.scripts[0] = (Script){.in_place_of[STEP_LEAVE] = runner_silent};
        execution = world_submit(&world, 1000, SPEC);
        UNTIL(&world, execution_state(execution) == EXECUTION_COLLECTING);
        execution_cancel(execution, "too late");
        runner_say(world.units[0], STEP_LEAVE);
        expect_result(&world, execution, STATUS_SUCCESS, "Finished");
}

/* ---- limits ---- */

Test(executions, time_limit) {
        Execution *execution, *beside;

        world.scripts[0] = (Script){.stays = true, .out = "so far"};
        execution = world_submit(&world, 1000, "{\"argv\":[\"/bin/a\"],\"timeout_ms\":300}");
        beside = world_submit(&world, 1000, SPEC);
        expect_result(&world, beside, STATUS_SUCCESS, "Finished");
        /* The unit's ends are systemd's alone by now. */
        cr_expect(execution->runner_control < 0 && execution->runner_out < 0 && execution->runner_err < 0);
        expect_result(&world, execution, STATUS_TIMEOUT, "300 ms");
        {
                own(json_freep) json_object *result = result_of(execution);
                json_object *value;

                expect_value(result, "stdout", "\"so far\"");
                expect_value(result, "suspected_runaway", "true");
                expect_value(result, "exit_code", "null");
                cr_assert(json_object_object_get_ex(result, "duration_ms", &value));
                cr_expect_geq(json_object_get_int64(value), 300);
        }
        UNTIL(&world, !execution->unit);
}

static void put_events(FakeUnit *unit, const char *text) {
        char path[320];
        FILE *file;

        (void) snprintf(path, sizeof path, "%s/memory.events", unit->cgroup);
        file = fopen(path, "we");
        (void) fputs(text, file);
        (void) fclose(file);
}

Test(executions, out_of_memory) {
        Execution *execution;

        world.scripts[0] = (Script){.stays = true};
        execution = world_submit(&world, 1000, SPEC);
        UNTIL(&world, execution_state(execution) == EXECUTION_RUNNING);
        put_events(world.units[0], "oom_kill 1\n");
        world_settle(&world);
        /* The kernel takes the runner with it: nobody reports. */
        unit_ends(world.units[0], CLD_KILLED, SIGKILL, "oom-kill");
        expect_result(&world, execution, STATUS_MEMORY_LIMIT, "256 MiB");
}

Test(executions, kernel_limits_are_compared) {
        static const struct {
                const char *file, *text;
                unsigned allow;
                Status status;
                const char *says;
        } rows[] = {
                {"memory.max", "268435457\n", 0, STATUS_START_FAILED, "memory_max_bytes"},
                {"memory.max", "max\n", 0, STATUS_START_FAILED, "memory_max_bytes"},
                {"memory.max", NULL, 0, STATUS_START_FAILED, "memory controller"},
                {"memory.max", NULL, 1U << CONTROLLER_MEMORY, STATUS_SUCCESS, "Finished"},
                {"memory.max", NULL, 1U << CONTROLLER_PIDS, STATUS_START_FAILED, "memory controller"},
                {"memory.max", "max\n", 1U << CONTROLLER_MEMORY, STATUS_START_FAILED, "memory_max_bytes"},
                {"memory.swap.max", "4096\n", 0, STATUS_START_FAILED, "swap"},
                {"memory.swap.max", NULL, 0, STATUS_SUCCESS, "Finished"}, /* no swap accounting: no swap */
                {"pids.max", "64\n", 0, STATUS_START_FAILED, "pids_max"},
                {"pids.max", "max\n", 0, STATUS_START_FAILED, "pids_max"},
                {"pids.max", NULL, 0, STATUS_START_FAILED, "pids controller"},
                {"cpu.max", "max 100000\n", 0, STATUS_START_FAILED, "cpu_thousandths"},
                {"cpu.max", "200000 100000\n", 0, STATUS_START_FAILED, "cpu_thousandths"},
                {"cpu.max", "99000 100000\n", 0, STATUS_SUCCESS, "Finished"}, /* as systemd rounds */
                {"cpu.max", "50000 100000\n", 0, STATUS_START_FAILED, "cpu_thousandths"},
                {"cpu.max", "100000 0\n", 0, STATUS_START_FAILED, "cpu_thousandths"},
                {"cpu.max", NULL, 0, STATUS_START_FAILED, "cpu controller"},
                {"cpu.stat", NULL, 0, STATUS_SUCCESS, "Finished"},
                {"memory.events", NULL, 0, STATUS_SUCCESS, "Finished"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                Execution *execution;

                world.executions->config.allow_missing = rows[i].allow;
                world.scripts[world.n_units] =
                        (Script){.limit_file = rows[i].file, .limit_text = rows[i].text};
                execution = world_submit(&world, 1000, "{\"argv\":[\"/bin/a\"]}");
                expect_result(&world, execution, rows[i].status, rows[i].says);
                UNTIL(&world, !execution->unit);
                cr_expect_eq(world_unit_of(&world, execution)->n_hand_over, rows[i].status == STATUS_SUCCESS,
                        "%s %s", rows[i].file, rows[i].text);
        }
}

/* ---- the compile step ---- */

static int compile_status;

static void compile(FakeUnit *unit) {
        Started begun = {.monotonic_usec = clock_monotonic_usec()};
        Ended compiled = {.wait_status = compile_status, .monotonic_usec = clock_monotonic_usec()};

        runner_send(unit, MESSAGE_COMPILING, &begun, sizeof begun, NULL, 0);
        runner_send(unit, MESSAGE_COMPILED, &compiled, sizeof compiled, NULL, 0);
        if (compile_status == 0)
                runner_say(unit, STEP_STARTED);
}

static void compile_for_ever(FakeUnit *unit) {
        Started begun = {.monotonic_usec = clock_monotonic_usec()};

        runner_send(unit, MESSAGE_COMPILING, &begun, sizeof begun, NULL, 0);
}

Test(executions, compiled) {
        own(json_freep) json_object *result = NULL;
        Execution *execution;
        json_object *value;

        world.scripts[0] = (Script){.in_place_of[STEP_STARTED] = compile};
        execution = world_submit(&world, 1000, COMPILED);
        expect_result(&world, execution, STATUS_SUCCESS, "Finished");
        result = result_of(execution);
        cr_assert(json_object_object_get_ex(result, "compile_ms", &value));
        cr_expect(json_object_is_type(value, json_type_int));
}

Test(executions, does_not_compile) {
        Execution *execution;

        compile_status = 1 << 8;
        world.scripts[0] = (Script){.in_place_of = {[STEP_STARTED] = compile, [STEP_ENDED] = runner_silent}};
        execution = world_submit(&world, 1000, COMPILED);
        expect_result(&world, execution, STATUS_COMPILE_ERROR, "does not compile");
        cr_expect_eq(world.units[0]->n_done, 1);
        UNTIL(&world, !execution->unit);
}

Test(executions, compiles_too_long) {
        Execution *execution;

        world.scripts[0] =
                (Script){.in_place_of = {[STEP_STARTED] = compile_for_ever, [STEP_ENDED] = runner_silent}};
        execution = world_submit(&world, 1000, COMPILED);
        execution->plan->compile_timeout_ms = 200;
        expect_result(&world, execution, STATUS_COMPILE_ERROR, "200 ms");
        UNTIL(&world, !execution->unit);
}

/* ---- who may start ---- */

Test(executions, at_once) {
        Execution *mine[3];

        world.executions->config.executions_at_once = 2;
        world.scripts[0].stays = world.scripts[1].stays = true;
        mine[0] = world_submit(&world, 1000, SPEC);
        mine[1] = world_submit(&world, 1000, SPEC);
        cr_expect_eq(world_submit_refused(&world, 1000, SPEC), ADMISSION_BUSY);
        /* Another is not kept out by that. */
        expect_result(&world, world_submit(&world, 1001, SPEC), STATUS_SUCCESS, "Finished");
        execution_cancel(mine[0], NULL);
        expect_result(&world, mine[0], STATUS_CANCELED, "Canceled.");
        mine[2] = world_submit(&world, 1000, SPEC);
        execution_cancel(mine[1], NULL);
        expect_result(&world, mine[2], STATUS_SUCCESS, "Finished");
}

static size_t count_starting(void) {
        size_t n = 0;

        for (const Execution *e = executions_next(world.executions, NULL); e;
                e = executions_next(world.executions, e))
                n += execution_state(e) == EXECUTION_STARTING;
        return n;
}

/* More than its starts in flight wait their turn, in order, and another caller does not wait for them. */
Test(executions, starts_in_flight) {
        Execution *burst[8], *other;

        world.executions->config.starts_in_flight = 2;
        for (size_t i = 0; i < 8; i++)
                world.scripts[i] = (Script){.in_place_of[STEP_HELLO] = runner_silent};
        for (size_t i = 0; i < ELEMENTS(burst); i++)
                burst[i] = world_submit(&world, 1000, SPEC);
        UNTIL(&world, world.n_units == 2);
        world_settle(&world);
        cr_expect_eq(count_starting(), 2);
        cr_expect_eq(execution_state(burst[2]), EXECUTION_QUEUED);

        world.scripts[2] = (Script){};
        other = world_submit(&world, 1001, SPEC);
        expect_result(&world, other, STATUS_SUCCESS, "Finished");

        /* One that fails to start gives its place back as well. */
        execution_cancel(burst[0], NULL);
        expect_result(&world, burst[0], STATUS_CANCELED, "");
        UNTIL(&world, world.n_units == 4);
        cr_expect_eq(execution_state(burst[2]), EXECUTION_STARTING);
        cr_expect_eq(execution_state(burst[3]), EXECUTION_QUEUED);
        for (size_t i = 1; i < ELEMENTS(burst); i++) {
                UNTIL(&world, world_unit_of(&world, burst[i]));
                runner_say(world_unit_of(&world, burst[i]), STEP_HELLO);
                expect_result(&world, burst[i], STATUS_SUCCESS, "Finished");
        }
}

Test(executions, many_at_the_same_time) {
        Execution *all[48];

        world.executions->config.executions_at_once = ELEMENTS(all);
        for (size_t i = 0; i < ELEMENTS(all); i++) {
                world.scripts[i].wait_status = (int) (i & 0xf) << 8;
                all[i] = world_submit(&world, 1000 + (uid_t) (i % 3), SPEC);
        }
        for (size_t i = 0; i < ELEMENTS(all); i++)
                UNTIL(&world, execution_state(all[i]) == EXECUTION_FINISHED && !all[i]->unit);
        cr_expect_eq(world.finished, ELEMENTS(all));
        cr_expect_eq(world_count_records(&world, "finished", NULL), ELEMENTS(all));
}

Test(executions, without_a_record_nothing_runs) {
        world.record_answer = -ENOBUFS;
        cr_expect_eq((int) world_submit_refused(&world, 1000, SPEC), -ENOBUFS);
        world_settle(&world);
        cr_expect_eq(world.n_units, 0);
        cr_expect_eq(executions_count_running(world.executions), 0);
}

/* ---- the wall ---- */

Test(executions, nothing_before_the_verdict) {
        Execution *execution;

        world.executions->wall.verdict = WALL_UNCHECKED;
        execution = world_submit(&world, 1000, SPEC);
        world_settle(&world);
        cr_expect_eq(execution_state(execution), EXECUTION_QUEUED);
        cr_expect_eq(world.n_units, 0);
        world.executions->wall.verdict = WALL_HOLDS;
        executions_schedule(world.executions);
        expect_result(&world, execution, STATUS_SUCCESS, "Finished");
}

Test(executions, a_broken_wall) {
        Execution *waiting;

        world.executions->wall.verdict = WALL_UNCHECKED;
        waiting = world_submit(&world, 1000, SPEC);
        world.executions->wall.verdict = WALL_BROKEN;
        cr_assert_eq(strv_append(&world.executions->wall.failures, "PrivateNetwork: it is the host's"), 0);
        executions_schedule(world.executions);
        expect_result(&world, waiting, STATUS_START_FAILED, "PrivateNetwork");
        cr_expect_eq(world_submit_refused(&world, 1000, SPEC), ADMISSION_CANNOT_ENFORCE);
        cr_expect_eq(world.n_units, 0);
}

/* ---- forgetting ---- */

static void *forgotten_first;
static unsigned n_forgotten;

static void on_forgotten(void *userdata, Execution *execution) {
        if (n_forgotten++ == 0)
                forgotten_first = execution;
}

Test(executions, results_kept) {
        static const ExecutionsObserver observer = {.on_forgotten = on_forgotten};
        Execution *mine[3], *other;
        char *text;

        executions_set_observer(world.executions, &observer, NULL);
        world.executions->config.results_kept = 2;
        other = world_submit(&world, 1001, SPEC);
        expect_result(&world, other, STATUS_SUCCESS, "Finished");
        for (size_t i = 0; i < ELEMENTS(mine); i++) {
                mine[i] = world_submit(&world, 1000, SPEC);
                expect_result(&world, mine[i], STATUS_SUCCESS, "Finished");
        }
        UNTIL(&world, n_forgotten == 1);
        cr_expect_eq(forgotten_first, mine[0], "the oldest of that caller");
        cr_assert_eq(execution_get_result(mine[1], &text), 0);
        free(text);
        cr_expect_eq(executions_find(world.executions, execution_id(other)), other);

        /* Their time is over. */
        world.executions->config.results_kept_usec = 0;
        executions_schedule(world.executions);
        UNTIL(&world, n_forgotten == 4);
        cr_expect_null(executions_next(world.executions, NULL));
}

/* Its time is over, but its unit is not gone yet: it stays until systemd has its reference back. */
Test(executions, not_forgotten_before_its_unit) {
        static const ExecutionsObserver observer = {.on_forgotten = on_forgotten};
        Execution *execution;

        executions_set_observer(world.executions, &observer, NULL);
        world_shorten_deadlines(&world);
        world.executions->config.results_kept_usec = 0;
        world.scripts[0] = (Script){.silent = true, .job_never = true};
        execution = world_submit(&world, 1000, SPEC);
        UNTIL(&world, execution_state(execution) == EXECUTION_FINISHED);
        executions_schedule(world.executions);
        world_settle(&world);
        cr_expect_eq(n_forgotten, 0);
        UNTIL(&world, n_forgotten == 1);
        UNTIL(&world, world.units[0]->unrefs == 1);
}

/* The file is gone: told so, not made up. */
Test(executions, a_result_that_vanished) {
        Execution *execution = world_submit(&world, 1000, SPEC);
        char path[128], *text = NULL;

        cr_expect_eq(execution_get_result(execution, &text), -EAGAIN);
        expect_result(&world, execution, STATUS_SUCCESS, "Finished");
        (void) snprintf(path, sizeof path, "%s/%s.json", world.result_directory, execution_id(execution));
        cr_assert_eq(unlink(path), 0);
        cr_expect_eq(execution_get_result(execution, &text), -ENOENT);
}

/* A disk that takes nothing: the result is kept in memory, and there is still one. */
Test(executions, a_full_disk) {
        Execution *execution = world_submit(&world, 1000, SPEC);

        world.executions->result_directory = close_fd(world.executions->result_directory);
        expect_result(&world, execution, STATUS_SUCCESS, "Finished");
}

Test(executions, a_state_that_cannot_be_written) {
        Execution *execution, *after;
        int kept = world.executions->state_directory;

        world.executions->state_directory = -1;
        execution = world_submit(&world, 1000, SPEC);
        expect_result(&world, execution, STATUS_INTERNAL_ERROR, "could not be started");
        cr_expect_eq(world.n_units, 0, "without a state file nothing is started");
        world.executions->state_directory = kept;
        after = world_submit(&world, 1000, SPEC);
        expect_result(&world, after, STATUS_SUCCESS, "Finished");
}
