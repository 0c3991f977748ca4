/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The result of an execution: exactly one for each accepted one (unitcell-spec(5), "Result"). */

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/text.h"

/* A whole result document stays below this. */
#define RESULT_SIZE_MAX (24U * 1024 * 1024)

typedef enum Status {
        STATUS_SUCCESS,
        STATUS_FAILED,
        STATUS_SIGNALED,
        STATUS_TIMEOUT,
        STATUS_CPU_LIMIT,
        STATUS_MEMORY_LIMIT,
        STATUS_OUTPUT_LIMIT,
        STATUS_DISK_LIMIT,
        STATUS_TASKS_LIMIT,
        STATUS_COMPILE_ERROR,
        STATUS_CANCELED,
        STATUS_INTERRUPTED,
        STATUS_START_FAILED,
        STATUS_INTERNAL_ERROR,
        STATUS_N
} Status;

/* One row a status: its name in documents, whether trying again may help, whether the program is to blame. */
typedef struct StatusRow {
        const char *name;
        bool retryable;
        bool counts_as_failure;
        int exit_status; /* of unitcell run; -1: the program's own (success, failed) or 128 + signal (signaled) */
} StatusRow;

extern const StatusRow status_table[STATUS_N];
const char *status_name(Status status);
int status_from_name(const char *name, Status *ret); /* -EINVAL */

/* "SIGSEGV" for 11; "SIGRTMIN+n"; NULL for a number that is no signal. The string is static. */
const char *signal_name(int number);
int signal_number(const char *name); /* -EINVAL */

#define USAGE_UNKNOWN UINT64_MAX /* null in the document */

/* One output stream as it is kept: exactly the limit, as head and tail, when more was produced. */
typedef struct Output {
        Bytes head;         /* everything kept, when not truncated */
        Bytes tail;         /* only when truncated */
        uint64_t produced;  /* bytes that were produced */
        bool truncated;
} Output;

typedef struct Result {
        char *id;
        char *task_id; /* or NULL */
        Status status;
        char *message; /* one or two sentences for a person or a model: what happened, what to do next */
        int exit_code; /* -1: null */
        int signal;    /* 0: null */
        Output out;
        Output err;
        uint64_t duration_ms; /* exec to exit; USAGE_UNKNOWN when it never ran */
        uint64_t queue_ms;
        uint64_t start_ms;
        uint64_t compile_ms;  /* USAGE_UNKNOWN: nothing was compiled (key left out) */
        uint64_t cpu_ms;
        uint64_t memory_peak_bytes;
        bool memory_warned;
        bool oom_killed;
        bool tasks_limit_hit;
        bool file_limit_hit;
        bool disk_limit_hit;
        bool suspected_runaway;
        char *policy;
        char *language; /* or NULL */
        char *unit;
        char *invocation_id; /* or NULL */
        char *stopped_at; /* the stack at the time limit, or NULL */
        json_object *denied_syscalls; /* [{"name", "count"}, …]; NULL: none */
        json_object *enforced; /* what was looked at and found in force */
} Result;

void result_clear(Result *result);
/* Keys in the order of DESIGN section 5; those of parts not built yet carry their empty value. */
int result_to_json(const Result *result, json_object **ret);
/* The result with outputs cut to a summary, for UNITCELL_RESULT. */
int result_summary(const Result *result, json_object **ret);
