/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A strict scanner for JSON. It builds nothing: it walks the text once, follows the grammar of RFC 8259 to
 * the letter, and refuses what JSON allows but nobody can read safely: a key that stands twice in an object
 * (json-c would silently keep the last), \u0000 (C code would cut the string there), half a surrogate pair,
 * depth and number of values without end. It knows where it is, so its errors name the key path and the
 * line.
 *
 * Keys of the open objects lie on one stack, decoded, an object's own at the top while it is open; when it
 * closes they are sorted, and two that are the same are neighbours. Sorting keeps that cheap for a hostile
 * object of many thousand keys, where comparing each with each would not be.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-scan.h"
#include "base/own.h"

/* Longer numbers mean nothing to a double, and make strtod() slow. */
#define NUMBER_SIZE_MAX 128

typedef struct Slice {
        const char *text;
        size_t size;
        bool escaped;
} Slice;

typedef struct Key {
        const char *text; /* into the document, or owned when it had escapes */
        size_t size;
        char *owned;
        unsigned line;
} Key;

/* One open object or array. */
typedef struct Level {
        bool array;
        size_t index;   /* of an array's value that is being read */
        size_t current; /* of an object: its key that is being read, on the stack of keys */
} Level;

typedef struct Scanner {
        const char *at, *end;
        unsigned line;
        size_t n_values;
        Level levels[JSON_DEPTH_MAX];
        size_t depth;
        Key *keys;
        size_t n_keys, room;
        const char *wanted; /* path whose line is looked for, or NULL */
        unsigned wanted_line;
        JsonError *reterr;
} Scanner;

static int scan_value(Scanner *s);

static void scanner_clear(Scanner *s) {
        for (size_t i = 0; i < s->n_keys; i++)
                free(s->keys[i].owned);
        free(s->keys);
}

/* "limits.memory_mb", "files[2].path": where the scanner is. Cut when too long, as JsonError.key is. */
static void scanner_path(const Scanner *s, char *ret, size_t size) {
        size_t n = 0;

        ret[0] = 0;
        for (size_t i = 0; i < s->depth && n < size; i++) {
                const Level *level = &s->levels[i];
                int r = 0;

                if (level->array)
                        r = snprintf(ret + n, size - n, "[%zu]", level->index);
                else if (level->current < s->n_keys)
                        r = snprintf(ret + n, size - n, "%s%.*s", n > 0 ? "." : "",
                                (int) (s->keys[level->current].size < size ? s->keys[level->current].size
                                                                           : size),
                                s->keys[level->current].text);
                n += r > 0 ? (size_t) r : 0;
        }
}

static int refuse(Scanner *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(Scanner *s, const char *format, ...) {
        char path[sizeof s->reterr->key], message[sizeof s->reterr->message];
        va_list arguments;

        if (!s->reterr)
                return -EINVAL;
        va_start(arguments, format);
        (void) vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);

        scanner_path(s, path, sizeof path);
        json_error_set(s->reterr, path, "%s", message);
        s->reterr->line = s->line;
        return -EINVAL;
}

/* Does path name the wanted place, or a parent of it? */
static bool path_leads_to(const char *path, const char *wanted) {
        size_t size = strlen(path);

        return size > 0 && strncmp(path, wanted, size) == 0 &&
               (wanted[size] == 0 || wanted[size] == '.' || wanted[size] == '[');
}

static void note_wanted(Scanner *s) {
        char path[sizeof s->reterr->key];

        if (!s->wanted)
                return;
        scanner_path(s, path, sizeof path);
        if (path_leads_to(path, s->wanted))
                s->wanted_line = s->line;
}

static void skip_space(Scanner *s) {
        for (; s->at < s->end; s->at++) {
                if (*s->at == '\n')
                        s->line++;
                else if (*s->at != ' ' && *s->at != '\t' && *s->at != '\r')
                        return;
        }
}

