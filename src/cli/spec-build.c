/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Building specs. Bytes that are no text, or that grow more as text than as base64, go as base64. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/spec-build.h"

void spec_parts_clear(SpecParts *parts) {
        json_freep(&parts->base);
        bytes_clear(&parts->code);
        bytes_clear(&parts->stdin_data);
        strv_freep(&parts->env);
        strv_freep(&parts->labels);
        strv_freep(&parts->allowed_paths);
        for (size_t i = 0; i < parts->n_files; i++) {
                free(parts->files[i].path);
                bytes_clear(&parts->files[i].content);
        }
        free(parts->files);
        *parts = (SpecParts){};
}

int spec_parts_add_file(SpecParts *parts, const char *path, Bytes *content) {
        SpecPart *grown = reallocarray(parts->files, parts->n_files + 1, sizeof *grown);
        char *copy = strdup(path);

        if (grown)
                parts->files = grown;
        if (!grown || !copy) {
                free(copy);
                return -ENOMEM;
        }
        parts->files[parts->n_files++] = (SpecPart){.path = copy, .content = *content};
        *content = (Bytes){};
        return 0;
}

/* Strict readers take no U+0000, and each control character is six bytes of document. */
static bool goes_as_text(const Bytes *bytes) {
        size_t escapes = 0;

        for (size_t i = 0; i < bytes->size; i++) {
                if (!bytes->data[i])
                        return false;
                escapes += (unsigned char) bytes->data[i] < 0x20 && bytes->data[i] != '\n' &&
                           bytes->data[i] != '\t';
        }
        return escapes < bytes->size / 16 + 16 && utf8_is_valid(bytes->data ? bytes->data : "", bytes->size);
}

/* "<key>" or "<key>_base64"; the other one goes. */
static int set_bytes(json_object *object, const char *key, const Bytes *bytes) {
        own(freep) char *text = NULL;
        char base64_key[32];
        int r;

        (void) snprintf(base64_key, sizeof base64_key, "%s_base64", key);
        json_object_object_del(object, key);
        json_object_object_del(object, base64_key);
        if (goes_as_text(bytes))
                return json_add_bytes(object, key, bytes->data ? bytes->data : "", bytes->size);

        r = base64_encode(bytes->data, bytes->size, &text);
        return r < 0 ? r : json_add_string(object, base64_key, text);
}

static int check_text(const char *option, const char *text, JsonError *reterr) {
        if (!text || utf8_is_valid(text, strlen(text)))
                return 0;
        json_error_set(reterr, option, "must be UTF-8");
        return -EINVAL;
}

static int check_texts(const char *option, char *const *texts, JsonError *reterr) {
        int r = 0;

        for (size_t i = 0; texts && texts[i] && r >= 0; i++)
                r = check_text(option, texts[i], reterr);
        return r;
}

static int check_all_texts(const SpecParts *parts, JsonError *reterr) {
        const struct {
                const char *option, *text;
        } texts[] = {
                {"--language", parts->language}, {"--policy", parts->policy}, {"--task-id", parts->task_id}};
        const struct {
                const char *option;
                char *const *list;
        } lists[] = {{"the program's words", parts->argv}, {"the arguments", parts->args},
                {"--env", parts->env}, {"--label", parts->labels}, {"--allow-path", parts->allowed_paths}};
        int r = 0;

        for (size_t i = 0; i < ELEMENTS(texts) && r >= 0; i++)
                r = check_text(texts[i].option, texts[i].text, reterr);
        for (size_t i = 0; i < ELEMENTS(lists) && r >= 0; i++)
                r = check_texts(lists[i].option, lists[i].list, reterr);
        for (size_t i = 0; i < parts->n_files && r >= 0; i++)
                r = check_text("--file", parts->files[i].path, reterr);
        return r;
}

/* The member of that type; made, or made anew, when it is not there. Borrowed. */
static int ensure(json_object *object, const char *key, json_type type, json_object **ret) {
        json_object *member;
        int r;

        if (!json_object_object_get_ex(object, key, &member) || !json_object_is_type(member, type)) {
                member = type == json_type_object ? json_object_new_object() : json_object_new_array();
                if (!member)
                        return -ENOMEM;
                r = json_add_object(object, key, member);
                if (r < 0)
                        return r;
        }
        *ret = member;
        return 0;
}

