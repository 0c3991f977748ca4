/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The table of limits, and reading by it. DESIGN section 3 is the source of the figures. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/own.h"
#include "spec/limit.h"

#define DAY_MS (24U * 3600 * 1000)
#define TIB_MB (1024U * 1024)
#define OUTPUT_MAX (16U * 1024 * 1024)

/* clang-format off */
const Limit limits[LIMIT_N] = {
        [LIMIT_TIMEOUT_MS] = {.key = "timeout_ms", .top_level = true, .min = 1, .fallback = 10000,
                .fallback_max = 300000, .ceiling = DAY_MS},
        [LIMIT_CPU_CPUS] = {.key = "cpu_cpus", .decimal = true, .min = 10, .fallback = 1000,
                .fallback_max = UINT64_MAX, .ceiling = 1024000},
        [LIMIT_CPU_MS] = {.key = "cpu_ms", .min = 1, .fallback_max = 3600000, .ceiling = DAY_MS,
                .zero_is_none = true},
        [LIMIT_MEMORY_MB] = {.key = "memory_mb", .min = 16, .fallback = 256, .fallback_max = 2048,
                .ceiling = TIB_MB},
        [LIMIT_MEMORY_WARN_MB] = {.key = "memory_warn_mb", .min = 1, .fallback_max = 2048, .ceiling = TIB_MB,
                .zero_is_none = true},
        [LIMIT_PIDS_MAX] = {.key = "pids_max", .min = 1, .fallback = 64, .fallback_max = 512,
                .ceiling = 32768},
        [LIMIT_DISK_MB] = {.key = "disk_mb", .min = 1, .fallback = 64, .fallback_max = 1024,
                .ceiling = TIB_MB},
        [LIMIT_FILE_MB] = {.key = "file_mb", .min = 1, .fallback = 32, .fallback_max = 2048,
                .ceiling = TIB_MB},
        [LIMIT_STDOUT_BYTES] = {.key = "stdout_bytes", .fallback = 65536, .fallback_max = OUTPUT_MAX,
                .ceiling = OUTPUT_MAX},
        [LIMIT_STDERR_BYTES] = {.key = "stderr_bytes", .fallback = 65536, .fallback_max = OUTPUT_MAX,
                .ceiling = OUTPUT_MAX},
        [LIMIT_ARTIFACT_MB] = {.key = "artifact_mb", .fallback = 64, .fallback_max = 1024,
                .ceiling = TIB_MB},
        [LIMIT_EXTERNAL_CALLS] = {.key = "external_calls", .ceiling = 1000000},
};
/* clang-format on */

const Limit *limit_find(const char *key, LimitId *ret_id) {
        for (LimitId id = 0; id < LIMIT_N; id++) {
                if (!streq(limits[id].key, key))
                        continue;
                if (ret_id)
                        *ret_id = id;
                return &limits[id];
        }
        return NULL;
}

const char *limit_unit(LimitId id) {
        static const struct {
                const char *suffix, *unit;
        } units[] = {{"_mb", "MiB"}, {"_ms", "ms"}, {"_bytes", "bytes"}, {"_cpus", "CPUs"}};

        for (size_t i = 0; i < ELEMENTS(units); i++)
                if (ends_with(limits[id].key, units[i].suffix))
                        return units[i].unit;
        return NULL;
}

void limit_format(LimitId id, uint64_t value, char ret[static LIMIT_TEXT_SIZE]) {
        int n;

        if (!limits[id].decimal) {
                (void) snprintf(ret, LIMIT_TEXT_SIZE, "%" PRIu64, value);
                return;
        }
        n = snprintf(ret, LIMIT_TEXT_SIZE, "%" PRIu64 ".%03u", value / 1000, (unsigned) (value % 1000));
        while (ret[n - 1] == '0')
                ret[--n] = 0;
        if (ret[n - 1] == '.')
                ret[n - 1] = 0;
}

JsonField limit_field(LimitId id) {
        const Limit *limit = &limits[id];

        return (JsonField){
                .key = limit->key,
                .kind = limit->decimal ? JSON_DECIMAL_MILLI : JSON_U64,
                .offset = offsetof(Limits, value) + id * sizeof(uint64_t),
                .min = limit->zero_is_none ? 0 : limit->min,
                .max = limit->ceiling,
                .present = offsetof(Limits, given) + id * sizeof(bool) + 1,
                .unit = limit_unit(id),
        };
}

/* Somebody who writes limits.timeout_ms knows what they want: say where it goes. */
static int refuse_misplaced(json_object *object, const char *prefix, JsonError *reterr) {
        for (LimitId id = 0; id < LIMIT_N; id++) {
                char path[sizeof reterr->key];

                if (!limits[id].top_level || !json_object_object_get_ex(object, limits[id].key, NULL))
                        continue;
                (void) snprintf(path, sizeof path, "%s%s", prefix, limits[id].key);
                json_error_set(reterr, path,
                        "is not a known key; %s is a key of the spec itself, beside \"limits\"",
                        limits[id].key);
                return -EINVAL;
        }
        return 0;
}

int limits_read(
        json_object *object, const char *prefix, bool with_top_level, Limits *ret, JsonError *reterr) {
        JsonField fields[LIMIT_N];
        size_t n = 0;
        int r;

        if (!with_top_level) {
                r = refuse_misplaced(object, prefix, reterr);
                if (r < 0)
                        return r;
        }
        for (LimitId id = 0; id < LIMIT_N; id++)
                if (with_top_level || !limits[id].top_level)
                        fields[n++] = limit_field(id);

        return json_read_object(object, prefix, fields, n, ret, reterr);
}

int limit_read_value(LimitId id, json_object *value, const char *prefix, uint64_t *ret, JsonError *reterr) {
        own(json_freep) json_object *object = json_object_new_object();
        JsonField field = limit_field(id);
        Limits read = {0};
        int r;

        if (!object)
                return -ENOMEM;
        r = json_add_object(object, limits[id].key, json_object_get(value));
        if (r < 0)
                return r;
        r = json_read_object(object, prefix, &field, 1, &read, reterr);
        if (r < 0)
                return r;

        *ret = read.value[id];
        return 0;
}

int limit_add_json(json_object *object, LimitId id, uint64_t value) {
        char text[LIMIT_TEXT_SIZE];
        json_object *number;

        if (!limits[id].decimal || value % 1000 == 0)
                return json_add_u64(object, limits[id].key, limits[id].decimal ? value / 1000 : value);

        /* the text goes along: 0.1 is not to be printed as 0.10000000000000001 */
        limit_format(id, value, text);
        number = json_object_new_double_s((double) value / 1000, text);
        return number ? json_add_object(object, limits[id].key, number) : -ENOMEM;
}

bool limit_is_wider(LimitId id, uint64_t value, uint64_t than) {
        if (!limits[id].zero_is_none)
                return value > than;
        /* none is wider than any */
        return value == 0 ? than != 0 : than != 0 && value > than;
}
