/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Compiled inner filters, kept: libseccomp takes milliseconds for one, and plans of one policy share it. */

#include "base/text.h"
#include "policy/plan.h"

#define FILTERS_KEPT 16U

typedef struct Filters {
        struct {
                char *key; /* the words it was compiled from */
                Bytes program;
        } kept[FILTERS_KEPT];
        size_t next; /* the one that gives way */
} Filters;

void filters_clear(Filters *filters);

/* *ret is borrowed from filters until the next call. -EINVAL: the policy names a group that does not exist. */
int filters_get(Filters *filters, const Plan *plan, const Bytes **ret);
