/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Resolving: what the spec asks, bounded by the policy, made concrete by the language. The questions are
 * asked in the order in which their answers help: which policy, which language and is it there, then values,
 * then what is executed with which environment.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/plan-parts.h"
#include "spec/environment.h"

#define DEFAULT_POLICY "default"
/* What policies call plain argv in their list of languages. */
#define PLAIN_ARGV "argv"
/* How much of a list of names goes into a message. */
#define NAMES_SIZE 160

void plan_clear(Plan *plan) {
        char ***const lists[] = {&plan->compile, &plan->argv, &plan->env, &plan->bind_read_only,
                &plan->syscalls_allow, &plan->syscalls_deny, &plan->allowed_paths, &plan->mounts, &plan->widened,
                &plan->warnings};

        for (size_t i = 0; i < ELEMENTS(lists); i++)
                strv_freep(lists[i]);
        free(plan->task_id);
        free(plan->policy);
        free(plan->language);
        free(plan->code_file);
        *plan = (Plan){0};
}

Plan *plan_free(Plan *plan) {
        if (!plan)
                return NULL;
        plan_clear(plan);
        free(plan);
        return NULL;
}

static int copy_text(const char *text, char **ret) {
        char *copy;

        if (!text)
                return 0;
        copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        free(*ret);
        *ret = copy;
        return 0;
}

/* "a, b, c"; ends with ", …" where there are more than fit. */
static void append_name(char *names, const char *name) {
        size_t used = strlen(names);

        if (used + strlen(name) + 8 < NAMES_SIZE)
                (void) snprintf(names + used, NAMES_SIZE - used, "%s%s", used > 0 ? ", " : "", name);
        else if (!ends_with(names, "…"))
                (void) snprintf(names + used, NAMES_SIZE - used, ", …");
}

static const StoreProblem *find_problem(const Store *store, const char *name, bool language) {
        for (size_t i = 0; i < store->n_problems; i++) {
                const char *path = store->problems[i].path, *base = strrchr(path, '/');
                bool in_languages = base && base - path >= 10 && strncmp(base - 10, "/languages", 10) == 0;
                size_t size = strlen(name);

                if (base && in_languages == language && strncmp(base + 1, name, size) == 0 &&
                        streq(base + 1 + size, ".json"))
                        return &store->problems[i];
        }
        return NULL;
}

static int find_policy(const Spec *spec, const Store *store, const Policy **ret, JsonError *reterr) {
        const char *name = spec->policy ? spec->policy : DEFAULT_POLICY;
        const StoreProblem *problem;
        char names[NAMES_SIZE] = "";

        *ret = store_find_policy(store, name);
        if (*ret)
                return 0;

        problem = find_problem(store, name, /* language= */ false);
        if (problem) {
                json_error_set(reterr, "policy", "\"%s\" did not load; %s: %s %s", name, problem->path,
                        problem->error.key, problem->error.message);
                return PLAN_NO_SUCH_POLICY;
        }
        for (size_t i = 0; i < store->n_policies; i++)
                append_name(names, store->policies[i]->name);
        json_error_set(reterr, "policy", "there is no policy \"%s\"; there %s: %s", name,
                store->n_policies == 1 ? "is" : "are", names[0] ? names : "none at all");
        return PLAN_NO_SUCH_POLICY;
}

/* The languages that this policy allows and whose interpreter is here now. */
static void available_languages(const Store *store, const Policy *policy, char *names) {
        names[0] = 0;
        for (size_t i = 0; i < store->n_languages; i++) {
                const char *ignored;

                if (policy_allows_language(policy, store->languages[i]->name) &&
                        language_find_interpreter(
                                store->languages[i], &ignored, /* reterr_reason= */ NULL) >= 0)
                        append_name(names, store->languages[i]->name);
        }
        if (!names[0])
                append_name(names, "none");
}

static int refuse_language(
        const char *name, const Store *store, const Policy *policy, const char *reason, JsonError *reterr) {
        char names[NAMES_SIZE];

        available_languages(store, policy, names);
        json_error_set(reterr, "language", "\"%s\" %s; available under policy \"%s\": %s", name, reason,
                policy->name, names);
        return PLAN_LANGUAGE_UNAVAILABLE;
}

static int find_language(const Spec *spec, const Store *store, const Policy *policy, const Language **ret,
        const char **ret_interpreter, JsonError *reterr) {
        own(freep) char *reason = NULL;
        const char *name = spec->language;
        int r;

        *ret = NULL;
        *ret_interpreter = NULL;
        if (!name) {
                if (policy_allows_language(policy, PLAIN_ARGV))
                        return 0;
                json_error_set(reterr, "argv", "policy \"%s\" does not allow plain argv", policy->name);
                return PLAN_LANGUAGE_UNAVAILABLE;
        }

        *ret = store_find_language(store, name);
        if (!*ret && find_problem(store, name, /* language= */ true))
                return refuse_language(name, store, policy, "did not load: its file has an error", reterr);
        if (!*ret)
                return refuse_language(name, store, policy, "is not a known language", reterr);
        if (!policy_allows_language(policy, name))
                return refuse_language(name, store, policy, "is not allowed", reterr);
        r = language_find_interpreter(*ret, ret_interpreter, &reason);
        if (r == -ENOENT)
                return refuse_language(name, store, policy, reason, reterr);
        return r;
}

