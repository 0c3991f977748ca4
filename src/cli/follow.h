/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Submits a spec and waits for its result, however long that takes and whatever happens to the daemon
 * meanwhile: it adopts its executions over a restart, so the question is asked again until it is answered. A
 * first SIGINT, SIGTERM or SIGHUP cancels the execution and goes on waiting for the result; a second one
 * leaves at once.
 */

#include <systemd/sd-bus.h>

/* 0 with the result document, or an exit status; what was wrong has been told. Takes the connection over. */
int follow_spec(sd_bus **bus, const char *spec, char **ret_result);
