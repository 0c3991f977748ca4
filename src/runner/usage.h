/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "handover/message.h"

/* The cgroup's own counts into *ended; what cannot be read (no such controller, cgroup gone) is
 * HANDOVER_UNKNOWN. */
/* CPU time of the whole unit so far. */
uint64_t usage_read_cpu(const int cgroup[static CGROUP_FILE_N]);
void usage_read(const int cgroup[static CGROUP_FILE_N], Ended *ended);
