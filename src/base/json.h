/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The one place where json-c is tamed. json-c accepts trailing text, comments, single quotes, NaN and duplicate
 * keys, and its getters coerce types; so text goes through a strict scanner of our own first (RFC 8259, nothing
 * more; duplicate keys and \u0000 refused; depth at most JSON_DEPTH_MAX), and values are read through the typed
 * readers below, which never coerce.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/own.h"
#include "base/text.h"

#define JSON_DEPTH_MAX 16
/* Values in one document: json-c takes some 100 bytes for each, so "[[],[],…" would cost gigabytes. */
#define JSON_VALUES_MAX 131072U

static inline void json_freep(json_object **object) {
        if (*object)
                json_object_put(*object);
}

/*
 * What is wrong with a document, and where: a path such as "limits.memory_mb" or "files[2].path" and a sentence
 * that names the permitted range. Filled on failure only. line is 1-based, 0 when not known.
 */
typedef struct JsonError {
        char key[128];
        char message[320];
        unsigned line;
} JsonError;

void json_error_set(JsonError *reterr, const char *key, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* -EINVAL with *reterr filled: not strict JSON, or the top level is not an object. -ENOMEM. */
int json_parse(const char *text, size_t size, json_object **ret, JsonError *reterr);

/*
 * The line on which the value of a key path stands, or the deepest parent that is there; 0 when none is.
 * For errors that were found after parsing, when positions are gone: JsonError.key is such a path.
 */
unsigned json_find_line(const char *text, size_t size, const char *key);

typedef enum JsonKind {
        JSON_STRING,        /* char *, no NUL inside; min..max bytes */
        JSON_BYTES,         /* Bytes, from a string; min..max bytes */
        JSON_BYTES_BASE64,  /* Bytes, from base64 text; min..max decoded bytes */
        JSON_U64,           /* uint64_t, a whole number min..max */
        JSON_DECIMAL_MILLI, /* uint64_t, thousandths of a number: 0.5 → 500; min..max in thousandths */
        JSON_BOOL,          /* bool */
        JSON_STRINGS,       /* char **, at most max entries, none with NUL */
        JSON_OBJECT,        /* json_object *, a new reference, must be an object */
        JSON_ARRAY,         /* json_object *, a new reference, must be an array; at most max entries */
} JsonKind;

/* One row for each key of an object. Reading, refusing and documenting walk the same rows. */
typedef struct JsonField {
        const char *key;
        JsonKind kind;
        size_t offset;       /* of the member in the target struct */
        uint64_t min, max;   /* meaning by kind; both 0: no bound (JSON_BOOL, JSON_OBJECT) */
        bool mandatory;
        size_t present;      /* offset + 1 of a bool in the target that is set when the key was there; 0: none */
        const char *unit;    /* of min and max, for messages ("MiB"); may be NULL */
} JsonField;

/*
 * Reads object into target by the rows; strings, bytes, lists and objects are allocated for target. A key that no
 * row names, a wrong type, null, or a value out of range: -EINVAL, *reterr names prefix + key and the permitted
 * range. prefix is "" or ends with a dot ("limits."). On failure target may be half filled: its destructor
 * handles that.
 */
int json_read_object(json_object *object, const char *prefix, const JsonField *fields, size_t n_fields,
        void *target, JsonError *reterr);

/* An array of strings into a new list; -EINVAL names key[i]. */
int json_read_strings(json_object *array, const char *key, size_t max, char ***ret, JsonError *reterr);

/* Building; all return 0 or -ENOMEM, and add to object under key. A NULL text adds null. */
int json_add_string(json_object *object, const char *key, const char *text);
int json_add_bytes(json_object *object, const char *key, const char *data, size_t size);
int json_add_u64(json_object *object, const char *key, uint64_t value);
int json_add_bool(json_object *object, const char *key, bool value);
int json_add_strings(json_object *object, const char *key, char *const *list);
/* Takes over value, also on failure. */
int json_add_object(json_object *object, const char *key, json_object *value);

/* The whole document as one line, or indented; a new string. */
int json_to_text(json_object *object, bool pretty, char **ret);
