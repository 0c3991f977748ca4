/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The wall as seen from inside, one row a fact. An errno that only the property can bring about is a proof;
 * where the kernel asks for a capability first, the refusal is only consistent with it, and another row of
 * the same property is the proof (runner/inspect-calls.c marks those "weak").
 */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "execution/canary-facts.h"

#define TEXT_MAX (64U * 1024)
#define FACTS_MAX 512
#define SHOWN_MAX 160 /* bytes of a value that go into a sentence */

#define DYNAMIC_UID_MIN 61184
#define DYNAMIC_UID_MAX 65519
#define BYTES_PER_INODE 4096

typedef enum Compare {
        IS_ONE_OF,     /* the value is one of words */
        IS_LIST_OF,    /* each part of the value, between commas, is one of words */
        IS_NOT,        /* the value is none of words */
        IS_DYNAMIC_ID, /* 61184 to 65519 */
        IS_NOT_HOSTS,  /* a namespace that is not the host's: number says which */
        IS_AT_LEAST,   /* number */
        IS_DISK_SIZE,  /* exactly disk_bytes, in whole pages */
        IS_DISK_INODES /* no more than a page of the disk each */
} Compare;

typedef enum When { ALWAYS, PROC_ALL, PROC_PID, SINCE_257 } When;

typedef struct Row {
        const char *property; /* as systemd spells it */
        const char *fact;
        Compare compare;
        const char *words; /* between spaces */
        const char *meaning;
        unsigned number;
        When when;
} Row;

#define NO_CAPABILITY "0000000000000000"
#define REFUSED "EPERM ENOSYS"
/* Tunnels that the kernel puts into every network namespace where their module is loaded: down, and only
   CAP_NET_ADMIN could change that. */
#define INTERFACES "lo tunl0 sit0 ip6tnl0 gre0 gretap0 erspan0 ip_vti0 ip6_vti0 ip6gre0"
#define DEVICES                                                                                             \
        "char core fd full hugepages log mqueue null ptmx pts random shm stderr stdin stdout tty urandom "  \
        "zero"

#define ABSENT(prop, path)                                                                                  \
        { prop, "exists:" path, IS_ONE_OF, "no", path " does not exist" }
#define CALL(prop, name)                                                                                    \
        { prop, "syscall:" name, IS_ONE_OF, REFUSED, "the system call is refused" }
#define FAMILY(name)                                                                                        \
        { "RestrictAddressFamilies", "socket:" name, IS_ONE_OF, "EAFNOSUPPORT", "no sockets of this family" }
#define READ_ONLY(prop, path)                                                                               \
        { prop, "write:" path, IS_ONE_OF, "EROFS", "no file can be made in " path }
#define WRITABLE(path)                                                                                      \
        { "TemporaryFileSystem", "write:" path, IS_ONE_OF, "ok", path " is there to be written to" }
#define WORKSPACE(path)                                                                                     \
        { "PrivateTmp", "backing:" path, IS_ONE_OF, "scratch", path " lies in the workspace" }

