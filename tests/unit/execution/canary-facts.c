/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Each row of the wall seen red once, what a forged text could try, and the words that go into a result. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "execution/canary-facts.h"

static const uint64_t host[NAMESPACE_N] = {1, 2, 3, 4};
static const CanaryExpect on_252 = {.host_namespace = host, .disk_bytes = 64 << 20, .systemd_version = 252};
static const CanaryExpect on_257 = {.host_namespace = host, .disk_bytes = 64 << 20, .systemd_version = 257};
static const CanaryExpect pid_only = {
        .host_namespace = host, .disk_bytes = 64 << 20, .systemd_version = 252, .proc_pid_only = true};

/* A wall that holds. */
static const char good[] =
        "uid 61234\n"
        "gid 61234\n"
        "groups none\n"
        "cap_inheritable 0000000000000000\n"
        "cap_permitted 0000000000000000\n"
        "cap_effective 0000000000000000\n"
        "cap_bounding 0000000000000000\n"
        "cap_ambient 0000000000000000\n"
        "no_new_privs 1\n"
        "rlimit_core 1,1\n"
        "fds 0,1,2\n"
        "ns_mnt 14\n"
        "mount:/:mode ro\n"
        "exists:/home no\n"
        "mode:/root 000\n"
        "exists:/boot no\n"
        "exists:/srv no\n"
        "exists:/opt no\n"
        "exists:/mnt no\n"
        "exists:/media no\n"
        "exists:/lost+found no\n"
        "exists:/etc/shadow no\n"
        "exists:/etc/gshadow no\n"
        "exists:/etc/machine-id no\n"
        "exists:/etc/ssh no\n"
        "exists:/etc/unitcell no\n"
        "exists:/var/lib no\n"
        "exists:/var/log no\n"
        "exists:/var/spool no\n"
        "exists:/var/cache no\n"
        "write:/ EROFS\n"
        "write:/usr EROFS\n"
        "write:/etc EROFS\n"
        "write:/var EROFS\n"
        "write:/usr/lib/unitcell EROFS\n"
        "write:/data EROFS\n"
        "write:/opt EROFS\n"
        "mount:/usr:mode ro\n"
        "write:/sys EROFS\n"
        "exists:/sys/fs/cgroup/cgroup.procs no\n"
        "exists:/sys/fs/bpf no\n"
        "exists:/sys/kernel no\n"
        "exists:/sys/class no\n"
        "exists:/sys/firmware no\n"
        "exists:/sys/module no\n"
        "exists:/sys/block no\n"
        "exists:/sys/bus no\n"
        "mount:/scratch:type tmpfs\n"
        "mount:/scratch:mode rw\n"
        "mount:/scratch:flags nosuid,nodev,exec\n"
        "mount:/scratch:size 67108864\n"
        "mount:/scratch:inodes 16384\n"
        "mount:/dev/shm:type tmpfs\n"
        "mount:/dev/shm:size 67108864\n"
        "mount:/dev/shm:inodes 16384\n"
        "mount:/run:mode ro\n"
        "write:/run EROFS\n"
        "exists:/run/dbus no\n"
        "exists:/run/systemd/private no\n"
        "exists:/run/systemd/notify no\n"
        "exists:/run/systemd/userdb no\n"
        "exists:/run/unitcell no\n"
        "exists:/run/udev no\n"
        "exists:/run/user no\n"
        "exists:/run/systemd/journal no\n"
        "write:/scratch ok\n"
        "write:/workspace ok\n"
        "write:/tmp ok\n"
        "write:/var/tmp ok\n"
        "write:/output ok\n"
        "write:/dev/shm ok\n"
        "backing:/workspace scratch\n"
        "backing:/tmp scratch\n"
        "backing:/var/tmp scratch\n"
        "backing:/output scratch\n"
        "dev full,null,zero,random,urandom,tty,ptmx,pts,shm,mqueue,hugepages,log,fd,stdin,stdout,stderr\n"
        "open:/dev/null ok\n"
        "write:/dev EROFS\n"
        "exists:/dev/mem no\n"
        "exists:/dev/kvm no\n"
        "exists:/dev/fuse no\n"
        "exists:/dev/vsock no\n"
        "exists:/dev/net no\n"
        "exists:/dev/sda no\n"
        "exists:/dev/vda no\n"
        "open:/dev/pts EACCES\n"
        "open:/dev/ptmx EACCES\n"
        "open:/dev/hugepages EACCES\n"
        "open:/dev/mqueue EACCES\n"
        "ns_ipc 12\n"
        "ppid 1\n"
        "processes_foreign 0\n"
        "mount:/proc:hidepid invisible\n"
        "open:/proc/1/root EACCES\n"
        "open:/proc/1/environ EACCES\n"
        "exists:/proc/meminfo yes\n"
        "mount:/proc/sys:mode ro\n"
        "write:/proc/sys/kernel EROFS\n"
        "open-write:/proc/sys/kernel/hostname EACCES\n"
        "open-write:/proc/sysrq-trigger EACCES\n"
        "open:/proc/kallsyms EACCES\n"
        "open:/proc/kcore EACCES\n"
        "mount:/sys/fs/cgroup:mode ro\n"
        "open:/usr/lib/modules EACCES\n"
        "syscall:init_module EPERM\n"
        "mount:/proc/kmsg:type tmpfs\n"
        "open:/proc/kmsg EACCES\n"
        "exists:/dev/kmsg no\n"
        "syscall:syslog EPERM\n"
        "syscall:clock_settime EPERM\n"
        "syscall:clock_adjtime EPERM\n"
        "syscall:settimeofday EPERM\n"
        "syscall:adjtimex EPERM\n"
        "ns_uts 13\n"
        "syscall:sethostname EPERM\n"
        "interfaces lo\n"
        "ns_net 11\n"
        "socket:packet EAFNOSUPPORT\n"
        "socket:vsock EAFNOSUPPORT\n"
        "socket:alg EAFNOSUPPORT\n"
        "socket:can EAFNOSUPPORT\n"
        "socket:bluetooth EAFNOSUPPORT\n"
        "socket:key EAFNOSUPPORT\n"
        "socket:xdp EAFNOSUPPORT\n"
        "socket:tipc EAFNOSUPPORT\n"
        "seccomp 2\n"
        "seccomp_filters 14\n"
        "syscall:mount EPERM\n"
        "syscall:umount2 EPERM\n"
        "syscall:chroot EPERM\n"
        "syscall:open_tree EPERM\n"
        "syscall:mount_setattr EPERM\n"
        "syscall:keyctl EPERM\n"
        "syscall:add_key EPERM\n"
        "syscall:request_key EPERM\n"
        "syscall:io_uring_setup EPERM\n"
        "syscall:bpf EPERM\n"
        "syscall:perf_event_open EPERM\n"
        "syscall:userfaultfd EPERM\n"
        "syscall:quotactl EPERM\n"
        "syscall:reboot EPERM\n"
        "syscall:swapon EPERM\n"
        "syscall:ptrace EPERM\n"
        "syscall:process_vm_readv EPERM\n"
        "syscall:process_vm_writev EPERM\n"
        "syscall:pidfd_getfd EPERM\n"
        "syscall:kcmp EPERM\n"
        "syscall:iopl EPERM\n"
        "syscall:ioperm EPERM\n"
        "syscall:modify_ldt EPERM\n"
        "syscall:foreign-abi SIGSYS\n"
        "syscall:setns EPERM\n"
        "syscall:clone3 EPERM\n"
        "syscall:unshare-cgroup EPERM\n"
        "syscall:unshare-ipc EPERM\n"
        "syscall:unshare-net EPERM\n"
        "syscall:unshare-mnt EPERM\n"
        "syscall:unshare-pid EPERM\n"
        "syscall:unshare-user EPERM\n"
        "syscall:unshare-uts EPERM\n"
        "syscall:clone-cgroup EPERM\n"
        "syscall:clone-ipc EPERM\n"
        "syscall:clone-net EPERM\n"
        "syscall:clone-mnt EPERM\n"
        "syscall:clone-pid EPERM\n"
        "syscall:clone-user EPERM\n"
        "syscall:clone-uts EPERM\n"
        "syscall:sched-fifo EPERM\n"
        "syscall:sched-rr EPERM\n"
        "syscall:chmod-setuid EPERM\n"
        "syscall:chmod-setgid EPERM\n"
        "syscall:fchmodat2-setuid EPERM\n"
        "syscall:personality EPERM\n";

