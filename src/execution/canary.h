/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The canary: an execution of our own that looks at the wall. From inside `unitcell-runner inspect` prints what a
 * program would find (canary-facts.c compares), from outside systemd's properties and the kernel's cgroup files are
 * compared with the plan. It runs at the start, after every reload of systemd and of the policies, and again after
 * a while as long as the wall is broken. Until there is a verdict nothing is started.
 */

#include "execution/executions.h"
#include "policy/store.h"

typedef struct Canary Canary;
typedef void (*CanaryHandler)(void *userdata);

/* on_verdict is called after each verdict. store is borrowed and may be replaced by canary_set_store(). */
int canary_new(Executions *executions, const Store *store, CanaryHandler on_verdict, void *userdata, Canary **ret);
Canary *canary_free(Canary *canary);
DEFINE_OWN(Canary, canary_free);

void canary_set_store(Canary *canary, const Store *store);
/* Looks again; what is looked at now is looked at once more afterwards. */
void canary_run(Canary *canary);
