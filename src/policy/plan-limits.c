/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The limits of a plan: chosen, bounded, and where they do not go well together, said so. */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "policy/plan-parts.h"

#define MIB (1024U * 1024)
#define PAGE 4096U

static int append_text(char ***list, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int append_text(char ***list, const char *format, ...) {
        own(freep) char *text = NULL;
        va_list arguments;
        int r;

        va_start(arguments, format);
        r = vasprintf(&text, format, arguments);
        va_end(arguments);
        if (r < 0) {
                text = NULL;
                return -ENOMEM;
        }
        return strv_append(list, text);
}

static uint64_t largest(LimitId id, const Policy *policy, unsigned host_cpus) {
        uint64_t max = policy->max.value[id], host = (uint64_t) (host_cpus > 0 ? host_cpus : 1) * 1000;

        if (limits[id].zero_is_none && max == 0)
                return UINT64_MAX;
        return id == LIMIT_CPU_CPUS && max > host ? host : max;
}

static int refuse_limit(LimitId id, uint64_t value, uint64_t max, const Policy *policy, JsonError *reterr) {
        const char *unit = limit_unit(id);
        char key[64], asked[LIMIT_TEXT_SIZE], allowed[LIMIT_TEXT_SIZE], least[LIMIT_TEXT_SIZE];

        (void) snprintf(key, sizeof key, "%s%s", limits[id].top_level ? "" : "limits.", limits[id].key);
        limit_format(id, value, asked);
        limit_format(id, max, allowed);
        limit_format(id, limits[id].zero_is_none ? 0 : limits[id].min, least);
        json_error_set(reterr, key, "must be from %s to %s%s%s%s under policy \"%s\"%s, not %s", least,
                allowed, unit ? " (" : "", unit ? unit : "", unit ? ")" : "", policy->name,
                max < policy->max.value[id] ? " on this host" : "", asked);
        return PLAN_INVALID;
}

static int note_widened(Plan *plan, LimitId id, uint64_t fallback) {
        char value[LIMIT_TEXT_SIZE], text[LIMIT_TEXT_SIZE];

        if (!limit_is_wider(id, plan->limit[id], fallback))
                return 0;
        limit_format(id, plan->limit[id], value);
        limit_format(id, fallback, text);
        return append_text(&plan->widened, "%s %s (default %s)", limits[id].key, value, text);
}

/* tmpfs counts whole pages. */
static uint64_t pages(uint64_t size) {
        return (size + PAGE - 1) / PAGE * PAGE;
}

static int check_disk(const Plan *plan, const Spec *spec, JsonError *reterr) {
        uint64_t disk = plan->limit[LIMIT_DISK_MB] * MIB, files = 0, sum;

        for (size_t i = 0; i < spec->n_files; i++)
                files += pages(spec->files[i].content.size);
        sum = pages(spec->code.size) + files + pages(spec->stdin_data.size);
        if (sum <= disk)
                return 0;

        json_error_set(reterr, "limits.disk_mb",
                "is %" PRIu64 " MiB (%" PRIu64 " bytes), but code (%zu), input files (%" PRIu64
                ") and stdin (%zu) take %" PRIu64 " bytes of it: raise it to %" PRIu64 " or more",
                plan->limit[LIMIT_DISK_MB], disk, spec->code.size, files, spec->stdin_data.size, sum,
                (sum + MIB - 1) / MIB);
        return PLAN_INVALID;
}

static int add_warnings(Plan *plan) {
        uint64_t memory = plan->limit[LIMIT_MEMORY_MB], disk = plan->limit[LIMIT_DISK_MB];

        if (memory > 2 * disk)
                return 0;
        return append_text(&plan->warnings,
                "memory_mb (%" PRIu64 ") is not more than disk_mb + /dev/shm (%" PRIu64
                "): files are kept in memory and count as memory, so files alone can end the execution with "
                "memory_limit",
                memory, 2 * disk);
}

int plan_resolve_limits(
        Plan *plan, const Spec *spec, const Policy *policy, unsigned host_cpus, JsonError *reterr) {
        int r;

        for (LimitId id = 0; id < LIMIT_N; id++) {
                uint64_t fallback = policy->defaults.value[id], max = largest(id, policy, host_cpus);

                if (!spec->limits.given[id]) {
                        plan->limit[id] = fallback < max ? fallback : max;
                        continue;
                }
                plan->limit[id] = spec->limits.value[id];
                if (plan->limit[id] > max)
                        return refuse_limit(id, plan->limit[id], max, policy, reterr);
                r = note_widened(plan, id, fallback);
                if (r < 0)
                        return r;
        }
        r = check_disk(plan, spec, reterr);
        if (r != 0)
                return r;
        return add_warnings(plan);
}