/* good with the line of fact replaced ("name value"), or without it (NULL). A new string. */
static char *doctored(const char *fact, const char *line) {
        char *text = malloc(sizeof good + 4096), name[256];
        const char *at, *end;
        size_t n;

        (void) snprintf(name, sizeof name, "\n%s ", fact);
        at = strncmp(good, name + 1, strlen(name) - 1) == 0 ? good : strstr(good, name);
        cr_assert(text && at, "%s is not in the good text", fact);
        if (*at == '\n')
                at++;
        end = strchr(at, '\n') + 1;
        n = (size_t) (at - good);
        memcpy(text, good, n);
        (void) snprintf(text + n, sizeof good + 4096 - n, "%s%s%s", line ? line : "", line ? "\n" : "", end);
        return text;
}

static char **check(const char *text, const CanaryExpect *expect, json_object **ret_enforced) {
        json_object *enforced = NULL;
        char **failures = NULL;

        cr_assert_eq(canary_facts_check(text, strlen(text), expect, &failures, &enforced), 0);
        cr_assert_not_null(enforced);
        if (ret_enforced)
                *ret_enforced = enforced;
        else
                json_object_put(enforced);
        return failures;
}

/* Exactly these sentences begin so; their facts are of one property. */
static bool all_start_with(char **failures, const char *start) {
        for (size_t i = 0; failures && failures[i]; i++)
                if (!starts_with(failures[i], start))
                        return false;
        return strv_length(failures) > 0;
}

