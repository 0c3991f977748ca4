/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A cgroup made of ordinary files: what is read of it, what a missing or odd file means, and how a change is
 * told. (Ordinary files are watched by inotify; that a real one tells by POLLPRI is what the boot tests live
 * on.)
 */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manager/cgroup.h"

#define PATH "/unitcell.slice/x"
#define UNKNOWN UINT64_MAX

static char root[] = "/tmp/unitcell-test-XXXXXX";
static int directory;
static sd_event *event;

static void put(const char *name, const char *text) {
        int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        cr_assert_geq(fd, 0);
        cr_assert_eq(write(fd, text, strlen(text)), (ssize_t) strlen(text));
        close(fd);
}

static void set_up(void) {
        char path[128];

        cr_assert_not_null(mkdtemp(root));
        (void) snprintf(path, sizeof path, "%s/unitcell.slice", root);
        cr_assert_eq(mkdir(path, 0700), 0);
        (void) snprintf(path, sizeof path, "%s" PATH, root);
        cr_assert_eq(mkdir(path, 0700), 0);
        directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cr_assert_geq(directory, 0);
        put("cgroup.events", "populated 1\nfrozen 0\n");
        put("cgroup.kill", "");
        cr_assert_geq(sd_event_new(&event), 0);
}

static void tear_down(void) {
        char command[128];

        sd_event_unref(event);
        close(directory);
        (void) snprintf(command, sizeof command, "rm -rf %s", root);
        cr_assert_eq(system(command), 0);
}

TestSuite(cgroup, .init = set_up, .fini = tear_down);

static void turn(void) {
        while (sd_event_run(event, 0) > 0)
                ;
}

