/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What `unitcell-runner inspect` prints when it is run as the code of an execution (the canary): one fact a line,
 * "name value\n", looked at from inside, as the code would see it. The daemon compares them with the plan
 * (execution/canary.c); the names stand here so that both sides agree.
 */

#define INSPECT_COMMAND "inspect"
#define INSPECT_RUNNER_PATH "/usr/lib/unitcell/unitcell-runner"
