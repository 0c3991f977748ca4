/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

struct Runner;

/*
 * The runner shares its uid with the code it will start: this closes the doors between them, before anything
 * is read from anywhere. Fills the runner's socket, null, signals and oom_score; file descriptor 0 becomes
 * /dev/null.
 */
int defence_raise(struct Runner *runner);

/* Once the last process has been started: from then on anything but waiting, reporting, killing and leaving is EPERM. */
int defence_narrow(void);
