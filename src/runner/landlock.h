/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From now on this process can write to nothing that it has not open already, /dev/null apart. Negative errno. */
int landlock_read_only(void);

/* The version of Landlock that the kernel enforces, 1 or more; negative errno: none. */
int landlock_version(void);
