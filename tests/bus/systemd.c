/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A systemd that answers late, twice, with errors or never, and tells its news in odd orders or not at all.
 * Each row has an execution to itself and a common one beside it: the one gets its one result, the other
 * does not notice, and in the end no unit, no descriptor and no reference is left.
 */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "manager/internal.h"
#include "world.h"

#define SPEC "{\"argv\":[\"/bin/a\"],\"timeout_ms\":60000}"
#define QUICK "{\"argv\":[\"/bin/a\"],\"timeout_ms\":1500}"

static const struct {
        const char *what;
        Script script;
        Status status;
        const char *says;
} rows[] = {
        {"as it should", {}, STATUS_SUCCESS, "Finished"},
        {"answers late", {.reply = REPLY_LATE}, STATUS_SUCCESS, "Finished"},
        {"answer lost", {.reply = REPLY_LOST}, STATUS_SUCCESS, "Finished"},
        {"answer lost, and the code runs on", {.reply = REPLY_LOST, .stays = true}, STATUS_TIMEOUT, "1.5 s"},
        {"answers twice", {.reply = REPLY_TWICE}, STATUS_SUCCESS, "Finished"},
        {"answers with another type", {.reply = REPLY_GARBAGE}, STATUS_SUCCESS, "Finished"},
        {"refuses", {.reply = REPLY_ERROR}, STATUS_START_FAILED,
                "as the script says (org.freedesktop.systemd1.UnitExists)"},
        {"never answers", {.reply = REPLY_NEVER}, STATUS_START_FAILED, "NoReply"},
        {"job removed before the answer", {.job_first = true}, STATUS_SUCCESS, "Finished"},
        {"job removed before the answer, which is late", {.job_first = true, .reply = REPLY_LATE},
                STATUS_SUCCESS, "Finished"},
        {"job never removed", {.job_never = true}, STATUS_SUCCESS, "Finished"},
        {"job fails", {.job_fails = true}, STATUS_START_FAILED, "resources"},
        {"job fails, told twice", {.job_fails = true, .twice = true}, STATUS_START_FAILED, "resources"},
        {"job fails in silence", {.job_fails = true, .silent = true}, STATUS_START_FAILED, ""},
        {"job waits for ever", {.job_stays = true}, STATUS_START_FAILED, "not ready in time"},
        {"job waits for ever, in silence", {.job_stays = true, .silent = true, .job_never = true},
                STATUS_START_FAILED, "not ready in time"},
        {"inactive before its job has run", {.inactive_first = true}, STATUS_SUCCESS, "Finished"},
        {"no news", {.silent = true}, STATUS_SUCCESS, "Finished"},
        {"no news and no job", {.silent = true, .job_never = true}, STATUS_SUCCESS, "Finished"},
        {"everything twice", {.twice = true}, STATUS_SUCCESS, "Finished"},
        {"nonsense in between", {.nonsense = true}, STATUS_SUCCESS, "Finished"},
        {"all of it",
                {.reply = REPLY_LATE,
                        .job_first = true,
                        .inactive_first = true,
                        .twice = true,
                        .nonsense = true},
                STATUS_SUCCESS, "Finished"},
        {"the cgroup elsewhere", {.elsewhere = true}, STATUS_START_FAILED, "cgroup is not where"},
        {"the runner stays", {.in_place_of[STEP_LEAVE] = runner_silent}, STATUS_SUCCESS, "Finished"},
        {"the runner stays, no news",
                {.in_place_of[STEP_LEAVE] = runner_silent, .silent = true, .job_never = true},
                STATUS_SUCCESS, "Finished"},
        {"nothing kills it", {.in_place_of[STEP_LEAVE] = runner_silent, .immortal = true},
                STATUS_INTERNAL_ERROR, "did not go away"},
        {"nothing kills it in time", {.stays = true, .immortal = true}, STATUS_TIMEOUT, "1.5 s"},
        {"not even a query is answered", {.silent = true, .job_never = true, .query_never = true},
                STATUS_SUCCESS, "Finished"},
};

