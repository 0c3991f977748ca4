/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A unit's cgroup through held descriptors. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

#include "base/file.h"
#include "base/text.h"
#include "manager/cgroup.h"

#define CGROUP_TEXT_MAX 4096

static const char *const file_names[] = {
        [CGROUP_FILE_MEMORY_EVENTS] = "memory.events",
        [CGROUP_FILE_MEMORY_PEAK] = "memory.peak",
        [CGROUP_FILE_PIDS_EVENTS] = "pids.events",
        [CGROUP_FILE_CPU_STAT] = "cpu.stat",
};

struct Cgroup {
        int directory;
        int events; /* cgroup.events */
        int kill;   /* cgroup.kill */
        int files[CGROUP_FILE_IDS];
        sd_event_source *sources[3]; /* two files and the first look */
        CgroupHandler on_change;
        void *userdata;
};

Cgroup *cgroup_free(Cgroup *cgroup) {
        if (!cgroup)
                return NULL;

        cgroup_unwatch(cgroup);
        for (size_t i = 0; i < CGROUP_FILE_IDS; i++)
                close_fd(cgroup->files[i]);
        close_fd(cgroup->kill);
        close_fd(cgroup->events);
        close_fd(cgroup->directory);
        free(cgroup);
        return NULL;
}

int cgroup_open(const char *root, const char *path, Cgroup **ret) {
        own(cgroup_freep) Cgroup *cgroup = calloc(1, sizeof *cgroup);
        own(freep) char *whole = NULL;

        if (!cgroup)
                return -ENOMEM;
        cgroup->directory = cgroup->events = cgroup->kill = -1;
        for (size_t i = 0; i < CGROUP_FILE_IDS; i++)
                cgroup->files[i] = -1;

        if (asprintf(&whole, "%s%s", root, path) < 0)
                return -ENOMEM;
        cgroup->directory = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (cgroup->directory < 0)
                return -errno;
        cgroup->events = openat(cgroup->directory, "cgroup.events", O_RDONLY | O_CLOEXEC);
        if (cgroup->events < 0)
                return -errno;
        cgroup->kill = openat(cgroup->directory, "cgroup.kill", O_WRONLY | O_CLOEXEC);
        if (cgroup->kill < 0)
                return -errno;
        /* Absent where a controller is: its values are unknown then. */
        for (size_t i = 0; i < CGROUP_FILE_IDS; i++)
                cgroup->files[i] = openat(cgroup->directory, file_names[i], O_RDONLY | O_CLOEXEC);

        *ret = hand_over(cgroup);
        return 0;
}

int cgroup_fd(const Cgroup *cgroup, CgroupFileId id) {
        return cgroup->files[id];
}

/* The number after key in lines of "key value"; key NULL: the file is one number. */
static uint64_t read_number(int fd, const char *key) {
        own(bytes_clear) Bytes text = {};
        const char *line;

        if (fd < 0 || fd_pread_text(fd, CGROUP_TEXT_MAX, &text) < 0 || !text.data)
                return UINT64_MAX;

        for (line = text.data; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
                char *end;

                if (key) {
                        if (!starts_with(line, key) || line[strlen(key)] != ' ')
                                continue;
                        line += strlen(key) + 1;
                }
                if (*line < '0' || *line > '9') /* "max" */
                        return UINT64_MAX;
                errno = 0;
                uint64_t value = strtoull(line, &end, 10);
                return errno == 0 ? value : UINT64_MAX;
        }
        return UINT64_MAX;
}

void cgroup_read_usage(const Cgroup *cgroup, CgroupUsage *ret) {
        *ret = (CgroupUsage) {
                .oom_kills = read_number(cgroup->files[CGROUP_FILE_MEMORY_EVENTS], "oom_kill"),
                .memory_peak = read_number(cgroup->files[CGROUP_FILE_MEMORY_PEAK], NULL),
                .pids_refused = read_number(cgroup->files[CGROUP_FILE_PIDS_EVENTS], "max"),
                .cpu_usec = read_number(cgroup->files[CGROUP_FILE_CPU_STAT], "usage_usec"),
        };
}

static void keep_unknown(uint64_t *kept, uint64_t told) {
        if (*kept == UINT64_MAX)
                *kept = told;
}

void cgroup_usage_keep_unknown(CgroupUsage *kept, const CgroupUsage *told) {
        keep_unknown(&kept->oom_kills, told->oom_kills);
        keep_unknown(&kept->memory_peak, told->memory_peak);
        keep_unknown(&kept->pids_refused, told->pids_refused);
        keep_unknown(&kept->cpu_usec, told->cpu_usec);
}

static void keep_largest(uint64_t *kept, uint64_t now) {
        if (now != UINT64_MAX && (*kept == UINT64_MAX || now > *kept))
                *kept = now;
}

void cgroup_usage_keep_largest(CgroupUsage *kept, const CgroupUsage *now) {
        keep_largest(&kept->oom_kills, now->oom_kills);
        keep_largest(&kept->memory_peak, now->memory_peak);
        keep_largest(&kept->pids_refused, now->pids_refused);
        keep_largest(&kept->cpu_usec, now->cpu_usec);
}

