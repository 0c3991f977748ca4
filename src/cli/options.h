/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Options as tables: reading them and showing them in --help walk the same rows, and a test compares the man
 * page with what --help shows. Long names are never abbreviated: what a script writes today means the same
 * tomorrow.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct Option {
        int id; /* a letter: the short form too */
        const char *name;
        const char *argument; /* how --help calls the value; NULL: none */
        const char *help;
} Option;

typedef struct OptionList {
        const Option *options;
        size_t n;
} OptionList;

#define OPTION_LIST(rows)                                                                                   \
        { rows, sizeof(rows) / sizeof((rows)[0]) }

/* Ids that are no letters start here. */
#define OPTION_LONG_ONLY 256

typedef struct OptionReader {
        char **argv;
        int argc;
        int at;      /* the next word; after the last option, the first operand */
        bool dashes; /* "--" ended the options */
        char problem[256];
} OptionReader;

/* The next option's id with its value; 0: no more; -EINVAL with reader->problem. lists ends with NULL. */
int option_next(OptionReader *reader, const OptionList *const *lists, const char **ret_value);

/* One paragraph each, aligned. */
void options_print(const OptionList *const *lists, FILE *stream);
