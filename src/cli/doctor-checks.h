/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What each probe's result must say: one row a check. */

#include <stddef.h>

typedef struct Check {
        const char *group;
        const char *name;
        const char *proves; /* the property of the unit, or our own part, that is to bring it about */
        const char *probe;
        /*
         * Of the result: "key=value", "key=this|that", "key<number", "key~name" (a list of objects has that
         * name), between spaces. NULL: "status=success".
         */
        const char *fields;
        const char *facts; /* names, between spaces; each must be one of words (each part, between commas) */
        const char *words;
        const char *needs;  /* a controller */
        const char *advice; /* instead of the usual one */
} Check;

extern const Check doctor_checks[];
extern const size_t doctor_n_checks;
