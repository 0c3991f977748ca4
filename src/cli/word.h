/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the words on the command line mean: durations, limits, names of files. */

#include <stdbool.h>
#include <stdint.h>

#include "spec/limit.h"

/* "5s", "500ms", "2min", "1.5h"; a number alone is seconds. -EINVAL, -ERANGE. */
int parse_duration_ms(const char *text, uint64_t *ret_ms);

/* "KEY=VALUE" with a key of the table of limits and a number. -EINVAL with *reterr; the range is the
 * daemon's. */
int parse_limit(const char *text, LimitId *ret_id, uint64_t *ret_value, JsonError *reterr);

/*
 * Beside --language: is this a file name, not code? Yes for one word of letters, digits and "._-+@%,~/" that
 * ends with a dot and some letters or digits. Code of a single such word means nothing in any language we
 * know, and whoever types it means the file; whether it is one of that language's suffixes is asked
 * afterwards.
 */
bool word_looks_like_file(const char *word);

/* Where --file puts a local file when no name is said: its own path if that lies below here, else its last
 * part. */
const char *file_default_name(const char *local);
