/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * spec × policy × language, resolved: every value final. Everything after it works from the plan alone. A plan
 * holds no bulk: code, stdin and input files stay in the spec and go into the work order (handover/).
 */

#include <stdbool.h>
#include <stdint.h>

#include "policy/language.h"
#include "policy/policy.h"
#include "policy/store.h"
#include "spec/spec.h"

#define PLAN_WORKSPACE "/workspace"
#define PLAN_CODE_DIRECTORY "/scratch/code"
#define PLAN_PROGRAM "/scratch/code/program"

typedef struct Plan {
        char *task_id;
        char *policy;
        char *language; /* NULL for plain argv */
        char *code_file; /* "main.py", in PLAN_CODE_DIRECTORY; NULL for plain argv */
        char **compile; /* NULL: none */
        char **argv;
        char **env; /* the whole environment, "NAME=value" */
        char **bind_read_only;
        char **syscalls_allow;
        char **syscalls_deny;
        bool syscalls_report; /* the inner filter tells what it refuses */
        char **allowed_paths;
        char **mounts; /* source, target, source, … : read-only, final; what is there is looked at when it is submitted */
        uint64_t limit[LIMIT_N];
        uint64_t compile_timeout_ms;
        OnOutputLimit on_output_limit;
        AuditCode audit_code;
        bool reports_stack; /* the language tells its stack when it is stopped at the time limit */
        OnMemoryWarn on_memory_warn;
        bool threads_only;
        bool read_only;
        bool egress;
        bool restricted;
        bool proc_pid_only;
        char **widened;  /* "memory_mb 512 (default 256)": each value wider than the policy's default */
        char **warnings; /* "memory_mb (64) is not more than disk_mb + /dev/shm (128): …" */
} Plan;

typedef enum PlanProblem {
        PLAN_OK = 0,
        PLAN_INVALID,              /* InvalidSpec: a value above the policy's max, files larger than disk_mb, … */
        PLAN_NO_SUCH_POLICY,       /* NoSuchPolicy */
        PLAN_LANGUAGE_UNAVAILABLE, /* LanguageUnavailable: unknown, not allowed by the policy, or no interpreter */
} PlanProblem;

Plan *plan_free(Plan *plan);
DEFINE_OWN(Plan, plan_free);

/*
 * 0, a positive PlanProblem with *reterr, or -ENOMEM. host_cpus bounds cpu_cpus where the policy does not. The
 * default policy is the one named "default".
 */
int plan_resolve(const Spec *spec, const Store *store, unsigned host_cpus, Plan **ret, JsonError *reterr);

/* To and from a document; from_json is strict too (state files are outside input after a crash). */
int plan_to_json(const Plan *plan, json_object **ret);
int plan_from_json(json_object *object, Plan **ret, JsonError *reterr);
