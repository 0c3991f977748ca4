/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What this host is and has, as looked at once at the start. */

#include <stdbool.h>
#include <stdint.h>

#include "handover/message.h"

/* Written by an ExecStartPre=+ of unitcelld.service: uid 0 without capabilities cannot read /proc/1/ns. */
#define HOST_NAMESPACES_FILE "/run/unitcell/namespaces"

typedef struct Host {
        unsigned cpus;
        bool unified_cgroups; /* /sys/fs/cgroup is cgroup v2 */
        uint64_t namespaces[NAMESPACE_N]; /* inode numbers; 0: not known */
} Host;

int host_look(const char *namespaces_file, Host *ret);