/*
 * Numeric libraries start a thread for each core of the machine unless told otherwise, and die on the task
 * limit. The share of a CPU is rounded up: half a CPU is still one thread.
 */
static int set_thread_hints(char ***environment, uint64_t cpus_milli) {
        static const char *const names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "VECLIB_MAXIMUM_THREADS",
                "GOMAXPROCS", "RAYON_NUM_THREADS", "JULIA_NUM_THREADS"};
        uint64_t threads = cpus_milli > 1000 ? (cpus_milli + 999) / 1000 : 1;

        for (size_t i = 0; i < ELEMENTS(names); i++) {
                own(freep) char *assignment = NULL;
                int r;

                if (asprintf(&assignment, "%s=%" PRIu64, names[i], threads) < 0) {
                        assignment = NULL;
                        return -ENOMEM;
                }
                r = environment_set(environment, assignment);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int resolve_environment(Plan *plan, const Spec *spec, const Language *language) {
        static const char *const base[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" PLAN_WORKSPACE,
                "USER=unitcell", "LOGNAME=unitcell", "SHELL=/bin/sh", "LANG=C.UTF-8", "TMPDIR=/tmp",
                "TZ=UTC", NULL};
        int r;

        r = environment_merge(&plan->env, (char *const *) base);
        if (r < 0)
                return r;
        r = set_thread_hints(&plan->env, plan->limit[LIMIT_CPU_CPUS]);
        if (r < 0)
                return r;
        r = language ? plan_merge_language_environment(plan, language) : 0;
        if (r < 0)
                return r;
        return environment_merge(&plan->env, spec->env);
}

static int copy_policy(Plan *plan, const Policy *policy) {
        int r;

        r = copy_text(policy->name, &plan->policy);
        if (r < 0)
                return r;
        r = strv_copy(policy->syscalls_allow, &plan->syscalls_allow);
        if (r < 0)
                return r;
        r = strv_copy(policy->syscalls_deny, &plan->syscalls_deny);
        if (r < 0)
                return r;
        plan->syscalls_report = policy->syscalls_report;
        plan->compile_timeout_ms = policy->compile_timeout_ms;
        plan->on_output_limit = policy->on_output_limit;
        plan->on_memory_warn = policy->on_memory_warn;
        plan->threads_only = policy->threads_only;
        plan->read_only = policy->read_only;
        plan->egress = policy->egress;
        plan->audit_code = policy->audit_code;
        plan->restricted = policy->restricted;
        plan->proc_pid_only = policy->proc_pid_only;
        return 0;
}

static int resolve_parts(Plan *plan, const Spec *spec, const Language *language, const char *interpreter) {
        int r;

        r = copy_text(spec->task_id, &plan->task_id);
        if (r < 0)
                return r;
        plan->reports_stack = language && language->reports_stack;
        r = copy_text(spec->language, &plan->language);
        if (r < 0)
                return r;
        r = strv_copy(spec->allowed_paths, &plan->allowed_paths);
        if (r < 0)
                return r;
        r = strv_copy(language ? language->bind_read_only : NULL, &plan->bind_read_only);
        if (r < 0)
                return r;
        r = plan_resolve_command(plan, spec, language, interpreter);
        if (r < 0)
                return r;
        return resolve_environment(plan, spec, language);
}

int plan_resolve(const Spec *spec, const Store *store, unsigned host_cpus, Plan **ret, JsonError *reterr) {
        own(plan_freep) Plan *plan = calloc(1, sizeof *plan);
        const Policy *policy;
        const Language *language;
        const char *interpreter;
        int r;

        if (!plan)
                return -ENOMEM;
        r = find_policy(spec, store, &policy, reterr);
        if (r != 0)
                return r;
        r = find_language(spec, store, policy, &language, &interpreter, reterr);
        if (r != 0)
                return r;
        r = copy_policy(plan, policy);
        if (r < 0)
                return r;
        r = plan_resolve_limits(plan, spec, policy, host_cpus, reterr);
        if (r != 0)
                return r;
        r = plan_resolve_mounts(plan, spec, policy, reterr);
        if (r != 0)
                return r;
        r = resolve_parts(plan, spec, language, interpreter);
        if (r < 0)
                return r;

        *ret = hand_over(plan);
        return 0;
}