static World world;

static bool is_gone(const Execution *execution) {
        return execution_state(execution) == EXECUTION_FINISHED && !execution->unit;
}

/* With as little time as the row is about. */
static Execution *submit(size_t i) {
        Execution *odd;
        uint64_t kept = world.manager->start_timeout_usec;

        if (streq(rows[i].says, "not ready in time"))
                return world_submit_to_miss(&world, SPEC);
        if (rows[i].script.reply == REPLY_NEVER || rows[i].script.reply == REPLY_LOST)
                world.manager->start_timeout_usec = 2 * NEVER_USEC;
        odd = world_submit(&world, 1000, streq(rows[i].says, "1.5 s") ? QUICK : SPEC);
        UNTIL(&world, world.n_units == 1);
        world.manager->start_timeout_usec = kept;
        return odd;
}

static void run(size_t i) {
        Execution *odd, *beside;
        unsigned descriptors;
        FakeUnit *unit;

        world_begin(&world);
        world_settle(&world);
        descriptors = world_count_descriptors();
        world_shorten_deadlines(&world);
        if (rows[i].script.query_never)
                (void) sd_bus_set_method_call_timeout(world.daemon, NEVER_USEC);

        world.scripts[0] = rows[i].script;
        odd = submit(i);
        beside = world_submit(&world, 1000, SPEC);
        expect_result(&world, beside, STATUS_SUCCESS, "Finished");
        expect_result(&world, odd, rows[i].status, rows[i].says);
        unit = world.units[0];
        if (unit->late)
                unit_reply_late(unit);

        /* What keeps it from going ends some day. */
        unit->script.immortal = unit->script.query_never = false;
        UNTIL(&world, is_gone(odd) && is_gone(beside));
        UNTIL(&world, unit->unrefs >= 1 && world.units[1]->unrefs == 1);
        cr_expect_eq(unit->unrefs, 1);
        cr_expect_eq(unit->resets, streq(unit->active, "failed") ? 1U : 0U, "%s", rows[i].what);
        cr_expect_eq(world.finished, 2);
        cr_expect_eq(world_count_records(&world, "finished", NULL), 2);

        pid1_forget(&world);
        world_settle(&world);
        cr_expect_eq(world_count_descriptors(), descriptors, "%s: %u, %u before", rows[i].what,
                world_count_descriptors(), descriptors);
        world_close(&world);
}

ParameterizedTestParameters(systemd, row) {
        static size_t numbers[ELEMENTS(rows)];

        for (size_t i = 0; i < ELEMENTS(rows); i++)
                numbers[i] = i;
        return cr_make_param_array(size_t, numbers, ELEMENTS(numbers));
}

ParameterizedTest(size_t *i, systemd, row, .timeout = 60) {
        run(*i);
}

/* ---- a reload, at which signals may be lost ---- */

static void begin(void) {
        world_begin(&world);
}

static void end(void) {
        world_close(&world);
}

TestSuite(reload, .init = begin, .fini = end, .timeout = 60);

Test(reload, while_it_runs) {
        Execution *execution;

        world.scripts[0].stays = true;
        execution = world_submit(&world, 1000, SPEC);
        UNTIL(&world, execution_state(execution) == EXECUTION_RUNNING);
        pid1_reloaded(&world);
        UNTIL(&world, world.units[0]->queries == 1);
        world_settle(&world);
        cr_expect_eq(world.reloads, 1);
        cr_expect_eq(execution_state(execution), EXECUTION_RUNNING);
        execution_cancel(execution, NULL);
        expect_result(&world, execution, STATUS_CANCELED, "Canceled");
        UNTIL(&world, !execution->unit);
}

