/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Bytes and words: hex, base64, UTF-8, string lists. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes with a length. data has one NUL after size bytes, so it can be printed; NULL and 0 when absent. */
typedef struct Bytes {
        char *data;
        size_t size;
} Bytes;

void bytes_clear(Bytes *bytes);
int bytes_copy(const void *data, size_t size, Bytes *ret);

/* ret must hold 2 * size + 1 characters. */
void hex_encode(const void *data, size_t size, char *ret);

/* RFC 4648 with padding. Decoding is strict: no white space, no missing padding. -EINVAL for anything else. */
int base64_encode(const void *data, size_t size, char **ret);
int base64_decode(const char *text, size_t size, Bytes *ret);

/* How many bytes at data are one well-formed UTF-8 character (1 to 4), or 0: ill-formed or cut. */
size_t utf8_character(const char *data, size_t size);
bool utf8_is_valid(const char *data, size_t size);

/* Copies data with each ill-formed byte replaced by U+FFFD. *ret_exact tells whether nothing was replaced. */
int utf8_repair(const char *data, size_t size, Bytes *ret, bool *ret_exact);

/* NULL-terminated arrays of strings. A NULL array is an empty one. */
size_t strv_length(char *const *list);
bool strv_contains(char *const *list, const char *word);
int strv_append(char ***list, const char *word);
int strv_copy(char *const *list, char ***ret);
char **strv_free(char **list);
static inline void strv_freep(char ***list) {
        *list = strv_free(*list);
}

/* An unsigned decimal number without sign, space or leading zeros. -EINVAL, -ERANGE. */
int parse_u64(const char *text, uint64_t *ret);

bool starts_with(const char *text, const char *prefix);
bool ends_with(const char *text, const char *suffix);

/* A file or object name: [A-Za-z0-9_.-], 1 to max characters, not starting with a dot or a dash. */
bool name_is_valid(const char *name, size_t max);
