/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Names of units, slices and cgroups. A unit's name is a fixed prefix and our own id, never text of a caller;
 * "unitcell-x-.service.d/" drop-ins of an administrator reach every execution through the prefix.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define UNIT_ID_SIZE 33 /* 32 hex digits and a NUL */
#define UNIT_PREFIX "unitcell-x-"
#define UNIT_SLICE "unitcell.slice"

/* A fresh random id. */
int unit_id_new(char ret[static UNIT_ID_SIZE]);
bool unit_id_is_valid(const char *id);

/* "unitcell-x-<id>.service"; the slice is "unitcell-u<uid>.slice". New strings. */
int unit_name_from_id(const char *id, char **ret);
int unit_slice_from_uid(uid_t uid, char **ret);

/* The id of one of our units; -EINVAL for any other name. */
int unit_name_to_id(const char *name, char ret[static UNIT_ID_SIZE]);

/* Where systemd puts the unit: "/unitcell.slice/unitcell-u1000.slice/unitcell-x-….service". */
int unit_cgroup_path(const char *slice, const char *unit, char **ret);
