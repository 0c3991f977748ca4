/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The daemon dies at every step and another takes over: descriptors from the store, state files, and what
 * the runner, the kernel and systemd still know. Each accepted execution has its one result.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "execution/recovery.h"
#include "world.h"

#define SPEC "{\"argv\":[\"/bin/a\"],\"timeout_ms\":60000}"
#define QUICK "{\"argv\":[\"/bin/a\"],\"timeout_ms\":1000}"

static World world;
static StoredFds stored;
static char id[UNIT_ID_SIZE];

static void set_up(void) {
        world_begin(&world);
        stored.items = calloc(64, sizeof *stored.items);
}

static void tear_down(void) {
        stored_fds_clear(&stored);
        world_close(&world);
}

TestSuite(recovery, .init = set_up, .fini = tear_down, .timeout = 60);

static void keep(const char *of, int fd) {
        if (fd < 0)
                return;
        (void) snprintf(stored.items[stored.n].id, sizeof stored.items[stored.n].id, "%s", of);
        stored.items[stored.n++].fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* A reader keeps its descriptor to itself: the inode leads to it. */
static int find_pipe(uint64_t inode) {
        for (int fd = 3; fd < 200; fd++) {
                struct stat info;

                if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) && info.st_ino == inode &&
                        (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
                        return fd;
        }
        return -1;
}

/* What the FD store has of it. */
static void store_of(const Execution *execution) {
        keep(execution->id, execution->control);
        keep(execution->id, find_pipe(execution->inode[1]));
        keep(execution->id, find_pipe(execution->inode[2]));
        keep(execution->id, execution->scratch);
}

/* Ended in no way of its own: what listens is gone, files and stored descriptors stay. */
static void die(Execution *execution) {
        memcpy(id, execution->id, sizeof id);
        store_of(execution);
        world_forget_executions(&world);
        world_settle(&world);
}

static Execution *come_back(void) {
        Execution *execution;

        world_new_executions(&world);
        cr_assert_geq(recovery_run(world.executions, world.daemon, &stored), 0);
        stored_fds_clear(&stored);
        execution = executions_find(world.executions, id);
        cr_assert_not_null(execution);
        return execution;
}

static Execution *run_until(ExecutionState state, const char *spec, Script script) {
        Execution *execution;

        world.scripts[0] = script;
        execution = world_submit(&world, 1000, spec);
        UNTIL(&world, execution_state(execution) == state);
        world_settle(&world);
        return execution;
}

static void expect_output(Execution *execution, const char *output) {
        own(freep) char *text = NULL;

        cr_assert_eq(execution_get_result(execution, &text), 0);
        cr_expect(strstr(text, output), "%s", text);
}

/* The code was with the former daemon only. */
Test(recovery, before_the_work_was_handed_over) {
        Execution *execution =
                run_until(EXECUTION_STARTING, SPEC, (Script){.in_place_of[STEP_HELLO] = runner_silent});

        die(execution);
        execution = come_back();
        expect_result(&world, execution, STATUS_INTERRUPTED, "nothing of it ran");
        cr_expect(world.units[0]->ended);
        UNTIL(&world, !execution->unit);
}

/* Handed over and not read yet: it goes on. */
Test(recovery, handed_over) {
        Execution *execution = run_until(EXECUTION_STARTING, SPEC,
                (Script){.in_place_of[STEP_HELLO] = runner_silent,
                        .in_place_of[STEP_STARTED] = runner_silent,
                        .in_place_of[STEP_ENDED] = runner_silent,
                        .out = "after\n"});
        FakeUnit *unit = world.units[0];

        runner_say(unit, STEP_HELLO);
        UNTIL(&world, unit->n_hand_over == 1);
        die(execution);
        execution = come_back();
        runner_say(unit, STEP_STARTED);
        UNTIL(&world, execution_state(execution) == EXECUTION_RUNNING);
        runner_say(unit, STEP_ENDED);
        expect_result(&world, execution, STATUS_SUCCESS, "restarted meanwhile");
        expect_output(execution, "\"stdout\":\"after\\n");
        UNTIL(&world, unit->refs == 1 && unit->unrefs == 1);
}

/* It ends in whatever way while nobody is there; the report waits in the socket. */
static const struct {
        const char *what;
        int wait_status;
        Status status;
} ends[] = {
        {"exit 0", 0, STATUS_SUCCESS},
        {"exit 7", 7 << 8, STATUS_FAILED},
        {"SIGSEGV", SIGSEGV, STATUS_SIGNALED},
};

static void end_while_dead(size_t i, bool unit_gone) {
        Execution *execution =
                run_until(EXECUTION_RUNNING, SPEC, (Script){.stays = true, .out = "before\n"});
        FakeUnit *unit = world.units[0];

        die(execution);
        unit->script.stays = false;
        unit->script.wait_status = ends[i].wait_status;
        cr_assert_eq(fd_write_all(unit->out, "while away\n", 11), 0);
        runner_say(unit, STEP_ENDED);
        if (unit_gone) { /* it waited for DONE in vain */
                runner_close(unit);
                unit_ends(unit, CLD_EXITED, 0, "success");
        }
        execution = come_back();
        expect_result(&world, execution, ends[i].status, "restarted meanwhile");
        expect_output(execution, "while away\\n");
        UNTIL(&world, !execution->unit);
        cr_expect_eq(unit->n_done, unit_gone ? 0U : 1U);
}

#define ENDS(name, i, gone)                                                                                 \
        Test(recovery, name) {                                                                              \
                end_while_dead(i, gone);                                                                    \
        }

ENDS(exit_0_while_dead, 0, false)
ENDS(exit_0_while_dead_and_gone, 0, true)
ENDS(exit_7_while_dead, 1, false)
ENDS(exit_7_while_dead_and_gone, 1, true)
ENDS(signal_while_dead, 2, false)
ENDS(signal_while_dead_and_gone, 2, true)

Test(recovery, out_of_memory_while_dead) {
        Execution *execution = run_until(EXECUTION_RUNNING, SPEC, (Script){.stays = true});

        die(execution);
        unit_ends(world.units[0], CLD_KILLED, SIGKILL, "oom-kill");
        execution = come_back();
        expect_result(&world, execution, STATUS_MEMORY_LIMIT, "memory");
        UNTIL(&world, world.units[0]->resets == 1);
}

Test(recovery, killed_its_runner_while_dead) {
        Execution *execution = run_until(EXECUTION_RUNNING, SPEC, (Script){.stays = true});

        die(execution);
        unit_ends(world.units[0], CLD_KILLED, SIGKILL, "signal");
        execution = come_back();
        expect_result(&world, execution, STATUS_SIGNALED, "from inside");
}

/* Nobody knows any more. */
Test(recovery, no_trace_left) {
        Execution *execution = run_until(EXECUTION_RUNNING, SPEC, (Script){.stays = true});
        char command[320];

        die(execution);
        stored_fds_clear(&stored);
        unit_ends(world.units[0], CLD_EXITED, 0, "success");
        (void) snprintf(command, sizeof command, "rm -rf %s", world.units[0]->cgroup);
        cr_assert_eq(system(command), 0);
        memset(world.units[0]->name, 'x', 5); /* not even systemd */
        world.units[0]->path[1] = 'x';
        stored.items = calloc(64, sizeof *stored.items);
        execution = come_back();
        expect_result(&world, execution, STATUS_INTERRUPTED, "not known");
        UNTIL(&world, !execution->unit);
}

Test(recovery, its_time_ran_out_while_dead) {
        Execution *execution = run_until(EXECUTION_RUNNING, QUICK, (Script){.stays = true});

        die(execution);
        usleep(1100000);
        execution = come_back();
        expect_result(&world, execution, STATUS_TIMEOUT, "1 s");
        UNTIL(&world, !execution->unit);
}

Test(recovery, its_time_runs_out_after) {
        Execution *execution = run_until(EXECUTION_RUNNING, QUICK, (Script){.stays = true});

        die(execution);
        execution = come_back();
        cr_expect_eq(execution_state(execution), EXECUTION_RUNNING);
        expect_result(&world, execution, STATUS_TIMEOUT, "1 s");
}

Test(recovery, canceled_after) {
        Execution *execution = run_until(EXECUTION_RUNNING, SPEC, (Script){.stays = true});

        die(execution);
        execution = come_back();
        execution_cancel(execution, "by its owner");
        expect_result(&world, execution, STATUS_CANCELED, "by its owner");
        UNTIL(&world, !execution->unit);
}

/* It was being collected: the ENDED was read, so systemd's word is all there is. */
Test(recovery, while_it_was_collected) {
        Execution *execution = run_until(EXECUTION_COLLECTING, SPEC,
                (Script){.in_place_of[STEP_LEAVE] = runner_silent, .wait_status = 7 << 8});

        die(execution);
        unit_ends(world.units[0], CLD_EXITED, 0, "success");
        execution = come_back();
        UNTIL(&world, execution_state(execution) == EXECUTION_FINISHED);
        cr_expect_eq(world_count_records(&world, "finished", id), 1);
        UNTIL(&world, !execution->unit);
}

Test(recovery, finished_ones_are_known_again) {
        Execution *execution =
                run_until(EXECUTION_FINISHED, SPEC, (Script){.out = "kept\n", .wait_status = 3 << 8});

        UNTIL(&world, !execution->unit);
        die(execution);
        execution = come_back();
        cr_expect_eq(execution_state(execution), EXECUTION_FINISHED);
        cr_expect_str_eq(execution_status(execution), "failed");
        cr_expect_eq(execution_caller(execution)->uid, 1000);
        cr_expect_gt(execution_finished_usec(execution), 0);
        expect_output(execution, "\"stdout\":\"kept\\n\"");
        world_settle(&world);
        cr_expect_eq(world_count_records(&world, "finished", id), 1);
        cr_expect_eq(world_count_records(&world, "recovered", NULL), 1);
}

/* State files are found in the order of their ids, which says nothing: the newest results are kept, in their order. */
Test(recovery, in_order_of_acceptance) {
        char ids[8][UNIT_ID_SIZE];
        const Execution *execution = NULL;

        for (size_t i = 0; i < ELEMENTS(ids); i++) {
                Execution *one = world_submit(&world, 1000, SPEC);

                memcpy(ids[i], one->id, sizeof ids[i]);
                UNTIL(&world, execution_state(one) == EXECUTION_FINISHED && !one->unit);
        }
        die(executions_find(world.executions, ids[0]));
        (void) come_back();
        for (size_t i = 0; i < ELEMENTS(ids); i++) {
                execution = executions_next(world.executions, execution);
                cr_assert_not_null(execution);
                cr_expect_str_eq(execution_id(execution), ids[i], "%zu", i);
        }

        world.executions->config.results_kept = 2;
        executions_schedule(world.executions);
        UNTIL(&world, !executions_find(world.executions, ids[0]));
        for (size_t i = 0; i < ELEMENTS(ids); i++)
                cr_expect_eq(executions_find(world.executions, ids[i]) != NULL, i >= 6, "%zu", i);
}

/* A second death in the middle of recovering. */
Test(recovery, twice) {
        Execution *execution = run_until(EXECUTION_RUNNING, SPEC, (Script){.stays = true});

        die(execution);
        world_new_executions(&world);
        cr_assert_geq(recovery_run(world.executions, world.daemon, &stored), 0);
        stored.n = 0;
        die(executions_find(world.executions, id));
        execution = come_back();
        world.units[0]->script.stays = false;
        runner_say(world.units[0], STEP_ENDED);
        expect_result(&world, execution, STATUS_SUCCESS, "Finished");
}

static void put_state(const char *name, const char *text) {
        char path[256];
        FILE *file;

        (void) snprintf(path, sizeof path, "%s/%s", world.state_directory, name);
        file = fopen(path, "we");
        (void) fputs(text, file);
        (void) fclose(file);
}

static bool is_there(const char *name) {
        char path[256];

        (void) snprintf(path, sizeof path, "%s/%s", world.state_directory, name);
        return access(path, F_OK) == 0;
}

/* Files that cannot be read harm nobody else and are put aside; units nobody owns are stopped. */
Test(recovery, leftovers) {
        Execution *execution = run_until(EXECUTION_RUNNING, SPEC, (Script){.stays = true});
        Execution *lost;

        world.scripts[1].stays = true;
        lost = world_submit(&world, 1000, SPEC);
        UNTIL(&world, execution_state(lost) == EXECUTION_RUNNING);
        state_remove(world.executions->state_directory, execution_id(lost));
        put_state("00000000000000000000000000000000.json", "{\"version\":99}");
        put_state("11111111111111111111111111111111.json", "");
        put_state("2222222222222222222222222222222Z.json", "{}");
        put_state("33333333333333333333333333333333.json.aside", "{}");
        put_state("note.json", "{}");
        world.listed[0] = "unitcell-x-.service";
        world.listed[1] = "unitcell-x-nonsense.service";

        keep(lost->id, lost->control);
        die(execution);
        execution = come_back();
        cr_expect(is_there("00000000000000000000000000000000.json.broken"));
        cr_expect(is_there("11111111111111111111111111111111.json.broken"));
        cr_expect(is_there("2222222222222222222222222222222Z.json.broken"));
        cr_expect(is_there("33333333333333333333333333333333.json.aside"));
        cr_expect(is_there("note.json"));

        UNTIL(&world, world.units[1]->stops == 1);
        UNTIL(&world, world.units[1]->resets == 1);
        cr_expect_eq(world.units[0]->stops, 0);
        execution_cancel(execution, NULL);
        expect_result(&world, execution, STATUS_CANCELED, "Canceled");
}

/* A file in the place of another: the id in it counts, and both must agree. */
Test(recovery, a_file_under_another_name) {
        Execution *execution = run_until(EXECUTION_RUNNING, SPEC, (Script){.stays = true});
        char from[256], to[256];

        (void) snprintf(from, sizeof from, "%s/%s.json", world.state_directory, execution->id);
        (void) snprintf(to, sizeof to, "%s/00000000000000000000000000000000.json", world.state_directory);
        cr_assert_eq(link(from, to), 0);
        die(execution);
        execution = come_back();
        cr_expect_null(executions_find(world.executions, "00000000000000000000000000000000"));
        cr_expect(is_there("00000000000000000000000000000000.json.broken"));
        execution_cancel(execution, NULL);
        expect_result(&world, execution, STATUS_CANCELED, "Canceled");
}

/* Which is which is told by the inode, not by the order in the store. */
Test(recovery, descriptors_in_another_order) {
        Execution *execution = run_until(EXECUTION_RUNNING, SPEC, (Script){.stays = true});

        memcpy(id, execution->id, sizeof id);
        keep(id, execution->scratch);
        keep(id, find_pipe(execution->inode[2]));
        keep(id, find_pipe(execution->inode[1]));
        keep(id, execution->control);
        world_forget_executions(&world);
        world.units[0]->script.stays = false;
        cr_assert_eq(fd_write_all(world.units[0]->out, "to out", 6), 0);
        cr_assert_eq(fd_write_all(world.units[0]->err, "to err", 6), 0);
        runner_say(world.units[0], STEP_ENDED);
        execution = come_back();
        expect_result(&world, execution, STATUS_SUCCESS, "Finished");
        expect_output(execution, "\"stdout\":\"to out");
        expect_output(execution, "\"stderr\":\"to err");
}

/* Descriptors of another execution, or of another kind, are nobody's. */
Test(recovery, descriptors_that_do_not_fit) {
        Execution *execution = run_until(EXECUTION_RUNNING, SPEC, (Script){.stays = true});
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC), pipes[2];

        cr_assert_eq(pipe2(pipes, O_CLOEXEC), 0);
        memcpy(id, execution->id, sizeof id);
        keep(id, null);
        keep(id, pipes[0]);
        keep("00000000000000000000000000000000", execution->control);
        world_forget_executions(&world);
        close(null);
        close(pipes[0]);
        close(pipes[1]);
        execution = come_back();
        cr_expect_eq(execution->control, -1);
        cr_expect_null(execution->out);
        unit_ends(world.units[0], CLD_EXITED, 0, "success");
        expect_result(&world, execution, STATUS_INTERRUPTED, "not known");
}