static const Row rows[] = {
        {"DynamicUser", "uid", IS_DYNAMIC_ID, NULL, "a uid for this execution alone"},
        {"DynamicUser", "gid", IS_DYNAMIC_ID, NULL, "a gid for this execution alone"},
        {"DynamicUser", "groups", IS_ONE_OF, "none", "no other group"},
        {"CapabilityBoundingSet", "cap_inheritable", IS_ONE_OF, NO_CAPABILITY, "no capability"},
        {"CapabilityBoundingSet", "cap_permitted", IS_ONE_OF, NO_CAPABILITY, "no capability"},
        {"CapabilityBoundingSet", "cap_effective", IS_ONE_OF, NO_CAPABILITY, "no capability"},
        {"CapabilityBoundingSet", "cap_bounding", IS_ONE_OF, NO_CAPABILITY, "no capability to be had"},
        {"AmbientCapabilities", "cap_ambient", IS_ONE_OF, NO_CAPABILITY, "no capability"},
        {"NoNewPrivileges", "no_new_privs", IS_ONE_OF, "1", "exec gives no privilege"},
        {"LimitCORE", "rlimit_core", IS_ONE_OF, "1,1", "no core file, and no core handler"},
        {"StandardInputFileDescriptor", "fds", IS_ONE_OF, "0,1,2", "no other descriptor"},

        /* what it sees */
        {"PrivateMounts", "ns_mnt", IS_NOT_HOSTS, NULL, "mounts of its own", NAMESPACE_MNT},
        {"RootDirectory", "mount:/:mode", IS_ONE_OF, "ro", "the root is read-only"},
        ABSENT("RootDirectory", "/home"),
        ABSENT("RootDirectory", "/boot"),
        ABSENT("RootDirectory", "/srv"),
        ABSENT("RootDirectory", "/opt"),
        ABSENT("RootDirectory", "/mnt"),
        ABSENT("RootDirectory", "/media"),
        ABSENT("RootDirectory", "/lost+found"),
        ABSENT("RootDirectory", "/etc/shadow"),
        ABSENT("RootDirectory", "/etc/gshadow"),
        ABSENT("RootDirectory", "/etc/machine-id"),
        ABSENT("RootDirectory", "/etc/ssh"),
        ABSENT("RootDirectory", "/etc/unitcell"),
        ABSENT("RootDirectory", "/var/lib"),
        ABSENT("RootDirectory", "/var/log"),
        ABSENT("RootDirectory", "/var/spool"),
        ABSENT("RootDirectory", "/var/cache"),
        {"ProtectHome", "mode:/root", IS_ONE_OF, "000 missing", "no home of root"},
        READ_ONLY("ProtectSystem", "/"),
        READ_ONLY("ProtectSystem", "/usr"),
        READ_ONLY("ProtectSystem", "/etc"),
        READ_ONLY("ProtectSystem", "/var"),
        {"ProtectSystem", "write:/usr/lib/unitcell", IS_ONE_OF, "EROFS ENOENT",
                "our own files are read-only"},
        {"ProtectSystem", "write:/data", IS_ONE_OF, "EROFS ENOENT", "mounts are read-only"},
        {"ProtectSystem", "write:/opt", IS_ONE_OF, "EROFS ENOENT", "nothing to be written to"},
        {"BindReadOnlyPaths", "mount:/usr:mode", IS_ONE_OF, "ro", "/usr is read-only"},
        READ_ONLY("BindReadOnlyPaths", "/sys"),
        ABSENT("BindReadOnlyPaths", "/sys/fs/cgroup/cgroup.procs"),
        ABSENT("BindReadOnlyPaths", "/sys/fs/bpf"),
        ABSENT("BindReadOnlyPaths", "/sys/kernel"),
        ABSENT("BindReadOnlyPaths", "/sys/class"),
        ABSENT("BindReadOnlyPaths", "/sys/firmware"),
        ABSENT("BindReadOnlyPaths", "/sys/module"),
        ABSENT("BindReadOnlyPaths", "/sys/block"),
        ABSENT("BindReadOnlyPaths", "/sys/bus"),
        {"TemporaryFileSystem", "mount:/scratch:type", IS_ONE_OF, "tmpfs", "the workspace is a tmpfs"},
        {"TemporaryFileSystem", "mount:/scratch:mode", IS_ONE_OF, "rw", "the workspace is writable"},
        {"TemporaryFileSystem", "mount:/scratch:flags", IS_ONE_OF, "nosuid,nodev,exec nosuid,nodev,noexec",
                "no privileged file in the workspace"},
        {"TemporaryFileSystem", "mount:/scratch:size", IS_DISK_SIZE, NULL, "the workspace has its limit"},
        {"TemporaryFileSystem", "mount:/scratch:inodes", IS_DISK_INODES, NULL,
                "the workspace has its limit"},
        {"TemporaryFileSystem", "mount:/dev/shm:type", IS_ONE_OF, "tmpfs", "shared memory of its own"},
        {"TemporaryFileSystem", "mount:/dev/shm:size", IS_DISK_SIZE, NULL, "shared memory has its limit"},
        {"TemporaryFileSystem", "mount:/dev/shm:inodes", IS_DISK_INODES, NULL,
                "shared memory has its limit"},
        {"TemporaryFileSystem", "mount:/run:mode", IS_ONE_OF, "ro", "/run is read-only"},
        READ_ONLY("TemporaryFileSystem", "/run"),
        ABSENT("TemporaryFileSystem", "/run/dbus"),
        ABSENT("TemporaryFileSystem", "/run/systemd/private"),
        ABSENT("TemporaryFileSystem", "/run/systemd/notify"),
        ABSENT("TemporaryFileSystem", "/run/systemd/userdb"),
        ABSENT("TemporaryFileSystem", "/run/unitcell"),
        ABSENT("TemporaryFileSystem", "/run/udev"),
        ABSENT("TemporaryFileSystem", "/run/user"),
        ABSENT("BindLogSockets", "/run/systemd/journal"),
        WRITABLE("/scratch"),
        WRITABLE("/workspace"),
        WRITABLE("/tmp"),
        WRITABLE("/var/tmp"),
        WRITABLE("/output"),
        WRITABLE("/dev/shm"),
        WORKSPACE("/workspace"),
        WORKSPACE("/tmp"),
        WORKSPACE("/var/tmp"),
        WORKSPACE("/output"),
        {"PrivateDevices", "dev", IS_LIST_OF, DEVICES, "no device but the harmless ones"},
        {"PrivateDevices", "open:/dev/null", IS_ONE_OF, "ok", "/dev/null works"},
        READ_ONLY("PrivateDevices", "/dev"),
        ABSENT("PrivateDevices", "/dev/mem"),
        ABSENT("PrivateDevices", "/dev/kvm"),
        ABSENT("PrivateDevices", "/dev/fuse"),
        ABSENT("PrivateDevices", "/dev/vsock"),
        ABSENT("PrivateDevices", "/dev/net"),
        ABSENT("PrivateDevices", "/dev/sda"),
        ABSENT("PrivateDevices", "/dev/vda"),
        {"InaccessiblePaths", "open:/dev/pts", IS_ONE_OF, "EACCES ENOENT", "no terminal of the host"},
        {"InaccessiblePaths", "open:/dev/mqueue", IS_ONE_OF, "EACCES ENOENT", "no place to write among the message queues"},
        {"InaccessiblePaths", "open:/dev/ptmx", IS_ONE_OF, "EACCES ENOENT", "no new terminal"},
        {"InaccessiblePaths", "open:/dev/hugepages", IS_ONE_OF, "EACCES ENOENT",
                "no huge pages of the host"},
        {"PrivateIPC", "ns_ipc", IS_NOT_HOSTS, NULL, "IPC objects of its own", NAMESPACE_IPC},
        {"PrivatePIDs", "ppid", IS_ONE_OF, "1", "processes of its own", 0, SINCE_257},
        {"ProtectProc", "processes_foreign", IS_ONE_OF, "0", "no process of another can be seen"},
        {"ProtectProc", "mount:/proc:hidepid", IS_ONE_OF, "invisible 2",
                "no process of another can be seen"},
        {"ProtectProc", "open:/proc/1/root", IS_ONE_OF, "EACCES ENOENT EPERM", "process 1 is out of reach"},
        {"ProtectProc", "open:/proc/1/environ", IS_ONE_OF, "EACCES ENOENT EPERM",
                "process 1 is out of reach"},
        {"ProcSubset", "exists:/proc/meminfo", IS_ONE_OF, "yes", "/proc is whole", 0, PROC_ALL},
        {"ProcSubset", "exists:/proc/meminfo", IS_ONE_OF, "no", "/proc shows processes only", 0, PROC_PID},

        /* the kernel's own levers */
        {"ProtectKernelTunables", "mount:/proc/sys:mode", IS_ONE_OF, "ro", "/proc/sys is read-only", 0,
                PROC_ALL},
        {"ProtectKernelTunables", "write:/proc/sys/kernel", IS_ONE_OF, "EROFS ENOENT",
                "/proc/sys is read-only"},
        {"ProtectKernelTunables", "open-write:/proc/sys/kernel/hostname", IS_ONE_OF,
                "EACCES EROFS ENOENT EPERM", "/proc/sys is read-only"},
        {"ProtectKernelTunables", "open-write:/proc/sysrq-trigger", IS_ONE_OF, "EACCES EROFS ENOENT EPERM",
                "no magic keys"},
        {"ProtectKernelTunables", "open:/proc/kallsyms", IS_ONE_OF, "EACCES ENOENT EPERM",
                "no addresses of the kernel"},
        {"ProtectKernelTunables", "open:/proc/kcore", IS_ONE_OF, "EACCES ENOENT EPERM",
                "no memory of the kernel"},
        {"ProtectControlGroups", "mount:/sys/fs/cgroup:mode", IS_ONE_OF, "ro", "no cgroup can be changed"},
        {"ProtectKernelModules", "open:/usr/lib/modules", IS_ONE_OF, "EACCES ENOENT",
                "no modules to be seen"},
        CALL("ProtectKernelModules", "init_module"),
        {"ProtectKernelLogs", "mount:/proc/kmsg:type", IS_NOT, "none", "the kernel's log is shut", 0,
                PROC_ALL},
        {"ProtectKernelLogs", "open:/proc/kmsg", IS_ONE_OF, "EACCES ENOENT EPERM",
                "the kernel's log is shut"},
        ABSENT("ProtectKernelLogs", "/dev/kmsg"),
        CALL("ProtectKernelLogs", "syslog"),
        CALL("ProtectClock", "clock_settime"),
        CALL("ProtectClock", "clock_adjtime"),
        CALL("ProtectClock", "settimeofday"),
        CALL("ProtectClock", "adjtimex"),
        {"ProtectHostname", "ns_uts", IS_NOT_HOSTS, NULL, "a host name of its own", NAMESPACE_UTS},
        CALL("ProtectHostname", "sethostname"),

        /* whom it reaches */
        {"PrivateNetwork", "interfaces", IS_LIST_OF, INTERFACES, "no interface but lo"},
        {"PrivateNetwork", "ns_net", IS_NOT_HOSTS, NULL, "a network of its own", NAMESPACE_NET},
        FAMILY("packet"),
        FAMILY("vsock"),
        FAMILY("alg"),
        FAMILY("can"),
        FAMILY("bluetooth"),
        FAMILY("key"),
        FAMILY("xdp"),
        FAMILY("tipc"),

        /* what it may ask of the kernel */
        {"SystemCallFilter", "seccomp", IS_ONE_OF, "2", "system calls are filtered"},
        {"SystemCallFilter", "seccomp_filters", IS_AT_LEAST, NULL, "not only by the runner's own filter", 2},
        CALL("SystemCallFilter", "mount"),
        CALL("SystemCallFilter", "umount2"),
        CALL("SystemCallFilter", "chroot"),
        CALL("SystemCallFilter", "open_tree"),
        CALL("SystemCallFilter", "mount_setattr"),
        CALL("SystemCallFilter", "keyctl"),
        CALL("SystemCallFilter", "add_key"),
        CALL("SystemCallFilter", "request_key"),
        CALL("SystemCallFilter", "io_uring_setup"),
        CALL("SystemCallFilter", "bpf"),
        CALL("SystemCallFilter", "perf_event_open"),
        CALL("SystemCallFilter", "userfaultfd"),
        CALL("SystemCallFilter", "quotactl"),
        CALL("SystemCallFilter", "reboot"),
        CALL("SystemCallFilter", "swapon"),
        CALL("SystemCallFilter", "ptrace"),
        CALL("SystemCallFilter", "process_vm_readv"),
        CALL("SystemCallFilter", "process_vm_writev"),
        CALL("SystemCallFilter", "pidfd_getfd"),
        CALL("SystemCallFilter", "kcmp"),
#if defined(__x86_64__)
        CALL("SystemCallFilter", "iopl"),
        CALL("SystemCallFilter", "ioperm"),
        CALL("SystemCallFilter", "modify_ldt"),
#endif
        {"SystemCallArchitectures", "syscall:foreign-abi", IS_ONE_OF, "SIGSYS SIGSEGV none",
                "no system calls of another architecture"},
        CALL("RestrictNamespaces", "setns"),
        CALL("RestrictNamespaces", "clone3"),
        CALL("RestrictNamespaces", "unshare-cgroup"),
        CALL("RestrictNamespaces", "unshare-ipc"),
        CALL("RestrictNamespaces", "unshare-net"),
        CALL("RestrictNamespaces", "unshare-mnt"),
        CALL("RestrictNamespaces", "unshare-pid"),
        CALL("RestrictNamespaces", "unshare-user"),
        CALL("RestrictNamespaces", "unshare-uts"),
        CALL("RestrictNamespaces", "clone-cgroup"),
        CALL("RestrictNamespaces", "clone-ipc"),
        CALL("RestrictNamespaces", "clone-net"),
        CALL("RestrictNamespaces", "clone-mnt"),
        CALL("RestrictNamespaces", "clone-pid"),
        CALL("RestrictNamespaces", "clone-user"),
        CALL("RestrictNamespaces", "clone-uts"),
        CALL("RestrictRealtime", "sched-fifo"),
        CALL("RestrictRealtime", "sched-rr"),
        CALL("RestrictSUIDSGID", "chmod-setuid"),
        CALL("RestrictSUIDSGID", "chmod-setgid"),
        CALL("RestrictSUIDSGID", "fchmodat2-setuid"),
        CALL("LockPersonality", "personality"),
};

