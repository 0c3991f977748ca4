/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From what was said on the command line to a spec document. Pure: files have been read, nothing is sent. */

#include "base/json.h"
#include "base/text.h"
#include "spec/limit.h"

typedef struct SpecPart {
        char *path; /* in the workspace */
        Bytes content;
} SpecPart;

/* Borrowed words of the command line, and what was read for them. */
typedef struct SpecParts {
        json_object *base; /* a whole spec to start from (--spec), or NULL */
        const char *language, *policy, *task_id;
        Bytes code;
        bool code_given;
        char **argv; /* NULL: not given */
        char **args;
        Bytes stdin_data;
        bool stdin_given;
        Limits limits; /* timeout_ms included */
        char **env;    /* "NAME=VALUE" */
        char **labels; /* "KEY=VALUE" */
        char **allowed_paths;
        SpecPart *files;
        size_t n_files;
} SpecParts;

void spec_parts_clear(SpecParts *parts);
int spec_parts_add_file(SpecParts *parts, const char *path, Bytes *content);

/*
 * What is said here replaces what base says of the same; limits, variables and labels one by one, files and
 * allowed paths are added. Code replaces argv and the other way round. -EINVAL: a word is not UTF-8, *reterr
 * names the option.
 */
int spec_build(const SpecParts *parts, json_object **ret, JsonError *reterr);
