/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whose execution it is, for every way to it, and what becomes of a caller that goes away. */

#include "callers.h"

TestSuite(owner, .init = face_set_up, .fini = face_tear_down, .timeout = 60);

/* ---- whose is it ---- */

Test(owner, foreign_ones_do_not_exist) {
        static const struct {
                const char *interface, *member;
        } ways[] = {
                {UNITCELL_EXECUTION, "GetResult"},
                {UNITCELL_EXECUTION, "Cancel"},
                {"org.freedesktop.DBus.Properties", "Get"},
                {"org.freedesktop.DBus.Properties", "GetAll"},
        };
        const char *path;

        world.scripts[0].stays = true;
        path = submit(ALICE, SPEC);
        for (size_t i = 0; i < ELEMENTS(ways); i++) {
                static const char *const odd[] = {UNITCELL_EXECUTION_PATH
                        "/00000000000000000000000000000000",
                        UNITCELL_EXECUTION_PATH "/x", UNITCELL_EXECUTION_PATH "/a/b"};
                const char *types = streq(ways[i].member, "Get")      ? "ss"
                                    : streq(ways[i].member, "GetAll") ? "s"
                                                                      : NULL;

                for (size_t k = 0; k <= ELEMENTS(odd); k++) {
                        own(call_clear) Call call = {};

                        ask_at(&call, BOB, k < ELEMENTS(odd) ? odd[k] : path, ways[i].interface,
                                ways[i].member, types, UNITCELL_EXECUTION, "State");
                        expect_error(&call, ERROR_NO_SUCH_EXECUTION, "of this caller");
                }
        }
        {
                own(call_clear) Call get = {}, never = {};

                ask(&get, BOB, "GetExecution", "s", path + strlen(UNITCELL_EXECUTION_PATH "/"));
                expect_error(&get, ERROR_NO_SUCH_EXECUTION, "of this caller");
                ask(&never, BOB, "GetExecution", "s", "../../etc/passwd");
                expect_error(&never, ERROR_NO_SUCH_EXECUTION, "of this caller");
        }
        {
                /* Its owner by another connection, and root, may. */
                own(call_clear) Call owner = {}, root = {};

                ask(&owner, ALICE_TOO, "GetExecution", "s", path + strlen(UNITCELL_EXECUTION_PATH "/"));
                cr_expect_str_eq(expect_text(&owner, "o"), path);
                ask_at(&root, ROOT, path, UNITCELL_EXECUTION, "Cancel", NULL);
                UNTIL(&world, root.n == 1);
                cr_expect_not(sd_bus_message_is_method_error(root.message, NULL));
        }
        /* The end is told to those who asked for it. */
        UNTIL(&world, finished.n == 2);
        world_settle(&world);
        cr_expect_eq(finished.n, 2);
}

/* The object above them all has no id at its end. */
Test(owner, the_path_without_an_id) {
        static const char *const members[] = {"GetResult", "Cancel"};

        for (size_t i = 0; i < ELEMENTS(members); i++) {
                own(call_clear) Call call = {};

                ask_at(&call, ALICE, UNITCELL_EXECUTION_PATH, UNITCELL_EXECUTION, members[i], NULL);
                expect_error(&call, ERROR_NO_SUCH_EXECUTION, "There is no execution  of this caller");
        }
}

Test(owner, properties) {
        static const struct {
                const char *name, *type, *value;
        } expected[] = {
                {"TaskId", "s", "t1"},
                {"State", "s", "finished"},
                {"Status", "s", "success"},
                {"Policy", "s", "default"},
                {"Language", "s", "argv"},
        };
        own(call_clear) Call result = {}, all = {}, unknown = {}, foreign = {}, written = {};
        const char *path = submit(ALICE, "{\"argv\":[\"/bin/a\"],\"task_id\":\"t1\"}");
        unsigned n = 0;

        ask_at(&result, ALICE, path, UNITCELL_EXECUTION, "GetResult", NULL);
        (void) expect_text(&result, "s");
        for (size_t i = 0; i < ELEMENTS(expected); i++) {
                own(call_clear) Call call = {};
                const char *value;

                ask_at(&call, ALICE, path, "org.freedesktop.DBus.Properties", "Get", "ss",
                        UNITCELL_EXECUTION, expected[i].name);
                UNTIL(&world, call.n == 1);
                cr_assert_gt(sd_bus_message_read(call.message, "v", expected[i].type, &value), 0, "%s",
                        expected[i].name);
                cr_expect_str_eq(value, expected[i].value);
        }
        ask_at(&all, ALICE, path, "org.freedesktop.DBus.Properties", "GetAll", "s", UNITCELL_EXECUTION);
        UNTIL(&world, all.n == 1);
        cr_assert_gt(sd_bus_message_enter_container(all.message, 'a', "{sv}"), 0);
        while (sd_bus_message_skip(all.message, "{sv}") > 0)
                n++;
        cr_expect_eq(n, 10);
        ask_at(&unknown, ALICE, path, "org.freedesktop.DBus.Properties", "Get", "ss", UNITCELL_EXECUTION,
                "Colour");
        expect_error(&unknown, ERROR_UNKNOWN_PROPERTY, "Colour");
        ask_at(&foreign, ALICE, path, "org.freedesktop.DBus.Properties", "Get", "ss", "a.b", "State");
        expect_error(&foreign, ERROR_UNKNOWN_PROPERTY, "a.b");
        ask_at(&written, ALICE, path, "org.freedesktop.DBus.Properties", "Set", "ssv", UNITCELL_EXECUTION,
                "State", "s", "x");
        UNTIL(&world, written.n == 1);
        cr_expect(sd_bus_message_is_method_error(written.message, NULL));
}

