/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "policy/plan.h"

static const char *const policy_texts[] = {
        "{\"name\":\"default\"}",
        "{\"name\":\"small\",\"default\":{\"memory_mb\":64,\"disk_mb\":1},\"max\":{\"memory_mb\":128,\"cpu_"
        "cpus\":8},"
        "\"languages\":[\"sh\"],\"restricted\":true,\"on_output_limit\":\"kill\",\"audit_code\":\"none\","
        "\"proc_subset\":\"pid\",\"compile_timeout_ms\":5}",
};

static const char *const language_texts[] = {
        "{\"name\":\"cc\",\"interpreters\":[\"/usr/bin/"
        "env\"],\"file\":\"main.c\",\"compile\":[\"{interpreter}\",\"-o\",\"{program}\","
        "\"{code}\"],\"argv\":[\"{program}\",\"{args}\"],\"environment\":{\"TZ\":\"CET\",\"L\":\"1\"},"
        "\"bind_read_only\":[\"/etc/cc\"]}",
        "{\"name\":\"gone\",\"interpreters\":[\"/usr/bin/"
        "no-such\"],\"file\":\"x\",\"argv\":[\"{interpreter}\"]}",
        "{\"name\":\"sh\",\"interpreters\":[\"/usr/bin/"
        "env\"],\"file\":\"main.sh\",\"argv\":[\"{interpreter}\",\"-x{code}y\","
        "\"{args}\",\"end\"]}",
};

static Store *store;

static void set_up(void) {
        JsonError error;

        store = calloc(1, sizeof *store);
        store->policies = calloc(ELEMENTS(policy_texts), sizeof(Policy *));
        store->languages = calloc(ELEMENTS(language_texts), sizeof(Language *));
        store->problems = calloc(1, sizeof(StoreProblem));
        for (size_t i = 0; i < ELEMENTS(policy_texts); i++)
                cr_assert_eq(policy_read(policy_texts[i], strlen(policy_texts[i]), NULL,
                                     &store->policies[store->n_policies++], &error),
                        0, "%s %s", error.key, error.message);
        for (size_t i = 0; i < ELEMENTS(language_texts); i++)
                cr_assert_eq(language_read(language_texts[i], strlen(language_texts[i]), NULL,
                                     &store->languages[store->n_languages++], &error),
                        0, "%s %s", error.key, error.message);
        store->problems[store->n_problems].path = strdup("/etc/unitcell/policies/broken.json");
        json_error_set(&store->problems[store->n_problems++].error, "max", "must be an object");
}

static void tear_down(void) {
        store = store_free(store);
}

TestSuite(plan, .init = set_up, .fini = tear_down);

static int resolve(const char *text, unsigned host_cpus, Plan **ret, JsonError *error) {
        own(spec_freep) Spec *spec = NULL;

        *error = (JsonError){0};
        cr_assert_eq(spec_read(text, strlen(text), &spec, error), 0, "%s: %s %s", text, error->key,
                error->message);
        return plan_resolve(spec, store, host_cpus, ret, error);
}

static bool list_is(char *const *list, const char *const *expected) {
        size_t i = 0;

        while (list[i] && expected[i] && streq(list[i], expected[i]))
                i++;
        return !list[i] && !expected[i];
}

#define SH "\"language\":\"sh\",\"code\":\"\""

Test(plan, commands) {
        static const struct {
                const char *text;
                const char *argv[8], *compile[8];
                const char *code_file;
        } rows[] = {
                {"{\"language\":\"cc\",\"code\":\"\",\"args\":[\"a\",\"{code}\"]}",
                        {PLAN_PROGRAM, "a", "{code}"},
                        {"/usr/bin/env", "-o", PLAN_PROGRAM, "/scratch/code/main.c"}, "main.c"},
                {"{" SH ",\"args\":[\"a\",\"\"]}",
                        {"/usr/bin/env", "-x/scratch/code/main.shy", "a", "", "end"}, {NULL}, "main.sh"},
                {"{" SH "}", {"/usr/bin/env", "-x/scratch/code/main.shy", "end"}, {NULL}, "main.sh"},
                {"{\"argv\":[\"/bin/echo\",\"{code}\"]}", {"/bin/echo", "{code}"}, {NULL}, NULL},
                {"{\"argv\":[\"/bin/echo\",\"a\"],\"args\":[\"b\"]}", {"/bin/echo", "a", "b"}, {NULL}, NULL},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(plan_freep) Plan *plan = NULL;
                JsonError error;

                cr_assert_eq(
                        resolve(rows[i].text, 4, &plan, &error), PLAN_OK, "%s %s", error.key, error.message);
                cr_expect(list_is(plan->argv, rows[i].argv), "row %zu", i);
                if (rows[i].compile[0])
                        cr_expect(list_is(plan->compile, rows[i].compile), "row %zu", i);
                else
                        cr_expect_null(plan->compile);
                cr_expect_eq(!plan->code_file, !rows[i].code_file);
        }
}

