/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Text for reading, base64 for exactness. The text of a stream that was cut is head, mark and tail; head and
 * tail end and begin at whole characters, so the few bytes between the cut and the character count as left
 * out too (the base64 form has them). Bytes that are no UTF-8 become U+FFFD.
 *
 * Costs are those of the finished document: a control character takes six bytes there ("\u0001"), so 16 MiB
 * of them would make 96 MiB of text. Such a stream is written as base64 with a short text, and cut if even
 * that is too much.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "spec/result-output.h"

/* A short text at six bytes a character, its mark, the keys of the stream and the rounding of base64. */
#define TEXT_COST_MAX (6U * OUTPUT_TEXT_MAX + 1024)

#define REPLACEMENT_SIZE 3U /* U+FFFD as UTF-8 */

OutputView output_view(const Output *output) {
        OutputView view = {
                .head = output->head.size > 0 ? output->head.data : "",
                .head_size = output->head.size,
                .tail = output->tail.size > 0 ? output->tail.data : "",
                .tail_size = output->tail.size,
                .produced = output->produced,
                .truncated = output->truncated,
        };

        /* Flagged without a known cut: what a former daemon had read is missing, and nobody knows whether there was any. */
        view.exact = view.produced <= view.head_size && view.tail_size == 0 &&
                     utf8_is_valid(view.head, view.head_size);
        return view;
}

/* The size of text as json-c writes it with JSON_C_TO_STRING_NOSLASHESCAPE. */
static size_t escaped_size(const char *text, size_t size) {
        size_t n = size;

        for (size_t i = 0; i < size; i++) {
                unsigned char byte = (unsigned char) text[i];

                if (byte == '"' || byte == '\\' || (byte >= '\b' && byte <= '\r' && byte != '\v'))
                        n += 1;
                else if (byte < 0x20)
                        n += 5;
        }
        return n;
}

static size_t base64_cost(const OutputView *view) {
        return (view->head_size + view->tail_size + 2) / 3 * 4 + TEXT_COST_MAX;
}

static bool fits_as_text(const OutputView *view, size_t budget) {
        /* escaping only ever adds */
        return view->exact && view->head_size <= budget &&
               escaped_size(view->head, view->head_size) <= budget;
}

size_t output_cost(const OutputView *view, size_t budget) {
        return fits_as_text(view, budget) ? escaped_size(view->head, view->head_size) : base64_cost(view);
}

/* Keeps size bytes: half from the start, half from the end, or more of the one where the other has less. */
static void keep(OutputView *view, size_t size) {
        size_t head, tail;

        if (view->head_size + view->tail_size <= size)
                return;
        if (view->tail_size == 0) {
                tail = size / 2;
                view->tail = view->head + view->head_size - tail;
                view->tail_size = tail;
                view->head_size = size - tail;
        } else {
                tail = view->tail_size < size / 2 ? view->tail_size : size / 2;
                head = view->head_size < size - tail ? view->head_size : size - tail;
                tail = size - head;
                view->tail += view->tail_size - tail;
                view->tail_size = tail;
                view->head_size = head;
        }
        view->truncated = true;
        view->exact = false;
}

void output_fit(OutputView *view, size_t budget) {
        if (fits_as_text(view, budget) || base64_cost(view) <= budget)
                return;
        keep(view, budget > TEXT_COST_MAX ? (budget - TEXT_COST_MAX) / 4 * 3 : 0);
}

/* The bytes of one character, or the one bad byte; and how many bytes of text it becomes. */
static size_t step(const char *data, size_t size, size_t *ret_text) {
        size_t n = utf8_character(data, size);

        *ret_text = n > 0 ? n : REPLACEMENT_SIZE;
        return n > 0 ? n : 1;
}

/* Could the last bytes be a character that was cut? Then they end before it. */
static size_t whole_characters(const char *data, size_t size) {
        for (size_t back = 1; back <= 3 && back <= size; back++) {
                unsigned char byte = (unsigned char) data[size - back];

                if ((byte & 0xc0) == 0x80)
                        continue;
                if (byte >= 0xc0 && utf8_character(data + size - back, back) == 0)
                        return size - back;
                break;
        }
        return size;
}

static size_t text_size(const char *data, size_t size) {
        size_t text = 0;

        for (size_t at = 0; at < size;) {
                size_t more;

                at += step(data + at, size - at, &more);
                text += more;
        }
        return text;
}

/* How many of the first bytes make a text of at most max bytes. */
static size_t head_that_fits(const char *data, size_t size, size_t max) {
        size_t at = 0, text = 0;

        while (at < size) {
                size_t more, n = step(data + at, size - at, &more);

                if (text + more > max)
                        break;
                text += more;
                at += n;
        }
        return at;
}

