/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The sink that keeps exactly its limit: everything while it fits, else the first half and the last half of the
 * limit (an odd byte goes to the head). Memory grows with what was produced, up to the limit.
 */

#include "base/text.h"
#include "capture/reader.h"
#include "spec/result.h"

typedef struct Keep {
        Sink sink; /* first: the sink is the keep */
        size_t limit;
        Bytes head;   /* at most limit bytes until the stream is cut, then its first half */
        size_t head_room;
        char *ring; /* the last half, once more than limit came */
        size_t ring_size, ring_used, ring_next;
        uint64_t produced;
        int error; /* -ENOMEM: something had to be dropped; the output counts as truncated */
} Keep;

void keep_init(Keep *keep, size_t limit);
void keep_clear(Keep *keep);
/* Hands over what is kept. */
int keep_take(Keep *keep, Output *ret);
