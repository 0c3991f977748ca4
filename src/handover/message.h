/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The conversation between daemon and runner over a SOCK_SEQPACKET socket, version HANDOVER_VERSION. One message
 * is one packet: a Header, then a fixed struct by type, then at most one text. Bulk (code, stdin, files) never
 * goes in a packet: it is in the work order, one sealed memfd (order.h).
 *
 *   runner → daemon                         daemon → runner
 *   HELLO                    (exec happened)
 *                                           PREPARE  cgroup files as descriptors, the host's namespaces
 *   PREPARED  /scratch as a descriptor
 *   ───────────── a slot pauses here ─────────────
 *                                           HAND_OVER  the work order as a descriptor
 *   [COMPILING, COMPILED]                    COMPILING and STARTED carry the listener of
 *   STARTED | FAILED                         the inner filter, when it reports
 *   ENDED  exact wait status, usage
 *                                           DONE       kill what is left and leave
 *
 * The runner believes the daemon. The daemon treats everything from the runner as hostile from the moment any code
 * of the caller has started, and as hostile anyway where that costs nothing: wrong type, size, version, order or
 * descriptors end the execution (-EBADMSG), and only that one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HANDOVER_VERSION 2U
#define HANDOVER_MAGIC 0x6c6c6375U /* "ucll" */
#define HANDOVER_TEXT_MAX 1024U
#define HANDOVER_FDS_MAX 8U

typedef enum MessageType {
        MESSAGE_HELLO = 1,
        MESSAGE_PREPARE,
        MESSAGE_PREPARED,
        MESSAGE_HAND_OVER,
        MESSAGE_COMPILING,
        MESSAGE_COMPILED,
        MESSAGE_STARTED,
        MESSAGE_FAILED,
        MESSAGE_ENDED,
        MESSAGE_DONE,
        MESSAGE_DUMP, /* daemon → runner, while the code runs: have it tell its stack on 2 */
} MessageType;

/* Which descriptors a PREPARE carries, in this order; a bit is missing where the host has no such file. */
typedef enum CgroupFile {
        CGROUP_MEMORY_EVENTS,
        CGROUP_MEMORY_PEAK,
        CGROUP_PIDS_EVENTS,
        CGROUP_CPU_STAT,
        CGROUP_FILE_N
} CgroupFile;

typedef enum NamespaceId { NAMESPACE_NET, NAMESPACE_IPC, NAMESPACE_UTS, NAMESPACE_MNT, NAMESPACE_N } NamespaceId;
extern const char *const namespace_names[NAMESPACE_N]; /* "net", "ipc", … as in /proc/<pid>/ns */

typedef struct Prepare {
        uint32_t cgroup_files; /* bit mask of 1 << CgroupFile: the descriptors that follow */
        uint32_t reserved;
        uint64_t host_namespace[NAMESPACE_N]; /* inode numbers; 0: not known, do not compare */
} Prepare;

/* Where the runner gave up. The text says it in words, errno_number why. */
typedef enum FailedStage {
        FAILED_PREPARE = 1, /* namespaces, workspace, own defence */
        FAILED_ORDER,       /* the work order could not be read */
        FAILED_FILES,       /* input files: ENOSPC, … */
        FAILED_CHILD,       /* rlimits, descriptors, filter */
        FAILED_EXEC,        /* execve of the program */
} FailedStage;

typedef struct Failed {
        uint32_t stage;
        int32_t errno_number;
} Failed;

#define HANDOVER_UNKNOWN UINT64_MAX

/* How the code's first process (or the compile step) ended, and the cgroup's own counts at that moment. */
typedef struct Ended {
        int32_t wait_status; /* as waitpid gives it */
        uint32_t deadline;   /* 1: the runner itself ended it, since nobody did at the deadline */
        uint64_t monotonic_usec;
        uint64_t oom_kills;     /* memory.events oom_kill, or HANDOVER_UNKNOWN */
        uint64_t memory_peak;   /* bytes */
        uint64_t pids_refused;  /* pids.events max */
        uint64_t cpu_usec;      /* cpu.stat usage_usec */
} Ended;

/* Sent to the code's first process on DUMP; the languages that can answer it (Python) say so in their file. */
#define HANDOVER_STACK_SIGNAL 63

typedef struct Started {
        uint64_t monotonic_usec; /* just before exec */
        uint64_t cpu_usec;       /* cpu.stat usage_usec until then: the unit's set-up, not the code's; or UNKNOWN */
} Started;

/* A received message. Descriptors belong to it until taken. */
typedef struct Message {
        MessageType type;
        union {
                Prepare prepare;
                Failed failed;
                Ended ended; /* COMPILED too */
                Started started; /* COMPILING too */
        };
        char text[HANDOVER_TEXT_MAX + 1]; /* FAILED: in words */
        int fds[HANDOVER_FDS_MAX];
        size_t n_fds;
} Message;

void message_clear(Message *message); /* closes what was not taken */

/* Whole messages or nothing. -EAGAIN when the socket would block, -EPIPE/-ECONNRESET when the peer is gone. */
int message_send(int socket, MessageType type, const void *body, size_t body_size, const char *text,
        const int *fds, size_t n_fds);

/*
 * One message. 1: received; 0: nothing to read (EAGAIN) ; -ENODATA: end of file; -EBADMSG: not a message of this
 * protocol (descriptors that came along are closed). Never blocks on a non-blocking socket.
 */
int message_receive(int socket, Message *ret);
