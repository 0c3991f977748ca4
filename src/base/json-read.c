/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Typed reading of an object by a table of rows. json-c's own getters coerce ("12abc" reads as 12, 3.9 as 3,
 * a missing value as 0), so the type of each value is looked at before it is read, and a row's range is
 * checked on the value as it stands in the document.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

/* How long a message may get by listing what would have been right. */
#define KNOWN_KEYS_SIZE 220

typedef struct Place {
        const char *prefix, *key;
        const JsonField *field;
        JsonError *reterr;
} Place;

static void place_path(const Place *place, char *ret, size_t size) {
        (void) snprintf(ret, size, "%s%s", place->prefix, place->key);
}

static int refuse(const Place *place, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const Place *place, const char *format, ...) {
        char path[sizeof place->reterr->key], message[sizeof place->reterr->message];
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        place_path(place, path, sizeof path);
        json_error_set(place->reterr, path, "%s", message);
        return -EINVAL;
}

static const char *type_word(json_object *value) {
        switch (json_object_get_type(value)) {
        case json_type_boolean:
                return "a boolean";
        case json_type_double:
                return "a number with a fraction or an exponent";
        case json_type_int:
                return "a number";
        case json_type_object:
                return "an object";
        case json_type_array:
                return "an array";
        case json_type_string:
                return "a string";
        case json_type_null:
        default:
                return "null";
        }
}

static bool field_is_bounded(const JsonField *field) {
        return field->min > 0 || field->max > 0;
}

/* " of 1 to 256 bytes", or nothing where there is no bound. */
static void range_words(const JsonField *field, const char *unit, char *ret, size_t size) {
        ret[0] = 0;
        if (!field_is_bounded(field))
                return;
        if (field->min > 0)
                (void) snprintf(
                        ret, size, " of %" PRIu64 " to %" PRIu64 " %s", field->min, field->max, unit);
        else
                (void) snprintf(ret, size, " of at most %" PRIu64 " %s", field->max, unit);
}

static int expect_type(
        const Place *place, json_object *value, json_type type, const char *what, const char *unit) {
        char range[80];

        if (json_object_is_type(value, type))
                return 0;
        range_words(place->field, unit, range, sizeof range);
        return refuse(place, "must be %s%s, not %s", what, range, type_word(value));
}

static int expect_size(const Place *place, uint64_t size, const char *what, const char *unit) {
        const JsonField *field = place->field;
        char range[80];

        if (!field_is_bounded(field) || (size >= field->min && size <= field->max))
                return 0;
        range_words(field, unit, range, sizeof range);
        return refuse(place, "must be %s%s, not %" PRIu64, what, range, size);
}

static int read_string(const Place *place, json_object *value, void *member) {
        char **target = member;
        char *copy;
        int r;

        r = expect_type(place, value, json_type_string, "a string", "bytes");
        if (r < 0)
                return r;
        r = expect_size(place, (uint64_t) json_object_get_string_len(value), "a string", "bytes");
        if (r < 0)
                return r;
        copy = strdup(json_object_get_string(value));
        if (!copy)
                return -ENOMEM;

        free(*target);
        *target = copy;
        return 0;
}

static int read_bytes(const Place *place, json_object *value, void *member) {
        size_t size;
        Bytes *target = member, bytes;
        int r;

        r = expect_type(place, value, json_type_string, "a string", "bytes");
        if (r < 0)
                return r;
        size = (size_t) json_object_get_string_len(value);
        r = expect_size(place, size, "a string", "bytes");
        if (r < 0)
                return r;
        r = bytes_copy(json_object_get_string(value), size, &bytes);
        if (r < 0)
                return r;

        bytes_clear(target);
        *target = bytes;
        return 0;
}

static int read_base64(const Place *place, json_object *value, void *member) {
        Bytes *target = member, bytes;
        int r;

        r = expect_type(place, value, json_type_string, "a string of base64", "decoded bytes");
        if (r < 0)
                return r;
        r = base64_decode(json_object_get_string(value), (size_t) json_object_get_string_len(value), &bytes);
        if (r == -EINVAL)
                return refuse(place, "is not base64 (RFC 4648, with padding, without spaces or line ends)");
        if (r < 0)
                return r;
        r = expect_size(place, bytes.size, "base64", "decoded bytes");
        if (r < 0) {
                bytes_clear(&bytes);
                return r;
        }

        bytes_clear(target);
        *target = bytes;
        return 0;
}

