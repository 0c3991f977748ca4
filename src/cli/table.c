/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tables: cells in one list, widths counted when printed. */

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cli/table.h"

struct Table {
        size_t n_columns;
        bool has_headings;
        char **cells;
        size_t n_cells;
};

int text_printable(const char *text, char **ret) {
        size_t size = strlen(text), n = 0;
        char *clean = malloc(size + 1);

        if (!clean)
                return -ENOMEM;
        for (size_t at = 0; at < size;) {
                size_t step = utf8_character(text + at, size - at);
                unsigned char first = (unsigned char) text[at];
                bool control = step == 0 || (step == 1 && (first < 0x20 || first == 0x7f)) ||
                               (step == 2 && first == 0xc2 && (unsigned char) text[at + 1] < 0xa0);

                if (control) {
                        clean[n++] = '?';
                } else {
                        memcpy(clean + n, text + at, step);
                        n += step;
                }
                at += step > 0 ? step : 1;
        }
        clean[n] = 0;

        *ret = clean;
        return 0;
}

size_t text_width(const char *text) {
        size_t n = 0;

        for (; *text; text++)
                n += ((unsigned char) *text & 0xc0) != 0x80;
        return n;
}

int table_new(const char *const *headings, size_t n_columns, Table **ret) {
        own(table_freep) Table *table = calloc(1, sizeof *table);
        int r;

        if (!table)
                return -ENOMEM;
        table->n_columns = n_columns;
        table->has_headings = headings;
        for (size_t i = 0; headings && i < n_columns; i++) {
                r = table_add(table, headings[i]);
                if (r < 0)
                        return r;
        }

        *ret = hand_over(table);
        return 0;
}

Table *table_free(Table *table) {
        if (!table)
                return NULL;
        for (size_t i = 0; i < table->n_cells; i++)
                free(table->cells[i]);
        free(table->cells);
        free(table);
        return NULL;
}

int table_add(Table *table, const char *text) {
        char **grown = reallocarray(table->cells, table->n_cells + 1, sizeof(char *));
        int r;

        if (!grown)
                return -ENOMEM;
        table->cells = grown;
        r = text_printable(text ? text : "", &table->cells[table->n_cells]);
        if (r >= 0)
                table->n_cells++;
        return r;
}

static size_t column_width(const Table *table, size_t column) {
        size_t widest = 0;

        for (size_t i = column; i < table->n_cells; i += table->n_columns) {
                size_t width = text_width(table->cells[i]);

                if (width > widest)
                        widest = width;
        }
        return widest;
}

void table_print(const Table *table, size_t indent, bool bold, FILE *stream) {
        for (size_t i = 0; i < table->n_cells; i++) {
                size_t column = i % table->n_columns, padding;
                bool last = column == table->n_columns - 1,
                     heading = table->has_headings && i < table->n_columns;

                if (column == 0)
                        (void) fprintf(stream, "%*s%s", (int) indent, "", heading && bold ? "\033[1m" : "");
                padding = last ? 0 : column_width(table, column) - text_width(table->cells[i]) + 2;
                (void) fprintf(stream, "%s%*s%s", table->cells[i], (int) padding, "",
                        last && heading && bold ? "\033[0m" : "");
                if (last)
                        (void) fputc('\n', stream);
        }
}
