/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The execution spec: what a caller asks for, a JSON object (unitcell-spec(5)). Data: it can be stored, reviewed
 * and replayed. Reading is strict; what is understood but not built yet is refused by spec_check_supported(),
 * never ignored.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/text.h"
#include "spec/limit.h"

#define SPEC_SIZE_MAX (30U * 1024 * 1024)
#define SPEC_CODE_MAX (4U * 1024 * 1024)
#define SPEC_STDIN_MAX (16U * 1024 * 1024)
#define SPEC_FILES_MAX 256U
#define SPEC_ARGS_MAX 1024U
#define SPEC_ENV_MAX 256U
#define SPEC_ID_SIZE 33 /* 32 hex digits and a NUL */

typedef struct SpecFile {
        char *path;    /* below the workspace: relative, no "..", no empty or "." component, at most 1024 bytes, depth 32 */
        Bytes content; /* from content or content_base64 */
        char *fd;      /* name of a descriptor that comes with the call, or NULL */
} SpecFile;

typedef struct Spec {
        char *task_id;  /* NULL or at most 256 bytes; recorded, never trusted */
        char *language; /* NULL when argv is given */
        Bytes code;
        bool code_given;
        char **argv; /* NULL unless given; argv[0] absolute */
        char **args;
        Bytes stdin_data; /* empty unless given */
        char **env;       /* "NAME=value" */
        SpecFile *files;
        size_t n_files;
        Limits limits; /* timeout_ms included */
        char *network; /* "deny" (default) or "allowlist" */
        char **egress_allow;
        char **handles;
        char **allowed_paths; /* under /workspace, /tmp, /var/tmp or /output; normalised, no ".." */
        json_object *mounts;
        char **artifacts;
        char *report;
        char *policy;    /* NULL: the default one */
        char *image;     /* NULL or "host" */
        char *isolation; /* NULL or "unit" */
        uint64_t queue_ms;
        char *request_key;
        json_object *labels; /* object of strings, or NULL */
} Spec;

/* Which refusal a failed reading is: the bus layer has one error name for each. */
typedef enum SpecProblem {
        SPEC_OK = 0,
        SPEC_INVALID,       /* org.unitcell1.Error.InvalidSpec */
        SPEC_TOO_LARGE,     /* org.unitcell1.Error.TooLarge */
        SPEC_NOT_SUPPORTED, /* org.unitcell1.Error.NotSupported */
} SpecProblem;

Spec *spec_free(Spec *spec);
DEFINE_OWN(Spec, spec_free);

/*
 * 0 with *ret; a positive SpecProblem with *reterr naming key, range and remedy; -ENOMEM. Sizes beyond
 * SPEC_*_MAX are SPEC_TOO_LARGE. Includes the check for keys that are understood but not built yet.
 */
int spec_read(const char *text, size_t size, Spec **ret, JsonError *reterr);

/*
 * The spec as a document without its bulk, for the journal: code, stdin and file contents are replaced by their
 * sizes ({"bytes": n}); labels, task_id and the rest as given.
 */
int spec_summary(const Spec *spec, json_object **ret);
