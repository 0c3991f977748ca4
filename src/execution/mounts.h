/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The sources of an execution's mounts, looked at when it is submitted: no component may be a link, so nothing leads
 * out of what the policy lists. systemd resolves the path again when it mounts; what was seen here (device and inode)
 * goes with the work order, and the runner starts nothing when it finds something else.
 */

#include "handover/order.h"
#include "policy/plan.h"

typedef struct Mounts {
        OrderMount *items;
        size_t n;
} Mounts;

void mounts_clear(Mounts *mounts);

/* 0; -EINVAL with *reterr_problem, a new sentence that names the mount; -ENOMEM. */
int mounts_look(const Plan *plan, Mounts *ret, char **reterr_problem);
