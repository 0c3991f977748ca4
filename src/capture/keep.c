/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Head and tail of a stream, exactly the limit. */

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "capture/keep.h"

#define FIRST_ROOM 4096

static size_t smaller(size_t a, size_t b) {
        return a < b ? a : b;
}

static void ring_push(Keep *keep, const char *data, size_t size) {
        if (keep->ring_size == 0)
                return;
        if (size > keep->ring_size) {
                data += size - keep->ring_size;
                size = keep->ring_size;
        }
        while (size > 0) {
                size_t part = smaller(size, keep->ring_size - keep->ring_next);

                memcpy(keep->ring + keep->ring_next, data, part);
                keep->ring_next = (keep->ring_next + part) % keep->ring_size;
                keep->ring_used = smaller(keep->ring_size, keep->ring_used + part);
                data += part;
                size -= part;
        }
}

/* More than the limit came: what stands beyond the first half becomes the start of the ring. */
static int cut(Keep *keep) {
        size_t half = keep->limit - keep->limit / 2;

        keep->ring_size = keep->limit / 2;
        keep->ring = malloc(keep->ring_size + 1);
        if (!keep->ring) {
                keep->ring_size = 0;
                return -ENOMEM;
        }
        if (keep->head.size > half) {
                ring_push(keep, keep->head.data + half, keep->head.size - half);
                keep->head.size = half;
        }
        return 0;
}

static int head_append(Keep *keep, const char *data, size_t size) {
        if (size == 0)
                return 0;
        if (keep->head.size + size > keep->head_room) {
                size_t room = keep->head_room ? keep->head_room : FIRST_ROOM;
                char *grown;

                while (room < keep->head.size + size)
                        room *= 2;
                grown = realloc(keep->head.data, room + 1);
                if (!grown)
                        return -ENOMEM;
                keep->head.data = grown;
                keep->head_room = room;
        }
        memcpy(keep->head.data + keep->head.size, data, size);
        keep->head.size += size;
        return 0;
}

static int take(Keep *keep, const char *data, size_t size) {
        int r;

        if (!keep->ring) {
                size_t fits = smaller(size, keep->limit - keep->head.size);

                r = head_append(keep, data, fits);
                if (r < 0)
                        return r;
                data += fits;
                size -= fits;
                if (size == 0)
                        return 0;
                r = cut(keep);
                if (r < 0)
                        return r;
        }
        ring_push(keep, data, size);
        return 0;
}

static void keep_on_take(Sink *sink, const char *data, size_t size) {
        Keep *keep = (Keep *) sink;

        keep->produced += size;
        if (keep->error < 0)
                return;
        keep->error = take(keep, data, size);
}

void keep_init(Keep *keep, size_t limit) {
        *keep = (Keep) {.sink = {.take = keep_on_take}, .limit = limit};
}

void keep_clear(Keep *keep) {
        bytes_clear(&keep->head);
        free(keep->ring);
        keep->ring = NULL;
}

int keep_take(Keep *keep, Output *ret) {
        Output output = {.produced = keep->produced, .truncated = keep->ring || keep->error < 0};

        if (keep->ring) {
                size_t first = keep->ring_used < keep->ring_size ? 0 : keep->ring_next;

                output.tail.data = malloc(keep->ring_used + 1);
                if (!output.tail.data)
                        return -ENOMEM;
                memcpy(output.tail.data, keep->ring + first, keep->ring_used - first);
                memcpy(output.tail.data + keep->ring_used - first, keep->ring, first);
                output.tail.data[keep->ring_used] = '\0';
                output.tail.size = keep->ring_used;
        }
        if (keep->head.data)
                keep->head.data[keep->head.size] = '\0';
        output.head = keep->head;
        keep->head = (Bytes) {};
        keep_clear(keep);

        *ret = output;
        return 0;
}
