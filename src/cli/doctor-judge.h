/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From the results of the probes to rows: what each result must say, word for word. */

#include <stdint.h>

#include "cli/doctor-probes.h"
#include "cli/doctor-report.h"

/* What came of sending a probe: one of result, error and neither, when it was not sent. */
typedef struct Trial {
        const Probe *probe;
        json_object *result;
        char *error;    /* what the service said, or why there is no result */
        bool refused;   /* by the service, before anything ran */
        bool away;      /* there is no service to ask */
        bool denied;    /* this user may not run code */
        bool left_unit; /* its unit is still there */
        char *path;     /* of its execution */
} Trial;

void trial_clear(Trial *trial);
bool trial_succeeded(const Trial *trial);

#define NAMESPACE_N 4
extern const char *const namespace_kinds[NAMESPACE_N];

/* What is known beside the results. */
typedef struct Surroundings {
        uint64_t host_namespaces[NAMESPACE_N]; /* this process's own; 0: not known */
        const char *visitor;                   /* who got through to our listeners, or NULL */
        bool has_python;
} Surroundings;

/* A fact, "name word" on a line of its own in what the probe printed; the last one counts. NULL: none. */
const char *trial_fact(const Trial *trial, const char *name, char buffer[static 256]);
/* The controllers that the service was told to do without, from the first trial: "" or "memory pids". */
bool controller_is_missing(const Trial *first, const char *name);

/* Rows for the controllers; trials[0] is the first probe's. */
int judge_controllers(const Trial *first, Report *report);
/* Rows for all else, of which trials must have one for each of doctor_probes. */
int judge_trials(const Trial *trials, const Surroundings *surroundings, Report *report);
