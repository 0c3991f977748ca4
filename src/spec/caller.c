/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The caller as a value: copied, compared, written to state files and read back. */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "spec/caller.h"

void caller_clear(Caller *caller) {
        free(caller->unit);
        free(caller->act_for);
        *caller = (Caller){0};
}

static int copy_text(const char *text, char **ret) {
        char *copy = NULL;

        if (text) {
                copy = strdup(text);
                if (!copy)
                        return -ENOMEM;
        }
        *ret = copy;
        return 0;
}

int caller_copy(const Caller *caller, Caller *ret) {
        own(caller_clear) Caller copy = {.uid = caller->uid};
        int r;

        r = copy_text(caller->unit, &copy.unit);
        if (r < 0)
                return r;
        r = copy_text(caller->act_for, &copy.act_for);
        if (r < 0)
                return r;

        *ret = copy;
        copy = (Caller){0};
        return 0;
}

bool caller_is_same(const Caller *a, const Caller *b) {
        if (a->uid != b->uid || !a->act_for != !b->act_for)
                return false;
        return !a->act_for || streq(a->act_for, b->act_for);
}

int caller_to_json(const Caller *caller, json_object **ret) {
        own(json_freep) json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = json_add_u64(object, "uid", caller->uid);
        if (r < 0)
                return r;
        r = json_add_string(object, "unit", caller->unit);
        if (r < 0)
                return r;
        r = json_add_string(object, "act_for", caller->act_for);
        if (r < 0)
                return r;

        *ret = hand_over(object);
        return 0;
}

typedef struct CallerRaw {
        Caller caller;
        uint64_t uid;
} CallerRaw;

static void caller_raw_clear(CallerRaw *raw) {
        caller_clear(&raw->caller);
}

/* null means absent here, and only here: the keys are always written. */
static int without_nulls(json_object *object, json_object **ret) {
        own(json_freep) json_object *copy = json_object_new_object();
        struct json_object_iterator at = json_object_iter_begin(object), end = json_object_iter_end(object);

        if (!copy)
                return -ENOMEM;
        for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
                json_object *value = json_object_iter_peek_value(&at);
                const char *key = json_object_iter_peek_name(&at);
                bool absent = !value && (streq(key, "unit") || streq(key, "act_for"));
                int r = absent ? 0 : json_add_object(copy, key, json_object_get(value));

                if (r < 0)
                        return r;
        }
        *ret = hand_over(copy);
        return 0;
}

int caller_from_json(json_object *object, Caller *ret, JsonError *reterr) {
        static const JsonField fields[] = {
                /* (uid_t) -1 means "no uid" to the kernel */
                {"uid", JSON_U64, offsetof(CallerRaw, uid), 0, UINT32_MAX - 1, .mandatory = true},
                {"unit", JSON_STRING, offsetof(CallerRaw, caller.unit), 1, 256},
                {"act_for", JSON_STRING, offsetof(CallerRaw, caller.act_for), 1, 256},
        };
        own(json_freep) json_object *clean = NULL;
        own(caller_raw_clear) CallerRaw raw = {0};
        int r;

        if (!json_object_is_type(object, json_type_object)) {
                json_error_set(reterr, "", "must be an object");
                return -EINVAL;
        }
        r = without_nulls(object, &clean);
        if (r < 0)
                return r;
        r = json_read_object(clean, "", fields, ELEMENTS(fields), &raw, reterr);
        if (r < 0)
                return r;

        raw.caller.uid = (uid_t) raw.uid;
        *ret = raw.caller;
        raw.caller = (Caller){0};
        return 0;
}