/* The words a result uses. A property holds when every row of it that applies does, and one applies. */
static const struct {
        const char *key, *property;
        const char *held, *open; /* NULL: true and false */
} enforced_keys[] = {
        {"uid", "DynamicUser", "dynamic", "not dynamic"},
        {"capabilities", "CapabilityBoundingSet", "none", "some"},
        {"no_new_privileges", "NoNewPrivileges", NULL, NULL},
        {"network", "PrivateNetwork", "private", "open"},
        {"address_families", "RestrictAddressFamilies", "restricted", "open"},
        {"root", "RootDirectory", "skeleton", "open"},
        {"file_system", "ProtectSystem", "read-only", "writable"},
        {"workspace", "TemporaryFileSystem", "limited", "not as asked"},
        {"devices", "PrivateDevices", "private", "open"},
        {"ipc", "PrivateIPC", "private", "open"},
        {"processes", "ProtectProc", "invisible", "visible"},
        {"pid_namespace", "PrivatePIDs", NULL, NULL},
        {"kernel_tunables", "ProtectKernelTunables", "protected", "open"},
        {"kernel_modules", "ProtectKernelModules", "protected", "open"},
        {"kernel_logs", "ProtectKernelLogs", "protected", "open"},
        {"clock", "ProtectClock", "protected", "open"},
        {"hostname", "ProtectHostname", "private", "open"},
        {"system_call_filter", "SystemCallFilter", NULL, NULL},
        {"system_call_architectures", "SystemCallArchitectures", "native", "open"},
        {"namespaces", "RestrictNamespaces", "none", "some"},
        {"realtime", "RestrictRealtime", "refused", "open"},
        {"suid_sgid", "RestrictSUIDSGID", "refused", "open"},
        {"personality", "LockPersonality", "locked", "open"},
};

