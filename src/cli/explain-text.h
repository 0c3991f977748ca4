/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The answer of Explain for people: {"plan": …, "properties": …} as sections of aligned rows. */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

int explain_print(json_object *document, bool bold, FILE *stream);
