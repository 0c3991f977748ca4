/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A policy: what the administrator allows, and what applies where the spec is silent. A JSON file, one policy each
 * (unitcell-policy(5)).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "spec/limit.h"

#define POLICY_COMPILE_TIMEOUT_MAX_MS 300000U

typedef enum AuditCode { AUDIT_CODE_FULL, AUDIT_CODE_HASH, AUDIT_CODE_NONE } AuditCode;
typedef enum OnMemoryWarn { ON_MEMORY_WARN_CONTINUE, ON_MEMORY_WARN_TERMINATE } OnMemoryWarn;
typedef enum OnOutputLimit { ON_OUTPUT_TRUNCATE, ON_OUTPUT_KILL } OnOutputLimit;

typedef struct Policy {
        char *name;
        char *description;
        Limits defaults; /* every value filled: the file's, else the table's */
        Limits max;
        uint64_t compile_timeout_ms; /* 20000; 1 to 300000 */
        char **languages;       /* names, or {"*"}; "argv" stands for plain argv */
        char **syscalls_allow;  /* names and @groups as systemd knows them */
        char **syscalls_deny;   /* taken away from what allow gives */
        bool syscalls_report;   /* refusals are named in the result (the inner filter tells them); default yes */
        OnOutputLimit on_output_limit;
        OnMemoryWarn on_memory_warn;
        bool threads_only;      /* "processes": "threads": it may start threads, no processes */
        bool read_only;         /* "writable": false: no writable place at all (Landlock) */
        bool egress;            /* "network": "egress": out through the proxy only */
        AuditCode audit_code;
        char **mount_prefixes;  /* host directories below which a spec may name mounts; none by default */
        bool restricted;        /* needs polkit action use-restricted-policy */
        bool proc_pid_only;     /* ProcSubset=pid instead of all */
        char *source_path;
} Policy;

Policy *policy_free(Policy *policy);
DEFINE_OWN(Policy, policy_free);
int policy_read(const char *text, size_t size, const char *source_path, Policy **ret, JsonError *reterr);
/* The policy as a whole document, every value filled (GetPolicy). */
int policy_to_json(const Policy *policy, json_object **ret);
bool policy_allows_language(const Policy *policy, const char *name);

/* The words of documents. The readers leave *ret alone when text is NULL; -EINVAL lists what is known. */
const char *on_memory_warn_name(OnMemoryWarn value);
const char *processes_name(bool threads_only);
const char *network_name(bool egress);
int on_memory_warn_from_name(const char *key, const char *text, OnMemoryWarn *ret, JsonError *reterr);
int processes_from_name(const char *key, const char *text, bool *ret_threads_only, JsonError *reterr);
int network_from_name(const char *key, const char *text, bool *ret_egress, JsonError *reterr);
const char *on_output_limit_name(OnOutputLimit value);
const char *audit_code_name(AuditCode value);
const char *proc_subset_name(bool pid_only);
int on_output_limit_from_name(const char *key, const char *text, OnOutputLimit *ret, JsonError *reterr);
int audit_code_from_name(const char *key, const char *text, AuditCode *ret, JsonError *reterr);
int proc_subset_from_name(const char *key, const char *text, bool *ret_pid_only, JsonError *reterr);
