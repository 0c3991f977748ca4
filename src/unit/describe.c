/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The wall, as data. Every row of rows[] is one property of every execution's unit: constant ones hold their value
 * here, the others take it from the plan. Nothing here is assumed to hold: many of these fail open without an
 * error, so the canary looks at each from inside and from outside (execution/canary.c).
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "unit/describe.h"
#include "unit/name.h"

#define MIB UINT64_C(1048576)
#define INODES_PER_MIB 256 /* one inode for each 4 KiB page: small files run out of bytes first */
#define EPERM_NUMBER 1
#define SIGKILL_NUMBER 9
#define LOG_NOTICE_NUMBER 5

#define LIST(...) ((const char *const[]) {__VA_ARGS__, NULL})

typedef struct Row {
        const char *name;
        PropertyKind kind;
        unsigned since; /* first version of systemd that has it; 0: all we support */
        bool flag;
        uint64_t number;
        const char *text;
        const char *const *list;
        int (*add)(const char *name, const Plan *plan, const UnitDescription *description, Properties *ret);
} Row;

static int add_description(
        const char *name, const Plan *plan, const UnitDescription *description, Properties *ret) {
        own(freep) char *text = NULL;

        if (asprintf(&text, "Unitcell execution %s", description->id) < 0)
                return -ENOMEM;
        return property_add_string(ret, name, text);
}

static int add_slice(const char *name, const Plan *plan, const UnitDescription *description, Properties *ret) {
        return property_add_string(ret, name, description->slice);
}

static int strv_add_pair(char ***list, const char *source, const char *target) {
        int r = strv_append(list, source);

        return r < 0 ? r : strv_append(list, target);
}

static int add_tmpfs(const char *name, const Plan *plan, const UnitDescription *description, Properties *ret) {
        own(freep) char *scratch = NULL, *shm = NULL;
        own(strv_freep) char **list = NULL;
        uint64_t mb = plan->limit[LIMIT_DISK_MB];
        int r;

        if (asprintf(&scratch, "size=%" PRIu64 "M,nr_inodes=%" PRIu64 ",mode=1777", mb, mb * INODES_PER_MIB) < 0)
                return -ENOMEM;
        if (asprintf(&shm, "%ssize=%" PRIu64 "M,nr_inodes=%" PRIu64 ",mode=1777", plan->read_only ? "ro," : "", mb,
                    mb * INODES_PER_MIB) < 0)
                return -ENOMEM;

        r = strv_add_pair(&list, "/scratch", scratch);
        if (r >= 0)
                r = strv_add_pair(&list, "/dev/shm", shm);
        if (r >= 0)
                r = strv_add_pair(&list, "/run", "ro,size=64K,nr_inodes=64");
        /* Mount points below /data are made in this one, not in the skeleton. */
        for (size_t i = 0; plan->mounts && plan->mounts[i] && r >= 0; i += 2)
                if (starts_with(plan->mounts[i + 1], "/data/")) {
                        r = strv_add_pair(&list, "/data", "ro,size=64K,nr_inodes=256");
                        break;
                }
        if (r < 0)
                return r;

        /* PrivateDevices= binds the host's /dev/shm, a channel between executions; /run would be unlimited. */
        return property_add_list(ret, name, PROPERTY_PAIRS, false, list);
}

/*
 * What programs die without; a leading "-": ignored where the host has no such file. /usr comes without the mounts below
 * it: the skeleton lies there, and every mount of the execution would show a second time.
 */
static const char *const host_files[] = {
        "=/usr", "-/etc/alternatives", "-/etc/ld.so.cache", "-/etc/ssl/certs", "-/etc/ssl/openssl.cnf",
        "-/etc/fonts", "-/etc/mime.types",
};

static int add_binds(const char *name, const Plan *plan, const UnitDescription *description, Properties *ret) {
        own(strv_freep) char **list = NULL;
        int r = 0;

        for (size_t i = 0; i < ELEMENTS(host_files) && r >= 0; i++)
                r = strv_add_pair(&list, host_files[i], host_files[i] + (host_files[i][0] != '/'));
        /* /sys is the host's, and its cgroup tree names every other execution: an allow-list instead. */
        if (r >= 0)
                r = strv_add_pair(&list, UNIT_SYS, "/sys");
        if (r >= 0)
                r = strv_add_pair(&list, "/sys/devices/system/cpu", "/sys/devices/system/cpu");
        for (size_t i = 0; plan->bind_read_only && plan->bind_read_only[i] && r >= 0; i++) {
                own(freep) char *source = NULL;

                if (asprintf(&source, "-%s", plan->bind_read_only[i]) < 0)
                        return -ENOMEM;
                r = strv_add_pair(&list, source, plan->bind_read_only[i]);
        }
        for (size_t i = 0; plan->mounts && plan->mounts[i] && r >= 0; i += 2)
                r = strv_add_pair(&list, plan->mounts[i], plan->mounts[i + 1]);
        if (r < 0)
                return r;

        return property_add_list(ret, name, PROPERTY_BINDS, false, list);
}

