/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * unitcell.conf(5): an INI file with drop-ins, as systemd's own. The main file is the first found of
 * /etc/unitcell, /run/unitcell, /usr/lib/unitcell; drop-ins of unitcell.conf.d/ in all three are read after it,
 * sorted by name over all directories, a name in an earlier directory replacing those in later ones. What cannot be
 * read is told with file and line and left out; nothing weaker than the default follows from a mistake.
 */

#include <stdint.h>

#include "base/own.h"

typedef struct Settings {
        unsigned allow_missing; /* bits of 1 << Controller */
        uint64_t executions_at_once;
        uint64_t starts_in_flight;
        uint64_t results_kept;
        uint64_t results_kept_sec;
} Settings;

/* Told each line that was left out: file, line, what is wrong and what is permitted. */
typedef void (*SettingsProblem)(const char *file, unsigned line, const char *message);

/* directories: earlier wins; NULL-terminated; NULL: the built-in three. */
int settings_load(const char *const *directories, SettingsProblem problem, Settings *ret);
