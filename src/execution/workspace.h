/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The workspace of an execution, seen from outside through the one descriptor of /scratch that the runner sent out. A
 * thing of its own: one day it may outlive an execution. Everything in it belongs to the code: nothing is followed,
 * nothing is believed, every walk is bounded.
 */

#include <stdbool.h>
#include <stdint.h>

/* Blocks or inodes at zero. */
bool workspace_is_full(int scratch);

/*
 * Is there a regular file of exactly size bytes? A hint that a write was cut at RLIMIT_FSIZE: the kernel counts no
 * EFBIG. Looks at no more than WORKSPACE_LOOK_MAX entries and no deeper than WORKSPACE_DEPTH_MAX; directories that
 * only the code may read are passed over.
 */
#define WORKSPACE_LOOK_MAX 4096U
#define WORKSPACE_DEPTH_MAX 16U
bool workspace_has_file_of(int scratch, uint64_t size);