/* From where on the last bytes make a text of at most max bytes. */
static size_t tail_that_fits(const char *data, size_t size, size_t max) {
        size_t start = size > max ? size - max : 0, text;

        /* not in the middle of a character */
        for (size_t i = 0;
                start > 0 && i < 3 && start < size && ((unsigned char) data[start] & 0xc0) == 0x80; i++)
                start++;
        text = text_size(data + start, size - start);
        while (text > max) {
                size_t less;

                start += step(data + start, size - start, &less);
                text -= less;
        }
        return start;
}

/* The part of a cut stream that is shown as text: whole characters, at most max bytes when repaired. */
static void cut_for_text(OutputView *view, size_t max) {
        size_t start = 0;

        /* the capture cut where the limit was, perhaps in a character: no fault of the code */
        if (view->truncated) {
                view->head_size = whole_characters(view->head, view->head_size);
                while (start < 3 && start < view->tail_size &&
                        ((unsigned char) view->tail[start] & 0xc0) == 0x80)
                        start++;
                view->tail += start;
                view->tail_size -= start;
        }
        if (text_size(view->head, view->head_size) + text_size(view->tail, view->tail_size) <= max)
                return;
        if (view->tail_size == 0) {
                view->tail = view->head;
                view->tail_size = view->head_size;
        }
        view->head_size = head_that_fits(view->head, view->head_size, max / 2);
        start = tail_that_fits(view->tail, view->tail_size, max / 2);
        /* where both are parts of one run of bytes, none of it may be told twice */
        if (view->tail + start < view->head + view->head_size && view->tail == view->head)
                start = view->head_size;
        view->tail += start;
        view->tail_size -= start;
        view->truncated = true;
}

static int join_text(const OutputView *view, Bytes *ret) {
        own(bytes_clear) Bytes head = {0}, tail = {0};
        uint64_t shown = view->head_size + view->tail_size;
        char mark[80] = "";
        size_t mark_size, size;
        char *text;
        int r;

        r = utf8_repair(view->head, view->head_size, &head, /* ret_exact= */ NULL);
        if (r < 0)
                return r;
        r = utf8_repair(view->tail, view->tail_size, &tail, /* ret_exact= */ NULL);
        if (r < 0)
                return r;
        if (view->truncated && view->produced > shown)
                (void) snprintf(mark, sizeof mark, "%s[unitcell: %" PRIu64 " bytes left out]\n",
                        head.size > 0 ? "\n" : "", view->produced - shown);
        mark_size = strlen(mark);

        size = head.size + mark_size + tail.size;
        text = malloc(size + 1);
        if (!text)
                return -ENOMEM;
        memcpy(text, head.data, head.size);
        memcpy(text + head.size, mark, mark_size);
        memcpy(text + head.size + mark_size, tail.data, tail.size);
        text[size] = 0;

        *ret = (Bytes){.data = text, .size = size};
        return 0;
}

static int add_text(json_object *object, const char *name, OutputView view, size_t max) {
        own(bytes_clear) Bytes text = {0};
        int r;

        cut_for_text(&view, max);
        r = join_text(&view, &text);
        if (r < 0)
                return r;
        return json_add_bytes(object, name, text.data, text.size);
}

static int add_base64(json_object *object, const char *key, const OutputView *view) {
        own(freep) char *kept = NULL, *text = NULL;
        int r;

        kept = malloc(view->head_size + view->tail_size + 1);
        if (!kept)
                return -ENOMEM;
        memcpy(kept, view->head, view->head_size);
        memcpy(kept + view->head_size, view->tail, view->tail_size);
        r = base64_encode(kept, view->head_size + view->tail_size, &text);
        if (r < 0)
                return r;
        return json_add_bytes(object, key, text, strlen(text));
}

static int add_counts(json_object *object, const char *name, const OutputView *view) {
        char key[48];
        int r;

        (void) snprintf(key, sizeof key, "%s_bytes", name);
        r = json_add_u64(object, key, view->produced);
        if (r < 0)
                return r;
        (void) snprintf(key, sizeof key, "%s_truncated", name);
        return json_add_bool(object, key, view->truncated);
}

int output_add(json_object *object, const char *name, const OutputView *view, size_t budget) {
        char key[48];
        int r;

        if (fits_as_text(view, budget)) {
                r = json_add_bytes(object, name, view->head, view->head_size);
                return r < 0 ? r : add_counts(object, name, view);
        }
        r = add_text(object, name, *view, OUTPUT_TEXT_MAX);
        if (r < 0)
                return r;
        (void) snprintf(key, sizeof key, "%s_base64", name);
        r = add_base64(object, key, view);
        if (r < 0)
                return r;
        return add_counts(object, name, view);
}

int output_add_summary(json_object *object, const char *name, const OutputView *view) {
        int r = add_text(object, name, *view, OUTPUT_SUMMARY_MAX);

        return r < 0 ? r : add_counts(object, name, view);
}
