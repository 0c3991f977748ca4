/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * plan → the properties of its transient unit. Pure: no connection, no clock. One table; DESIGN section 4 says why
 * each row is there, unitcelld(8) documents it.
 */

#include "policy/plan.h"
#include "unit/property.h"

#define UNIT_RUNNER "/usr/lib/unitcell/unitcell-runner"
#define UNIT_ROOT "/usr/lib/unitcell/root"
#define UNIT_SYS "/usr/lib/unitcell/sys"

/* How long a unit may take from StartTransientUnit to exec, and how much later than the daemon's own deadline the
 * backstops strike: the runner's first, systemd's RuntimeMaxUSec last. */
#define UNIT_START_TIMEOUT_USEC UINT64_C(30000000)
#define UNIT_RUNNER_GRACE_MS UINT64_C(3000)
#define UNIT_BACKSTOP_GRACE_USEC UINT64_C(30000000)

typedef struct UnitDescription {
        const char *id;
        const char *slice;
        unsigned manager_version; /* of systemd: rows newer than it are left out */
        int control, out, err;    /* descriptors for 0, 1, 2 of the runner; -1: left out (Explain) */
} UnitDescription;

int unit_describe(const Plan *plan, const UnitDescription *description, Properties *ret);

/* Reading back: is what systemd says (document form) what we asked for under that name? Lists compare as sets. */
typedef enum PropertyMatch { PROPERTY_MATCHES, PROPERTY_DIFFERS, PROPERTY_NOT_COMPARED } PropertyMatch;
PropertyMatch unit_property_compare(const Properties *asked, const char *name, json_object *said);
