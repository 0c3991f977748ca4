/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lenient reading of what the daemon wrote. */

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "cli/document.h"

static inline void tokener_freep(json_tokener **tokener) {
        if (*tokener)
                json_tokener_free(*tokener);
}

static int parse(const char *text, json_type type, json_object **ret) {
        own(tokener_freep) json_tokener *tokener = json_tokener_new();
        own(json_freep) json_object *object = NULL;
        size_t size = strlen(text);

        if (!tokener)
                return -ENOMEM;
        if (size >= INT_MAX) /* json-c counts in int */
                return -EINVAL;
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
        object = json_tokener_parse_ex(tokener, text, (int) size + 1);
        if (!object || !json_object_is_type(object, type))
                return -EINVAL;

        *ret = hand_over(object);
        return 0;
}

int document_parse(const char *text, json_object **ret) {
        return parse(text, json_type_object, ret);
}

int document_parse_list(const char *text, json_object **ret) {
        return parse(text, json_type_array, ret);
}

static json_object *find(json_object *object, const char *key, json_type type) {
        json_object *value;

        if (!json_object_is_type(object, json_type_object) ||
                !json_object_object_get_ex(object, key, &value))
                return NULL;
        return json_object_is_type(value, type) ? value : NULL;
}

const char *document_text(json_object *object, const char *key) {
        json_object *value = find(object, key, json_type_string);

        return value ? json_object_get_string(value) : NULL;
}

json_object *document_object(json_object *object, const char *key) {
        return find(object, key, json_type_object);
}

json_object *document_list(json_object *object, const char *key) {
        return find(object, key, json_type_array);
}

bool document_flag(json_object *object, const char *key) {
        json_object *value = find(object, key, json_type_boolean);

        return value && json_object_get_boolean(value);
}

uint64_t document_number(json_object *object, const char *key, uint64_t fallback) {
        json_object *value = find(object, key, json_type_int);

        return value && json_object_get_int64(value) >= 0 ? json_object_get_uint64(value) : fallback;
}
