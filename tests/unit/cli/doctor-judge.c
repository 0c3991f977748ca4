/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Each check is seen to pass, and to fail when what it looks at is otherwise, and nothing else then. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/doctor-checks.h"
#include "cli/doctor-judge.h"
#include "cli/document.h"

#define TRIALS_MAX 32

typedef struct Scene {
        Trial trials[TRIALS_MAX];
        Surroundings surroundings;
        Report report;
} Scene;

static void scene_clear(Scene *scene) {
        for (size_t i = 0; i < doctor_n_probes; i++)
                trial_clear(scene->trials + i);
        report_clear(&scene->report);
}

static Trial *find(Scene *scene, const char *name) {
        for (size_t i = 0; i < doctor_n_probes; i++)
                if (streq(doctor_probes[i].name, name))
                        return scene->trials + i;
        cr_assert_fail("there is no probe %s", name);
        return NULL;
}

static void set(json_object *result, const char *key, json_object *value) {
        json_object_object_add(result, key, value);
}

static void print(json_object *result, const char *fact, const char *word) {
        const char *before = document_text(result, "stdout");
        char *text;

        cr_assert_geq(asprintf(&text, "%s%s %s\n", before ? before : "", fact, word), 0);
        set(result, "stdout", json_object_new_string(text));
        free(text);
}

static json_object *value_of(const char *text) {
        char *end;
        long number = strtol(text, &end, 10);

        if (*text && !*end)
                return json_object_new_int64(number);
        if (streq(text, "true") || streq(text, "false"))
                return json_object_new_boolean(streq(text, "true"));
        return json_object_new_string(text);
}

static void satisfy_field(json_object *result, const char *condition) {
        char key[64], first[64];
        char sign;

        cr_assert_eq(sscanf(condition, "%63[a-z_]%c%63[^| ]", key, &sign, first), 3, "%s", condition);
        if (sign == '~') {
                json_object *list = document_list(result, key), *item = json_object_new_object();

                if (!list)
                        set(result, key, list = json_object_new_array());
                set(item, "name", json_object_new_string(first));
                json_object_array_add(list, item);
        } else if (sign == '<')
                set(result, key, json_object_new_int64(atol(first) - 1));
        else
                set(result, key, value_of(first));
}

/* Calls take for each word of a list between spaces. */
static void each(
        const char *words, void (*take)(json_object *result, const char *word), json_object *result) {
        own(freep) char *copy = strdup(words);
        char *rest, *word;

        for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
                take(result, word);
}

static const char *fact_word;
static void satisfy_fact(json_object *result, const char *fact) {
        char word[64];

        cr_assert_eq(sscanf(fact_word, "%63s", word), 1);
        print(result, fact, word);
}

static void satisfy(json_object *result, const Check *check) {
        each(check->fields ? check->fields : "status=success", satisfy_field, result);
        fact_word = check->words;
        if (check->facts)
                each(check->facts, satisfy_fact, result);
}

/* As on a host where all is well. */
static void scene_fill(Scene *scene, const char *missing_controller) {
        json_object *enforced = json_object_new_object(), *missing = json_object_new_array();

        *scene = (Scene){.surroundings = {.host_namespaces = {1, 2, 3, 4}, .has_python = true}};
        cr_assert_leq(doctor_n_probes, TRIALS_MAX);
        for (size_t i = 0; i < doctor_n_probes; i++)
                scene->trials[i] = (Trial){.probe = doctor_probes + i, .result = json_object_new_object()};
        if (missing_controller)
                json_object_array_add(missing, json_object_new_string(missing_controller));
        set(enforced, "missing_controllers", missing);
        set(find(scene, "first")->result, "enforced", enforced);
        set(find(scene, "first")->result, "status", json_object_new_string("success"));
        for (size_t i = 0; i < doctor_n_checks; i++)
                satisfy(find(scene, doctor_checks[i].probe)->result, doctor_checks + i);
        print(find(scene, "inspect")->result, "uid", "61200");
        print(find(scene, "neighbour")->result, "uid", "61201");
        for (size_t i = 0; i < NAMESPACE_N; i++) {
                char fact[16];

                (void) snprintf(fact, sizeof fact, "ns_%s", namespace_kinds[i]);
                print(find(scene, "inspect")->result, fact, (const char *[]){"11", "12", "13", "14"}[i]);
                print(find(scene, "neighbour")->result, fact, (const char *[]){"21", "22", "23", "24"}[i]);
        }
}

static void judge(Scene *scene) {
        report_clear(&scene->report);
        cr_assert_eq(judge_trials(scene->trials, &scene->surroundings, &scene->report), 0);
}

static const ReportRow *row_of(const Scene *scene, const char *group, const char *name) {
        for (size_t i = 0; i < scene->report.n; i++)
                if (streq(scene->report.rows[i].group, group) && streq(scene->report.rows[i].name, name))
                        return scene->report.rows + i;
        cr_assert_fail("there is no row %s %s", group, name);
        return NULL;
}

static void expect_only(const Scene *scene, const char *group, const char *name, const char *what) {
        const ReportRow *row = row_of(scene, group, name);

        cr_expect_not(row->passed, "%s %s, %s: %s", group, name, what, row->found);
        cr_expect(row->advice && *row->advice, "%s %s", group, name);
        cr_expect_eq(scene->report.n_failed, 1, "%s %s, %s: %zu failed", group, name, what,
                scene->report.n_failed);
}