/* A busy PID 1 does not answer in time: that says nothing of the unit, and it is asked again. */
Test(reload, without_an_answer) {
        Execution *execution;

        (void) sd_bus_set_method_call_timeout(world.daemon, NEVER_USEC);
        world.scripts[0] = (Script){.stays = true, .query_never = true};
        execution = world_submit(&world, 1000, SPEC);
        UNTIL(&world, execution_state(execution) == EXECUTION_RUNNING);
        pid1_reloaded(&world);
        UNTIL(&world, world.units[0]->queries == 3);
        cr_expect_eq(execution_state(execution), EXECUTION_RUNNING);
        world.units[0]->script.query_never = false;
        UNTIL(&world, world.units[0]->queries == 4);
        world_settle(&world);
        cr_expect_eq(execution_state(execution), EXECUTION_RUNNING);
        execution_cancel(execution, NULL);
        expect_result(&world, execution, STATUS_CANCELED, "Canceled");
}

/* The end was not told: it is asked for. The code had killed its runner, so only systemd knows. */
Test(reload, across_its_end) {
        Execution *execution;

        world.scripts[0] = (Script){.stays = true, .silent = true};
        execution = world_submit(&world, 1000, SPEC);
        UNTIL(&world, execution_state(execution) == EXECUTION_RUNNING);
        unit_ends(world.units[0], CLD_KILLED, SIGKILL, "signal");
        UNTIL(&world, execution_state(execution) == EXECUTION_COLLECTING);
        pid1_reloaded(&world);
        expect_result(&world, execution, STATUS_SIGNALED, "from inside");
        UNTIL(&world, !execution->unit);
}

/* Its start job waits still: inactive means nothing yet. */
Test(reload, before_its_job_has_run) {
        Execution *execution;

        world.scripts[0].job_stays = true;
        execution = world_submit(&world, 1000, SPEC);
        UNTIL(&world, world.n_units == 1);
        pid1_reloaded(&world);
        UNTIL(&world, world.units[0]->queries == 1);
        world_settle(&world);
        cr_expect_eq(execution_state(execution), EXECUTION_STARTING);
        execution_cancel(execution, NULL);
        expect_result(&world, execution, STATUS_CANCELED, "Canceled");
        UNTIL(&world, !execution->unit);
}

/* A stop job is there when it is looked at: that is not the start job. */
Test(reload, while_it_is_stopped) {
        Execution *execution;
        FakeUnit *unit;

        world.scripts[0] = (Script){.in_place_of[STEP_HELLO] = runner_silent, .immortal = true};
        execution = world_submit(&world, 1000, SPEC);
        UNTIL(&world, world.n_units == 1);
        world_settle(&world);
        unit = world.units[0];
        execution_cancel(execution, NULL);
        UNTIL(&world, unit->stops == 1);
        unit->active = "deactivating";
        unit->job = ++world.next_job;
        unit->job_waits = true;
        (void) snprintf(
                unit->job_path, sizeof unit->job_path, "/org/freedesktop/systemd1/job/%u", unit->job);
        pid1_reloaded(&world);
        UNTIL(&world, unit->queries == 1);
        world_settle(&world);
        unit_ends(unit, CLD_KILLED, SIGKILL, "signal");
        unit_job_removed(unit, unit->job, "done");
        expect_result(&world, execution, STATUS_CANCELED, "Canceled");
        UNTIL(&world, !execution->unit);
}

/* Canceled first, refused then: the result does not wait for a deadline. */
Test(reload, refused_after_it_was_canceled) {
        Execution *execution;
        uint64_t begun = clock_monotonic_usec();

        world.manager->start_timeout_usec = NEVER_USEC;
        world.scripts[0] = (Script){.reply = REPLY_NEVER, .silent = true, .job_never = true};
        execution = world_submit(&world, 1000, SPEC);
        UNTIL(&world, world.n_units == 1);
        execution_cancel(execution, "by its owner");
        expect_result(&world, execution, STATUS_CANCELED, "by its owner");
        cr_expect_lt(clock_monotonic_usec() - begun, UINT64_C(10000000));
        UNTIL(&world, !execution->unit);
}

