/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Groups of system calls ("@system-service"), the words that policies use. */

typedef struct SyscallGroup {
        const char *name;    /* NULL ends the table */
        const char *members; /* " name name @group … ": each between spaces */
} SyscallGroup;

extern const SyscallGroup syscall_groups[];

/* Is word a group of the table, or a system call that libseccomp or the table knows (of any architecture)? */
bool syscall_word_is_known(const char *word);
