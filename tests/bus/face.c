/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The objects on the bus, as callers meet them: who may do what, which error names which mistake, and the
 * documents. The test plays the callers; the driver and polkit are in pid1.c.
 */

#include "callers.h"

TestSuite(face, .init = face_set_up, .fini = face_tear_down, .timeout = 60);

/* ---- the way of a request ---- */

Test(face, execute) {
        own(call_clear) Call call = {};

        world.scripts[0] = (Script){.out = "4950\n"};
        ask(&call, ALICE, "Execute", "s", SPEC);
        cr_expect(strstr(expect_text(&call, "s"), "\"stdout\":\"4950\\n\""));
        world_settle(&world);
        cr_expect_eq(call.n, 1);
        cr_expect_null(face->requests);
        cr_expect_eq(world_count_records(&world, "accepted", NULL), 1);
}

Test(face, submit_and_wait) {
        own(call_clear) Call waiting = {}, again = {};
        const char *path;

        world.scripts[0].in_place_of[STEP_ENDED] = runner_silent;
        path = submit(ALICE, SPEC);
        ask_at(&waiting, ALICE, path, UNITCELL_EXECUTION, "GetResult", NULL);
        UNTIL(&world, world.n_units == 1);
        world_settle(&world);
        cr_expect_eq(waiting.n, 0);
        cr_expect_eq(finished.n, 0);
        runner_say(world.units[0], STEP_ENDED);
        cr_expect(strstr(expect_text(&waiting, "s"), "\"status\":\"success\""));
        ask_at(&again, ALICE_TOO, path, UNITCELL_EXECUTION, "GetResult", NULL);
        cr_expect(strstr(expect_text(&again, "s"), "\"status\":\"success\""));

        UNTIL(&world, finished.n == 1);
        cr_expect_str_eq(finished.path, path);
        cr_expect_str_eq(finished.status, "success");
        cr_expect_str_eq(finished.to, ALICE, "to nobody else");
        cr_expect_null(face->requests);
}

Test(face, cancel) {
        own(call_clear) Call waiting = {}, call = {}, late = {};
        const char *path;

        world.scripts[0].stays = true;
        path = submit(ALICE, SPEC);
        ask_at(&waiting, ALICE, path, UNITCELL_EXECUTION, "GetResult", NULL);
        ask_at(&call, ALICE, path, UNITCELL_EXECUTION, "Cancel", NULL);
        UNTIL(&world, call.n == 1);
        cr_expect_not(sd_bus_message_is_method_error(call.message, NULL));
        cr_expect(strstr(expect_text(&waiting, "s"), "\"status\":\"canceled\""));
        /* One that has ended is no error. */
        ask_at(&late, ALICE, path, UNITCELL_EXECUTION, "Cancel", NULL);
        UNTIL(&world, late.n == 1);
        cr_expect_not(sd_bus_message_is_method_error(late.message, NULL));
}

/* ---- mistakes, each by its name ---- */

static const struct {
        const char *spec, *error, *says;
} mistakes[] = {
        {"", ERROR_INVALID_SPEC, ""},
        {"[]", ERROR_INVALID_SPEC, "object"},
        {"{", ERROR_INVALID_SPEC, "line 1"},
        {"{}", ERROR_INVALID_SPEC, "argv"},
        {"{\"argv\":[\"/bin/a\"],\"colour\":1}", ERROR_INVALID_SPEC, "colour"},
        {"{\"argv\":[\"/bin/a\"],\"argv\":[\"/bin/b\"]}", ERROR_INVALID_SPEC, "argv"},
        {"{\"argv\":\"/bin/a\"}", ERROR_INVALID_SPEC, "argv"},
        {"{\"argv\":[\"/bin/a\"],\"timeout_ms\":0}", ERROR_INVALID_SPEC, "timeout_ms"},
        {"{\"argv\":[\"/bin/a\"],\"timeout_ms\":-5}", ERROR_INVALID_SPEC, "timeout_ms"},
        {"{\"argv\":[\"/bin/a\"],\"timeout_ms\":1e999}", ERROR_INVALID_SPEC, "timeout_ms"},
        {"{\"argv\":[\"/bin/a\"],\"limits\":{\"memory_mb\":999999999}}", ERROR_INVALID_SPEC,
                "limits.memory_mb"},
        {"{\"argv\":[\"/bin/a\"],\"limits\":{\"memory_mb\":4096}}", ERROR_INVALID_SPEC, "memory_mb"},
        {"{\"argv\":[\"/bin/a\\u0000\"]}", ERROR_INVALID_SPEC, "u0000"},
        {"{\"argv\":[\"/bin/a\"],\"files\":[{\"path\":\"../x\",\"content\":\"\"}]}", ERROR_INVALID_SPEC,
                "files[0].path"},
        {"{\"argv\":[\"/bin/a\"],\"policy\":\"none\"}", ERROR_NO_SUCH_POLICY, "none"},
        {"{\"language\":\"cobol\",\"code\":\"\"}", ERROR_LANGUAGE_UNAVAILABLE, "cobol"},
        {"{\"language\":\"gone\",\"code\":\"\"}", ERROR_LANGUAGE_UNAVAILABLE, "no-such"},
        {"{\"argv\":[\"/bin/a\"],\"network\":\"allowlist\"}", ERROR_NOT_SUPPORTED, "network"},
        {"{\"argv\":[\"/bin/a\"],\"handles\":[\"docs\"]}", ERROR_NOT_SUPPORTED, "handles"},
};