/* "must be a whole number from 16 to 1048576 (MiB), not 8". */
static int refuse_number(
        const Place *place, const char *what, const char *min, const char *max, const char *got) {
        const JsonField *field = place->field;
        const char *open = field->unit ? " (" : "", *unit = field->unit ? field->unit : "";
        const char *close = field->unit ? ")" : "";

        if (!field_is_bounded(field))
                return refuse(place, "must be %s, 0 or more%s%s%s, not %s", what, open, unit, close, got);
        return refuse(
                place, "must be %s from %s to %s%s%s%s, not %s", what, min, max, open, unit, close, got);
}

/* A value as it may be shown: numbers as written (cut), anything else by its type. */
static void value_words(json_object *value, char *ret, size_t size) {
        json_type type = json_object_get_type(value);

        if (type == json_type_int || type == json_type_double)
                (void) snprintf(
                        ret, size, "%.40s", json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
        else
                (void) snprintf(ret, size, "%s", type_word(value));
}

static int read_u64(const Place *place, json_object *value, void *member) {
        const JsonField *field = place->field;
        char min[24], max[24], got[64];

        if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0) {
                /* more than 64 bits hold arrives as the largest number: out of every range with an end */
                uint64_t number = json_object_get_uint64(value);

                if (!field_is_bounded(field) || (number >= field->min && number <= field->max)) {
                        *(uint64_t *) member = number;
                        return 0;
                }
        }

        (void) snprintf(min, sizeof min, "%" PRIu64, field->min);
        (void) snprintf(max, sizeof max, "%" PRIu64, field->max);
        value_words(value, got, sizeof got);
        return refuse_number(place, "a whole number", min, max, got);
}

static void milli_words(uint64_t milli, char *ret, size_t size) {
        int n = snprintf(ret, size, "%" PRIu64 ".%03u", milli / 1000, (unsigned) (milli % 1000));

        while (n > 0 && ret[n - 1] == '0')
                ret[--n] = 0;
        if (n > 0 && ret[n - 1] == '.')
                ret[n - 1] = 0;
}

static int read_decimal(const Place *place, json_object *value, void *member) {
        const JsonField *field = place->field;
        double number = json_object_get_double(value) * 1000;
        double least = (double) field->min, most = field_is_bounded(field) ? (double) field->max : 1e15;
        bool is_number =
                json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
        char min[32], max[32], got[64];

        if (is_number && number >= least && number <= most) {
                uint64_t whole = (uint64_t) (number + 0.5);
                double rest = number - (double) whole;

                if (rest > 1e-6 || rest < -1e-6)
                        return refuse(place, "must have at most three decimals");
                *(uint64_t *) member = whole;
                return 0;
        }

        milli_words(field->min, min, sizeof min);
        milli_words(field->max, max, sizeof max);
        value_words(value, got, sizeof got);
        return refuse_number(place, "a number", min, max, got);
}

static int read_bool(const Place *place, json_object *value, void *member) {
        if (!json_object_is_type(value, json_type_boolean))
                return refuse(place, "must be true or false, not %s", type_word(value));
        *(bool *) member = json_object_get_boolean(value);
        return 0;
}

static int read_strings(const Place *place, json_object *value, void *member) {
        char ***target = member;
        char **list;
        char path[sizeof place->reterr->key];
        int r;

        r = expect_type(place, value, json_type_array, "an array of strings", "entries");
        if (r < 0)
                return r;
        r = expect_size(place, json_object_array_length(value), "an array", "entries");
        if (r < 0)
                return r;
        place_path(place, path, sizeof path);
        r = json_read_strings(value, path, SIZE_MAX, &list, place->reterr);
        if (r < 0)
                return r;

        (void) strv_free(*target);
        *target = list;
        return 0;
}

static void take_reference(json_object *value, void *member) {
        json_object **target = member;

        json_freep(target);
        *target = json_object_get(value);
}

static int read_object(const Place *place, json_object *value, void *member) {
        int r;

        r = expect_type(place, value, json_type_object, "an object", "keys");
        if (r < 0)
                return r;
        r = expect_size(place, (uint64_t) json_object_object_length(value), "an object", "keys");
        if (r < 0)
                return r;
        take_reference(value, member);
        return 0;
}

static int read_array(const Place *place, json_object *value, void *member) {
        int r;

        r = expect_type(place, value, json_type_array, "an array", "entries");
        if (r < 0)
                return r;
        r = expect_size(place, json_object_array_length(value), "an array", "entries");
        if (r < 0)
                return r;
        take_reference(value, member);
        return 0;
}

static int (*const readers[])(const Place *place, json_object *value, void *member) = {
        [JSON_STRING] = read_string,
        [JSON_BYTES] = read_bytes,
        [JSON_BYTES_BASE64] = read_base64,
        [JSON_U64] = read_u64,
        [JSON_DECIMAL_MILLI] = read_decimal,
        [JSON_BOOL] = read_bool,
        [JSON_STRINGS] = read_strings,
        [JSON_OBJECT] = read_object,
        [JSON_ARRAY] = read_array,
};

