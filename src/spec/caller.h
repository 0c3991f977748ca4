/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Who asks: one value for polkit, quota, slice, audit and visibility. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"

typedef struct Caller {
        uid_t uid;
        char *unit;   /* systemd unit the caller runs in, as systemd says, or NULL */
        char *act_for; /* the end user a gateway names (not built yet: NULL) */
} Caller;

void caller_clear(Caller *caller);
int caller_copy(const Caller *caller, Caller *ret);
/* Same owner: uid and act_for. The unit does not matter. */
bool caller_is_same(const Caller *a, const Caller *b);

/* {"uid": 1000, "unit": "…"|null, "act_for": "…"|null} */
int caller_to_json(const Caller *caller, json_object **ret);
int caller_from_json(json_object *object, Caller *ret, JsonError *reterr);
