/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "handover/message.h"

/* The cgroup's own counts into *ended; what cannot be read (no such controller, cgroup gone) is
 * HANDOVER_UNKNOWN. */
void usage_read(const int cgroup[static CGROUP_FILE_N], Ended *ended);