Test(face, mistakes_have_names) {
        for (size_t i = 0; i < ELEMENTS(mistakes); i++) {
                own(call_clear) Call execute = {}, submit_ = {}, explain = {};

                ask(&execute, ALICE, "Execute", "s", mistakes[i].spec);
                expect_error(&execute, mistakes[i].error, mistakes[i].says);
                ask(&submit_, ALICE, "Submit", "sa{sh}", mistakes[i].spec, 0);
                expect_error(&submit_, mistakes[i].error, mistakes[i].says);
                ask(&explain, ALICE, "Explain", "s", mistakes[i].spec);
                expect_error(&explain, mistakes[i].error, mistakes[i].says);
        }
        world_settle(&world);
        cr_expect_eq(world.n_units, 0);
        cr_expect_eq(world.n_polkit, 0, "nobody is asked about what cannot be");
        cr_expect_null(face->requests);
        /* Each refusal is recorded, up to so many a minute; a question is none. */
        cr_expect_eq(world_count_records(&world, "refused", NULL), REFUSALS_A_MINUTE);
        cr_expect_str_eq(world.records[0].error, mistakes[0].error);
}

Test(face, too_large) {
        own(call_clear) Call call = {};
        own(freep) char *spec = malloc(12 << 20);
        size_t n = (size_t) sprintf(spec, "{\"language\":\"sh\",\"code\":\"");

        memset(spec + n, 'x', 10 << 20);
        strcpy(spec + n + (10 << 20), "\"}");
        ask(&call, ALICE, "Execute", "s", spec);
        expect_error(&call, ERROR_TOO_LARGE, "code");
        cr_expect_eq(world_count_records(&world, "refused", NULL), 1);
}

Test(face, descriptors_are_not_supported_yet) {
        own(call_clear) Call call = {};

        ask(&call, ALICE, "Submit", "sa{sh}", SPEC, 1, "in", 0);
        expect_error(&call, ERROR_NOT_SUPPORTED, "files");
        cr_expect_eq(world.n_units, 0);
}

Test(face, busy) {
        own(call_clear) Call call = {}, other = {};

        world.executions->config.executions_at_once = 1;
        world.scripts[0].stays = true;
        (void) submit(ALICE, SPEC);
        ask(&call, ALICE_TOO, "Execute", "s", SPEC);
        expect_error(&call, ERROR_BUSY, "1 at once");
        ask(&other, BOB, "Execute", "s", SPEC);
        cr_expect(strstr(expect_text(&other, "s"), "success"));
        cr_expect_eq(world_count_records(&world, "refused", NULL), 1);
}

Test(face, cannot_enforce) {
        own(call_clear) Call call = {};

        world.executions->wall.verdict = WALL_BROKEN;
        cr_assert_eq(strv_append(&world.executions->wall.failures, "MemoryMax: no controller"), 0);
        ask(&call, ALICE, "Execute", "s", SPEC);
        expect_error(&call, ERROR_CANNOT_ENFORCE, "MemoryMax");
}

