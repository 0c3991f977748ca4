/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parsing: our own scanner decides whether a text is acceptable, json-c builds what the scanner let pass. */

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json-scan.h"
#include "base/json.h"

/*
 * Keys and values of callers end up in error messages, and those on terminals and in D-Bus strings: no
 * control character (C0, DEL, C1) survives, and what snprintf() cut in the middle of a character ends before
 * it.
 */
static void make_printable(char *text, size_t size) {
        size_t n = strlen(text);

        for (size_t at = 0; at < n;) {
                size_t step = utf8_character(text + at, n - at);

                if (step == 0 && n == size - 1 && n - at < 4) {
                        text[at] = 0;
                        return;
                }
                if (step == 0 || (step == 1 && ((unsigned char) text[at] < 0x20 || text[at] == 0x7f))) {
                        text[at] = '?';
                        step = 1;
                } else if (step == 2 && (unsigned char) text[at] == 0xc2 &&
                           (unsigned char) text[at + 1] < 0xa0) {
                        memset(text + at, '?', 2);
                }
                at += step;
        }
}

void json_error_set(JsonError *reterr, const char *key, const char *format, ...) {
        va_list arguments;

        if (!reterr)
                return;
        *reterr = (JsonError){0};
        (void) snprintf(reterr->key, sizeof reterr->key, "%s", key ? key : "");
        va_start(arguments, format);
        (void) vsnprintf(reterr->message, sizeof reterr->message, format, arguments);
        va_end(arguments);

        make_printable(reterr->key, sizeof reterr->key);
        make_printable(reterr->message, sizeof reterr->message);
}

static inline void tokener_freep(json_tokener **tokener) {
        if (*tokener)
                json_tokener_free(*tokener);
}

int json_parse(const char *text, size_t size, json_object **ret, JsonError *reterr) {
        own(tokener_freep) json_tokener *tokener = NULL;
        own(json_freep) json_object *object = NULL;
        int r;

        if (size >= INT_MAX) { /* json-c counts in int */
                json_error_set(reterr, "", "is a document of more than 2 GiB");
                return -EINVAL;
        }
        r = json_scan(text, size, reterr);
        if (r < 0)
                return r;

        tokener = json_tokener_new_ex(JSON_DEPTH_MAX + 2);
        if (!tokener)
                return -ENOMEM;
        /* UTF-8 is known to be valid */
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
        object = json_tokener_parse_ex(tokener, text, (int) size);
        if (!object || !json_object_is_type(object, json_type_object)) {
                json_error_set(reterr, "", "must be a JSON object at the top level: {…}");
                return -EINVAL;
        }

        *ret = hand_over(object);
        return 0;
}
