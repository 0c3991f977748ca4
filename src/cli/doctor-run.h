/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sending probes through the service, a few at a time, and waiting for their results. SIGINT, SIGTERM and
 * SIGHUP end the waiting; what is still under way is canceled by course_clear().
 */

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "cli/doctor-judge.h"

typedef struct Course Course;

/* Both are kept; trials are doctor_n_probes, in the order of doctor_probes. */
int course_new(sd_bus *bus, Trial *trials, const ProbeArguments *arguments, bool has_python, Course **ret);
Course *course_free(Course *course);
DEFINE_OWN(Course, course_free);

/* All probes of a phase, to their results; the neighbour only to its start. 0, or EXIT_CANCELED, or an
 * errno. */
int course_run(Course *course, ProbePhase phase);
/* Ends the neighbour and waits for its result. */
int course_end_neighbour(Course *course);
/* Waits until systemd has none of the units any more, and fills left_unit. */
int course_look_for_units(Course *course);