/* DESIGN section 4: "exactly"; unitcell-policy(5) lists what is therefore refused without being reported. */
static const char *const outer_denied[] = {
        "@clock", "@cpu-emulation", "@module", "@obsolete", "@raw-io", "@reboot", "@swap", NULL,
};

static int add_syscalls(const char *name, const Plan *plan, const UnitDescription *description, Properties *ret) {
        int r;

        /*
         * ERRNO of this outer filter beats what the inner one wants told, so with reporting it holds only what no
         * policy could ever allow; the exact list is the inner one's.
         */
        if (plan->syscalls_report)
                return property_add_list(ret, name, PROPERTY_WORDS, /* allow= */ false, (char *const *) outer_denied);

        /* The allow-list first, then what is taken away from it: a second entry of the other kind removes. */
        r = property_add_list(ret, name, PROPERTY_WORDS, /* allow= */ true, plan->syscalls_allow);
        if (r < 0 || !strv_length(plan->syscalls_deny))
                return r;

        return property_add_list(ret, name, PROPERTY_WORDS, /* allow= */ false, plan->syscalls_deny);
}

static int add_proc_subset(
        const char *name, const Plan *plan, const UnitDescription *description, Properties *ret) {
        return property_add_string(ret, name, plan->proc_pid_only ? "pid" : "all");
}

static int add_memory_max(const char *name, const Plan *plan, const UnitDescription *description, Properties *ret) {
        return property_add_u64(ret, name, plan->limit[LIMIT_MEMORY_MB] * MIB);
}

/* Where the daemon is told (memory.events): the kernel throttles from there on, so the daemon answers at once. */
static int add_memory_high(
        const char *name, const Plan *plan, const UnitDescription *description, Properties *ret) {
        uint64_t warn = plan->limit[LIMIT_MEMORY_WARN_MB];

        return property_add_u64(ret, name, warn > 0 ? warn * MIB : UINT64_MAX);
}

static int add_cpu_quota(const char *name, const Plan *plan, const UnitDescription *description, Properties *ret) {
        return property_add_u64(ret, name, plan->limit[LIMIT_CPU_CPUS] * 1000);
}

static int add_tasks_max(const char *name, const Plan *plan, const UnitDescription *description, Properties *ret) {
        /* One task more, for the runner. */
        return property_add_u64(ret, name, plan->limit[LIMIT_PIDS_MAX] + 1);
}

static int add_runtime_max(
        const char *name, const Plan *plan, const UnitDescription *description, Properties *ret) {
        uint64_t ms = plan->limit[LIMIT_TIMEOUT_MS] + (plan->compile ? plan->compile_timeout_ms : 0);

        /* Counts from the runner's exec and cannot be changed later; only strikes when the daemon is dead. */
        return property_add_u64(ret, name, ms * 1000 + UNIT_BACKSTOP_GRACE_USEC);
}

#define BOOL(property, value) {.name = property, .kind = PROPERTY_BOOL, .flag = value}
#define U64(property, value) {.name = property, .kind = PROPERTY_U64, .number = value}
#define I32(property, value) {.name = property, .kind = PROPERTY_I32, .number = value}
#define STRING(property, value) {.name = property, .kind = PROPERTY_STRING, .text = value}
#define STRINGS(property, ...) {.name = property, .kind = PROPERTY_STRINGS, .list = LIST(__VA_ARGS__)}
#define FROM_PLAN(property, function) {.name = property, .add = function}

