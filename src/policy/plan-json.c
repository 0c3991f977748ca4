/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The plan as a document: what Explain shows and what a state file holds. Keys are spelled as in spec and
 * policy. Reading is strict, since a state file is outside input after a crash: the shape, the types, the
 * bounds; not whether a policy still allows it, which was decided when the execution was accepted.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/plan-parts.h"
#include "spec/environment.h"

#define LIST_MAX 4096U
#define ENTRIES_MAX 1024U
/* that of the spec, of the language and ours */
#define PLAN_ENVIRONMENT_SIZE_MAX (2 * ENVIRONMENT_SIZE_MAX + 4096)

/* A list is always written, so that a reader sees the empty ones. */
static int add_lists(json_object *object, const Plan *plan) {
        const struct {
                const char *key;
                char *const *list;
        } rows[] = {
                {"bind_read_only", plan->bind_read_only},
                {"allowed_paths", plan->allowed_paths},
                {"mounts", plan->mounts},
                {"widened", plan->widened},
                {"warnings", plan->warnings},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                int r = json_add_strings(object, rows[i].key, rows[i].list);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* A text that is not there is left out: null would be a third way to say so. */
static int add_text(json_object *object, const char *key, const char *text) {
        return text ? json_add_string(object, key, text) : 0;
}

static int add_what_runs(json_object *object, const Plan *plan) {
        int r;

        r = add_text(object, "task_id", plan->task_id);
        if (r < 0)
                return r;
        r = add_text(object, "policy", plan->policy);
        if (r < 0)
                return r;
        r = add_text(object, "language", plan->language);
        if (r < 0)
                return r;
        r = add_text(object, "code_file", plan->code_file);
        if (r < 0)
                return r;
        r = plan->compile ? json_add_strings(object, "compile", plan->compile) : 0;
        if (r < 0)
                return r;
        r = json_add_strings(object, "argv", plan->argv);
        if (r < 0)
                return r;
        return environment_add_json(object, "env", plan->env);
}

static int add_limits(json_object *object, const Plan *plan) {
        own(json_freep) json_object *inner = json_object_new_object();

        if (!inner)
                return -ENOMEM;
        for (LimitId id = 0; id < LIMIT_N; id++) {
                int r = limit_add_json(limits[id].top_level ? object : inner, id, plan->limit[id]);

                if (r < 0)
                        return r;
        }
        return json_add_object(object, "limits", hand_over(inner));
}

static int add_syscalls(json_object *object, const Plan *plan) {
        own(json_freep) json_object *inner = json_object_new_object();
        int r;

        if (!inner)
                return -ENOMEM;
        r = json_add_strings(inner, "allow", plan->syscalls_allow);
        if (r < 0)
                return r;
        r = json_add_strings(inner, "deny", plan->syscalls_deny);
        if (r < 0)
                return r;
        r = json_add_bool(inner, "report", plan->syscalls_report);
        if (r < 0)
                return r;
        return json_add_object(object, "syscalls", hand_over(inner));
}

static int add_choices(json_object *object, const Plan *plan) {
        int r;

        r = json_add_u64(object, "compile_timeout_ms", plan->compile_timeout_ms);
        if (r < 0)
                return r;
        r = json_add_string(object, "on_output_limit", on_output_limit_name(plan->on_output_limit));
        if (r < 0)
                return r;
        r = json_add_string(object, "on_memory_warn", on_memory_warn_name(plan->on_memory_warn));
        if (r < 0)
                return r;
        r = json_add_string(object, "processes", processes_name(plan->threads_only));
        if (r < 0)
                return r;
        r = json_add_bool(object, "writable", !plan->read_only);
        if (r < 0)
                return r;
        r = json_add_string(object, "network", network_name(plan->egress));
        if (r < 0)
                return r;
        r = json_add_bool(object, "reports_stack", plan->reports_stack);
        if (r < 0)
                return r;
        r = json_add_string(object, "audit_code", audit_code_name(plan->audit_code));
        if (r < 0)
                return r;
        r = json_add_bool(object, "restricted", plan->restricted);
        if (r < 0)
                return r;
        return json_add_string(object, "proc_subset", proc_subset_name(plan->proc_pid_only));
}

int plan_to_json(const Plan *plan, json_object **ret) {
        own(json_freep) json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = add_what_runs(object, plan);
        if (r < 0)
                return r;
        r = add_limits(object, plan);
        if (r < 0)
                return r;
        r = add_syscalls(object, plan);
        if (r < 0)
                return r;
        r = add_choices(object, plan);
        if (r < 0)
                return r;
        r = add_lists(object, plan);
        if (r < 0)
                return r;

        *ret = hand_over(object);
        return 0;
}

typedef struct Raw {
        Plan plan;
        Limits limits;
        json_object *env, *limits_object, *syscalls;
        char *on_output_limit, *on_memory_warn, *audit_code, *proc_subset, *processes, *network;
        bool writable;
} Raw;

static void raw_clear(Raw *raw) {
        plan_clear(&raw->plan);
        json_freep(&raw->env);
        json_freep(&raw->limits_object);
        json_freep(&raw->syscalls);
        free(raw->on_output_limit);
        free(raw->on_memory_warn);
        free(raw->processes);
        free(raw->network);
        free(raw->audit_code);
        free(raw->proc_subset);
}

#define AT(member) offsetof(Raw, member)

static const JsonField plan_fields[] = {
        {"task_id", JSON_STRING, AT(plan.task_id), 0, 256},
        {"policy", JSON_STRING, AT(plan.policy), 1, 64, .mandatory = true},
        {"language", JSON_STRING, AT(plan.language), 1, 64},
        {"code_file", JSON_STRING, AT(plan.code_file), 1, 64},
        {"compile", JSON_STRINGS, AT(plan.compile), 1, LIST_MAX},
        {"argv", JSON_STRINGS, AT(plan.argv), 1, LIST_MAX, .mandatory = true},
        {"env", JSON_OBJECT, AT(env), .mandatory = true},
        {"limits", JSON_OBJECT, AT(limits_object), .mandatory = true},
        {"syscalls", JSON_OBJECT, AT(syscalls), .mandatory = true},
        {"compile_timeout_ms", JSON_U64, AT(plan.compile_timeout_ms), 1, POLICY_COMPILE_TIMEOUT_MAX_MS,
                .mandatory = true, .unit = "ms"},
        {"on_output_limit", JSON_STRING, AT(on_output_limit), .mandatory = true},
        {"on_memory_warn", JSON_STRING, AT(on_memory_warn), .mandatory = true},
        {"processes", JSON_STRING, AT(processes), .mandatory = true},
        {"writable", JSON_BOOL, AT(writable), .mandatory = true},
        {"network", JSON_STRING, AT(network), .mandatory = true},
        {"reports_stack", JSON_BOOL, AT(plan.reports_stack), .mandatory = true},
        {"audit_code", JSON_STRING, AT(audit_code), .mandatory = true},
        {"restricted", JSON_BOOL, AT(plan.restricted), .mandatory = true},
        {"proc_subset", JSON_STRING, AT(proc_subset), .mandatory = true},
        {"bind_read_only", JSON_STRINGS, AT(plan.bind_read_only), 0, ENTRIES_MAX, .mandatory = true},
        {"allowed_paths", JSON_STRINGS, AT(plan.allowed_paths), 0, ENTRIES_MAX, .mandatory = true},
        {"mounts", JSON_STRINGS, AT(plan.mounts), 0, ENTRIES_MAX, .mandatory = true}, /* source, target, … */
        {"widened", JSON_STRINGS, AT(plan.widened), 0, ENTRIES_MAX, .mandatory = true},
        {"warnings", JSON_STRINGS, AT(plan.warnings), 0, ENTRIES_MAX, .mandatory = true},
};

static int read_fields(json_object *object, Raw *raw, JsonError *reterr) {
        JsonField fields[ELEMENTS(plan_fields) + LIMIT_N];
        size_t n = ELEMENTS(plan_fields);

        memcpy(fields, plan_fields, sizeof plan_fields);
        for (LimitId id = 0; id < LIMIT_N; id++) {
                if (!limits[id].top_level)
                        continue;
                fields[n] = limit_field(id);
                fields[n].offset += AT(limits);
                fields[n].present += AT(limits);
                n++;
        }
        return json_read_object(object, "", fields, n, raw, reterr);
}

static int read_limits(Raw *raw, JsonError *reterr) {
        int r;

        r = limits_read(raw->limits_object, "limits.", /* with_top_level= */ false, &raw->limits, reterr);
        if (r < 0)
                return r;
        for (LimitId id = 0; id < LIMIT_N; id++) {
                char key[64];

                raw->plan.limit[id] = raw->limits.value[id];
                if (raw->limits.given[id])
                        continue;
                (void) snprintf(
                        key, sizeof key, "%s%s", limits[id].top_level ? "" : "limits.", limits[id].key);
                json_error_set(reterr, key, "is missing");
                return -EINVAL;
        }
        return 0;
}

static int read_syscalls(json_object *object, Plan *plan, JsonError *reterr) {
        static const JsonField fields[] = {
                {"allow", JSON_STRINGS, offsetof(Plan, syscalls_allow), 1, ENTRIES_MAX, .mandatory = true},
                {"deny", JSON_STRINGS, offsetof(Plan, syscalls_deny), 0, ENTRIES_MAX, .mandatory = true},
                {"report", JSON_BOOL, offsetof(Plan, syscalls_report), .mandatory = true},
        };

        return json_read_object(object, "syscalls.", fields, ELEMENTS(fields), plan, reterr);
}

static int check_code_file(const Plan *plan, JsonError *reterr) {
        if (plan->code_file && !name_is_valid(plan->code_file, 64)) {
                json_error_set(reterr, "code_file", "must be a plain file name");
                return -EINVAL;
        }
        if (!plan->language != !plan->code_file) {
                json_error_set(reterr, "code_file", "must be there exactly when \"language\" is");
                return -EINVAL;
        }
        return 0;
}

static int read_parts(Raw *raw, JsonError *reterr) {
        int r;

        r = check_code_file(&raw->plan, reterr);
        if (r < 0)
                return r;
        r = environment_read(
                raw->env, "env", ENTRIES_MAX, PLAN_ENVIRONMENT_SIZE_MAX, &raw->plan.env, reterr);
        if (r < 0)
                return r;
        r = read_limits(raw, reterr);
        if (r < 0)
                return r;
        r = read_syscalls(raw->syscalls, &raw->plan, reterr);
        if (r < 0)
                return r;
        r = on_output_limit_from_name(
                "on_output_limit", raw->on_output_limit, &raw->plan.on_output_limit, reterr);
        if (r < 0)
                return r;
        r = on_memory_warn_from_name("on_memory_warn", raw->on_memory_warn, &raw->plan.on_memory_warn, reterr);
        if (r < 0)
                return r;
        r = processes_from_name("processes", raw->processes, &raw->plan.threads_only, reterr);
        if (r < 0)
                return r;
        r = network_from_name("network", raw->network, &raw->plan.egress, reterr);
        if (r < 0)
                return r;
        raw->plan.read_only = !raw->writable;
        r = audit_code_from_name("audit_code", raw->audit_code, &raw->plan.audit_code, reterr);
        if (r < 0)
                return r;
        return proc_subset_from_name("proc_subset", raw->proc_subset, &raw->plan.proc_pid_only, reterr);
}

int plan_from_json(json_object *object, Plan **ret, JsonError *reterr) {
        own(raw_clear) Raw raw = {0};
        own(plan_freep) Plan *plan = NULL;
        int r;

        if (!json_object_is_type(object, json_type_object)) {
                json_error_set(reterr, "", "must be an object");
                return -EINVAL;
        }
        r = read_fields(object, &raw, reterr);
        if (r < 0)
                return r;
        r = read_parts(&raw, reterr);
        if (r < 0)
                return r;

        plan = calloc(1, sizeof *plan);
        if (!plan)
                return -ENOMEM;
        *plan = raw.plan;
        raw.plan = (Plan){0};

        *ret = hand_over(plan);
        return 0;
}
