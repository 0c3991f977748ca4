/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A unit's cgroup, through files that are held open: what they say is read while the cgroup is there, killing is one
 * write to cgroup.kill (atomic, whole tree), and cgroup.events says when nobody is left. A file of a cgroup that is
 * gone answers ENODEV; that and ENOENT count as "nobody is left".
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "base/own.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

typedef struct Cgroup Cgroup;

/* Files whose descriptors others need too (the runner gets them). */
typedef enum CgroupFileId {
        CGROUP_FILE_MEMORY_EVENTS,
        CGROUP_FILE_MEMORY_PEAK,
        CGROUP_FILE_PIDS_EVENTS,
        CGROUP_FILE_CPU_STAT,
        CGROUP_FILE_IDS
} CgroupFileId;

/* Values are UINT64_MAX where the host has no such file or it is gone. */
typedef struct CgroupUsage {
        uint64_t oom_kills;
        uint64_t memory_peak;
        uint64_t pids_refused;
        uint64_t cpu_usec;
} CgroupUsage;

/* The limits as the kernel holds them; UINT64_MAX for "max" or no file; has_* tells whether the file exists. */
typedef struct CgroupLimits {
        uint64_t memory_max, swap_max, pids_max;
        uint64_t cpu_quota_usec, cpu_period_usec;
        bool has_memory, has_pids, has_cpu;
} CgroupLimits;

/* root is CGROUP_ROOT (tests use another). path as unit_cgroup_path() makes it. -ENOENT: not there. */
int cgroup_open(const char *root, const char *path, Cgroup **ret);
Cgroup *cgroup_free(Cgroup *cgroup);
DEFINE_OWN(Cgroup, cgroup_free);

int cgroup_fd(const Cgroup *cgroup, CgroupFileId id); /* -1 when the host has none */
void cgroup_read_usage(const Cgroup *cgroup, CgroupUsage *ret);
void cgroup_read_limits(const Cgroup *cgroup, CgroupLimits *ret);
/* What fills the memory right now; values are UINT64_MAX where not known. */
typedef struct CgroupMemory {
        uint64_t high_events;  /* memory.events high: how often the mark was passed */
        uint64_t current;
        uint64_t reclaimable;  /* page cache and slab that the kernel can take back at any time */
} CgroupMemory;

void cgroup_read_memory(const Cgroup *cgroup, CgroupMemory *ret);
/* Counts only grow: what was read before stays where the file is gone by now. */
void cgroup_usage_keep_largest(CgroupUsage *kept, const CgroupUsage *now);
/* Takes only what is not known yet. */
void cgroup_usage_keep_unknown(CgroupUsage *kept, const CgroupUsage *told);
int cgroup_kill(const Cgroup *cgroup);
bool cgroup_is_populated(const Cgroup *cgroup);

/* on_change is called from the event loop when the cgroup gets or loses its last process, and when memory.events
 * moves (an OOM kill); and once soon after, for what happened before the watch stood. */
typedef void (*CgroupHandler)(void *userdata);
int cgroup_watch(Cgroup *cgroup, sd_event *event, CgroupHandler on_change, void *userdata);
void cgroup_unwatch(Cgroup *cgroup);
