/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

/*
 * The language of a file by its name, in the daemon's list: the one with the longest suffix that fits.
 * wanted: that one or none. Borrowed from languages; NULL: none.
 */
const char *language_by_suffix(json_object *languages, const char *file, const char *wanted);
