/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An environment: a list of "NAME=value" here, an object of names and strings in documents. */

#include <stddef.h>

#include "base/json.h"

/* Of a spec or a language: names and values, each with its '=' and NUL. */
#define ENVIRONMENT_SIZE_MAX (128U * 1024)

/* -EINVAL names key.NAME and what is allowed there. A name twice is not possible: the parser refused it. */
int environment_read(
        json_object *object, const char *key, size_t max, size_t max_bytes, char ***ret, JsonError *reterr);
int environment_add_json(json_object *object, const char *key, char *const *environment);

/* Sets one variable, in the place of an earlier one of the same name. */
int environment_set(char ***environment, const char *assignment);
/* Sets each of them. */
int environment_merge(char ***environment, char *const *assignments);
