/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of the plan share among themselves. */

#include "policy/plan.h"

void plan_clear(Plan *plan);

/* plan-mounts.c: the spec's mounts, checked against the policy's prefixes. 0, PLAN_INVALID with *reterr, -ENOMEM. */
int plan_resolve_mounts(Plan *plan, const Spec *spec, const Policy *policy, JsonError *reterr);

/* plan-command.c: argv, compile and code_file; the language's own variables. Limits are final by then. */
int plan_resolve_command(Plan *plan, const Spec *spec, const Language *language, const char *interpreter);
int plan_merge_language_environment(Plan *plan, const Language *language);

/* Every limit final: the spec's value within the policy's bounds, or the policy's default. Fills widened and
 * warnings. 0, PLAN_INVALID with *reterr, -ENOMEM. */
int plan_resolve_limits(
        Plan *plan, const Spec *spec, const Policy *policy, unsigned host_cpus, JsonError *reterr);
