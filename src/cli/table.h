/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Words in columns. Texts come from the daemon and from callers: no control character reaches the terminal.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/own.h"

typedef struct Table Table;

/* headings: NULL-terminated, one for each column; NULL: a table of n columns without a first row. */
int table_new(const char *const *headings, size_t n_columns, Table **ret);
Table *table_free(Table *table);
DEFINE_OWN(Table, table_free);
/* One cell; a full row is followed by the next one. NULL: an empty cell. */
int table_add(Table *table, const char *text);
/* indent: spaces before each row; bold: the headings. */
void table_print(const Table *table, size_t indent, bool bold, FILE *stream);

/* A new string with each control character (C0, DEL, C1) and each byte that is no UTF-8 made "?". */
int text_printable(const char *text, char **ret);
/* Characters, not bytes. */
size_t text_width(const char *text);