/* ---- the first questions ---- */

static bool ready;
static int ready_error;

static void on_ready(void *userdata, int error) {
        cr_assert_not(ready);
        ready = true;
        ready_error = error;
}

static void on_reloaded(void *userdata) {
}

Test(link, readiness) {
        static const struct {
                const char *version;
                bool never_subscribed;
                int error; /* 1: any */
                unsigned number;
        } questions[] = {
                {"252.39-1~deb12u1", false, 0, 252},
                {"257~rc1-3", false, 0, 257},
                {"258", false, 0, 258},
                {"", false, 1, 0},
                {"unknown", false, 1, 0},
                {NULL, false, 1, 0},
                {"252", true, 1, 252},
        };
        static const ManagerHandlers handlers = {.on_ready = on_ready, .on_reloaded = on_reloaded};

        for (size_t i = 0; i < ELEMENTS(questions); i++) {
                Manager *manager;

                memset(&world, 0, sizeof world);
                world_open(&world);
                world.version = questions[i].version;
                world.never_subscribed = questions[i].never_subscribed;
                (void) sd_bus_set_method_call_timeout(world.daemon, NEVER_USEC);
                ready = false;
                cr_assert_eq(manager_new(world.daemon, &handlers, NULL, &manager), 0);
                UNTIL(&world, ready);
                cr_expect_eq(ready_error < 0, questions[i].error == 1, "%s: %d", questions[i].version,
                        ready_error);
                cr_expect_eq(manager_version(manager), questions[i].number);
                world_settle(&world);
                manager_free(manager);
                world_close(&world);
        }
}

/* A unit may be let go inside its own news, and while questions about it are under way. */
static Unit *unit;
static unsigned n_states;

static void on_state_free(void *userdata, const UnitState *state) {
        n_states++;
        unit = unit_free(unit);
}

static void on_refused_free(void *userdata, const char *error_name, const char *message) {
        n_states++;
        unit = unit_free(unit);
}

Test(reload, a_unit_freed_by_its_own_news) {
        static const UnitHandlers handlers = {.on_refused = on_refused_free, .on_state = on_state_free};
        const Properties none = {};

        /* by the answer to a query, one more being under way */
        cr_assert_eq(unit_new(world.manager, "unitcell-x-0.service", &handlers, NULL, &unit), 0);
        cr_assert_geq(unit_query(unit, /* adopt= */ true), 0);
        cr_assert_geq(unit_query(unit, /* adopt= */ false), 0);
        UNTIL(&world, !unit);
        world_settle(&world);
        cr_expect_eq(n_states, 1);

        /* with everything open */
        cr_assert_eq(unit_new(world.manager, "unitcell-x-0.service", &handlers, NULL, &unit), 0);
        cr_assert_geq(unit_query(unit, /* adopt= */ false), 0);
        unit = unit_free(unit);
        world_settle(&world);
        cr_expect_eq(n_states, 1);
        (void) none;
}

static void on_properties(void *userdata, int error, json_object *properties) {
        *(int *) userdata = error < 0 ? error : json_object_object_length(properties);
}

Test(reload, all_properties) {
        static const UnitHandlers handlers = {.on_refused = on_refused_free, .on_state = on_state_free};
        sd_bus_slot *slot, *dropped;
        static int found, never = 4711;

        cr_assert_eq(unit_new(world.manager, "unitcell-x-0.service", &handlers, NULL, &unit), 0);
        cr_assert_geq(unit_get_properties(unit, on_properties, &found, &slot), 0);
        cr_assert_geq(unit_get_properties(unit, on_properties, &never, &dropped), 0);
        sd_bus_slot_unref(dropped); /* given up */
        UNTIL(&world, found != 0);
        cr_expect_eq(found, 2);
        cr_expect_eq(never, 4711);
        sd_bus_slot_unref(slot);
        unit_free(unit);
}