Test(plan, environment) {
        own(plan_freep) Plan *plan = NULL;
        JsonError error;
        static const char *const there[] = {
                "PATH=/usr/local/bin:/usr/bin:/bin",
                "HOME=/mine",
                "LANG=C.UTF-8",
                "TMPDIR=/tmp",
                "TZ=CET",
                "L=2",
                "OMP_NUM_THREADS=2",
                "OPENBLAS_NUM_THREADS=2",
                "GOMAXPROCS=7",
                "LD_PRELOAD=x",
        };

        cr_assert_eq(resolve("{\"language\":\"cc\",\"code\":\"\",\"limits\":{\"cpu_cpus\":1.5},\"env\":{"
                             "\"HOME\":\"/mine\",\"L\":\"2\","
                             "\"GOMAXPROCS\":\"7\",\"LD_PRELOAD\":\"x\"}}",
                             4, &plan, &error),
                PLAN_OK);
        for (size_t i = 0; i < ELEMENTS(there); i++)
                cr_expect(strv_contains(plan->env, there[i]), "%s", there[i]);
        cr_expect(!strv_contains(plan->env, "HOME=/workspace") && !strv_contains(plan->env, "TZ=UTC"));
        cr_expect_str_eq(plan->bind_read_only[0], "/etc/cc");
}

Test(plan, half_a_cpu_is_one_thread) {
        own(plan_freep) Plan *plan = NULL;
        JsonError error;

        cr_assert_eq(resolve("{" SH ",\"limits\":{\"cpu_cpus\":0.5}}", 4, &plan, &error), PLAN_OK);
        cr_expect(strv_contains(plan->env, "OMP_NUM_THREADS=1") && strv_contains(plan->env, "TZ=UTC"));
}

Test(plan, limits) {
        own(plan_freep) Plan *plan = NULL;
        static const char *const widened[] = {"timeout_ms 20000 (default 10000)", "cpu_cpus 1.5 (default 1)",
                "memory_mb 512 (default 256)", NULL};
        JsonError error;

        cr_assert_eq(resolve("{" SH ",\"timeout_ms\":20000,\"limits\":{\"memory_mb\":512,\"cpu_cpus\":1.5,"
                                    "\"pids_max\":3,"
                             "\"disk_mb\":64,\"cpu_ms\":0}}",
                             2, &plan, &error),
                PLAN_OK);
        cr_expect_eq(plan->limit[LIMIT_MEMORY_MB], 512U);
        cr_expect_eq(plan->limit[LIMIT_PIDS_MAX], 3U);
        cr_expect_eq(plan->limit[LIMIT_FILE_MB], 32U);
        cr_expect(list_is(plan->widened, widened));
        cr_expect_eq(strv_length(plan->warnings), 0U);
}

Test(plan, policy_of_the_spec) {
        own(plan_freep) Plan *plan = NULL;
        JsonError error;

        cr_assert_eq(resolve("{" SH ",\"policy\":\"small\"}", 2, &plan, &error), PLAN_OK);
        cr_expect_str_eq(plan->policy, "small");
        cr_expect_eq(plan->limit[LIMIT_MEMORY_MB], 64U);
        cr_expect(plan->restricted && plan->proc_pid_only);
        cr_expect_eq(plan->on_output_limit, ON_OUTPUT_KILL);
        cr_expect_eq(plan->audit_code, AUDIT_CODE_NONE);
        cr_expect_eq(plan->compile_timeout_ms, 5U);
        cr_expect(strv_contains(plan->syscalls_allow, "seccomp"));
}