bool canary_facts_row(size_t i, const char **ret_property, const char **ret_fact, const char **ret_meaning) {
        if (i >= ELEMENTS(rows))
                return false;

        *ret_property = rows[i].property;
        *ret_fact = rows[i].fact;
        *ret_meaning = rows[i].meaning;
        return true;
}

/* The facts of a text, pointing into a copy of it. */
typedef struct Facts {
        Bytes text;
        struct {
                const char *name, *value;
        } items[FACTS_MAX];
        size_t n;
} Facts;

static Facts *facts_free(Facts *facts) {
        bytes_clear(&facts->text);
        free(facts);
        return NULL;
}
DEFINE_OWN(Facts, facts_free);

static const char *facts_find(const Facts *facts, const char *name) {
        for (size_t i = 0; i < facts->n; i++)
                if (streq(facts->items[i].name, name))
                        return facts->items[i].value;
        return NULL;
}

static int add_failure(char ***failures, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int add_failure(char ***failures, const char *format, ...) {
        own(freep) char *sentence = NULL;
        va_list arguments;
        int n;

        va_start(arguments, format);
        n = vasprintf(&sentence, format, arguments);
        va_end(arguments);
        if (n < 0) {
                sentence = NULL;
                return -ENOMEM;
        }

        return strv_append(failures, sentence);
}

/* One line, NUL-terminated. What is wrong with it, or NULL. */
static const char *facts_take_line(Facts *facts, char *line) {
        char *space = strchr(line, ' ');

        for (const char *c = line; *c; c++)
                if ((unsigned char) *c < ' ' || (unsigned char) *c > '~')
                        return "a line holds other than printable characters";
        if (!space || space == line || !space[1])
                return "a line is no fact";
        *space = 0;
        if (facts_find(facts, line))
                return "a fact comes twice";
        if (facts->n == FACTS_MAX)
                return "there are too many facts";

        facts->items[facts->n].name = line;
        facts->items[facts->n++].value = space + 1;
        return NULL;
}

static int facts_parse(const char *text, size_t size, Facts **ret, char ***failures) {
        own(facts_freep) Facts *facts = calloc(1, sizeof *facts);
        char *rest, *line;
        int r;

        if (!facts)
                return -ENOMEM;
        if (size > TEXT_MAX || (size > 0 && memchr(text, 0, size))) {
                r = add_failure(
                        failures, "Canary: what it printed is %s", size > TEXT_MAX ? "too long" : "no text");
                if (r < 0)
                        return r;
                size = 0;
        }
        r = bytes_copy(text, size, &facts->text);
        if (r < 0)
                return r;

        rest = facts->text.data;
        while ((line = strsep(&rest, "\n"))) {
                const char *wrong = *line ? facts_take_line(facts, line) : NULL;

                if (!wrong)
                        continue;
                r = add_failure(failures, "Canary: %s", wrong);
                if (r < 0)
                        return r;
                break; /* one is enough, and a hostile text could hold thousands */
        }

        *ret = hand_over(facts);
        return 0;
}

static bool applies(const Row *row, const CanaryExpect *expect) {
        switch (row->when) {
        case ALWAYS:
                return true;
        case PROC_ALL:
                return !expect->proc_pid_only;
        case PROC_PID:
                return expect->proc_pid_only;
        case SINCE_257:
                return expect->systemd_version >= 257;
        }
        return true;
}

static bool is_word(const char *value, size_t size, const char *words) {
        for (const char *word = words; *word;) {
                size_t n = strcspn(word, " ");

                if (n == size && strncmp(word, value, n) == 0)
                        return true;
                word += n + strspn(word + n, " ");
        }
        return false;
}

static bool is_list_of(const char *value, const char *words) {
        for (const char *part = value;; part++) {
                size_t n = strcspn(part, ",");

                if (!is_word(part, n, words))
                        return false;
                part += n;
                if (!*part)
                        return true;
        }
}

static uint64_t whole_pages(uint64_t bytes) {
        return (bytes + 4095) / 4096 * 4096;
}

static uint64_t host_number(const Row *row, const CanaryExpect *expect) {
        return expect->host_namespace ? expect->host_namespace[row->number] : 0;
}

static bool row_holds(const Row *row, const char *value, const CanaryExpect *expect) {
        uint64_t number = 0;

        if (!value)
                return false;

        switch (row->compare) {
        case IS_ONE_OF:
                return is_word(value, strlen(value), row->words);
        case IS_LIST_OF:
                return is_list_of(value, row->words);
        case IS_NOT:
                return !is_word(value, strlen(value), row->words);
        case IS_DYNAMIC_ID:
        case IS_NOT_HOSTS:
        case IS_AT_LEAST:
        case IS_DISK_SIZE:
        case IS_DISK_INODES:
                break;
        }

        if (parse_u64(value, &number) < 0)
                return false;
        if (row->compare == IS_DYNAMIC_ID)
                return number >= DYNAMIC_UID_MIN && number <= DYNAMIC_UID_MAX;
        if (row->compare == IS_NOT_HOSTS)
                return number != 0 && host_number(row, expect) != 0 && number != host_number(row, expect);
        if (row->compare == IS_AT_LEAST)
                return number >= row->number;
        if (row->compare == IS_DISK_SIZE)
                return number == whole_pages(expect->disk_bytes);
        return number > 0 && number <= whole_pages(expect->disk_bytes) / BYTES_PER_INODE; /* 0 is no limit */
}

#define EXPECTED_SIZE 256
static const char *expected_text(
        const Row *row, const CanaryExpect *expect, char ret[static EXPECTED_SIZE]) {
        switch (row->compare) {
        case IS_ONE_OF:
                (void) snprintf(
                        ret, EXPECTED_SIZE, "%s%s", strchr(row->words, ' ') ? "one of " : "", row->words);
                break;
        case IS_LIST_OF:
                (void) snprintf(ret, EXPECTED_SIZE, "only %s", row->words);
                break;
        case IS_NOT:
                (void) snprintf(ret, EXPECTED_SIZE, "not %s", row->words);
                break;
        case IS_DYNAMIC_ID:
                (void) snprintf(ret, EXPECTED_SIZE, "%d to %d", DYNAMIC_UID_MIN, DYNAMIC_UID_MAX);
                break;
        case IS_NOT_HOSTS:
                if (host_number(row, expect) == 0)
                        (void) snprintf(ret, EXPECTED_SIZE, "not the host's, whose number is not known");
                else
                        (void) snprintf(
                                ret, EXPECTED_SIZE, "not the host's %" PRIu64, host_number(row, expect));
                break;
        case IS_AT_LEAST:
                (void) snprintf(ret, EXPECTED_SIZE, "at least %u", row->number);
                break;
        case IS_DISK_SIZE:
                (void) snprintf(ret, EXPECTED_SIZE, "%" PRIu64, whole_pages(expect->disk_bytes));
                break;
        case IS_DISK_INODES:
                (void) snprintf(ret, EXPECTED_SIZE, "1 to %" PRIu64,
                        whole_pages(expect->disk_bytes) / BYTES_PER_INODE);
                break;
        }
        return ret;
}

static bool property_holds(const Facts *facts, const char *property, const CanaryExpect *expect) {
        bool any = false;

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                if (!streq(rows[i].property, property) || !applies(&rows[i], expect))
                        continue;
                if (!row_holds(&rows[i], facts_find(facts, rows[i].fact), expect))
                        return false;
                any = true;
        }
        return any;
}

