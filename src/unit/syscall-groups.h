/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Groups of system calls ("@system-service"), the words that policies use. */

typedef struct SyscallGroup {
        const char *name;    /* NULL ends the table */
        const char *members; /* " name name @group … ": each between spaces */
} SyscallGroup;

extern const SyscallGroup syscall_groups[];