int json_read_strings(json_object *array, const char *key, size_t max, char ***ret, JsonError *reterr) {
        own(strv_freep) char **list = NULL;
        size_t n;

        if (!json_object_is_type(array, json_type_array)) {
                json_error_set(reterr, key, "must be an array of strings, not %s", type_word(array));
                return -EINVAL;
        }
        n = json_object_array_length(array);
        if (n > max) {
                json_error_set(reterr, key, "must be an array of at most %zu entries, not %zu", max, n);
                return -EINVAL;
        }

        list = calloc(n + 1, sizeof(char *));
        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *entry = json_object_array_get_idx(array, i);
                char path[sizeof reterr->key];

                if (!json_object_is_type(entry, json_type_string)) {
                        (void) snprintf(path, sizeof path, "%s[%zu]", key, i);
                        json_error_set(reterr, path, "must be a string, not %s", type_word(entry));
                        return -EINVAL;
                }
                list[i] = strdup(json_object_get_string(entry));
                if (!list[i])
                        return -ENOMEM;
        }

        *ret = hand_over(list);
        return 0;
}

/* How many letters must be put in, left out or replaced; good enough up to 31 letters. */
static size_t edit_distance(const char *a, const char *b) {
        size_t row[32], n = strlen(a), m = strlen(b);

        if (n >= ELEMENTS(row) || m >= ELEMENTS(row))
                return SIZE_MAX;
        for (size_t k = 0; k <= m; k++)
                row[k] = k;
        for (size_t i = 1; i <= n; i++) {
                size_t diagonal = row[0];

                row[0] = i;
                for (size_t k = 1; k <= m; k++) {
                        size_t replaced = diagonal + (a[i - 1] != b[k - 1]);
                        size_t shorter = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;

                        diagonal = row[k];
                        row[k] = replaced < shorter ? replaced : shorter;
                }
        }
        return row[m];
}

static const char *closest_key(const char *key, const JsonField *fields, size_t n_fields) {
        size_t best = 3;
        const char *found = NULL;

        for (size_t i = 0; i < n_fields; i++) {
                size_t distance = edit_distance(key, fields[i].key);

                /* as many changes as letters would match anything */
                if (distance < best && 2 * distance < strlen(fields[i].key)) {
                        best = distance;
                        found = fields[i].key;
                }
        }
        return found;
}

static int refuse_unknown(const Place *place, const JsonField *fields, size_t n_fields) {
        const char *close = closest_key(place->key, fields, n_fields);
        char known[KNOWN_KEYS_SIZE] = "";
        size_t n = 0;

        if (close)
                return refuse(place, "is not a known key; did you mean \"%s\"?", close);
        for (size_t i = 0; i < n_fields && n < sizeof known; i++)
                n += (size_t) snprintf(
                        known + n, sizeof known - n, "%s%s", i > 0 ? ", " : "", fields[i].key);
        if (n >= sizeof known)
                return refuse(place, "is not a known key");
        return refuse(place, "is not a known key; known here: %s", known);
}

static const JsonField *find_field(const char *key, const JsonField *fields, size_t n_fields) {
        for (size_t i = 0; i < n_fields; i++)
                if (streq(key, fields[i].key))
                        return &fields[i];
        return NULL;
}

static int check_mandatory(json_object *object, const char *prefix, const JsonField *fields, size_t n_fields,
        JsonError *reterr) {
        for (size_t i = 0; i < n_fields; i++) {
                Place place = {
                        .prefix = prefix, .key = fields[i].key, .field = &fields[i], .reterr = reterr};

                if (fields[i].mandatory && !json_object_object_get_ex(object, fields[i].key, NULL))
                        return refuse(&place, "is missing");
        }
        return 0;
}

int json_read_object(json_object *object, const char *prefix, const JsonField *fields, size_t n_fields,
        void *target, JsonError *reterr) {
        struct json_object_iterator at = json_object_iter_begin(object), end = json_object_iter_end(object);
        int r;

        for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
                Place place = {.prefix = prefix, .key = json_object_iter_peek_name(&at), .reterr = reterr};

                place.field = find_field(place.key, fields, n_fields);
                if (!place.field)
                        return refuse_unknown(&place, fields, n_fields);
                r = readers[place.field->kind](
                        &place, json_object_iter_peek_value(&at), (char *) target + place.field->offset);
                if (r < 0)
                        return r;
                if (place.field->present > 0)
                        *(bool *) ((char *) target + place.field->present - 1) = true;
        }
        return check_mandatory(object, prefix, fields, n_fields, reterr);
}
