/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* One row for each shape of a character: the range of its first byte and of its second. */
/* clang-format off */
static const struct Shape {
        unsigned char first_low, first_high, second_low, second_high, size;
} shapes[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2},
        {0xe0, 0xe0, 0xa0, 0xbf, 3}, /* lower: overlong */
        {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, /* higher: surrogates */
        {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, /* lower: overlong */
        {0xf1, 0xf3, 0x80, 0xbf, 4},
        {0xf4, 0xf4, 0x80, 0x8f, 4}, /* higher: above U+10FFFF */
};
/* clang-format on */

static bool is_continuation(unsigned char byte) {
        return (byte & 0xc0) == 0x80;
}

size_t utf8_character(const char *data, size_t size) {
        const unsigned char *bytes = (const unsigned char *) data;

        if (size == 0)
                return 0;
        if (bytes[0] < 0x80)
                return 1;

        for (size_t i = 0; i < ELEMENTS(shapes); i++) {
                const struct Shape *shape = &shapes[i];

                if (bytes[0] < shape->first_low || bytes[0] > shape->first_high)
                        continue;
                if (size < shape->size || bytes[1] < shape->second_low || bytes[1] > shape->second_high)
                        return 0;
                for (size_t k = 2; k < shape->size; k++)
                        if (!is_continuation(bytes[k]))
                                return 0;
                return shape->size;
        }
        return 0;
}

/* How many bytes from here on are plain ASCII: most text is, so eight at a time. */
static size_t ascii_run(const char *data, size_t size) {
        size_t n = 0;

        while (size - n >= sizeof(uint64_t)) {
                uint64_t word;

                memcpy(&word, data + n, sizeof word);
                if (word & 0x8080808080808080U)
                        break;
                n += sizeof word;
        }
        while (n < size && (unsigned char) data[n] < 0x80)
                n++;
        return n;
}

/* How many bytes from here on are well-formed. */
static size_t valid_run(const char *data, size_t size) {
        size_t n = 0;

        while (n < size) {
                size_t step = ascii_run(data + n, size - n);

                if (step == 0)
                        step = utf8_character(data + n, size - n);
                if (step == 0)
                        break;
                n += step;
        }
        return n;
}

bool utf8_is_valid(const char *data, size_t size) {
        return valid_run(data, size) == size;
}

static size_t count_bad(const char *data, size_t size) {
        size_t bad = 0;

        for (size_t at = valid_run(data, size); at < size; at += valid_run(data + at, size - at)) {
                bad++;
                at++;
        }
        return bad;
}

int utf8_repair(const char *data, size_t size, Bytes *ret, bool *ret_exact) {
        size_t bad = count_bad(data, size), n = 0, at = 0;
        char *text;

        if (bad > (SIZE_MAX - size) / 4)
                return -ENOMEM;
        text = malloc(size + bad * (sizeof replacement - 2) + 1);
        if (!text)
                return -ENOMEM;

        while (at < size) {
                size_t run = valid_run(data + at, size - at);

                memcpy(text + n, data + at, run);
                n += run;
                at += run;
                if (at < size) {
                        memcpy(text + n, replacement, sizeof replacement - 1);
                        n += sizeof replacement - 1;
                        at++;
                }
        }
        text[n] = 0;

        *ret = (Bytes){.data = text, .size = n};
        if (ret_exact)
                *ret_exact = bad == 0;
        return 0;
}
