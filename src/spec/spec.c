/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The spec as a value: its end, and its short form for records. Reading is spec-read.c. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spec/environment.h"
#include "spec/spec-parts.h"
#include "spec/spec.h"

/* Lists of more bytes than this are bulk too, and only counted in a record. */
#define SUMMARY_LIST_BYTES 4096U

void spec_file_clear(SpecFile *file) {
        free(file->path);
        bytes_clear(&file->content);
        free(file->fd);
}

void spec_clear(Spec *spec) {
        char ***const lists[] = {&spec->argv, &spec->args, &spec->env, &spec->egress_allow, &spec->handles,
                &spec->allowed_paths, &spec->artifacts};
        char *const texts[] = {spec->task_id, spec->language, spec->network, spec->report, spec->policy,
                spec->image, spec->isolation, spec->request_key};

        for (size_t i = 0; i < ELEMENTS(lists); i++)
                strv_freep(lists[i]);
        for (size_t i = 0; i < ELEMENTS(texts); i++)
                free(texts[i]);
        for (size_t i = 0; i < spec->n_files; i++)
                spec_file_clear(&spec->files[i]);
        free(spec->files);
        bytes_clear(&spec->code);
        bytes_clear(&spec->stdin_data);
        json_freep(&spec->mounts);
        json_freep(&spec->labels);
        *spec = (Spec){0};
}

Spec *spec_free(Spec *spec) {
        if (!spec)
                return NULL;
        spec_clear(spec);
        free(spec);
        return NULL;
}

/* {"bytes": n}, and {"bytes": n, "entries": m} for a list. */
static int add_size(json_object *object, const char *key, size_t bytes, size_t entries) {
        own(json_freep) json_object *size = json_object_new_object();
        int r;

        if (!size)
                return -ENOMEM;
        r = json_add_u64(size, "bytes", bytes);
        if (r >= 0 && entries > 0)
                r = json_add_u64(size, "entries", entries);
        if (r < 0)
                return r;
        return json_add_object(object, key, hand_over(size));
}

static int add_text(json_object *object, const char *key, const char *text) {
        return text ? json_add_string(object, key, text) : 0;
}

static size_t list_bytes(char *const *list) {
        size_t bytes = 0;

        for (size_t i = 0; list && list[i]; i++)
                bytes += strlen(list[i]) + 1;
        return bytes;
}

static int add_list(json_object *object, const char *key, char *const *list) {
        size_t bytes = list_bytes(list);

        if (!list || !list[0])
                return 0;
        if (bytes > SUMMARY_LIST_BYTES)
                return add_size(object, key, bytes, strv_length(list));
        return json_add_strings(object, key, list);
}

static int add_environment(json_object *object, char *const *environment) {
        size_t bytes = list_bytes(environment);

        if (!environment || !environment[0])
                return 0;
        if (bytes > SUMMARY_LIST_BYTES)
                return add_size(object, "env", bytes, strv_length(environment));
        return environment_add_json(object, "env", environment);
}

static int add_file(json_object *files, const SpecFile *file) {
        own(json_freep) json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = json_add_string(object, "path", file->path);
        if (r < 0)
                return r;
        r = file->fd ? json_add_string(object, "fd", file->fd)
                     : json_add_u64(object, "bytes", file->content.size);
        if (r < 0)
                return r;
        if (json_object_array_add(files, object) < 0)
                return -ENOMEM;
        object = NULL;
        return 0;
}

static int add_files(json_object *object, const Spec *spec) {
        own(json_freep) json_object *files = json_object_new_array();

        if (!files)
                return -ENOMEM;
        if (spec->n_files == 0)
                return 0;
        for (size_t i = 0; i < spec->n_files; i++) {
                int r = add_file(files, &spec->files[i]);

                if (r < 0)
                        return r;
        }
        return json_add_object(object, "files", hand_over(files));
}

static int add_limits(json_object *object, const Limits *given) {
        own(json_freep) json_object *inner = json_object_new_object();

        if (!inner)
                return -ENOMEM;
        for (LimitId id = 0; id < LIMIT_N; id++) {
                int r;

                if (!given->given[id])
                        continue;
                r = limit_add_json(limits[id].top_level ? object : inner, id, given->value[id]);
                if (r < 0)
                        return r;
        }
        if (json_object_object_length(inner) == 0)
                return 0;
        return json_add_object(object, "limits", hand_over(inner));
}

static int add_what_runs(json_object *object, const Spec *spec) {
        int r;

        r = add_text(object, "task_id", spec->task_id);
        if (r < 0)
                return r;
        r = add_text(object, "language", spec->language);
        if (r < 0)
                return r;
        r = spec->code_given ? add_size(object, "code", spec->code.size, 0) : 0;
        if (r < 0)
                return r;
        r = add_list(object, "argv", spec->argv);
        if (r < 0)
                return r;
        r = add_list(object, "args", spec->args);
        if (r < 0)
                return r;
        r = spec->stdin_data.size > 0 ? add_size(object, "stdin", spec->stdin_data.size, 0) : 0;
        if (r < 0)
                return r;
        r = add_environment(object, spec->env);
        if (r < 0)
                return r;
        return add_files(object, spec);
}

static int add_lists(json_object *object, const Spec *spec) {
        const struct {
                const char *key;
                char *const *list;
        } rows[] = {
                {"egress_allow", spec->egress_allow},
                {"handles", spec->handles},
                {"allowed_paths", spec->allowed_paths},
                {"artifacts", spec->artifacts},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                int r = add_list(object, rows[i].key, rows[i].list);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_texts(json_object *object, const Spec *spec) {
        const struct {
                const char *key, *text;
        } rows[] = {
                {"network", spec->network},
                {"report", spec->report},
                {"policy", spec->policy},
                {"image", spec->image},
                {"isolation", spec->isolation},
                {"request_key", spec->request_key},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                int r = add_text(object, rows[i].key, rows[i].text);

                if (r < 0)
                        return r;
        }
        return spec->queue_ms > 0 ? json_add_u64(object, "queue_ms", spec->queue_ms) : 0;
}

int spec_summary(const Spec *spec, json_object **ret) {
        own(json_freep) json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = add_what_runs(object, spec);
        if (r < 0)
                return r;
        r = add_limits(object, &spec->limits);
        if (r < 0)
                return r;
        r = add_lists(object, spec);
        if (r < 0)
                return r;
        r = add_texts(object, spec);
        if (r < 0)
                return r;
        if (spec->mounts && json_object_array_length(spec->mounts) > 0) {
                r = json_add_object(object, "mounts", json_object_get(spec->mounts));
                if (r < 0)
                        return r;
        }
        if (spec->labels) {
                r = json_add_object(object, "labels", json_object_get(spec->labels));
                if (r < 0)
                        return r;
        }

        *ret = hand_over(object);
        return 0;
}
