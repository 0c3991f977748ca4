/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Reading what the daemon answers. It may be newer than this program, so keys that are not known are passed
 * over; a value of another type than expected counts as absent. Nothing is coerced.
 */

#include <stdint.h>

#include "base/json.h"

/*
 * An object, or an array. -EINVAL for anything else. Not base/json's reader, which refuses U+0000: a program
 * may have printed one.
 */
int document_parse(const char *text, json_object **ret);
int document_parse_list(const char *text, json_object **ret);

/* Borrowed from object; NULL when there is no such key, it is null, or another type. */
const char *document_text(json_object *object, const char *key);
json_object *document_object(json_object *object, const char *key);
json_object *document_list(json_object *object, const char *key);
bool document_flag(json_object *object, const char *key);
uint64_t document_number(json_object *object, const char *key, uint64_t fallback);
