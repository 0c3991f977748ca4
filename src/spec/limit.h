/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The limits of an execution: one table that reading, refusing, planning, documenting and testing all walk.
 * Values are kept in the unit the key names (ms, MiB, bytes, tasks); cpu_cpus in thousandths of a CPU.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

typedef enum LimitId {
        LIMIT_TIMEOUT_MS,
        LIMIT_CPU_CPUS, /* thousandths */
        LIMIT_CPU_MS,
        LIMIT_MEMORY_MB,
        LIMIT_MEMORY_WARN_MB,
        LIMIT_PIDS_MAX,
        LIMIT_DISK_MB,
        LIMIT_FILE_MB,
        LIMIT_STDOUT_BYTES,
        LIMIT_STDERR_BYTES,
        LIMIT_ARTIFACT_MB,
        LIMIT_EXTERNAL_CALLS,
        LIMIT_N
} LimitId;

typedef struct Limit {
        const char *key;
        bool top_level;         /* a key of the spec itself, not of its "limits" (timeout_ms) */
        bool decimal;           /* may have a fraction; value in thousandths */
        uint64_t min;           /* the smallest value that is accepted anywhere */
        uint64_t fallback;      /* the default where neither spec nor policy says otherwise */
        uint64_t fallback_max;  /* the largest a policy allows when it does not say (cpu_cpus: UINT64_MAX, the host's) */
        uint64_t ceiling;       /* no policy can allow more */
        bool zero_is_none;      /* 0 means "no such limit" and is always accepted (cpu_ms, memory_warn_mb) */
} Limit;

extern const Limit limits[LIMIT_N];

typedef struct Limits {
        uint64_t value[LIMIT_N];
        bool given[LIMIT_N];
} Limits;

/* The unit for messages ("MiB", "ms", "bytes", "CPUs"), or NULL for a plain count. */
const char *limit_unit(LimitId id);

/* The value as a person writes it: thousandths of a CPU as "0.5". */
#define LIMIT_TEXT_SIZE 32
void limit_format(LimitId id, uint64_t value, char ret[static LIMIT_TEXT_SIZE]);

/* Does value allow more than the other one? "No limit" (zero_is_none) is wider than any. */
bool limit_is_wider(LimitId id, uint64_t value, uint64_t than);

/* NULL when no limit has that key. */
const Limit *limit_find(const char *key, LimitId *ret_id);

/*
 * Reads an object of limits ("limits" of a spec, "default" or "max" of a policy). with_top_level: keys such as
 * timeout_ms are accepted in it too (policies). Each value is checked against min and ceiling.
 */
int limits_read(json_object *object, const char *prefix, bool with_top_level, Limits *limits, JsonError *reterr);
/* The row by which a value of the limit is read; offsets are those in Limits. */
JsonField limit_field(LimitId id);
/* One value of the limit's type and range. */
int limit_read_value(LimitId id, json_object *value, const char *prefix, uint64_t *ret, JsonError *reterr);

/* Adds the value under the limit's key: a number, with a fraction where the limit has one. */
int limit_add_json(json_object *object, LimitId id, uint64_t value);
