/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bytes, hex, base64, lists of strings, numbers and names: what every layer above spells the same way. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void bytes_clear(Bytes *bytes) {
        free(bytes->data);
        *bytes = (Bytes){0};
}

int bytes_copy(const void *data, size_t size, Bytes *ret) {
        char *copy;

        if (size == SIZE_MAX)
                return -ENOMEM;
        copy = malloc(size + 1);
        if (!copy)
                return -ENOMEM;
        if (size > 0)
                memcpy(copy, data, size);
        copy[size] = 0;

        *ret = (Bytes){.data = copy, .size = size};
        return 0;
}

void hex_encode(const void *data, size_t size, char *ret) {
        static const char digits[] = "0123456789abcdef";
        const unsigned char *bytes = data;

        for (size_t i = 0; i < size; i++) {
                ret[2 * i] = digits[bytes[i] >> 4];
                ret[2 * i + 1] = digits[bytes[i] & 15];
        }
        ret[2 * size] = 0;
}

static void base64_encode_group(const unsigned char *bytes, size_t size, char *ret) {
        uint32_t group = (uint32_t) bytes[0] << 16;

        if (size > 1)
                group |= (uint32_t) bytes[1] << 8;
        if (size > 2)
                group |= bytes[2];

        ret[0] = base64_digits[group >> 18 & 63];
        ret[1] = base64_digits[group >> 12 & 63];
        ret[2] = size > 1 ? base64_digits[group >> 6 & 63] : '=';
        ret[3] = size > 2 ? base64_digits[group & 63] : '=';
}

int base64_encode(const void *data, size_t size, char **ret) {
        const unsigned char *bytes = data;
        char *text, *at;

        if (size > SIZE_MAX / 4 * 3 - 4)
                return -ENOMEM;
        at = text = malloc((size + 2) / 3 * 4 + 1);
        if (!text)
                return -ENOMEM;

        for (size_t done = 0; done < size; done += 3, at += 4)
                base64_encode_group(bytes + done, size - done < 3 ? size - done : 3, at);
        *at = 0;

        *ret = text;
        return 0;
}

/* 0 to 63, or 64 for a character that is no digit of base64. */
static const uint8_t *base64_values(void) {
        static _Thread_local uint8_t values[256];

        if (values[0] == 0) {
                memset(values, 64, sizeof values);
                for (uint8_t i = 0; i < 64; i++)
                        values[(unsigned char) base64_digits[i]] = i;
        }
        return values;
}

/* The bits of a padded last group that no byte takes must be zero: one text for each content, no more. */
static int base64_decode_group(const uint8_t *values, const unsigned char *text, size_t n_bytes, char *ret) {
        uint32_t group = 0;

        for (size_t i = 0; i < 4; i++) {
                uint8_t value = i <= n_bytes ? values[text[i]] : 0;

                if (value > 63 || (i > n_bytes && text[i] != '='))
                        return -EINVAL;
                group = group << 6 | value;
        }
        if ((n_bytes == 1 && (group & 0xffff)) || (n_bytes == 2 && (group & 0xff)))
                return -EINVAL;

        for (size_t i = 0; i < n_bytes; i++)
                ret[i] = (char) (group >> (16 - 8 * i));
        return 0;
}

int base64_decode(const char *text, size_t size, Bytes *ret) {
        const uint8_t *values = base64_values();
        const unsigned char *digits = (const unsigned char *) text;
        own(freep) char *data = NULL;
        size_t padding = 0, n = 0;

        if (size % 4 != 0)
                return -EINVAL;
        if (size > 0)
                padding = text[size - 1] != '=' ? 0 : text[size - 2] != '=' ? 1 : 2;
        data = malloc(size / 4 * 3 + 1);
        if (!data)
                return -ENOMEM;

        for (size_t at = 0; at < size; at += 4) {
                size_t n_bytes = at + 4 == size ? 3 - padding : 3;

                if (base64_decode_group(values, digits + at, n_bytes, data + n) < 0)
                        return -EINVAL;
                n += n_bytes;
        }
        data[n] = 0;

        *ret = (Bytes){.data = hand_over(data), .size = n};
        return 0;
}

size_t strv_length(char *const *list) {
        size_t n = 0;

        while (list && list[n])
                n++;
        return n;
}

bool strv_contains(char *const *list, const char *word) {
        for (size_t i = 0; list && list[i]; i++)
                if (streq(list[i], word))
                        return true;
        return false;
}

int strv_append(char ***list, const char *word) {
        size_t n = strv_length(*list);
        own(freep) char *copy = strdup(word);
        char **grown;

        if (!copy)
                return -ENOMEM;
        grown = reallocarray(*list, n + 2, sizeof(char *));
        if (!grown)
                return -ENOMEM;

        grown[n] = hand_over(copy);
        grown[n + 1] = NULL;
        *list = grown;
        return 0;
}

int strv_copy(char *const *list, char ***ret) {
        own(strv_freep) char **copy = NULL;

        if (!list) {
                *ret = NULL;
                return 0;
        }
        copy = calloc(strv_length(list) + 1, sizeof(char *));
        if (!copy)
                return -ENOMEM;
        for (size_t i = 0; list[i]; i++) {
                copy[i] = strdup(list[i]);
                if (!copy[i])
                        return -ENOMEM;
        }

        *ret = hand_over(copy);
        return 0;
}

char **strv_free(char **list) {
        for (size_t i = 0; list && list[i]; i++)
                free(list[i]);
        free(list);
        return NULL;
}

int parse_u64(const char *text, uint64_t *ret) {
        uint64_t value = 0;

        if (!*text || (text[0] == '0' && text[1]))
                return -EINVAL;
        for (const char *at = text; *at; at++)
                if (*at < '0' || *at > '9')
                        return -EINVAL;
        for (const char *at = text; *at; at++)
                if (__builtin_mul_overflow(value, 10U, &value) ||
                        __builtin_add_overflow(value, (uint64_t) (*at - '0'), &value))
                        return -ERANGE;

        *ret = value;
        return 0;
}

bool starts_with(const char *text, const char *prefix) {
        return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool ends_with(const char *text, const char *suffix) {
        size_t size = strlen(text), suffix_size = strlen(suffix);

        return size >= suffix_size && streq(text + size - suffix_size, suffix);
}

bool name_is_valid(const char *name, size_t max) {
        size_t size = strlen(name);

        if (size == 0 || size > max || name[0] == '.' || name[0] == '-')
                return false;
        return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == size;
}