Test(face, wrong_arguments) {
        own(call_clear) Call number = {}, none = {}, unknown = {};

        ask(&number, ALICE, "Execute", "u", 5U);
        expect_error(&number, "org.freedesktop.DBus.Error.InvalidArgs", "");
        ask(&none, ALICE, "GetExecution", NULL);
        expect_error(&none, "org.freedesktop.DBus.Error.InvalidArgs", "");
        ask(&unknown, ALICE, "Destroy", NULL);
        expect_error(&unknown, "org.freedesktop.DBus.Error.UnknownMethod", "");
}

/* ---- who is it ---- */

static const struct {
        Answer credentials;
        const char *sender;
        bool known;
} identities[] = {
        {ANSWER_YES, ALICE, true},
        {ANSWER_YES, NULL, false},
        {ANSWER_NO, ALICE, false},
        {ANSWER_ERROR, ALICE, false},
        {ANSWER_NEVER, ALICE, false},
        {ANSWER_GARBAGE, ALICE, false},
};

Test(face, identity) {
        (void) sd_bus_set_method_call_timeout(world.daemon, NEVER_USEC);
        for (size_t i = 0; i < ELEMENTS(identities); i++) {
                own(call_clear) Call call = {}, cached = {};
                char sender[32];

                /* a connection of its own each, or it would be known from before */
                (void) snprintf(sender, sizeof sender, "%s.%zu", ALICE, i);
                world.credentials = identities[i].credentials;
                ask(&call, identities[i].sender ? sender : NULL, "Execute", "s", SPEC);
                if (!identities[i].known) {
                        expect_error(&call, ERROR_ACCESS_DENIED, "not known who asks");
                        continue;
                }
                cr_expect(strstr(expect_text(&call, "s"), "success"));
                /* And is not asked for again. */
                ask(&cached, sender, "Execute", "s", SPEC);
                cr_expect(strstr(expect_text(&cached, "s"), "success"));
                cr_expect_eq(world.n_credentials, 1);
        }
        cr_expect_eq(world.n_units, 2);
        world_settle(&world);
        cr_expect_null(face->requests);
}

Test(face, gone_before_it_is_known) {
        own(call_clear) Call call = {};

        world.credentials = ANSWER_LATE;
        ask(&call, ALICE, "Execute", "s", SPEC);
        UNTIL(&world, world.late_answer);
        lose(ALICE);
        world_settle(&world);
        pid1_answer_late(&world, "a{sv}", 1, "UnixUserID", "u", 1000U);
        world_settle(&world);
        cr_expect_eq(world.n_units, 0);
        cr_expect_null(face->requests);
}

/* More connections than are remembered. */
Test(face, many_callers) {
        for (unsigned i = 0; i < 3 * CALLERS_CACHED; i++) {
                own(call_clear) Call call = {};
                char sender[32];

                (void) snprintf(sender, sizeof sender, ":1.1000.%u", i);
                ask(&call, sender, "ListPolicies", NULL);
                cr_expect(strstr(expect_text(&call, "s"), "\"special\""));
        }
        cr_expect_eq(world.n_credentials, 3 * CALLERS_CACHED);
}

/* ---- may it ---- */

static const struct {
        Answer polkit;
        const char *says; /* NULL: allowed */
} decisions[] = {
        {ANSWER_YES, NULL},
        {ANSWER_NO, "Not authorised."},
        {ANSWER_CHALLENGE, "without an administrator's password"},
        {ANSWER_ERROR, "polkit could not be asked"},
        {ANSWER_NEVER, "polkit could not be asked"},
        {ANSWER_GARBAGE, "could not be read"},
};

Test(face, polkit_decides) {
        face->polkit_usec = NEVER_USEC;
        for (size_t i = 0; i < ELEMENTS(decisions); i++) {
                own(call_clear) Call call = {};
                unsigned before = world_count_records(&world, "refused", NULL);

                world.polkit = decisions[i].polkit;
                ask(&call, ALICE, "Execute", "s",
                        "{\"language\":\"sh\",\"code\":\"\",\"limits\":{\"memory_mb\":512}}");
                if (decisions[i].says) {
                        expect_error(&call, ERROR_ACCESS_DENIED, decisions[i].says);
                        cr_expect_eq(world_count_records(&world, "refused", NULL), before + 1);
                } else
                        cr_expect(strstr(expect_text(&call, "s"), "success"));
                cr_expect_str_eq(world.polkit_action, ACTION_EXECUTE);
                cr_expect(strstr(world.polkit_details,
                                  "policy=default;language=sh;network=deny;widened=memory_mb 512"),
                        "%s", world.polkit_details);
        }
        cr_expect_eq(world.n_units, 1);
        cr_expect_null(face->requests);
}