Test(canary_facts, holds) {
        const CanaryExpect *expectations[] = {&on_252, &on_257};

        for (size_t i = 0; i < ELEMENTS(expectations); i++) {
                char **failures = check(good, expectations[i], NULL);

                cr_expect_null(failures, "%s", failures ? failures[0] : "");
                strv_free(failures);
        }
}

/* No row passes when its fact is missing, or is something nobody foresaw. */
Test(canary_facts, every_row_can_fail) {
        const char *property, *fact, *meaning;
        size_t n = 0;

        for (; canary_facts_row(n, &property, &fact, &meaning); n++) {
                static const char *const values[] = {NULL, "unforeseen", "0,unforeseen", "-1", "01"};
                const CanaryExpect *expect =
                        streq(meaning, "/proc shows processes only") ? &pid_only : &on_257;

                for (size_t i = 0; i < ELEMENTS(values); i++) {
                        char start[256], line[512];
                        char **failures, *text;

                        if (streq(fact, "mount:/proc/kmsg:type") && values[i])
                                (void) snprintf(line, sizeof line, "%s none", fact);
                        else
                                (void) snprintf(
                                        line, sizeof line, "%s %s", fact, values[i] ? values[i] : "");
                        text = doctored(fact, values[i] ? line : NULL);
                        failures = check(text, expect, NULL);
                        (void) snprintf(start, sizeof start, "%s: %s is %s", property, fact,
                                values[i] ? strchr(line, ' ') + 1 : "missing");
                        if (expect == &on_257)
                                cr_expect(all_start_with(failures, start), "row %zu: %s: %s", n, start,
                                        failures ? failures[0] : "nothing");
                        else
                                cr_expect(strv_length(failures) > 0);
                        strv_free(failures);
                        free(text);
                }
        }
        cr_expect_gt(n, 100);
}

