/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The service manager's FD store: what holds the truth of a running execution while the daemon is dead. All
 * descriptors of one execution have one name, "x-<id>"; which is which is told by their inode numbers, kept in the
 * state file. FDPOLL=0, or systemd would drop a hung-up pipe with unread data in it.
 */

#include <stddef.h>

int fd_store_put(const char *id, const int *fds, size_t n_fds);
void fd_store_drop(const char *id);

typedef struct StoredFd {
        char id[33];
        int fd; /* -1 when taken */
} StoredFd;

typedef struct StoredFds {
        StoredFd *items;
        size_t n;
} StoredFds;

/* What a former daemon left, as handed to us by systemd (LISTEN_FDS). Foreign names are closed. */
int fd_store_take(StoredFds *ret);
void stored_fds_clear(StoredFds *fds); /* closes what was not taken */
