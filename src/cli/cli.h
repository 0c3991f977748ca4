/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of the command share: its verbs, its exit statuses, how it complains. */

#include <stdbool.h>

#include "cli/options.h"

/* Beside those of a finished execution, which spec/result.h's status_table has. */
enum {
        EXIT_FAILED = 1, /* what was looked at is not as it should be */
        EXIT_USAGE = 2,
        EXIT_OURS = 125, /* refused, or our own trouble */
        EXIT_CANCELED = 130,
};

typedef struct Verb {
        const char *name;
        const char *synopsis; /* what follows the name, one line for each form */
        const char *summary;
        const OptionList *const *lists;                             /* ends with NULL */
        const char *details;                                        /* or NULL */
        int (*run)(const struct Verb *verb, int argc, char **argv); /* an exit status */
} Verb;

extern const Verb verb_run, verb_explain, verb_languages, verb_policies, verb_policy, verb_cancel, verb_reload,
        verb_doctor;

/* What stands after the options. dashes: "--" stood before it. */
typedef struct Operands {
        char **list;
        int n;
        bool dashes;
} Operands;

typedef enum VerbAnswer {
        VERB_GO_ON,
        VERB_DONE,  /* --help: shown */
        VERB_WRONG, /* a usage error: told */
} VerbAnswer;

/*
 * Reads the options of a verb. on_option gets each but --help; it returns 0, or -EINVAL when it has told
 * what is wrong. Options end at the first operand, so that a program's own arguments need no "--".
 */
VerbAnswer verb_read(const Verb *verb, int argc, char **argv,
        int (*on_option)(int id, const char *value, void *userdata), void *userdata, Operands *ret);

/* For a verb without operands and no option but --json. */
VerbAnswer verb_read_json(const Verb *verb, int argc, char **argv, bool *ret_json, Operands *ret);

/* "unitcell: …" on stderr, one line whatever is in it. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and where to look; returns EXIT_USAGE. */
int complain_usage(const Verb *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));
int complain_errno(int error, const char *what);

/* Writes the whole; an exit status. */
int write_out(const char *data, size_t size);
/* And a newline. */
int write_line(const char *text);