/* What the kernel shows where a wall is missing. */
Test(canary_facts, open_walls) {
        static const struct {
                const char *property, *fact, *line;
        } rows[] = {
                {"DynamicUser", "uid", "uid 0"},
                {"DynamicUser", "uid", "uid 1000"},
                {"DynamicUser", "uid", "uid 61183"},
                {"DynamicUser", "uid", "uid 65520"},
                {"DynamicUser", "uid", "uid 61234,0,0"},
                {"DynamicUser", "groups", "groups 27"},
                {"CapabilityBoundingSet", "cap_bounding", "cap_bounding 0000000000200000"},
                {"NoNewPrivileges", "no_new_privs", "no_new_privs 0"},
                {"PrivateNetwork", "interfaces", "interfaces lo,eth0"},
                {"PrivateNetwork", "interfaces", "interfaces lo,"},
                {"PrivateNetwork", "ns_net", "ns_net 1"},
                {"PrivateIPC", "ns_ipc", "ns_ipc 2"},
                {"ProtectHostname", "ns_uts", "ns_uts 3"},
                {"PrivateMounts", "ns_mnt", "ns_mnt 4"},
                {"PrivateMounts", "ns_mnt", "ns_mnt 0"},
                {"RootDirectory", "exists:/home", "exists:/home yes"},
                {"RootDirectory", "exists:/etc/shadow", "exists:/etc/shadow EACCES"},
                {"ProtectSystem", "write:/usr", "write:/usr EACCES"},
                {"ProtectHome", "mode:/root", "mode:/root 750"},
                {"TemporaryFileSystem", "mount:/scratch:size", "mount:/scratch:size 67108865"},
                {"TemporaryFileSystem", "mount:/scratch:inodes", "mount:/scratch:inodes 0"},
                {"TemporaryFileSystem", "mount:/scratch:inodes", "mount:/scratch:inodes 16385"},
                {"TemporaryFileSystem", "mount:/dev/shm:size", "mount:/dev/shm:size 25276510208"},
                {"TemporaryFileSystem", "mount:/run:mode", "mount:/run:mode rw"},
                {"BindLogSockets", "exists:/run/systemd/journal", "exists:/run/systemd/journal yes"},
                {"PrivateTmp", "backing:/tmp", "backing:/tmp other"},
                {"PrivateDevices", "dev", "dev null,kmsg"},
                {"InaccessiblePaths", "open:/dev/ptmx", "open:/dev/ptmx ok"},
                {"ProtectProc", "processes_foreign", "processes_foreign 79"},
                {"ProtectProc", "mount:/proc:hidepid", "mount:/proc:hidepid none"},
                {"PrivatePIDs", "ppid", "ppid 4711"},
                {"ProtectKernelTunables", "mount:/proc/sys:mode", "mount:/proc/sys:mode rw"},
                {"ProtectKernelTunables", "open:/proc/kallsyms", "open:/proc/kallsyms ok"},
                {"ProtectKernelLogs", "mount:/proc/kmsg:type", "mount:/proc/kmsg:type none"},
                {"ProtectClock", "syscall:clock_settime", "syscall:clock_settime EFAULT"},
                {"SystemCallFilter", "syscall:mount", "syscall:mount ENOENT"},
                {"SystemCallFilter", "syscall:keyctl", "syscall:keyctl EOPNOTSUPP"},
                {"SystemCallFilter", "seccomp", "seccomp 0"},
                {"SystemCallFilter", "seccomp_filters", "seccomp_filters 1"},
                {"SystemCallArchitectures", "syscall:foreign-abi", "syscall:foreign-abi ENOSYS"},
                {"RestrictNamespaces", "syscall:unshare-user", "syscall:unshare-user EINVAL"},
                {"RestrictNamespaces", "syscall:setns", "syscall:setns EBADF"},
                {"RestrictRealtime", "syscall:sched-fifo", "syscall:sched-fifo EINVAL"},
                {"RestrictSUIDSGID", "syscall:chmod-setuid", "syscall:chmod-setuid ENOENT"},
                {"LockPersonality", "syscall:personality", "syscall:personality ok"},
                {"RestrictAddressFamilies", "socket:vsock", "socket:vsock EINVAL"},
                {"LimitCORE", "rlimit_core", "rlimit_core 0,18446744073709551615"},
                {"StandardInputFileDescriptor", "fds", "fds 0,1,2,3"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                char *text = doctored(rows[i].fact, rows[i].line), start[128];
                char **failures = check(text, &on_257, NULL);

                (void) snprintf(start, sizeof start, "%s: %s", rows[i].property, rows[i].fact);
                cr_expect_eq(strv_length(failures), 1, "%s", rows[i].line);
                cr_expect(all_start_with(failures, start), "%s: %s", rows[i].line,
                        failures ? failures[0] : "nothing");
                strv_free(failures);
                free(text);
        }
}

Test(canary_facts, sentence) {
        char *text = doctored("interfaces", "interfaces lo,eth0");
        char **failures = check(text, &on_252, NULL);

        cr_assert_eq(strv_length(failures), 1);
        cr_expect(starts_with(failures[0], "PrivateNetwork: interfaces is lo,eth0, expected only lo "), "%s",
                failures[0]);
        cr_expect(ends_with(failures[0], " (no interface but lo)"), "%s", failures[0]);
        strv_free(failures);
        free(text);
}

/* What depends on the plan and the version. */
Test(canary_facts, conditions) {
        CanaryExpect unknown = on_252, uneven = on_252;
        char *text = doctored("ppid", "ppid 4711");
        char **failures;

        failures = check(text, &on_252, NULL);
        cr_expect_null(failures, "252 has no PrivatePIDs");
        strv_free(failures);
        free(text);

        text = doctored("exists:/proc/meminfo", "exists:/proc/meminfo no");
        failures = check(text, &pid_only, NULL);
        cr_expect_null(failures, "%s", failures ? failures[0] : "");
        strv_free(failures);
        failures = check(text, &on_252, NULL);
        cr_expect(all_start_with(failures, "ProcSubset: "));
        strv_free(failures);
        free(text);
        failures = check(good, &pid_only, NULL);
        cr_expect(all_start_with(failures, "ProcSubset: "));
        strv_free(failures);

        unknown.host_namespace = NULL;
        failures = check(good, &unknown, NULL);
        cr_expect_eq(strv_length(failures), 4, "what cannot be compared does not hold");
        strv_free(failures);
        unknown.host_namespace = (uint64_t[NAMESPACE_N]){1, 0, 3, 4};
        failures = check(good, &unknown, NULL);
        cr_expect(all_start_with(
                failures, "PrivateIPC: ns_ipc is 12, expected not the host's, whose number is not"));
        strv_free(failures);

        uneven.disk_bytes = (64 << 20) - 1;
        failures = check(good, &uneven, NULL);
        cr_expect_null(failures, "sizes are whole pages");
        strv_free(failures);
}

Test(canary_facts, hostile_texts) {
        size_t size = 200000;
        char *text = malloc(size);
        char **failures = NULL;
        json_object *enforced = NULL;

        cr_assert_not_null(text);
        static const struct {
                const char *text, *failure;
        } rows[] = {
                {"", NULL},
                {"\n\n", NULL},
                {"uid\n", "Canary: a line is no fact"},
                {" x\n", "Canary: a line is no fact"},
                {"uid \n", "Canary: a line is no fact"},
                {"uid 61234\nuid 61234\n", "Canary: a fact comes twice"},
                {"uid \x1b[31m\n", "Canary: a line holds other than printable characters"},
                {"uid \xc3\xbc\n", "Canary: a line holds other than printable characters"},
        };
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                failures = check(rows[i].text, &on_252, NULL);
                cr_expect_gt(strv_length(failures), 100, "nothing holds");
                if (rows[i].failure)
                        cr_expect(strv_contains(failures, rows[i].failure), "%s", rows[i].failure);
                strv_free(failures);
        }

        memset(text, 'x', size);
        cr_assert_eq(canary_facts_check(text, size, &on_252, &failures, &enforced), 0);
        cr_expect_str_eq(failures[0], "Canary: what it printed is too long");
        strv_free(failures);
        json_object_put(enforced);

        memset(text, 0, size);
        cr_assert_eq(canary_facts_check(text, 100, &on_252, &failures, &enforced), 0);
        cr_expect_str_eq(failures[0], "Canary: what it printed is no text");
        strv_free(failures);
        json_object_put(enforced);

        cr_assert_eq(canary_facts_check(NULL, 0, &on_252, &failures, &enforced), 0);
        strv_free(failures);
        json_object_put(enforced);

        /* a value without end is cut in the sentence */
        (void) snprintf(text, size, "uid ");
        memset(text + 4, '7', 60000);
        text[60004] = 0;
        failures = check(text, &on_252, NULL);
        cr_expect(starts_with(failures[0], "DynamicUser: uid is 777"));
        cr_expect_lt(strlen(failures[0]), 400);
        strv_free(failures);

        /* more facts than there can be */
        text[0] = 0;
        for (size_t i = 0, used = 0; i < 3000; i++)
                used += (size_t) snprintf(text + used, size - used, "fact%zu x\n", i);
        failures = check(text, &on_252, NULL);
        cr_expect(strv_contains(failures, "Canary: there are too many facts"));
        strv_free(failures);
        free(text);
}