static bool take(Scanner *s, char character) {
        if (s->at == s->end || *s->at != character)
                return false;
        s->at++;
        return true;
}

static int scan_hex4(Scanner *s, unsigned *ret) {
        unsigned value = 0;

        for (size_t i = 0; i < 4; i++, s->at++) {
                char digit = s->at < s->end ? *s->at : 0;

                if (digit >= '0' && digit <= '9')
                        value = value << 4 | (unsigned) (digit - '0');
                else if (digit >= 'a' && digit <= 'f')
                        value = value << 4 | (unsigned) (digit - 'a' + 10);
                else if (digit >= 'A' && digit <= 'F')
                        value = value << 4 | (unsigned) (digit - 'A' + 10);
                else
                        return refuse(s, "is not JSON: \\u wants four hex digits");
        }
        *ret = value;
        return 0;
}

/* After "\u". Writes the character to *ret: one code point, from a surrogate pair where it is one. */
static int scan_unicode_escape(Scanner *s, unsigned *ret) {
        unsigned high, low;
        int r;

        r = scan_hex4(s, &high);
        if (r < 0)
                return r;
        if (high == 0)
                return refuse(s, "has a NUL character (\\u0000): use the _base64 key for bytes");
        if (high >= 0xdc00 && high <= 0xdfff)
                return refuse(s, "has half a surrogate pair (\\u%04x)", high);
        if (high < 0xd800 || high > 0xdbff) {
                *ret = high;
                return 0;
        }

        if (!take(s, '\\') || !take(s, 'u'))
                return refuse(s, "has half a surrogate pair (\\u%04x)", high);
        r = scan_hex4(s, &low);
        if (r < 0)
                return r;
        if (low < 0xdc00 || low > 0xdfff)
                return refuse(s, "has half a surrogate pair (\\u%04x)", high);
        *ret = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return 0;
}

static int scan_escape(Scanner *s) {
        unsigned ignored;

        s->at++;
        if (take(s, 'u'))
                return scan_unicode_escape(s, &ignored);
        if (s->at == s->end || *s->at == 0 || !strchr("\"\\/bfnrt", *s->at))
                return refuse(s, "is not JSON: unknown escape in a string");
        s->at++;
        return 0;
}