static const Row rows[] = {
        FROM_PLAN("Description", add_description),
        STRING("Type", "exec"),
        {.name = "ExecStart", .kind = PROPERTY_EXEC, .list = LIST(UNIT_RUNNER)},
        FROM_PLAN("Slice", add_slice),
        STRING("CollectMode", "inactive"),
        I32("LogLevelMax", LOG_NOTICE_NUMBER),

        /* who */
        BOOL("DynamicUser", true),
        U64("CapabilityBoundingSet", 0),
        U64("AmbientCapabilities", 0),
        BOOL("NoNewPrivileges", true),
        STRING("KeyringMode", "private"),

        /* what it sees */
        STRING("RootDirectory", UNIT_ROOT),
        FROM_PLAN("TemporaryFileSystem", add_tmpfs),
        BOOL("PrivateTmp", true), /* explicit, or 257 turns it into a kind that beats the next row */
        {.name = "BindPaths", .kind = PROPERTY_BINDS,
                .list = LIST("-/nonexistent", "/tmp", "-/nonexistent", "/var/tmp")},
        FROM_PLAN("BindReadOnlyPaths", add_binds),
        /* mqueue: its own by PrivateIPC=, and a place to write all the same; mq_open(3) needs no mount. */
        STRINGS("InaccessiblePaths", "-+/dev/pts", "-+/dev/ptmx", "-+/dev/hugepages", "-+/dev/mqueue"),
        {.name = "BindLogSockets", .kind = PROPERTY_BOOL, .flag = false, .since = 257},
        STRING("ProtectSystem", "strict"),
        STRING("ProtectHome", "yes"),
        BOOL("PrivateDevices", true),
        STRING("DevicePolicy", "closed"),
        BOOL("PrivateMounts", true),
        BOOL("PrivateIPC", true),
        {.name = "PrivatePIDs", .kind = PROPERTY_STRING, .text = "yes", .since = 257},
        STRING("ProtectProc", "invisible"),
        FROM_PLAN("ProcSubset", add_proc_subset),
        BOOL("ProtectKernelTunables", true),
        BOOL("ProtectKernelModules", true),
        BOOL("ProtectKernelLogs", true),
        BOOL("ProtectControlGroups", true),
        BOOL("ProtectClock", true),
        BOOL("ProtectHostname", true),

        /* whom it reaches */
        BOOL("PrivateNetwork", true),
        {.name = "RestrictAddressFamilies", .kind = PROPERTY_WORDS, .flag = true,
                .list = LIST("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK")},
        {.name = "IPAddressDeny", .kind = PROPERTY_ADDRESSES, .list = LIST("0.0.0.0/0", "::/0")},
        {.name = "IPAddressAllow", .kind = PROPERTY_ADDRESSES, .list = LIST("127.0.0.0/8", "::1/128")},

        /* what it may ask of the kernel */
        FROM_PLAN("SystemCallFilter", add_syscalls),
        I32("SystemCallErrorNumber", EPERM_NUMBER),
        STRINGS("SystemCallArchitectures", "native"),
        U64("RestrictNamespaces", 0),
        BOOL("RestrictRealtime", true),
        BOOL("RestrictSUIDSGID", true),
        BOOL("LockPersonality", true),

        /* how much */
        FROM_PLAN("MemoryMax", add_memory_max),
        U64("MemorySwapMax", 0),
        FROM_PLAN("MemoryHigh", add_memory_high),
        STRING("OOMPolicy", "continue"), /* the daemon decides: a killed child is told from a killed main process */
        FROM_PLAN("CPUQuotaPerSecUSec", add_cpu_quota),
        FROM_PLAN("TasksMax", add_tasks_max),
        U64("LimitCORE", 1), /* with 0 a piped core handler still runs as root, with 1 it does not */
        FROM_PLAN("RuntimeMaxUSec", add_runtime_max),
        U64("TimeoutStartUSec", UNIT_START_TIMEOUT_USEC),
        U64("TimeoutStopUSec", 10000000),
        I32("KillSignal", SIGKILL_NUMBER),
        STRING("KillMode", "control-group"),
        STRING("NotifyAccess", "none"), /* a notification could extend RuntimeMaxUSec */
};

static int add_row(const Row *row, const Plan *plan, const UnitDescription *description, Properties *ret) {
        if (row->add)
                return row->add(row->name, plan, description, ret);

        switch (row->kind) {
        case PROPERTY_BOOL:
                return property_add_bool(ret, row->name, row->flag);
        case PROPERTY_U64:
                return property_add_u64(ret, row->name, row->number);
        case PROPERTY_I32:
                return property_add_i32(ret, row->name, (int32_t) row->number);
        case PROPERTY_STRING:
                return property_add_string(ret, row->name, row->text);
        case PROPERTY_STRINGS:
        case PROPERTY_PAIRS:
        case PROPERTY_BINDS:
        case PROPERTY_WORDS:
        case PROPERTY_ADDRESSES:
        case PROPERTY_EXEC:
                return property_add_list(ret, row->name, row->kind, row->flag, (char *const *) row->list);
        case PROPERTY_FD:
                break;
        }
        return -EINVAL;
}

static int add_descriptors(const UnitDescription *description, Properties *ret) {
        const struct {
                const char *name;
                int fd;
        } streams[] = {
                {"StandardInputFileDescriptor", description->control},
                {"StandardOutputFileDescriptor", description->out},
                {"StandardErrorFileDescriptor", description->err},
        };
        int r;

        if (description->control < 0)
                return 0;

        for (size_t i = 0; i < ELEMENTS(streams); i++) {
                r = property_add_fd(ret, streams[i].name, streams[i].fd);
                if (r < 0)
                        return r;
        }

        /* Keeps the unit, with all properties, until we have read them: goes with UnrefUnit or with our connection. */
        r = property_add_bool(ret, "AddRef", true);
        if (r < 0)
                return r;
        ret->items[ret->n - 1].write_only = true;
        return 0;
}

int unit_describe(const Plan *plan, const UnitDescription *description, Properties *ret) {
        own(properties_clear) Properties properties = {};
        int r;

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                if (rows[i].since > description->manager_version)
                        continue;
                r = add_row(rows + i, plan, description, &properties);
                if (r < 0)
                        return r;
        }

        r = add_descriptors(description, &properties);
        if (r < 0)
                return r;

        *ret = properties;
        properties = (Properties) {};
        return 0;
}