static bool read_limit(const Cgroup *cgroup, const char *name, uint64_t *ret) {
        own(close_fdp) int fd = openat(cgroup->directory, name, O_RDONLY | O_CLOEXEC);

        *ret = read_number(fd, NULL);
        return fd >= 0;
}

void cgroup_read_limits(const Cgroup *cgroup, CgroupLimits *ret) {
        own(close_fdp) int fd = openat(cgroup->directory, "cpu.max", O_RDONLY | O_CLOEXEC);
        own(bytes_clear) Bytes text = {};
        unsigned long long quota, period;

        *ret = (CgroupLimits) {.cpu_quota_usec = UINT64_MAX, .cpu_period_usec = UINT64_MAX};
        ret->has_memory = read_limit(cgroup, "memory.max", &ret->memory_max);
        (void) read_limit(cgroup, "memory.swap.max", &ret->swap_max);
        ret->has_pids = read_limit(cgroup, "pids.max", &ret->pids_max);
        ret->has_cpu = fd >= 0;
        if (fd >= 0 && fd_pread_text(fd, CGROUP_TEXT_MAX, &text) >= 0 && text.data &&
                sscanf(text.data, "%llu %llu", &quota, &period) == 2) {
                ret->cpu_quota_usec = quota;
                ret->cpu_period_usec = period;
        }
}

/* Opened for the look: it is taken only when the mark is passed. */
static uint64_t read_number_of(const Cgroup *cgroup, const char *name, const char *key) {
        own(close_fdp) int fd = openat(cgroup->directory, name, O_RDONLY | O_CLOEXEC);

        return read_number(fd, key);
}

void cgroup_read_memory(const Cgroup *cgroup, CgroupMemory *ret) {
        static const char *const reclaimable[] = {"active_file", "inactive_file", "slab_reclaimable"};

        *ret = (CgroupMemory) {
                .high_events = read_number(cgroup->files[CGROUP_FILE_MEMORY_EVENTS], "high"),
                .current = read_number_of(cgroup, "memory.current", NULL),
        };
        for (size_t i = 0; i < ELEMENTS(reclaimable); i++) {
                uint64_t bytes = read_number_of(cgroup, "memory.stat", reclaimable[i]);

                if (bytes != UINT64_MAX)
                        ret->reclaimable += bytes;
        }
}

int cgroup_kill(const Cgroup *cgroup) {
        if (write(cgroup->kill, "1", 1) == 1)
                return 0;
        /* Gone already: nobody is left to kill. */
        return errno == ENODEV || errno == ENOENT ? 0 : -errno;
}

bool cgroup_is_populated(const Cgroup *cgroup) {
        /* A file that cannot be read any more belongs to a cgroup that is gone. */
        return read_number(cgroup->events, "populated") == 1;
}

static int on_events(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Cgroup *cgroup = userdata;
        char byte;

        /* Level-triggered until it is read again. */
        (void) !pread(fd, &byte, 1, 0);
        cgroup->on_change(cgroup->userdata);
        return 0;
}

static int on_modified(sd_event_source *source, const struct inotify_event *event, void *userdata) {
        Cgroup *cgroup = userdata;

        cgroup->on_change(cgroup->userdata);
        return 0;
}

/* kernfs tells a change as POLLPRI, and that the cgroup is gone as well. An ordinary file, which stands in for one in
 * tests, cannot be polled: it is watched by inotify. */
static int watch_file(Cgroup *cgroup, sd_event *event, int fd, sd_event_source **ret) {
        int r;

        r = sd_event_add_io(event, ret, fd, EPOLLPRI, on_events, cgroup);
        if (r == -EPERM)
                r = sd_event_add_inotify_fd(event, ret, fd, IN_MODIFY, on_modified, cgroup);
        return r;
}

static int on_first_look(sd_event_source *source, void *userdata) {
        Cgroup *cgroup = userdata;

        cgroup->on_change(cgroup->userdata);
        return 0;
}

int cgroup_watch(Cgroup *cgroup, sd_event *event, CgroupHandler on_change, void *userdata) {
        const int watched[] = {cgroup->events, cgroup->files[CGROUP_FILE_MEMORY_EVENTS]};
        int r;

        cgroup->on_change = on_change;
        cgroup->userdata = userdata;

        /* The watch stands before the first look, so no change is missed. */
        for (size_t i = 0; i < ELEMENTS(watched); i++) {
                if (watched[i] < 0)
                        continue;
                r = watch_file(cgroup, event, watched[i], &cgroup->sources[i]);
                if (r < 0)
                        return r;
        }
        return sd_event_add_defer(event, &cgroup->sources[ELEMENTS(watched)], on_first_look, cgroup);
}

void cgroup_unwatch(Cgroup *cgroup) {
        for (size_t i = 0; i < ELEMENTS(cgroup->sources); i++)
                cgroup->sources[i] = sd_event_source_disable_unref(cgroup->sources[i]);
}
