/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What unitcell doctor found: one row a check, as a table and as a document. */

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"

typedef struct ReportRow {
        const char *group;
        const char *name;
        const char *proves; /* the property that is to bring it about; may be NULL */
        bool passed;
        char *found;
        const char *advice; /* what to do; NULL: nothing */
} ReportRow;

typedef struct Report {
        ReportRow *rows;
        size_t n, n_failed;
} Report;

void report_clear(Report *report);
/* Takes found over, also on failure; NULL counts as no memory. */
int report_add(Report *report, const ReportRow *row);
/* The same with a sentence. */
int report_say(Report *report, const ReportRow *row, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

int report_print(const Report *report, bool colour, FILE *stream);
/* {"checks": [{"group", "name", "proves", "passed", "found", "advice"}], "passed": n, "failed": n} */
int report_to_json(const Report *report, json_object **ret);