Test(face, root_passes) {
        own(call_clear) Call call = {};

        world.polkit = ANSWER_NO;
        ask(&call, ROOT, "Execute", "s", SPEC);
        cr_expect(strstr(expect_text(&call, "s"), "success"));
        cr_expect_eq(world.n_polkit, 0);
}

Test(face, restricted_policies_need_more) {
        own(call_clear) Call call = {};

        ask(&call, ALICE, "Execute", "s", "{\"argv\":[\"/bin/a\"],\"policy\":\"special\"}");
        cr_expect(strstr(expect_text(&call, "s"), "success"));
        cr_expect_eq(world.n_polkit, 2);
        cr_expect_str_eq(world.polkit_action, ACTION_USE_RESTRICTED_POLICY);
}

/* Yes to the first, late and no to the second. */
Test(face, restricted_and_refused) {
        own(call_clear) Call call = {};

        world.polkit = ANSWER_LATE;
        ask(&call, ALICE, "Submit", "sa{sh}", "{\"argv\":[\"/bin/a\"],\"policy\":\"special\"}", 0);
        UNTIL(&world, world.late_answer);
        pid1_answer_late(&world, "(bba{ss})", 1, 0, 0);
        UNTIL(&world, world.late_answer);
        cr_expect_eq(call.n, 0);
        pid1_answer_late(&world, "(bba{ss})", 0, 0, 0);
        expect_error(&call, ERROR_ACCESS_DENIED, "Not authorised");
        cr_expect_eq(world.n_units, 0);
}

Test(face, gone_while_polkit_thinks) {
        own(call_clear) Call call = {};

        world.polkit = ANSWER_LATE;
        ask(&call, ALICE, "Execute", "s", SPEC);
        UNTIL(&world, world.late_answer);
        lose(ALICE);
        world_settle(&world);
        pid1_answer_late(&world, "(bba{ss})", 1, 0, 0);
        world_settle(&world);
        cr_expect_eq(world.n_units, 0, "nobody is there to have it");
        cr_expect_null(face->requests);
}

/* ---- questions ---- */

Test(face, documents) {
        static const struct {
                const char *member, *argument, *says;
        } questions[] = {
                {"Explain", SPEC, "\"MemoryMax\":{\"type\":\"t\",\"data\":268435456}"},
                {"Explain", SPEC, "\"policy\":\"default\""},
                {"ListPolicies", NULL, "\"restricted\":true"},
                {"ListLanguages", NULL, "no-such"},
                {"GetPolicy", "default", "\"memory_mb\":256"},
        };

        for (size_t i = 0; i < ELEMENTS(questions); i++) {
                own(call_clear) Call call = {};
                own(json_freep) json_object *document = NULL;
                const char *text;

                ask(&call, ALICE, questions[i].member, questions[i].argument ? "s" : NULL,
                        questions[i].argument);
                text = expect_text(&call, "s");
                cr_expect(strstr(text, questions[i].says), "%s: %s", questions[i].member, text);
                document = json_tokener_parse(text);
                cr_expect_not_null(document);
        }
        {
                own(call_clear) Call call = {};

                ask(&call, ALICE, "GetPolicy", "s", "none");
                expect_error(&call, ERROR_NO_SUCH_POLICY, "none");
        }
        cr_expect_eq(world.n_units, 0);
        cr_expect_eq(world.n_polkit, 0);
}

/* The daemon ends with requests of every kind open. */
Test(face, freed_with_requests_open) {
        own(call_clear) Call unknown = {}, thinking = {}, waiting = {};

        world.scripts[0].stays = true;
        world.credentials = ANSWER_YES;
        ask(&waiting, ALICE, "Execute", "s", SPEC);
        UNTIL(&world, world.n_units == 1);
        world.polkit = ANSWER_NEVER;
        ask(&thinking, ALICE, "Execute", "s", SPEC);
        world.credentials = ANSWER_NEVER;
        ask(&unknown, BOB, "Execute", "s", SPEC);
        world_settle(&world);
        face = face_free(face);
        world_settle(&world);
        cr_expect_eq(unknown.n + thinking.n + waiting.n, 0);
}