/* "NAME=VALUE" each, into an object. */
static int add_assignments(json_object *object, const char *key, char *const *list) {
        json_object *member;
        int r;

        if (!list)
                return 0;
        r = ensure(object, key, json_type_object, &member);
        for (size_t i = 0; list[i] && r >= 0; i++) {
                own(freep) char *name = strndup(list[i], strcspn(list[i], "="));

                if (!name)
                        return -ENOMEM;
                r = json_add_string(member, name, list[i] + strlen(name) + (list[i][strlen(name)] == '='));
        }
        return r;
}

static int add_limits(json_object *object, const Limits *given) {
        json_object *member;
        int r = 0;

        for (LimitId id = 0; id < LIMIT_N && r >= 0; id++) {
                if (!given->given[id])
                        continue;
                member = object;
                if (!limits[id].top_level)
                        r = ensure(object, "limits", json_type_object, &member);
                if (r >= 0)
                        r = limit_add_json(member, id, given->value[id]);
        }
        return r;
}

static int add_allowed_paths(json_object *object, char *const *paths) {
        json_object *array;
        int r;

        if (!paths)
                return 0;
        r = ensure(object, "allowed_paths", json_type_array, &array);
        for (size_t i = 0; paths[i] && r >= 0; i++) {
                json_object *text = json_object_new_string(paths[i]);

                if (!text || json_object_array_add(array, text) < 0)
                        return -ENOMEM;
        }
        return r;
}

static int add_files(json_object *object, const SpecParts *parts) {
        json_object *array;
        int r;

        if (parts->n_files == 0)
                return 0;
        r = ensure(object, "files", json_type_array, &array);
        for (size_t i = 0; i < parts->n_files && r >= 0; i++) {
                own(json_freep) json_object *file = json_object_new_object();

                if (!file)
                        return -ENOMEM;
                r = json_add_string(file, "path", parts->files[i].path);
                if (r >= 0)
                        r = set_bytes(file, "content", &parts->files[i].content);
                if (r >= 0 && json_object_array_add(array, file) < 0)
                        r = -ENOMEM;
                if (r >= 0)
                        file = NULL;
        }
        return r;
}

static void forget(json_object *object, const char *const *keys) {
        for (; *keys; keys++)
                json_object_object_del(object, *keys);
}

static int add_what_runs(json_object *object, const SpecParts *parts) {
        int r = 0;

        if (parts->argv) {
                forget(object, (const char *const[]){"language", "code", "code_base64", "args", NULL});
                r = json_add_strings(object, "argv", parts->argv);
        }
        if (r >= 0 && parts->language)
                r = json_add_string(object, "language", parts->language);
        if (r >= 0 && parts->code_given) {
                forget(object, (const char *const[]){"argv", "args", NULL});
                r = set_bytes(object, "code", &parts->code);
        }
        if (r >= 0 && parts->args && parts->args[0])
                r = json_add_strings(object, "args", parts->args);
        if (r >= 0 && parts->stdin_given)
                r = set_bytes(object, "stdin", &parts->stdin_data);
        return r;
}

static int add_rest(json_object *object, const SpecParts *parts) {
        int r = 0;

        if (parts->task_id)
                r = json_add_string(object, "task_id", parts->task_id);
        if (r >= 0 && parts->policy)
                r = json_add_string(object, "policy", parts->policy);
        if (r >= 0)
                r = add_limits(object, &parts->limits);
        if (r >= 0)
                r = add_assignments(object, "env", parts->env);
        if (r >= 0)
                r = add_assignments(object, "labels", parts->labels);
        if (r >= 0)
                r = add_allowed_paths(object, parts->allowed_paths);
        return r < 0 ? r : add_files(object, parts);
}

int spec_build(const SpecParts *parts, json_object **ret, JsonError *reterr) {
        own(json_freep) json_object *object = NULL;
        int r;

        r = check_all_texts(parts, reterr);
        if (r < 0)
                return r;
        object = parts->base ? json_object_get(parts->base) : json_object_new_object();
        if (!object)
                return -ENOMEM;
        r = add_what_runs(object, parts);
        if (r < 0)
                return r;
        r = add_rest(object, parts);
        if (r < 0)
                return r;

        *ret = hand_over(object);
        return 0;
}
