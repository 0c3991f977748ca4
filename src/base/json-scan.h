/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The strict scanner that goes over a text before json-c sees it. Private to base/json*.c. */

#include "base/json.h"

/* 0: the text is one JSON value of RFC 8259 and as strict as json.h. -EINVAL with *reterr, -ENOMEM. */
int json_scan(const char *text, size_t size, JsonError *reterr);
