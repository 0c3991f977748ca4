/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One output stream in a result document: bytes that may be anything, shown as text that is always valid
 * UTF-8, and as base64 beside it where the text is not the exact bytes. Private to the result.
 */

#include "spec/result.h"

/* The text beside a base64 form, and the text in a summary. */
#define OUTPUT_TEXT_MAX (64U * 1024)
#define OUTPUT_SUMMARY_MAX 1024U

/* What is shown of an Output: borrowed from it, perhaps less. */
typedef struct OutputView {
        const char *head, *tail;
        size_t head_size, tail_size;
        uint64_t produced;
        bool truncated;
        bool exact; /* the text alone is the bytes: all of them, and valid UTF-8 */
} OutputView;

OutputView output_view(const Output *output);

/* How many bytes of document the stream takes, in the form that output_add() chooses with that budget. */
size_t output_cost(const OutputView *view, size_t budget);

/* Cuts what is kept, at the end of the head and the start of the tail, until the stream fits the budget. */
void output_fit(OutputView *view, size_t budget);

/* Adds "<name>", "<name>_base64" where the text is not exact, "<name>_bytes" and "<name>_truncated". */
int output_add(json_object *object, const char *name, const OutputView *view, size_t budget);
/* The same without base64, and with a text of at most OUTPUT_SUMMARY_MAX bytes. */
int output_add_summary(json_object *object, const char *name, const OutputView *view);