/* Bytes that stand for themselves in a string; nearly all of a document with 4 MiB of code is that. */
static bool is_plain(char character) {
        unsigned char byte = (unsigned char) character;

        return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* The opening quote is next. *ret is the raw text between the quotes. */
static int scan_string(Scanner *s, Slice *ret) {
        const char *start = ++s->at;
        bool escaped = false;
        int r;

        for (;;) {
                size_t size;

                while (s->at < s->end && is_plain(*s->at))
                        s->at++;
                if (s->at == s->end)
                        return refuse(s, "is not JSON: a string that does not end");
                if (*s->at == '"')
                        break;
                if (*s->at == '\\') {
                        escaped = true;
                        r = scan_escape(s);
                        if (r < 0)
                                return r;
                        continue;
                }
                if ((unsigned char) *s->at < 0x20)
                        return refuse(s, "has a raw control character (0x%02x) in a string: write \\u%04x",
                                (unsigned) *s->at, (unsigned) *s->at);
                size = utf8_character(s->at, (size_t) (s->end - s->at));
                if (size == 0)
                        return refuse(s, "is not valid UTF-8: use the _base64 key for bytes");
                s->at += size;
        }

        *ret = (Slice){.text = start, .size = (size_t) (s->at - start), .escaped = escaped};
        s->at++;
        return 0;
}

static size_t skip_digits(Scanner *s) {
        const char *start = s->at;

        while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
                s->at++;
        return (size_t) (s->at - start);
}

static int scan_number(Scanner *s) {
        const char *start = s->at;

        (void) take(s, '-');
        if (!take(s, '0') && skip_digits(s) == 0)
                return refuse(s, "is not JSON: a value was expected");
        if (s->at < s->end && *s->at >= '0' && *s->at <= '9')
                return refuse(s, "is not JSON: a number with a leading zero");
        if (take(s, '.') && skip_digits(s) == 0)
                return refuse(s, "is not JSON: no digit after the decimal point");
        if (take(s, 'e') || take(s, 'E')) {
                if (!take(s, '+'))
                        (void) take(s, '-');
                if (skip_digits(s) == 0)
                        return refuse(s, "is not JSON: no digit in the exponent");
        }
        if (s->at - start > NUMBER_SIZE_MAX)
                return refuse(s, "is a number of more than %d characters", NUMBER_SIZE_MAX);
        return 0;
}

static int scan_word(Scanner *s, const char *word) {
        size_t size = strlen(word);

        if ((size_t) (s->end - s->at) < size || memcmp(s->at, word, size) != 0)
                return refuse(s, "is not JSON: a value was expected");
        s->at += size;
        return 0;
}

/* Appends the character to text as UTF-8. */
static size_t put_character(unsigned character, char *text) {
        if (character < 0x80) {
                text[0] = (char) character;
                return 1;
        }
        if (character < 0x800) {
                text[0] = (char) (0xc0 | character >> 6);
                text[1] = (char) (0x80 | (character & 0x3f));
                return 2;
        }
        if (character < 0x10000) {
                text[0] = (char) (0xe0 | character >> 12);
                text[1] = (char) (0x80 | (character >> 6 & 0x3f));
                text[2] = (char) (0x80 | (character & 0x3f));
                return 3;
        }
        text[0] = (char) (0xf0 | character >> 18);
        text[1] = (char) (0x80 | (character >> 12 & 0x3f));
        text[2] = (char) (0x80 | (character >> 6 & 0x3f));
        text[3] = (char) (0x80 | (character & 0x3f));
        return 4;
}

/* A key as it is meant: "a" and "\u0061" are one. An escape is never shorter than what it stands for. */
static int decode_key(Slice slice, Key *ret) {
        static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        Scanner inner = {.at = slice.text, .end = slice.text + slice.size};
        char *text = malloc(slice.size + 1);
        size_t n = 0;

        if (!text)
                return -ENOMEM;
        while (inner.at < inner.end) {
                unsigned character = 0;

                if (!take(&inner, '\\')) {
                        text[n++] = *inner.at++;
                } else if (take(&inner, 'u')) {
                        /* scan_string() has been here: it cannot fail */
                        (void) scan_unicode_escape(&inner, &character);
                        n += put_character(character, text + n);
                } else {
                        text[n++] = meanings[strchr(names, *inner.at++) - names];
                }
        }
        text[n] = 0;

        ret->text = ret->owned = text;
        ret->size = n;
        return 0;
}

static int push_key(Scanner *s, Slice slice) {
        Key key = {.text = slice.text, .size = slice.size, .line = s->line};
        int r;

        if (s->n_keys == s->room) {
                size_t room = s->room ? 2 * s->room : 64;
                Key *grown = reallocarray(s->keys, room, sizeof *grown);

                if (!grown)
                        return -ENOMEM;
                s->keys = grown;
                s->room = room;
        }
        if (slice.escaped) {
                r = decode_key(slice, &key);
                if (r < 0)
                        return r;
        }
        s->levels[s->depth - 1].current = s->n_keys;
        s->keys[s->n_keys++] = key;
        return 0;
}

static int compare_keys(const void *a, const void *b) {
        const Key *x = a, *y = b;
        int r = memcmp(x->text, y->text, x->size < y->size ? x->size : y->size);

        if (r != 0)
                return r;
        if (x->size != y->size)
                return x->size < y->size ? -1 : 1;
        return x->line < y->line ? -1 : x->line > y->line;
}

/* The keys of the object that closes are those from first on: two that are the same, or away with them. */
static int pop_keys(Scanner *s, size_t first) {
        Key *keys = s->keys + first;
        size_t n = s->n_keys - first;

        if (n > 1)
                qsort(keys, n, sizeof *keys, compare_keys);
        for (size_t i = 1; i < n; i++) {
                if (keys[i].size != keys[i - 1].size ||
                        memcmp(keys[i].text, keys[i - 1].text, keys[i].size) != 0)
                        continue;
                s->levels[s->depth - 1].current = first + i;
                s->line = keys[i].line;
                return refuse(s, "stands twice in the same object (first on line %u)", keys[i - 1].line);
        }

        for (size_t i = 0; i < n; i++)
                free(keys[i].owned);
        s->n_keys = first;
        return 0;
}

static int scan_member(Scanner *s) {
        Slice slice;
        int r;

        skip_space(s);
        if (s->at == s->end || *s->at != '"')
                return refuse(s, "is not JSON: a key in double quotes was expected");
        r = scan_string(s, &slice);
        if (r < 0)
                return r;
        r = push_key(s, slice);
        if (r < 0)
                return r;
        skip_space(s);
        if (!take(s, ':'))
                return refuse(s, "is not JSON: ':' was expected after the key");
        return scan_value(s);
}

static int enter(Scanner *s, bool array) {
        if (s->depth == JSON_DEPTH_MAX)
                return refuse(s, "is nested more than %d levels deep", JSON_DEPTH_MAX);
        s->at++;
        s->levels[s->depth++] = (Level){.array = array, .current = SIZE_MAX};
        skip_space(s);
        return 0;
}

static int scan_object(Scanner *s) {
        size_t first = s->n_keys;
        int r;

        r = enter(s, /* array= */ false);
        if (r < 0)
                return r;
        if (!take(s, '}')) {
                do {
                        r = scan_member(s);
                        if (r < 0)
                                return r;
                        skip_space(s);
                } while (take(s, ','));
                if (!take(s, '}'))
                        return refuse(s, "is not JSON: ',' or '}' was expected after this value");
        }
        r = pop_keys(s, first);
        s->depth--;
        return r;
}

static int scan_array(Scanner *s) {
        int r;

        r = enter(s, /* array= */ true);
        if (r < 0)
                return r;
        if (!take(s, ']')) {
                do {
                        r = scan_value(s);
                        if (r < 0)
                                return r;
                        s->levels[s->depth - 1].index++;
                        skip_space(s);
                } while (take(s, ','));
                if (!take(s, ']'))
                        return refuse(s, "is not JSON: ',' or ']' was expected before this place");
        }
        s->depth--;
        return 0;
}

/* Recursion ends at JSON_DEPTH_MAX. */
static int scan_value(Scanner *s) {
        Slice ignored;

        skip_space(s);
        if (++s->n_values > JSON_VALUES_MAX)
                return refuse(s, "is one value too many: a document has at most %u", JSON_VALUES_MAX);
        note_wanted(s);

        switch (s->at < s->end ? *s->at : 0) {
        case '{':
                return scan_object(s);
        case '[':
                return scan_array(s);
        case '"':
                return scan_string(s, &ignored);
        case 't':
                return scan_word(s, "true");
        case 'f':
                return scan_word(s, "false");
        case 'n':
                return scan_word(s, "null");
        default:
                return scan_number(s);
        }
}

int json_scan(const char *text, size_t size, JsonError *reterr) {
        own(scanner_clear) Scanner s = {.at = text, .end = text + size, .line = 1, .reterr = reterr};
        int r;

        r = scan_value(&s);
        if (r < 0)
                return r;
        skip_space(&s);
        if (s.at != s.end)
                return refuse(&s, "is not JSON: there is text after the end of the document");
        return 0;
}

unsigned json_find_line(const char *text, size_t size, const char *key) {
        own(scanner_clear) Scanner s = {.at = text, .end = text + size, .line = 1, .wanted = key};

        (void) scan_value(&s);
        return s.wanted_line;
}
