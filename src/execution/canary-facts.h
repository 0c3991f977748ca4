/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a canary saw from inside (handover/inspect.h), held against what the unit's properties promise. Pure:
 * text and expectations in, failures out. One table, a row for each thing that can be seen; the unit's
 * outside (cgroup files, properties) is another matter (canary.c).
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handover/message.h"

typedef struct CanaryExpect {
        const uint64_t *host_namespace; /* NAMESPACE_N inode numbers; NULL or 0, not known, is a failure */
        uint64_t disk_bytes;            /* of /scratch, and of /dev/shm */
        bool proc_pid_only;             /* ProcSubset=pid */
        unsigned systemd_version;
} CanaryExpect;

/*
 * 0 when the comparison was made: *ret_failures is NULL when the wall holds, else a sentence for each thing
 * that is not as it should be ("PrivateNetwork: interfaces is lo,eth0, expected only lo (no interface but
 * lo)"). *ret_enforced says what was found in force, whatever was asked for. -ENOMEM. The text is believed
 * in nothing: what is missing, twice, malformed or endless is a failure.
 */
int canary_facts_check(const char *text, size_t size, const CanaryExpect *expect, char ***ret_failures,
        json_object **ret_enforced);

/* The table, for tests and for listing what is looked at. False: there is no such row. */
bool canary_facts_row(size_t i, const char **ret_property, const char **ret_fact, const char **ret_meaning);