Test(plan, warns_about_memory) {
        static const struct {
                const char *text;
                size_t warnings;
        } rows[] = {
                {"{" SH ",\"limits\":{\"memory_mb\":128}}", 1},
                {"{" SH ",\"limits\":{\"memory_mb\":129}}", 0},
                {"{" SH ",\"limits\":{\"disk_mb\":128}}", 1},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(plan_freep) Plan *plan = NULL;
                JsonError error;

                cr_assert_eq(resolve(rows[i].text, 2, &plan, &error), PLAN_OK);
                cr_expect_eq(strv_length(plan->warnings), rows[i].warnings, "%s", rows[i].text);
        }
}

Test(plan, refuses) {
        static const struct {
                const char *text;
                int result;
                const char *key, *message;
        } rows[] = {
                {"{" SH ",\"policy\":\"none\"}", PLAN_NO_SUCH_POLICY, "policy",
                        "there is no policy \"none\"; there are: default, small"},
                {"{" SH ",\"policy\":\"broken\"}", PLAN_NO_SUCH_POLICY, "policy",
                        "did not load; /etc/unitcell/policies/broken.json: max must be an object"},
                {"{\"language\":\"cobol\",\"code\":\"\"}", PLAN_LANGUAGE_UNAVAILABLE, "language",
                        "\"cobol\" is not a known language; available under policy \"default\": cc, sh"},
                {"{\"language\":\"gone\",\"code\":\"\"}", PLAN_LANGUAGE_UNAVAILABLE, "language",
                        "none of /usr/bin/no-such exists"},
                {"{\"language\":\"cc\",\"code\":\"\",\"policy\":\"small\"}", PLAN_LANGUAGE_UNAVAILABLE,
                        "language", "\"cc\" is not allowed; available under policy \"small\": sh"},
                {"{\"argv\":[\"/bin/true\"],\"policy\":\"small\"}", PLAN_LANGUAGE_UNAVAILABLE, "argv",
                        "plain argv"},
                {"{" SH ",\"limits\":{\"memory_mb\":4096}}", PLAN_INVALID, "limits.memory_mb",
                        "must be from 16 to 2048 (MiB) under policy \"default\", not 4096"},
                {"{" SH ",\"timeout_ms\":300001}", PLAN_INVALID, "timeout_ms", "from 1 to 300000 (ms)"},
                {"{" SH ",\"limits\":{\"cpu_cpus\":2.5}}", PLAN_INVALID, "limits.cpu_cpus",
                        "from 0.01 to 2 (CPUs) under policy \"default\" on this host, not 2.5"},
                {"{" SH ",\"policy\":\"small\",\"limits\":{\"cpu_cpus\":4}}", PLAN_INVALID,
                        "limits.cpu_cpus", "on this host"},
                {"{" SH ",\"limits\":{\"pids_max\":513}}", PLAN_INVALID, "limits.pids_max",
                        "from 1 to 512 under policy"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(plan_freep) Plan *plan = NULL;
                JsonError error;

                cr_expect_eq(resolve(rows[i].text, 2, &plan, &error), rows[i].result, "%s", rows[i].text);
                cr_expect_str_eq(error.key, rows[i].key, "%s: %s", rows[i].text, error.key);
                cr_expect_not_null(
                        strstr(error.message, rows[i].message), "%s: %s", rows[i].text, error.message);
        }
}

Test(plan, inputs_must_fit_the_disk) {
        own(freep) char *text = malloc(2 * 1024 * 1024);
        own(plan_freep) Plan *plan = NULL;
        JsonError error;
        size_t n;

        n = (size_t) sprintf(
                text, "{" SH ",\"limits\":{\"disk_mb\":1},\"files\":[{\"path\":\"a\",\"content\":\"");
        memset(text + n, 'x', 1024 * 1024);
        (void) sprintf(text + n + 1024 * 1024, "\"}]}");
        cr_expect_eq(resolve(text, 2, &plan, &error), PLAN_OK, "%s", error.message);
        plan_freep(&plan);
        plan = NULL;
        (void) sprintf(text + n + 1024 * 1024, "x\"}]}");
        cr_expect_eq(resolve(text, 2, &plan, &error), PLAN_INVALID);
        cr_expect_str_eq(error.key, "limits.disk_mb");
        cr_expect_not_null(strstr(error.message, "raise it to 2 or more"), "%s", error.message);
}

static const char *const round_trips[] = {
        "{" SH "}",
        "{\"argv\":[\"/bin/true\"],\"limits\":{\"cpu_cpus\":0.1}}",
        "{\"task_id\":\"t\",\"language\":\"cc\",\"code\":\"\",\"args\":[\"x\"],\"env\":{\"A\":\"b=c\\n\"},"
        "\"timeout_ms\":20000,"
        "\"limits\":{\"memory_mb\":64},\"allowed_paths\":[\"/tmp/output\"]}",
        "{" SH ",\"policy\":\"small\"}",
};

Test(plan, round_trip) {
        for (size_t i = 0; i < ELEMENTS(round_trips); i++) {
                own(plan_freep) Plan *plan = NULL, *again = NULL;
                own(json_freep) json_object *first = NULL, *parsed = NULL, *second = NULL;
                own(freep) char *text = NULL, *same = NULL;
                JsonError error;

                cr_assert_eq(resolve(round_trips[i], 4, &plan, &error), PLAN_OK);
                cr_assert_eq(plan_to_json(plan, &first), 0);
                cr_assert_eq(json_to_text(first, false, &text), 0);
                cr_assert_eq(json_parse(text, strlen(text), &parsed, &error), 0);
                cr_assert_eq(plan_from_json(parsed, &again, &error), 0, "%s %s", error.key, error.message);
                cr_assert_eq(plan_to_json(again, &second), 0);
                cr_assert_eq(json_to_text(second, false, &same), 0);
                cr_expect_str_eq(same, text);
                cr_expect_eq(memcmp(plan->limit, again->limit, sizeof plan->limit), 0);
                cr_expect_eq(!plan->task_id, !again->task_id);
                cr_expect_eq(!plan->compile, !again->compile);
        }
}

/* Without any one of its keys a plan is refused, but for those that may be absent. */
Test(plan, from_json_wants_all) {
        static const char *const optional[] = {"task_id", "compile"};
        own(plan_freep) Plan *plan = NULL;
        own(json_freep) json_object *whole = NULL;
        JsonError error;

        cr_assert_eq(resolve(round_trips[2], 4, &plan, &error), PLAN_OK);
        cr_assert_eq(plan_to_json(plan, &whole), 0);
        json_object_object_foreach(whole, key, ignored) {
                own(plan_freep) Plan *read = NULL;
                own(json_freep) json_object *less = NULL;
                bool may_lack = streq(key, optional[0]) || streq(key, optional[1]);

                (void) ignored;
                cr_assert_eq(json_object_deep_copy(whole, &less, NULL), 0);
                json_object_object_del(less, key);
                cr_expect_eq(plan_from_json(less, &read, &error), may_lack ? 0 : -EINVAL, "%s", key);
        }
}

Test(plan, from_json_refuses) {
        static const struct {
                const char *key, *value, *error_key;
        } rows[] = {
                {"more", "1", "more"},
                {"limits", "{\"memory_mb\":64}", "limits.cpu_cpus"},
                {"argv", "[]", "argv"},
                {"code_file", "\"../x\"", "code_file"},
                {"restricted", "0", "restricted"},
                {"on_output_limit", "\"x\"", "on_output_limit"},
                {"env", "[]", "env"},
                {"timeout_ms", "0", "timeout_ms"},
                {"syscalls", "{\"allow\":[]}", "syscalls.allow"},
                {"language", "null", "language"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(plan_freep) Plan *plan = NULL, *read = NULL;
                own(json_freep) json_object *object = NULL;
                JsonError error;

                cr_assert_eq(resolve(round_trips[0], 4, &plan, &error), PLAN_OK);
                cr_assert_eq(plan_to_json(plan, &object), 0);
                cr_assert_eq(
                        json_object_object_add(object, rows[i].key, json_tokener_parse(rows[i].value)), 0);
                cr_expect_eq(plan_from_json(object, &read, &error), -EINVAL, "%s", rows[i].key);
                cr_expect_str_eq(error.key, rows[i].error_key, "%s: %s", rows[i].key, error.key);
        }
}
