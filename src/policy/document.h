/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What policy and language files have in common. */

#include <stddef.h>

#include "base/json.h"

/* The name is a name, and that of the file: "x" in ".../x.json". source_path "" or NULL: not from a file. */
int document_check_name(const char *name, const char *source_path, JsonError *reterr);

/* Returns r; when the error has no line yet, finds that of its key. */
int document_locate(const char *text, size_t size, int r, JsonError *reterr);
