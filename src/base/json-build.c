/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Building documents. What goes in is made valid UTF-8 on the way: a document of ours is always one. */

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/json.h"

static int new_string(const char *data, size_t size, json_object **ret) {
        own(freep) char *repaired = NULL;
        json_object *string;

        if (!utf8_is_valid(data, size)) {
                Bytes text;
                int r = utf8_repair(data, size, &text, /* ret_exact= */ NULL);

                if (r < 0)
                        return r;
                data = repaired = text.data;
                size = text.size;
        }
        if (size > INT_MAX)
                return -ENOMEM;
        string = json_object_new_string_len(size > 0 ? data : "", (int) size);
        if (!string)
                return -ENOMEM;

        *ret = string;
        return 0;
}

int json_add_object(json_object *object, const char *key, json_object *value) {
        if (json_object_object_add(object, key, value) < 0) {
                json_object_put(value);
                return -ENOMEM;
        }
        return 0;
}

int json_add_bytes(json_object *object, const char *key, const char *data, size_t size) {
        json_object *string;
        int r;

        r = new_string(data, size, &string);
        if (r < 0)
                return r;
        return json_add_object(object, key, string);
}

int json_add_string(json_object *object, const char *key, const char *text) {
        if (!text)
                return json_add_object(object, key, /* value= */ NULL);
        return json_add_bytes(object, key, text, strlen(text));
}

int json_add_u64(json_object *object, const char *key, uint64_t value) {
        json_object *number = json_object_new_uint64(value);

        return number ? json_add_object(object, key, number) : -ENOMEM;
}

int json_add_bool(json_object *object, const char *key, bool value) {
        json_object *boolean = json_object_new_boolean(value);

        return boolean ? json_add_object(object, key, boolean) : -ENOMEM;
}

int json_add_strings(json_object *object, const char *key, char *const *list) {
        own(json_freep) json_object *array = json_object_new_array();

        if (!array)
                return -ENOMEM;
        for (size_t i = 0; list && list[i]; i++) {
                json_object *string;
                int r;

                r = new_string(list[i], strlen(list[i]), &string);
                if (r < 0)
                        return r;
                if (json_object_array_add(array, string) < 0) {
                        json_object_put(string);
                        return -ENOMEM;
                }
        }
        return json_add_object(object, key, hand_over(array));
}

int json_to_text(json_object *object, bool pretty, char **ret) {
        int flags = JSON_C_TO_STRING_NOSLASHESCAPE;
        const char *text;
        char *copy;

        flags |= pretty ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED : JSON_C_TO_STRING_PLAIN;
        text = json_object_to_json_string_ext(object, flags);
        if (!text)
                return -ENOMEM;
        copy = strdup(text);
        if (!copy)
                return -ENOMEM;

        *ret = copy;
        return 0;
}
