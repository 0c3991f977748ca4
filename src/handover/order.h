/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The work order: everything the runner needs to start the code, serialised into one sealed memfd (argv and
 * environment of a unit are readable by every local user, so nothing of the caller goes there). Little-endian,
 * length-prefixed, versioned; the reader checks every length and believes no count.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef struct OrderFile {
        char *path; /* relative to /scratch: "work/data/in.csv", "code/main.py" */
        Bytes content; /* borrowed when writing; points into the mapping when read, and no NUL follows */
        uint32_t mode;
} OrderFile;

typedef struct OrderRlimit {
        uint32_t resource; /* RLIMIT_FSIZE, … */
        uint64_t soft, hard;
} OrderRlimit;

/* What was looked at before systemd mounted it: the runner finds the same thing there, or the code does not start. */
typedef struct OrderMount {
        char *target;
        uint64_t device, inode;
} OrderMount;

typedef struct Order {
        char **compile; /* NULL: none */
        char **argv;
        char **env;
        char *directory; /* where the child starts */
        char **make_directories; /* allowed_paths, as the code sees them */
        OrderFile *files;
        size_t n_files;
        Bytes stdin_data; /* empty: /dev/null */
        OrderRlimit *rlimits;
        size_t n_rlimits;
        OrderMount *mounts;
        size_t n_mounts;
        Bytes filter; /* the inner system call filter, struct sock_filter each; the code does not start without */
        bool read_only; /* Landlock takes every writable place away from the code, not from the compile step */
        bool filter_reports; /* it has refusals told: its listener goes out with COMPILING and STARTED */
        uint64_t deadline_ms; /* the runner's own, later than the daemon's; 0: none */
        void *mapping; /* of a read order; NULL otherwise */
        size_t mapping_size;
} Order;

/* Frees what a read order owns. Never for an order that was put together for writing: that one only borrows. */
void order_clear(Order *order);
/* Lets go of files, stdin_data and the mapping they point into; the rest stays. */
void order_release_bulk(Order *order);
int order_write(const Order *order, int *ret_fd);
/* -EBADMSG for anything that is not a whole order of this version, or a descriptor that is not sealed. */
int order_read(int fd, Order *ret);