static unsigned open_descriptors(void) {
        unsigned n = 0;

        for (int fd = 0; fd < 256; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

Test(cgroup, opening) {
        static const struct {
                const char *path, *without;
                int result;
        } rows[] = {
                {PATH, NULL, 0},
                {"/unitcell.slice/y", NULL, -ENOENT},
                {"/unitcell.slice/link", NULL, -ENOTDIR}, /* not followed */
                {PATH "/cgroup.events", NULL, -ENOTDIR},
                {PATH, "cgroup.kill", -ENOENT},
                {PATH, "cgroup.events", -ENOENT},
        };
        char link[128];

        (void) snprintf(link, sizeof link, "%s/unitcell.slice/link", root);
        cr_assert_eq(symlink("x", link), 0);
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                unsigned before = open_descriptors();
                Cgroup *cgroup = NULL;

                if (rows[i].without)
                        cr_assert_eq(unlinkat(directory, rows[i].without, 0), 0);
                cr_expect_eq(cgroup_open(root, rows[i].path, &cgroup), rows[i].result, "row %zu", i);
                cgroup_free(cgroup);
                cr_expect_eq(open_descriptors(), before, "row %zu", i);
        }
        cr_expect_null(cgroup_free(NULL));
}

Test(cgroup, usage) {
        static const struct {
                const char *events, *peak, *pids, *cpu;
                CgroupUsage usage;
        } rows[] = {
                {NULL, NULL, NULL, NULL, {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN}},
                {"low 0\nhigh 0\nmax 5\noom 2\noom_kill 1\noom_group_kill 0\n", "9437184\n", "max 3\n",
                        "usage_usec 31000\nuser_usec 20000\nsystem_usec 11000\n", {1, 9437184, 3, 31000}},
                {"oom 7\n", "0\n", "max 0\n", "user_usec 5\n", {UNKNOWN, 0, 0, UNKNOWN}},
                {"oom_kills 7\noom_kill\n", "max\n", "max max\n", "usage_usec 18446744073709551616\n",
                        {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN}},
                {"oom_kill -1\n", "", "\n", "usage_usec  1\n", {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN}},
                {"oom_kill 4", "5", "max 6", "usage_usec 7", {4, 5, 6, 7}},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(cgroup_freep) Cgroup *cgroup = NULL;
                CgroupUsage usage;

                if (rows[i].events) {
                        put("memory.events", rows[i].events);
                        put("memory.peak", rows[i].peak);
                        put("pids.events", rows[i].pids);
                        put("cpu.stat", rows[i].cpu);
                }
                cr_assert_eq(cgroup_open(root, PATH, &cgroup), 0);
                cgroup_read_usage(cgroup, &usage);
                cr_expect_eq(usage.oom_kills, rows[i].usage.oom_kills, "row %zu", i);
                cr_expect_eq(usage.memory_peak, rows[i].usage.memory_peak, "row %zu", i);
                cr_expect_eq(usage.pids_refused, rows[i].usage.pids_refused, "row %zu", i);
                cr_expect_eq(usage.cpu_usec, rows[i].usage.cpu_usec, "row %zu", i);
                for (CgroupFileId id = 0; id < CGROUP_FILE_IDS; id++)
                        cr_expect_eq(cgroup_fd(cgroup, id) >= 0, rows[i].events != NULL);
        }
}

Test(cgroup, limits) {
        static const struct {
                const char *memory, *swap, *pids, *cpu;
                CgroupLimits limits;
        } rows[] = {
                {NULL, NULL, NULL, NULL, {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, false, false, false}},
                {"268435456\n", "0\n", "33\n", "50000 100000\n",
                        {268435456, 0, 33, 50000, 100000, true, true, true}},
                {"max\n", "max\n", "max\n", "max 100000\n",
                        {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, true, true, true}},
                {"", "x", "-3", "1000", {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, true, true, true}},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(cgroup_freep) Cgroup *cgroup = NULL;
                CgroupLimits limits;

                if (rows[i].memory) {
                        put("memory.max", rows[i].memory);
                        put("memory.swap.max", rows[i].swap);
                        put("pids.max", rows[i].pids);
                        put("cpu.max", rows[i].cpu);
                }
                cr_assert_eq(cgroup_open(root, PATH, &cgroup), 0);
                cgroup_read_limits(cgroup, &limits);
                cr_expect_eq(limits.memory_max, rows[i].limits.memory_max, "row %zu", i);
                cr_expect_eq(limits.swap_max, rows[i].limits.swap_max, "row %zu", i);
                cr_expect_eq(limits.pids_max, rows[i].limits.pids_max, "row %zu", i);
                cr_expect_eq(limits.cpu_quota_usec, rows[i].limits.cpu_quota_usec, "row %zu", i);
                cr_expect_eq(limits.cpu_period_usec, rows[i].limits.cpu_period_usec, "row %zu", i);
                cr_expect_eq(limits.has_memory, rows[i].limits.has_memory, "row %zu", i);
                cr_expect_eq(limits.has_pids, rows[i].limits.has_pids, "row %zu", i);
                cr_expect_eq(limits.has_cpu, rows[i].limits.has_cpu, "row %zu", i);
        }
}

Test(cgroup, keeping_counts) {
        static const CgroupUsage none = {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN};
        CgroupUsage kept = none;

        cgroup_usage_keep_largest(&kept, &(CgroupUsage){1, 100, UNKNOWN, 5});
        cgroup_usage_keep_largest(&kept, &(CgroupUsage){0, 200, UNKNOWN, UNKNOWN});
        cgroup_usage_keep_largest(&kept, &none); /* the files are gone by now */
        cr_expect_eq(kept.oom_kills, 1);
        cr_expect_eq(kept.memory_peak, 200);
        cr_expect_eq(kept.pids_refused, UNKNOWN);
        cr_expect_eq(kept.cpu_usec, 5);

        /* The runner's word counts only where the kernel's is not known. */
        cgroup_usage_keep_unknown(&kept, &(CgroupUsage){99, 99, 7, 99});
        cr_expect_eq(kept.oom_kills, 1);
        cr_expect_eq(kept.memory_peak, 200);
        cr_expect_eq(kept.pids_refused, 7);
        cr_expect_eq(kept.cpu_usec, 5);
}

Test(cgroup, populated_and_kill) {
        own(cgroup_freep) Cgroup *cgroup = NULL;
        char text[8] = "";

        cr_assert_eq(cgroup_open(root, PATH, &cgroup), 0);
        cr_expect(cgroup_is_populated(cgroup));
        cr_expect_eq(cgroup_kill(cgroup), 0);
        cr_expect_eq(cgroup_kill(cgroup), 0);
        int fd = openat(directory, "cgroup.kill", O_RDONLY | O_CLOEXEC);
        cr_expect_eq(read(fd, text, sizeof text - 1), 2);
        close(fd);
        cr_expect_str_eq(text, "11");

        put("cgroup.events", "populated 0\nfrozen 0\n");
        cr_expect_not(cgroup_is_populated(cgroup));
        put("cgroup.events", ""); /* cannot be read any more: gone */
        cr_expect_not(cgroup_is_populated(cgroup));
}

typedef struct Seen {
        Cgroup *cgroup;
        unsigned calls;
        bool unwatches, frees;
} Seen;

static void on_change(void *userdata) {
        Seen *seen = userdata;

        seen->calls++;
        if (seen->unwatches)
                cgroup_unwatch(seen->cgroup);
        if (seen->frees)
                seen->cgroup = cgroup_free(seen->cgroup);
}

Test(cgroup, changes_are_told) {
        Seen seen = {};

        put("memory.events", "oom_kill 0\n");
        cr_assert_eq(cgroup_open(root, PATH, &seen.cgroup), 0);
        cr_assert_geq(cgroup_watch(seen.cgroup, event, on_change, &seen), 0);
        cr_expect_eq(seen.calls, 0);
        turn();
        cr_expect_eq(seen.calls, 1); /* the first look */
        turn();
        cr_expect_eq(seen.calls, 1);

        put("memory.events", "oom_kill 1\n");
        turn();
        cr_expect_gt(seen.calls, 1);
        seen.calls = 0;
        put("cgroup.events", "populated 0\n");
        turn();
        cr_expect_gt(seen.calls, 0);

        seen.calls = 0;
        cgroup_unwatch(seen.cgroup);
        cgroup_unwatch(seen.cgroup);
        put("cgroup.events", "populated 1\n");
        turn();
        cr_expect_eq(seen.calls, 0);
        cgroup_free(seen.cgroup);
}

/* Ending an execution frees its cgroup, from inside its own news. */
Test(cgroup, freed_by_its_own_handler) {
        for (unsigned first = 0; first < 2; first++) {
                Seen seen = {.frees = first};

                cr_assert_eq(cgroup_open(root, PATH, &seen.cgroup), 0);
                cr_assert_geq(cgroup_watch(seen.cgroup, event, on_change, &seen), 0);
                turn();
                seen.frees = true;
                put("cgroup.events", "populated 0\n");
                turn();
                cr_expect_null(seen.cgroup);
                cr_expect_eq(seen.calls, first ? 1U : 2U);
        }
}

Test(cgroup, unwatched_by_its_own_handler) {
        Seen seen = {.unwatches = true};

        cr_assert_eq(cgroup_open(root, PATH, &seen.cgroup), 0);
        cr_assert_geq(cgroup_watch(seen.cgroup, event, on_change, &seen), 0);
        turn();
        put("cgroup.events", "populated 0\n");
        turn();
        cr_expect_eq(seen.calls, 1);
        cgroup_free(seen.cgroup);
}
