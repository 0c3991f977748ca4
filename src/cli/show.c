/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Results as bytes and exit status. The text of a stream is its bytes unless base64 stands beside it. */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/document.h"
#include "cli/show.h"
#include "spec/result.h"

void shown_clear(Shown *shown) {
        bytes_clear(&shown->out);
        bytes_clear(&shown->err);
        shown->remarks = strv_free(shown->remarks);
}

static int add_remark(Shown *shown, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int add_remark(Shown *shown, const char *format, ...) {
        own(freep) char *text = NULL;
        va_list arguments;
        int r;

        va_start(arguments, format);
        r = vasprintf(&text, format, arguments);
        va_end(arguments);
        if (r < 0) {
                text = NULL;
                return -ENOMEM;
        }
        return strv_append(&shown->remarks, text);
}

static int read_stream(json_object *result, const char *name, Shown *shown, Bytes *ret) {
        char base64_key[32], bytes_key[32], truncated_key[32];
        const char *base64, *text = document_text(result, name);
        uint64_t produced;
        int r;

        (void) snprintf(base64_key, sizeof base64_key, "%s_base64", name);
        (void) snprintf(bytes_key, sizeof bytes_key, "%s_bytes", name);
        (void) snprintf(truncated_key, sizeof truncated_key, "%s_truncated", name);
        if (!text)
                return -EINVAL;

        base64 = document_text(result, base64_key);
        if (base64)
                r = base64_decode(base64, strlen(base64), ret);
        else /* not strlen(): U+0000 is a character that output may have */
                r = bytes_copy(text,
                        (size_t) json_object_get_string_len(json_object_object_get(result, name)), ret);
        if (r < 0 || !document_flag(result, truncated_key))
                return r;

        produced = document_number(result, bytes_key, 0);
        if (produced <= ret->size)
                return add_remark(
                        shown, "%s may be incomplete: the service was restarted while this ran", name);
        return add_remark(shown,
                "%s was cut: %" PRIu64 " bytes were printed, %zu of them are passed on (limit %s_bytes)",
                name, produced, ret->size, name);
}

static int exit_status_of(json_object *result, Status status) {
        const char *signal = document_text(result, "signal");
        int number;

        if (status_table[status].exit_status >= 0)
                return status_table[status].exit_status;
        if (status != STATUS_SIGNALED)
                return (int) (document_number(result, "exit_code", status == STATUS_SUCCESS ? 0 : 1) & 0xff);
        number = signal ? signal_number(signal) : -EINVAL;
        return number > 0 ? 128 + number : status_table[STATUS_INTERNAL_ERROR].exit_status;
}

static int fill(json_object *result, Shown *shown) {
        const char *name = document_text(result, "status"), *message = document_text(result, "message");
        Status status;
        int r;

        if (!name)
                return -EINVAL;
        /* a status that a newer daemon made up: ours to say that we do not know it */
        if (status_from_name(name, &status) < 0)
                shown->exit_status = status_table[STATUS_INTERNAL_ERROR].exit_status;
        else
                shown->exit_status = exit_status_of(result, status);

        r = read_stream(result, "stdout", shown, &shown->out);
        if (r < 0)
                return r;
        r = read_stream(result, "stderr", shown, &shown->err);
        if (r < 0)
                return r;
        if (streq(name, status_name(STATUS_SUCCESS)))
                return 0;
        return add_remark(shown, "%s: %s", name, message ? message : "");
}

int show_result(const char *document, Shown *ret) {
        own(json_freep) json_object *result = NULL;
        own(shown_clear) Shown shown = {};
        int r;

        r = document_parse(document, &result);
        if (r < 0)
                return r;
        r = fill(result, &shown);
        if (r < 0)
                return r;

        *ret = shown;
        shown = (Shown){};
        return 0;
}
