/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Paths of callers: input files (relative, below the workspace), allowed_paths (absolute). */

#include <stdbool.h>
#include <stddef.h>

#define PATH_SIZE_MAX 1024U
#define PATH_DEPTH_MAX 32U

/* NULL, or what is wrong with it as the end of a sentence ("must be a relative path: …"). */
const char *relative_path_problem(const char *path);

/*
 * An absolute path with repeated slashes, "." and a slash at the end taken out; ".." is refused, not
 * resolved. 0 with a new string, -EINVAL with *reterr_problem, -ENOMEM.
 */
int absolute_path_normalise(const char *path, char **ret, const char **reterr_problem);

/* Is path the directory itself or something below it? Both normalised. */
bool path_is_under(const char *path, const char *directory);