Test(doctor_judge, all_is_well) {
        own(scene_clear) Scene scene;

        scene_fill(&scene, NULL);
        judge(&scene);
        for (size_t i = 0; i < scene.report.n; i++)
                cr_expect(scene.report.rows[i].passed, "%s %s: %s", scene.report.rows[i].group,
                        scene.report.rows[i].name, scene.report.rows[i].found);
        cr_expect_eq(scene.report.n, doctor_n_checks + 3 + NAMESPACE_N);
        cr_expect_str_eq(row_of(&scene, "limits", "time")->found, "status=timeout");
        cr_expect_str_eq(row_of(&scene, "files", "root-home")->found, "1 of 1: 000");
}

Test(doctor_judge, each_fact_counts) {
        for (size_t i = 0; i < doctor_n_checks; i++) {
                own(freep) char *facts = doctor_checks[i].facts ? strdup(doctor_checks[i].facts) : NULL;
                char *rest = NULL, *fact = facts ? strtok_r(facts, " ", &rest) : NULL;

                for (; fact; fact = strtok_r(NULL, " ", &rest)) {
                        own(scene_clear) Scene scene;

                        scene_fill(&scene, NULL);
                        /* the last one counts */
                        print(find(&scene, doctor_checks[i].probe)->result, fact, "otherwise");
                        judge(&scene);
                        expect_only(&scene, doctor_checks[i].group, doctor_checks[i].name, fact);
                }
        }
}

Test(doctor_judge, each_field_counts) {
        for (size_t i = 0; i < doctor_n_checks; i++) {
                const char *all = doctor_checks[i].fields ? doctor_checks[i].fields : "status=success";
                own(freep) char *fields = strdup(all);
                char *rest = NULL, *field = strtok_r(fields, " ", &rest);

                for (; field; field = strtok_r(NULL, " ", &rest)) {
                        own(scene_clear) Scene scene;

                        scene_fill(&scene, NULL);
                        field[strcspn(field, "=<~")] = 0;
                        json_object_object_del(find(&scene, doctor_checks[i].probe)->result, field);
                        judge(&scene);
                        /* status is looked at by several */
                        cr_expect_not(row_of(&scene, doctor_checks[i].group, doctor_checks[i].name)->passed,
                                "%s: %s", doctor_checks[i].name, field);
                }
        }
}

Test(doctor_judge, names_are_unique) {
        for (size_t i = 0; i < doctor_n_checks; i++)
                for (size_t k = 0; k < i; k++)
                        cr_expect(!streq(doctor_checks[i].name, doctor_checks[k].name) ||
                                          !streq(doctor_checks[i].group, doctor_checks[k].group),
                                "%s", doctor_checks[i].name);
}

Test(doctor_judge, a_missing_controller_fails_its_rows) {
        static const struct {
                const char *controller;
                size_t n;
        } rows[] = {{"memory", 1}, {"pids", 1}, {"cpu", 1}};

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(scene_clear) Scene scene;

                scene_fill(&scene, rows[i].controller);
                judge(&scene);
                cr_expect_eq(scene.report.n_failed, rows[i].n, "%s: %zu", rows[i].controller,
                        scene.report.n_failed);
                report_clear(&scene.report);
                cr_assert_eq(judge_controllers(scene.trials, &scene.report), 0);
                expect_only(&scene, "host", rows[i].controller, "missing");
        }
}

Test(doctor_judge, what_did_not_run_failed) {
        for (size_t i = 1; i < doctor_n_probes; i++) {
                own(scene_clear) Scene scene;
                size_t n = 0;

                scene_fill(&scene, NULL);
                json_object_put(scene.trials[i].result);
                scene.trials[i].result = NULL;
                scene.trials[i].error = strdup("Busy: too many");
                judge(&scene);
                for (size_t k = 0; k < doctor_n_checks; k++) {
                        if (!streq(doctor_checks[k].probe, doctor_probes[i].name))
                                continue;
                        cr_expect_str_eq(
                                row_of(&scene, doctor_checks[k].group, doctor_checks[k].name)->found,
                                "Busy: too many");
                        n++;
                }
                cr_expect_geq(n, 1, "nobody judges %s", doctor_probes[i].name);
                cr_expect_geq(scene.report.n_failed, n);
        }
}

Test(doctor_judge, comparisons) {
        own(scene_clear) Scene scene;

        scene_fill(&scene, NULL);
        print(find(&scene, "neighbour")->result, "uid", "61200");
        judge(&scene);
        expect_only(&scene, "user", "uid", "the same");
        print(find(&scene, "neighbour")->result, "uid", "1000");
        judge(&scene);
        expect_only(&scene, "user", "uid", "not dynamic");
        print(find(&scene, "neighbour")->result, "uid", "61201");

        print(find(&scene, "inspect")->result, "ns_net", "3");
        judge(&scene);
        expect_only(&scene, "neighbours", "network-namespace", "the host's");
        print(find(&scene, "inspect")->result, "ns_net", "23");
        judge(&scene);
        expect_only(&scene, "neighbours", "network-namespace", "the neighbour's");
        print(find(&scene, "inspect")->result, "ns_net", "13");

        scene.surroundings.visitor = "somebody";
        judge(&scene);
        expect_only(&scene, "network", "nobody-came", "came");
        scene.surroundings.visitor = NULL;

        find(&scene, "left-over")->left_unit = true;
        judge(&scene);
        expect_only(&scene, "ends", "nothing-left", "left");
}
