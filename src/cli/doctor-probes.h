/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What unitcell doctor sends through the service: small programs that try to get through the wall. Each
 * bounds itself, so that it is harmless where a part of the wall is missing; one that needs a controller to
 * be bounded is not sent where that is missing.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

typedef enum ProbePhase {
        PROBE_FIRST,     /* alone: whether anything runs at all */
        PROBE_NEIGHBOUR, /* runs from here to the end, beside all others */
        PROBE_CROWD,     /* a few at a time */
        PROBE_LAST,      /* once the neighbour is at home */
} ProbePhase;

typedef struct Probe {
        const char *name;
        ProbePhase phase;
        const char *needs;  /* the controller without which it is not sent, or NULL */
        const char *python; /* its code, or NULL */
        const char *bash;   /* the same, as far as bash can; sent where there is no Python */
        const char *rest;   /* the other keys of its spec, without the braces */
} Probe;

extern const Probe doctor_probes[];
extern const size_t doctor_n_probes;

/* Numbers that a probe is given as its arguments. */
typedef struct ProbeArguments {
        const char *nonce; /* part of every name that is made */
        const char *port;  /* a TCP port of the host's loopback on which this program listens */
} ProbeArguments;

/* A new spec document. */
int probe_to_spec(const Probe *probe, const ProbeArguments *arguments, bool has_python, char **ret);