static int enforced_build(const Facts *facts, const CanaryExpect *expect, json_object **ret) {
        static const struct {
                const char *key, *fact;
        } numbers[] = {
                {"workspace_bytes", "mount:/scratch:size"},
                {"shared_memory_bytes", "mount:/dev/shm:size"},
                {"landlock", "landlock"}, /* its version; 0: the kernel has none */
        };
        own(json_freep) json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTS(enforced_keys); i++) {
                bool held = property_holds(facts, enforced_keys[i].property, expect);

                if (enforced_keys[i].held)
                        r = json_add_string(object, enforced_keys[i].key,
                                held ? enforced_keys[i].held : enforced_keys[i].open);
                else
                        r = json_add_bool(object, enforced_keys[i].key, held);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < ELEMENTS(numbers); i++) {
                const char *value = facts_find(facts, numbers[i].fact);
                uint64_t number;

                if (!value || parse_u64(value, &number) < 0 || number > INT64_MAX)
                        continue;
                r = json_add_u64(object, numbers[i].key, number);
                if (r < 0)
                        return r;
        }

        *ret = hand_over(object);
        return 0;
}

int canary_facts_check(const char *text, size_t size, const CanaryExpect *expect, char ***ret_failures,
        json_object **ret_enforced) {
        own(strv_freep) char **failures = NULL;
        own(json_freep) json_object *enforced = NULL;
        own(facts_freep) Facts *facts = NULL;
        int r;

        r = facts_parse(text, size, &facts, &failures);
        if (r < 0)
                return r;

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                const char *value = facts_find(facts, rows[i].fact);
                char expected[EXPECTED_SIZE];

                if (!applies(&rows[i], expect) || row_holds(&rows[i], value, expect))
                        continue;
                r = add_failure(&failures, "%s: %s is %.*s, expected %s (%s)", rows[i].property,
                        rows[i].fact, SHOWN_MAX, value ? value : "missing",
                        expected_text(&rows[i], expect, expected), rows[i].meaning);
                if (r < 0)
                        return r;
        }

        r = enforced_build(facts, expect, &enforced);
        if (r < 0)
                return r;

        *ret_failures = hand_over(failures);
        *ret_enforced = hand_over(enforced);
        return 0;
}
