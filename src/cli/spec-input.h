/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The words that say what is to run: the same for run and explain. */

#include <systemd/sd-bus.h>

#include "cli/cli.h"
#include "cli/spec-build.h"

extern const OptionList spec_option_list;
extern const char spec_synopsis[], spec_details[];

typedef struct SpecInput {
        const Verb *verb;
        SpecParts parts;
        const char *spec_file, *code_file, *stdin_file;
        char **files;  /* "[NAME=]LOCAL" */
        unsigned said; /* options beside --spec */
} SpecInput;

void spec_input_clear(SpecInput *input);
/* For verb_read(); -EINVAL has been told. */
int spec_input_option(SpecInput *input, int id, const char *value);
/*
 * Reads the files, asks the daemon for a language by its suffix where that is needed, and makes the
 * document's text. 0, or an exit status.
 */
int spec_input_read(SpecInput *input, const Operands *operands, sd_bus *bus, char **ret);
/* What can be told wrong without reading anything. 0, or an exit status. */
int spec_input_check(const SpecInput *input, const Operands *operands);
