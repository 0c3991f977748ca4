/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The table of checks. An errno that only the property brings about is a proof; runner/inspect-calls.c says
 * which are weaker.
 */

#include "cli/doctor-checks.h"
#include "base/own.h"

#define NO_CAPABILITY "0000000000000000"
#define REFUSED "EPERM ENOSYS"
#define SHUT "EACCES ENOENT EPERM"
#define INTERFACES "lo tunl0 sit0 ip6tnl0 gre0 gretap0 erspan0 ip_vti0 ip6_vti0 ip6gre0"
#define CALLS(check, property, names)                                                                       \
        { "kernel", check, property, "inspect", .facts = names, .words = REFUSED }
#define ABSENT(check, property, paths)                                                                      \
        { "files", check, property, "inspect", .facts = paths, .words = "no" }

const Check doctor_checks[] = {
        /* who it is */
        {"user", "capabilities", "CapabilityBoundingSet=", "inspect",
                .facts = "cap_inheritable cap_permitted cap_effective cap_bounding cap_ambient",
                .words = NO_CAPABILITY},
        {"user", "no-new-privileges", "NoNewPrivileges=", "inspect", .facts = "no_new_privs", .words = "1"},
        {"user", "groups", "DynamicUser=", "inspect", .facts = "groups", .words = "none"},
        {"user", "setuid-files", "RestrictSUIDSGID=", "inspect",
                .facts = "syscall:chmod-setuid syscall:chmod-setgid syscall:fchmodat2-setuid",
                .words = REFUSED},

        /* how much */
        {"limits", "time", "timeout_ms", "loop", .fields = "status=timeout"},
        {"limits", "cpu-share", "CPUQuotaPerSecUSec=", "loop", .fields = "cpu_ms<1000", .needs = "cpu"},
        {"limits", "cpu-time", "cpu_ms", "cpu-time", .fields = "status=cpu_limit"},
        {"limits", "memory", "MemoryMax=", "memory",
                .fields = "status=memory_limit oom_killed=true stdout_bytes=0", .needs = "memory"},
        {"limits", "fork-bomb", "TasksMax=", "forks", .fields = "tasks_limit_hit=true",
                .facts = "forks refused", .words = "15 EAGAIN", .needs = "pids"},
        {"limits", "disk", "TemporaryFileSystem=", "disk", .fields = "status=success disk_limit_hit=true",
                .facts = "fill:/workspace fill:/tmp fill:/var/tmp fill:/output fill:/dev/shm inodes",
                .words = "ENOSPC"},
        {"limits", "file-size", "file_mb", "file",
                .fields = "status=signaled signal=SIGXFSZ file_limit_hit=true"},
        {"limits", "output-flood", "stdout_bytes", "flood",
                .fields = "status=success stdout_truncated=true stdout_bytes=2000000"},

        /* how it ends */
        {"ends", "ignores-sigterm", "KillSignal=", "stubborn", .fields = "status=timeout"},
        {"ends", "left-over-daemon", "KillMode=", "left-over", .fields = "status=success duration_ms<30000"},
        {"ends", "kill-everything", "DynamicUser=", "kill-all", .fields = "status=signaled|success"},

        /* what it sees */
        ABSENT("secrets", "RootDirectory=",
                "exists:/etc/shadow exists:/etc/gshadow exists:/etc/ssh exists:/etc/machine-id"),
        ABSENT("host-directories", "RootDirectory=",
                "exists:/home exists:/srv exists:/boot exists:/mnt exists:/var/lib exists:/var/log"),
        {"files", "root-home", "ProtectHome=", "inspect", .facts = "mode:/root", .words = "000 missing"},
        {"files", "read-only", "ProtectSystem=", "inspect",
                .facts = "write:/ write:/usr write:/etc write:/var", .words = "EROFS"},
        ABSENT("service-bus", "TemporaryFileSystem=",
                "exists:/run/dbus exists:/run/systemd/private exists:/run/systemd/notify "
                "exists:/run/systemd/userdb exists:/run/udev exists:/run/user exists:/run/unitcell"),
        ABSENT("journal", "BindLogSockets=", "exists:/run/systemd/journal"),
        ABSENT("devices", "PrivateDevices=",
                "exists:/dev/mem exists:/dev/kmsg exists:/dev/kvm exists:/dev/fuse exists:/dev/net "
                "exists:/dev/sda exists:/dev/vda exists:/dev/vsock"),
        {"files", "terminals", "InaccessiblePaths=", "inspect", .facts = "open:/dev/pts open:/dev/ptmx",
                .words = SHUT},
        ABSENT("sys", "BindReadOnlyPaths=",
                "exists:/sys/fs/cgroup/cgroup.procs exists:/sys/fs/bpf exists:/sys/kernel exists:/sys/class "
                "exists:/sys/module exists:/sys/block"),
        {"files", "kernel-tunables", "ProtectKernelTunables=", "inspect",
                .facts = "open-write:/proc/sys/kernel/hostname open-write:/proc/sysrq-trigger "
                         "open:/proc/kcore open:/proc/kallsyms open:/proc/kmsg",
                .words = SHUT " EROFS"},
        {"processes", "others-invisible", "ProtectProc=", "inspect", .facts = "processes_foreign",
                .words = "0"},
        {"processes", "process-1", "ProtectProc=", "inspect",
                .facts = "open:/proc/1/environ open:/proc/1/root", .words = SHUT},
        {"processes", "parent", "PR_SET_DUMPABLE", "reach",
                .facts = "parent:environ parent:mem parent:root/etc/shadow parent:fd/0", .words = SHUT},
        CALLS("ptrace", "SystemCallFilter=",
                "syscall:ptrace syscall:process_vm_readv syscall:process_vm_writev syscall:pidfd_getfd "
                "syscall:kcmp"),

        /* whom it reaches */
        {"network", "interfaces", "PrivateNetwork=", "inspect", .facts = "interfaces", .words = INTERFACES},
        {"network", "host-loopback", "PrivateNetwork=", "reach", .facts = "loopback",
                .words = "ECONNREFUSED"},
        {"network", "host-abstract-socket", "PrivateNetwork=", "reach", .facts = "abstract",
                .words = "ECONNREFUSED"},
        {"network", "outside", "PrivateNetwork=", "reach", .facts = "tcp udp metadata tcp6",
                .words = "ENETUNREACH EADDRNOTAVAIL"},
        {"network", "address-families", "RestrictAddressFamilies=", "inspect",
                .facts = "socket:packet socket:vsock socket:alg socket:can socket:bluetooth socket:key "
                         "socket:xdp socket:tipc",
                .words = "EAFNOSUPPORT"},

        /* what it may ask of the kernel */
        {"kernel", "filter", "SystemCallFilter=", "inspect", .facts = "seccomp", .words = "2"},
        {"kernel", "refusals-named", "syscalls.report", "inspect",
                .fields = "status=success denied_syscalls~mount denied_syscalls~bpf denied_syscalls~ptrace "
                          "denied_syscalls~keyctl",
                .advice = "see \"unitcell policy show default\": syscalls.report switches this off"},
        CALLS("mount", "SystemCallFilter=",
                "syscall:mount syscall:umount2 syscall:chroot syscall:open_tree syscall:mount_setattr"),
        CALLS("namespaces", "RestrictNamespaces=",
                "syscall:setns syscall:clone3 syscall:unshare-user syscall:unshare-mnt syscall:unshare-net "
                "syscall:unshare-pid syscall:unshare-ipc syscall:unshare-uts syscall:unshare-cgroup "
                "syscall:clone-user syscall:clone-mnt syscall:clone-net syscall:clone-pid "
                "syscall:clone-ipc syscall:clone-uts syscall:clone-cgroup"),
        CALLS("bpf", "SystemCallFilter=", "syscall:bpf"),
        CALLS("perf", "SystemCallFilter=", "syscall:perf_event_open"),
        CALLS("keys", "SystemCallFilter=", "syscall:keyctl syscall:add_key syscall:request_key"),
        CALLS("io_uring", "SystemCallFilter=", "syscall:io_uring_setup"),
        CALLS("userfaultfd", "SystemCallFilter=", "syscall:userfaultfd"),
        CALLS("modules", "ProtectKernelModules=", "syscall:init_module"),
        CALLS("clock", "ProtectClock=",
                "syscall:clock_settime syscall:clock_adjtime syscall:settimeofday syscall:adjtimex"),
        CALLS("kernel-log", "ProtectKernelLogs=", "syscall:syslog"),
        CALLS("reboot-and-swap", "SystemCallFilter=", "syscall:reboot syscall:swapon"),
        CALLS("realtime", "RestrictRealtime=", "syscall:sched-fifo syscall:sched-rr"),
        CALLS("personality", "LockPersonality=", "syscall:personality"),
#if defined(__x86_64__)
        CALLS("raw-io", "PrivateDevices=", "syscall:iopl syscall:ioperm syscall:modify_ldt"),
#endif
        {"kernel", "32-bit-entry", "SystemCallArchitectures=", "inspect", .facts = "syscall:foreign-abi",
                .words = "SIGSYS SIGSEGV none"},

        /* two at once */
        {"neighbours", "files", "TemporaryFileSystem=", "visitor",
                .facts = "file:/workspace file:/tmp file:/var/tmp file:/output file:/dev/shm",
                .words = "absent"},
        {"neighbours", "sockets", "PrivateNetwork=", "visitor", .facts = "abstract loopback",
                .words = "ECONNREFUSED"},
        {"neighbours", "processes", "ProtectProc=", "visitor", .facts = "process", .words = "absent"},
        /* Cancelled at the end, by us, after kill-everything: so it was alive all the time. */
        {"neighbours", "unharmed", "DynamicUser=", "neighbour", .fields = "status=canceled",
                .facts = "at-home", .words = "yes"},
};

const size_t doctor_n_checks = ELEMENTS(doctor_checks);
