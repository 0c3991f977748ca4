/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A policy or language file, looked at with the reader that the daemon uses, before it is put where the
 * daemon reads it. What the file says of the host (an interpreter that is not there) is not looked at: it
 * may be meant for another one.
 */

#include <stdbool.h>

#include "base/json.h"

typedef enum CheckKind {
        CHECK_BY_PLACE, /* a language where the file's directory is called "languages", else a policy */
        CHECK_POLICY,
        CHECK_LANGUAGE,
} CheckKind;

typedef struct FileCheck {
        char *path;
        bool ok;
        bool masks; /* it is empty: it takes a policy or language of this name away */
        JsonError error;
} FileCheck;

void file_check_clear(FileCheck *check);
/* 0 with *ret filled, ok or not; -ENOMEM. */
int file_check(const char *path, CheckKind kind, FileCheck *ret);

/* "x.json:3: limits.memory_mb: must be …", "x.json: ok"; a new string. */
int file_check_line(const FileCheck *check, char **ret);
/* {"files": [{"file", "ok", "line", "key", "message"}], "failed": n} */
int file_checks_to_json(const FileCheck *checks, size_t n, json_object **ret);