static const char *enforced_string(json_object *enforced, const char *key) {
        json_object *value;

        cr_assert(json_object_object_get_ex(enforced, key, &value), "%s", key);
        return json_object_get_string(value);
}

Test(canary_facts, enforced) {
        json_object *enforced;
        char **failures, *text;

        failures = check(good, &on_252, &enforced);
        cr_expect_null(failures);
        cr_expect_str_eq(enforced_string(enforced, "network"), "private");
        cr_expect_str_eq(enforced_string(enforced, "uid"), "dynamic");
        cr_expect_str_eq(enforced_string(enforced, "capabilities"), "none");
        cr_expect_str_eq(enforced_string(enforced, "no_new_privileges"), "true");
        cr_expect_str_eq(enforced_string(enforced, "system_call_filter"), "true");
        cr_expect_str_eq(enforced_string(enforced, "pid_namespace"), "false", "not on 252");
        cr_expect_str_eq(enforced_string(enforced, "workspace_bytes"), "67108864");
        json_object_put(enforced);

        text = doctored("ns_net", "ns_net 1");
        failures = check(text, &on_257, &enforced);
        cr_expect_eq(strv_length(failures), 1);
        cr_expect_str_eq(enforced_string(enforced, "network"), "open");
        cr_expect_str_eq(enforced_string(enforced, "uid"), "dynamic");
        cr_expect_str_eq(enforced_string(enforced, "pid_namespace"), "true");
        strv_free(failures);
        json_object_put(enforced);
        free(text);

        failures = check("", &on_257, &enforced);
        cr_expect_str_eq(enforced_string(enforced, "network"), "open");
        cr_expect_str_eq(enforced_string(enforced, "system_call_filter"), "false");
        strv_free(failures);
        json_object_put(enforced);
}
