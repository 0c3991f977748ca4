/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Exactly the limit: against a slow and obvious keep, for every small size, and for sizes around its blocks.
 */

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "capture/keep.h"

static char stream[3 << 20];

static void set_up(void) {
        for (size_t i = 0; i < sizeof stream; i++)
                stream[i] = (char) (i * 2654435761U >> 13);
}

TestSuite(keep, .init = set_up);

static void output_clear(Output *output) {
        bytes_clear(&output->head);
        bytes_clear(&output->tail);
}

/* A stream of size bytes in chunks through a keep of limit bytes. */
static void expect(size_t limit, size_t size, size_t chunk) {
        own(output_clear) Output output = {};
        Keep keep;
        size_t head = size <= limit ? size : limit - limit / 2, tail = size <= limit ? 0 : limit / 2;

        keep_init(&keep, limit);
        for (size_t at = 0; at < size; at += chunk)
                keep.sink.take(&keep.sink, stream + at, size - at < chunk ? size - at : chunk);
        cr_assert_eq(keep_take(&keep, &output), 0);

        cr_assert_eq(output.produced, size, "%zu of %zu by %zu", limit, size, chunk);
        cr_assert_eq(output.truncated, size > limit, "%zu of %zu by %zu", limit, size, chunk);
        cr_assert_eq(output.head.size, head, "%zu of %zu by %zu", limit, size, chunk);
        cr_assert_eq(output.tail.size, tail, "%zu of %zu by %zu", limit, size, chunk);
        cr_assert(!head || memcmp(output.head.data, stream, head) == 0, "%zu of %zu by %zu", limit, size,
                chunk);
        cr_assert(!tail || memcmp(output.tail.data, stream + size - tail, tail) == 0, "%zu of %zu by %zu",
                limit, size, chunk);
        cr_assert(!output.head.data || output.head.data[head] == '\0');
        cr_assert(!output.tail.data || output.tail.data[tail] == '\0');
        keep_clear(&keep);
}

Test(keep, every_small_size) {
        for (size_t limit = 0; limit <= 9; limit++)
                for (size_t size = 0; size <= 40; size++)
                        for (size_t chunk = 1; chunk <= 12; chunk++)
                                expect(limit, size, chunk);
}

Test(keep, around_blocks) {
        static const size_t limits[] = {1, 4095, 4096, 4097, 65535, 65536, 65537, 1 << 20};
        static const size_t chunks[] = {1000, 4096, 65536};

        for (size_t i = 0; i < ELEMENTS(limits); i++)
                for (size_t k = 0; k < ELEMENTS(chunks); k++) {
                        for (size_t off = 0; off < 3; off++)
                                expect(limits[i], limits[i] - 1 + off, chunks[k]);
                        expect(limits[i], 2 * limits[i] + 7, chunks[k]);
                        expect(limits[i], sizeof stream, chunks[k]);
                }
}

/* Memory grows with what was produced: a limit of 16 MiB costs nothing until it is used. */
Test(keep, grows_as_needed) {
        own(output_clear) Output output = {};
        Keep keep;

        keep_init(&keep, SIZE_MAX / 4);
        keep.sink.take(&keep.sink, "abc", 3);
        cr_expect_leq(keep.head_room, 4096U);
        cr_assert_eq(keep_take(&keep, &output), 0);
        cr_expect_str_eq(output.head.data, "abc");
        keep_clear(&keep);
}

Test(keep, nothing_after_it_was_taken) {
        own(output_clear) Output first = {}, second = {};
        Keep keep;

        keep_init(&keep, 4);
        keep.sink.take(&keep.sink, "abcdefgh", 8);
        cr_assert_eq(keep_take(&keep, &first), 0);
        cr_expect_str_eq(first.head.data, "ab");
        cr_expect_str_eq(first.tail.data, "gh");
        cr_assert_eq(keep_take(&keep, &second), 0);
        cr_expect_null(second.head.data);
        cr_expect_null(second.tail.data);
        keep_clear(&keep);
        keep_clear(&keep);
}

/* What had to be dropped is told as truncated, and still counted. */
Test(keep, an_error_stays) {
        own(output_clear) Output output = {};
        Keep keep;

        keep_init(&keep, 100);
        keep.sink.take(&keep.sink, "abc", 3);
        keep.error = -12;
        keep.sink.take(&keep.sink, "def", 3);
        cr_assert_eq(keep_take(&keep, &output), 0);
        cr_expect_str_eq(output.head.data, "abc");
        cr_expect_eq(output.produced, 6);
        cr_expect(output.truncated);
        keep_clear(&keep);
}
