/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Is a unit what we asked for? systemd tells its properties back; an administrator's drop-in beats what the API
 * set, and shows here. Lists compare as sets: systemd keeps some of them sorted or hashed. SystemCallFilter comes
 * back with its groups resolved, so it is compared by what must and must not be in it.
 */

#include <string.h>

#include "base/text.h"
#include "policy/syscall-groups.h"
#include "unit/describe.h"

static int compare_text(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static bool array_contains(json_object *array, const char *word) {
        for (size_t i = 0; i < json_object_array_length(array); i++) {
                json_object *item = json_object_array_get_idx(array, i);

                if (json_object_is_type(item, json_type_string) && streq(json_object_get_string(item), word))
                        return true;
        }
        return false;
}

/* Every member of a is as often in b; both have the same length. */
static bool is_same_set(json_object *a, json_object *b) {
        size_t n = json_object_array_length(a);
        own(freep) const char **words_a = NULL, **words_b = NULL;

        if (json_object_array_length(b) != n)
                return false;
        words_a = calloc(n + 1, sizeof *words_a);
        words_b = calloc(n + 1, sizeof *words_b);
        if (!words_a || !words_b)
                return false;

        for (size_t i = 0; i < n; i++) {
                words_a[i] = json_object_to_json_string_ext(json_object_array_get_idx(a, i), JSON_C_TO_STRING_PLAIN);
                words_b[i] = json_object_to_json_string_ext(json_object_array_get_idx(b, i), JSON_C_TO_STRING_PLAIN);
        }
        qsort(words_a, n, sizeof *words_a, compare_text);
        qsort(words_b, n, sizeof *words_b, compare_text);
        for (size_t i = 0; i < n; i++)
                if (!streq(words_a[i], words_b[i]))
                        return false;
        return true;
}

/* (bas): [flag, [words]] */
static bool words_parts(json_object *said, bool *ret_flag, json_object **ret_words) {
        if (!json_object_is_type(said, json_type_array) || json_object_array_length(said) != 2)
                return false;
        *ret_flag = json_object_get_boolean(json_object_array_get_idx(said, 0));
        *ret_words = json_object_array_get_idx(said, 1);
        return json_object_is_type(*ret_words, json_type_array);
}

/* Is any member of the group there? systemd knows more or fewer of them than our table, never none. */
static bool array_contains_of(json_object *array, const char *group) {
        for (const SyscallGroup *known = syscall_groups; known->name; known++) {
                own(freep) char *members = NULL;
                char *member, *rest;

                if (!streq(known->name, group))
                        continue;
                members = strdup(known->members);
                for (member = members ? strtok_r(members, " ", &rest) : NULL; member; member = strtok_r(NULL, " ", &rest))
                        if (array_contains(array, member))
                                return true;
        }
        return false;
}

/* A deny-list: each word of ours must be in it. */
static PropertyMatch compare_deny_list(const Property *asked, json_object *words) {
        for (size_t i = 0; asked->list && asked->list[i]; i++) {
                const char *word = asked->list[i];

                if (!(word[0] == '@' ? array_contains_of(words, word) : array_contains(words, word)))
                        return PROPERTY_DIFFERS;
        }
        return PROPERTY_MATCHES;
}

static const Property *first_of(const Properties *asked, const char *name) {
        for (size_t i = 0; i < asked->n; i++)
                if (streq(asked->items[i].name, name))
                        return asked->items + i;
        return NULL;
}

static PropertyMatch compare_filter(const Properties *asked, json_object *said) {
        const Property *first = first_of(asked, "SystemCallFilter");
        json_object *words;
        bool allow;

        if (first && !first->flag)
                return words_parts(said, &allow, &words) && !allow ? compare_deny_list(first, words) : PROPERTY_DIFFERS;

        /* "read" stands for the allow-list being there at all: no program starts without it. */
        if (!words_parts(said, &allow, &words) || !allow || !array_contains(words, "read"))
                return PROPERTY_DIFFERS;

        for (size_t i = 0; i < asked->n; i++) {
                const Property *property = asked->items + i;

                if (!streq(property->name, "SystemCallFilter"))
                        continue;
                for (size_t k = 0; property->list && property->list[k]; k++) {
                        const char *word = property->list[k];

                        if (word[0] == '@')
                                continue;
                        /* A name this systemd does not know is dropped from an allow-list: stricter, no loss. */
                        if (!property->flag && array_contains(words, word))
                                return PROPERTY_DIFFERS;
                }
        }
        return PROPERTY_MATCHES;
}

/* Path, argv and "ignore failure" of each command; times, pid and how it ended follow them in what systemd says. */
static bool is_same_exec(json_object *ours, json_object *said) {
        size_t n = json_object_array_length(ours);

        if (json_object_array_length(said) != n)
                return false;
        for (size_t i = 0; i < n; i++) {
                json_object *a = json_object_array_get_idx(ours, i), *b = json_object_array_get_idx(said, i);

                if (!json_object_is_type(b, json_type_array))
                        return false;
                for (size_t k = 0; k < json_object_array_length(a); k++)
                        if (!json_object_equal(json_object_array_get_idx(a, k), json_object_array_get_idx(b, k)))
                                return false;
        }
        return true;
}

PropertyMatch unit_property_compare(const Properties *asked, const char *name, json_object *said) {
        json_object *data, *ours_data;

        if (!json_object_object_get_ex(said, "data", &data))
                return PROPERTY_DIFFERS;
        if (streq(name, "SystemCallFilter"))
                return compare_filter(asked, data);

        for (size_t i = 0; i < asked->n; i++) {
                own(json_freep) json_object *ours = NULL;
                bool same;

                if (!streq(asked->items[i].name, name))
                        continue;
                if (asked->items[i].write_only)
                        return PROPERTY_NOT_COMPARED;
                if (property_to_json(asked->items + i, &ours) < 0 ||
                        !json_object_object_get_ex(ours, "data", &ours_data))
                        return PROPERTY_DIFFERS;

                if (asked->items[i].kind == PROPERTY_WORDS) {
                        bool flag_said, flag_ours;
                        json_object *words_said, *words_ours;

                        same = words_parts(data, &flag_said, &words_said) &&
                               words_parts(ours_data, &flag_ours, &words_ours) && flag_said == flag_ours &&
                               is_same_set(words_said, words_ours);
                } else if (asked->items[i].kind == PROPERTY_EXEC)
                        same = json_object_is_type(data, json_type_array) && is_same_exec(ours_data, data);
                else if (json_object_is_type(data, json_type_array) &&
                           json_object_is_type(ours_data, json_type_array))
                        same = is_same_set(data, ours_data);
                else
                        same = json_object_equal(data, ours_data);
                return same ? PROPERTY_MATCHES : PROPERTY_DIFFERS;
        }

        return PROPERTY_NOT_COMPARED;
}
