/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A language: how a piece of source becomes a process. A JSON file in policies/languages (unitcell-policy(5)).
 *
 *   {"name": "c", "description": "C17, compiled with the host's cc", "suffixes": [".c"],
 *    "interpreters": ["/usr/bin/cc", "/usr/bin/gcc"], "file": "main.c",
 *    "compile": ["{interpreter}", "-O1", "-o", "{program}", "{code}", "-lm"],
 *    "argv": ["{program}", "{args}"], "environment": {}, "bind_read_only": []}
 *
 * "reports_stack": true says that the program answers signal 63 by writing the stack of its threads to stderr.
 *
 * {interpreter} is the first of interpreters that exists on the host, {code} the file with the source
 * (/scratch/code/<file>), {memory_mb} the limit, {heap_mb} three quarters of it, {cpus} cpu_cpus rounded up (these three
 * in values of the environment too), {program} /scratch/code/program; an entry that is exactly {args} becomes the spec's args.
 */

#include "base/json.h"
#include "base/text.h"

typedef struct Language {
        char *name;
        char *description;
        char **suffixes;
        char **interpreters; /* absolute paths, tried in order; looked at when asked, not once at start */
        char *file;
        char **compile; /* NULL: nothing to compile */
        char **argv;
        char **environment;    /* "NAME=value" */
        char **bind_read_only; /* host paths under /etc or /usr that the interpreter needs; a missing one is ignored */
        bool reports_stack;
        char *source_path;     /* the file it was read from */
} Language;

Language *language_free(Language *language);
DEFINE_OWN(Language, language_free);
int language_read(const char *text, size_t size, const char *source_path, Language **ret, JsonError *reterr);

/*
 * The interpreter to use now. 0 with *ret pointing into language; -ENOENT with *reterr_reason a new sentence that
 * names what was looked for ("none of /usr/bin/node exists; install the package that brings it").
 */
int language_find_interpreter(const Language *language, const char **ret, char **reterr_reason);
