/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * After a restart: what a former daemon left is taken over. The living are adopted, the dead are finished with what
 * their runner, the kernel and systemd still know, finished ones are known again, and units nobody owns are stopped.
 */

#include <systemd/sd-bus.h>

#include "execution/executions.h"
#include "execution/fd-store.h"

/* Needs a manager that is ready. Takes what it needs of fds; bus is where PID 1 is asked for left-over units. */
int recovery_run(Executions *executions, sd_bus *bus, StoredFds *fds);