/* What sd-bus would do by itself must not tell either. */
Test(owner, no_way_around_the_owner) {
        own(call_clear) Call objects = {}, introspected = {}, odd = {};
        const char *path, *text;

        world.scripts[0].stays = true;
        path = submit(ALICE, SPEC);
        ask_at(&objects, BOB, UNITCELL_PATH, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects",
                NULL);
        UNTIL(&world, objects.n == 1);
        cr_expect(sd_bus_message_is_method_error(objects.message, NULL));
        ask_at(&introspected, BOB, UNITCELL_EXECUTION_PATH, "org.freedesktop.DBus.Introspectable",
                "Introspect", NULL);
        text = expect_text(&introspected, "s");
        cr_expect_null(strstr(text, path + strlen(UNITCELL_EXECUTION_PATH "/")));
        ask_at(&odd, BOB, path, "org.freedesktop.DBus.Properties", "GetAll", "ss", UNITCELL_EXECUTION, "");
        UNTIL(&world, odd.n == 1);
        cr_expect(sd_bus_message_is_method_error(odd.message, NULL));
}

/* ---- callers that go away ---- */

Test(owner, a_lost_caller_cancels_its_execute) {
        own(call_clear) Call call = {}, other = {}, watching = {};

        world.scripts[0].stays = world.scripts[1].stays = true;
        ask(&call, ALICE, "Execute", "s", SPEC);
        UNTIL(&world, world.n_units == 1);
        ask(&other, ALICE_TOO, "Execute", "s", SPEC);
        UNTIL(&world, world.n_units == 2);
        {
                char path[128];

                (void) snprintf(path, sizeof path, UNITCELL_EXECUTION_PATH "/%s", world.units[0]->id);
                ask_at(&watching, ALICE_TOO, path, UNITCELL_EXECUTION, "GetResult", NULL);
                world_settle(&world);
        }
        lose(ALICE);
        cr_expect(strstr(expect_text(&watching, "s"), "connection is gone"));
        world_settle(&world);
        cr_expect_eq(call.n, 0, "nobody answers the dead");
        cr_expect_eq(other.n, 0, "another connection of the same user goes on");
        cr_expect_eq(executions_count_running(world.executions), 1);
        cr_expect_eq(world_count_records(&world, "finished", NULL), 1);
}

Test(owner, a_lost_caller_leaves_its_submit_alone) {
        own(call_clear) Call waiting = {};
        const char *path;

        world.scripts[0].in_place_of[STEP_ENDED] = runner_silent;
        path = submit(ALICE, SPEC);
        ask_at(&waiting, ALICE, path, UNITCELL_EXECUTION, "GetResult", NULL);
        UNTIL(&world, world.n_units == 1);
        world_settle(&world);
        lose(ALICE);
        lose(ALICE);
        lose("org.example.Name");
        world_settle(&world);
        cr_expect_null(face->requests);
        cr_expect_eq(executions_count_running(world.executions), 1);
        runner_say(world.units[0], STEP_ENDED);
        UNTIL(&world, executions_count_running(world.executions) == 0);
        cr_expect_eq(waiting.n, 0);
        cr_expect_eq(finished.n, 0);

        /* It comes back and asks. */
        own(call_clear) Call again = {};
        ask_at(&again, ALICE_TOO, path, UNITCELL_EXECUTION, "GetResult", NULL);
        cr_expect(strstr(expect_text(&again, "s"), "success"));
}

/* All of one connection's at once: the list of requests is walked while it shrinks. */
Test(owner, a_lost_caller_with_many) {
        Call calls[12] = {};

        for (size_t i = 0; i < ELEMENTS(calls); i++) {
                world.scripts[i].stays = true;
                ask(&calls[i], ALICE, "Execute", "s", SPEC);
        }
        UNTIL(&world, executions_count_running(world.executions) == ELEMENTS(calls));
        world_settle(&world);
        lose(ALICE);
        UNTIL(&world, executions_count_running(world.executions) == 0);
        cr_expect_null(face->requests);
        cr_expect_eq(world_count_records(&world, "finished", NULL), ELEMENTS(calls));
        for (size_t i = 0; i < ELEMENTS(calls); i++) {
                cr_expect_eq(calls[i].n, 0);
                call_clear(&calls[i]);
        }
}
