/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Rows of unitcell doctor. */

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/own.h"
#include "cli/doctor-report.h"
#include "cli/table.h"

void report_clear(Report *report) {
        for (size_t i = 0; i < report->n; i++)
                free(report->rows[i].found);
        free(report->rows);
        *report = (Report){};
}

int report_add(Report *report, const ReportRow *row) {
        own(freep) char *found = row->found;
        ReportRow *grown;

        if (!found)
                return -ENOMEM;
        grown = reallocarray(report->rows, report->n + 1, sizeof *grown);
        if (!grown)
                return -ENOMEM;
        report->rows = grown;
        report->rows[report->n] = *row;
        report->rows[report->n++].found = hand_over(found);
        report->n_failed += !row->passed;
        return 0;
}

int report_say(Report *report, const ReportRow *row, const char *format, ...) {
        ReportRow said = *row;
        va_list arguments;

        va_start(arguments, format);
        if (vasprintf(&said.found, format, arguments) < 0)
                said.found = NULL;
        va_end(arguments);
        return report_add(report, &said);
}

static int fill(Table *table, const Report *report) {
        int r = 0;

        for (size_t i = 0; i < report->n && r >= 0; i++) {
                const ReportRow *row = report->rows + i;
                const char *const cells[] = {row->group, row->name, row->passed ? "PASS" : "FAIL",
                        row->proves, row->found, row->advice};

                for (size_t k = 0; k < ELEMENTS(cells) && r >= 0; k++)
                        r = table_add(table, cells[k]);
        }
        return r;
}

/* The whole line: a colour within would count as width. */
static void print_lines(const Report *report, char *text, bool colour, FILE *stream) {
        char *rest = text, *line;

        for (size_t i = 0; (line = strsep(&rest, "\n")) && *line; i++) {
                const char *start = colour && i > 0 && !report->rows[i - 1].passed ? "\033[31m" : "";
                size_t size = strlen(line);

                while (size > 0 && line[size - 1] == ' ')
                        size--;
                (void) fprintf(stream, "%s%.*s%s\n", start, (int) size, line, *start ? "\033[0m" : "");
        }
}

int report_print(const Report *report, bool colour, FILE *stream) {
        static const char *const headings[] = {"GROUP", "CHECK", "RESULT", "PROVES", "FOUND", "WHAT TO DO"};
        own(table_freep) Table *table = NULL;
        own(freep) char *text = NULL;
        size_t size;
        FILE *memory;
        int r;

        r = table_new(headings, ELEMENTS(headings), &table);
        if (r >= 0)
                r = fill(table, report);
        if (r < 0)
                return r;
        memory = open_memstream(&text, &size);
        if (!memory)
                return -ENOMEM;
        table_print(table, /* indent= */ 0, /* bold= */ false, memory);
        if (fclose(memory) != 0)
                return -ENOMEM;
        print_lines(report, text, colour, stream);
        (void) fprintf(stream, "\n%zu passed, %zu failed\n", report->n - report->n_failed, report->n_failed);
        return 0;
}

static int row_to_json(const ReportRow *row, json_object **ret) {
        own(json_freep) json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = json_add_string(object, "group", row->group);
        if (r >= 0)
                r = json_add_string(object, "name", row->name);
        if (r >= 0)
                r = json_add_string(object, "proves", row->proves);
        if (r >= 0)
                r = json_add_bool(object, "passed", row->passed);
        if (r >= 0)
                r = json_add_string(object, "found", row->found);
        if (r >= 0)
                r = json_add_string(object, "advice", row->advice);
        if (r < 0)
                return r;
        *ret = hand_over(object);
        return 0;
}

int report_to_json(const Report *report, json_object **ret) {
        own(json_freep) json_object *document = json_object_new_object(), *checks = json_object_new_array();
        int r;

        if (!document || !checks)
                return -ENOMEM;
        for (size_t i = 0; i < report->n; i++) {
                json_object *row;

                r = row_to_json(report->rows + i, &row);
                if (r < 0)
                        return r;
                if (json_object_array_add(checks, row) < 0) {
                        json_object_put(row);
                        return -ENOMEM;
                }
        }
        r = json_add_object(document, "checks", hand_over(checks));
        if (r >= 0)
                r = json_add_u64(document, "passed", report->n - report->n_failed);
        if (r >= 0)
                r = json_add_u64(document, "failed", report->n_failed);
        if (r < 0)
                return r;
        *ret = hand_over(document);
        return 0;
}
