/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The writable place of an execution, from inside: /scratch with its four directories, the input files, the
 * caller's allowed_paths, stdin. Everything is made by the runner so that it belongs to the code and is
 * charged to it. A failure fills *reterr_text with a sentence that names the path as the caller knows it.
 */

#include <stddef.h>

#include "handover/message.h"
#include "handover/order.h"

typedef struct Complaint {
        char text[HANDOVER_TEXT_MAX + 1];
} Complaint;

/* root holds scratch/. *ret_scratch can be read and be used with openat2. */
int workspace_make(int root, int *ret_scratch, Complaint *reterr);
int workspace_write_files(int scratch, const OrderFile *files, size_t n_files, Complaint *reterr);
/* path is absolute, as the code sees it: links of the skeleton are followed, but never out of root. */
int workspace_make_directory(int root, const char *path, Complaint *reterr);
/* A read-only descriptor of a file without a name that holds data, at position 0. */
/* Is what systemd mounted what the daemon looked at? -ESTALE: somebody exchanged it in between. */
int workspace_check_mounts(int root, const OrderMount *mounts, size_t n_mounts, Complaint *reterr);

int workspace_stdin(int scratch, const Bytes *data, int *ret_fd, Complaint *reterr);
