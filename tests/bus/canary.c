/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The canary's way through a world that does not hold: there is a verdict whatever goes wrong, what waits is
 * refused with the reason, and the canary leaves no record and no execution of its own behind.
 */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "execution/canary.h"
#include "manager/internal.h"
#include "world.h"

#define SPEC "{\"argv\":[\"/bin/a\"]}"

static World world;
static Canary *canary;
static unsigned verdicts;

static void on_verdict(void *userdata) {
        verdicts++;
}

static void set_up(void) {
        world_begin(&world);
        world.executions->wall.verdict = WALL_UNCHECKED;
        world_shorten_deadlines(&world);
        cr_assert_eq(canary_new(world.executions, world.store, on_verdict, NULL, &canary), 0);
}

static void tear_down(void) {
        canary_free(canary);
        world_close(&world);
}

TestSuite(canary, .init = set_up, .fini = tear_down, .timeout = 60);

static const struct {
        const char *what;
        Script script;
        const char *says;
} rows[] = {
        {"finds itself as root", {.out = "uid 0\n"}, "uid"},
        {"prints nothing", {}, ""},
        {"prints nonsense", {.out = "\xff\xfe no fact\n\n\nuid\n"}, ""},
        {"fails", {.wait_status = 1 << 8}, "exit status 1"},
        {"is refused", {.reply = REPLY_ERROR}, "UnitExists"},
        {"is never answered", {.reply = REPLY_NEVER}, "NoReply"},
        {"fails to start", {.job_fails = true}, "resources"},
        {"never speaks", {.in_place_of[STEP_HELLO] = runner_silent}, "not ready in time"},
        {"has no properties", {.query_never = true}, "did not tell the properties"},
        {"lacks a controller", {.limit_file = "pids.max"}, "pids controller"},
        {"has another limit", {.limit_file = "memory.max", .limit_text = "max\n"}, "MemoryMax"},
        {"does not leave", {.in_place_of[STEP_LEAVE] = runner_silent}, ""},
};

static bool is_said(const char *text) {
        for (size_t i = 0; world.executions->wall.failures[i]; i++)
                if (strstr(world.executions->wall.failures[i], text))
                        return true;
        return false;
}

ParameterizedTestParameters(canary, broken) {
        static size_t numbers[ELEMENTS(rows)];

        for (size_t i = 0; i < ELEMENTS(rows); i++)
                numbers[i] = i;
        return cr_make_param_array(size_t, numbers, ELEMENTS(numbers));
}

ParameterizedTest(size_t *row, canary, broken) {
        Execution *waiting = world_submit(&world, 1000, SPEC);

        world.scripts[0] = rows[*row].script;
        if (streq(rows[*row].says, "not ready in time"))
                world.executions->deadlines.start_usec = 2 * NEVER_USEC;
        if (rows[*row].script.reply == REPLY_NEVER)
                world.manager->start_timeout_usec = 2 * NEVER_USEC;
        if (rows[*row].script.query_never)
                (void) sd_bus_set_method_call_timeout(world.daemon, NEVER_USEC);
        canary_run(canary);
        world_settle(&world);
        cr_expect_leq(world.n_units, 1, "nothing else is started meanwhile");
        UNTIL(&world, verdicts == 1);
        cr_assert_eq(world.executions->wall.verdict, WALL_BROKEN, "%s", rows[*row].what);
        cr_expect(is_said(rows[*row].says), "%s: %s", rows[*row].what, world.executions->wall.failures[0]);
        expect_result(&world, waiting, STATUS_START_FAILED, "does not enforce what it needs");
        cr_expect_eq(world_submit_refused(&world, 1000, SPEC), ADMISSION_CANNOT_ENFORCE);

        cr_expect_eq(world_count_records(&world, "wall-broken", NULL), 1);
        cr_expect_eq(world_count_records(&world, "accepted", NULL), 1, "the canary is nobody's");
        cr_expect_eq(world_count_records(&world, "finished", NULL), 1);
        world.units[0]->script.query_never = false;
        UNTIL(&world, world.executions->first == waiting && world.executions->last == waiting);
        cr_expect_eq(world.n_units, 1);
        cr_expect_eq(verdicts, 1);
}

/* Asked for while one is under way: looked at once more after it. */
Test(canary, once_more) {
        canary_run(canary);
        canary_run(canary);
        canary_run(canary);
        UNTIL(&world, verdicts == 2);
        world_settle(&world);
        cr_expect_eq(world.n_units, 2);
        cr_expect_eq(verdicts, 2);
}

/* Between a reload and the next verdict nothing is started, whatever the last one was. */
Test(canary, nothing_meanwhile) {
        Execution *execution;

        world.executions->wall.verdict = WALL_HOLDS;
        world.executions->deadlines.start_usec = 2 * NEVER_USEC;
        world.scripts[0].in_place_of[STEP_HELLO] = runner_silent;
        canary_run(canary);
        execution = world_submit(&world, 1000, SPEC);
        world_settle(&world);
        cr_expect_eq(world.n_units, 1);
        cr_expect_eq(execution_state(execution), EXECUTION_QUEUED);
        UNTIL(&world, verdicts == 1);
        expect_result(&world, execution, STATUS_START_FAILED, "does not enforce what it needs");
}

/* The daemon ends while its canary runs. */
Test(canary, freed_on_its_way) {
        canary_run(canary);
        UNTIL(&world, world.n_units == 1);
        canary = canary_free(canary);
        UNTIL(&world, !world.executions->first);
        cr_expect_eq(verdicts, 0);
}
