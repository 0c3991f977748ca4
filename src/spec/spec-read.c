/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * From text to Spec. One table of rows reads the document into a raw form, in which the two ways to give the
 * same thing (code and code_base64) are still apart; then the parts are read and put in their place, then
 * what no key alone can tell is checked (spec-check.c).
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/environment.h"
#include "spec/path.h"
#include "spec/spec-parts.h"
#include "spec/spec.h"

#define QUEUE_MS_MAX (3600U * 1000)

typedef struct Raw {
        Spec spec;
        Bytes code_base64, stdin_base64;
        bool code_given, code_base64_given, stdin_given, stdin_base64_given;
        json_object *env, *files, *limits;
} Raw;

static void raw_clear(Raw *raw) {
        spec_clear(&raw->spec);
        bytes_clear(&raw->code_base64);
        bytes_clear(&raw->stdin_base64);
        json_freep(&raw->env);
        json_freep(&raw->files);
        json_freep(&raw->limits);
}

#define AT(member) offsetof(Raw, member)
#define PRESENT(member) .present = offsetof(Raw, member) + 1

static const JsonField spec_fields[] = {
        {"task_id", JSON_STRING, AT(spec.task_id), 0, 256},
        {"language", JSON_STRING, AT(spec.language), 1, 64},
        {"code", JSON_BYTES, AT(spec.code), PRESENT(code_given)},
        {"code_base64", JSON_BYTES_BASE64, AT(code_base64), PRESENT(code_base64_given)},
        {"argv", JSON_STRINGS, AT(spec.argv), 1, SPEC_ARGS_MAX},
        {"args", JSON_STRINGS, AT(spec.args), 0, SPEC_ARGS_MAX},
        {"stdin", JSON_BYTES, AT(spec.stdin_data), PRESENT(stdin_given)},
        {"stdin_base64", JSON_BYTES_BASE64, AT(stdin_base64), PRESENT(stdin_base64_given)},
        {"env", JSON_OBJECT, AT(env)},
        {"files", JSON_ARRAY, AT(files), 0, SPEC_FILES_MAX},
        {"limits", JSON_OBJECT, AT(limits)},
        {"network", JSON_STRING, AT(spec.network), 1, 32},
        {"egress_allow", JSON_STRINGS, AT(spec.egress_allow), 0, 256},
        {"handles", JSON_STRINGS, AT(spec.handles), 0, 64},
        {"allowed_paths", JSON_STRINGS, AT(spec.allowed_paths), 0, 64},
        {"mounts", JSON_ARRAY, AT(spec.mounts), 0, 64},
        {"artifacts", JSON_STRINGS, AT(spec.artifacts), 0, 64},
        {"report", JSON_STRING, AT(spec.report), 1, PATH_SIZE_MAX},
        {"policy", JSON_STRING, AT(spec.policy), 1, 64},
        {"image", JSON_STRING, AT(spec.image), 1, 64},
        {"isolation", JSON_STRING, AT(spec.isolation), 1, 32},
        {"queue_ms", JSON_U64, AT(spec.queue_ms), 0, QUEUE_MS_MAX, .unit = "ms"},
        {"request_key", JSON_STRING, AT(spec.request_key), 1, 128},
        {"labels", JSON_OBJECT, AT(spec.labels), 0, 64},
};

/* Wrong input found on the way is a refusal of the spec; anything else negative is our own trouble. */
static int as_problem(int r) {
        return r == -EINVAL ? SPEC_INVALID : r;
}

static int read_fields(json_object *object, Raw *raw, JsonError *reterr) {
        JsonField fields[ELEMENTS(spec_fields) + LIMIT_N];
        size_t n = ELEMENTS(spec_fields);

        memcpy(fields, spec_fields, sizeof spec_fields);
        for (LimitId id = 0; id < LIMIT_N; id++) {
                if (!limits[id].top_level)
                        continue;
                fields[n] = limit_field(id);
                fields[n].offset += AT(spec.limits);
                fields[n].present += AT(spec.limits);
                n++;
        }
        return json_read_object(object, "", fields, n, raw, reterr);
}

/* Two keys for one thing: text or bytes. */
static int choose(
        const char *key, bool text_given, bool base64_given, Bytes *text, Bytes *base64, JsonError *reterr) {
        if (text_given && base64_given) {
                json_error_set(reterr, key, "is given twice: use either \"%s\" or \"%s_base64\"", key, key);
                return -EINVAL;
        }
        if (base64_given) {
                *text = *base64;
                *base64 = (Bytes){0};
        }
        return 0;
}

typedef struct RawFile {
        SpecFile file;
        Bytes base64;
        bool content_given, base64_given;
} RawFile;

static void raw_file_clear(RawFile *raw) {
        spec_file_clear(&raw->file);
        bytes_clear(&raw->base64);
}

static int check_file(const RawFile *raw, const char *key, JsonError *reterr) {
        const char *problem = relative_path_problem(raw->file.path);
        char path[sizeof reterr->key];

        if (problem) {
                (void) snprintf(path, sizeof path, "%s.path", key);
                json_error_set(reterr, path, "%s", problem);
                return -EINVAL;
        }
        if (raw->content_given + raw->base64_given + (raw->file.fd != NULL) != 1) {
                json_error_set(
                        reterr, key, "must have exactly one of \"content\", \"content_base64\" and \"fd\"");
                return -EINVAL;
        }
        if (raw->file.fd && !name_is_valid(raw->file.fd, 64)) {
                (void) snprintf(path, sizeof path, "%s.fd", key);
                json_error_set(
                        reterr, path, "must be a name of 1 to 64 letters, digits, \"_\", \"-\" and \".\"");
                return -EINVAL;
        }
        return 0;
}

static int read_file(json_object *object, const char *key, SpecFile *ret, JsonError *reterr) {
        static const JsonField fields[] = {
                {"path", JSON_STRING, offsetof(RawFile, file.path), 1, PATH_SIZE_MAX, .mandatory = true},
                {"content", JSON_BYTES, offsetof(RawFile, file.content),
                        .present = offsetof(RawFile, content_given) + 1},
                {"content_base64", JSON_BYTES_BASE64, offsetof(RawFile, base64),
                        .present = offsetof(RawFile, base64_given) + 1},
                {"fd", JSON_STRING, offsetof(RawFile, file.fd), 1, 64},
        };
        own(raw_file_clear) RawFile raw = {0};
        char prefix[sizeof reterr->key];
        int r;

        if (!json_object_is_type(object, json_type_object)) {
                json_error_set(reterr, key, "must be an object with \"path\" and \"content\"");
                return -EINVAL;
        }
        (void) snprintf(prefix, sizeof prefix, "%s.", key);
        r = json_read_object(object, prefix, fields, ELEMENTS(fields), &raw, reterr);
        if (r < 0)
                return r;
        r = check_file(&raw, key, reterr);
        if (r < 0)
                return r;
        if (raw.base64_given) {
                raw.file.content = raw.base64;
                raw.base64 = (Bytes){0};
        }

        *ret = raw.file;
        raw.file = (SpecFile){0};
        return 0;
}

static int read_files(json_object *array, Spec *spec, JsonError *reterr) {
        size_t n = json_object_array_length(array);

        spec->files = calloc(n + 1, sizeof *spec->files);
        if (!spec->files)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                char key[48];
                int r;

                (void) snprintf(key, sizeof key, "files[%zu]", i);
                r = read_file(json_object_array_get_idx(array, i), key, &spec->files[i], reterr);
                if (r < 0)
                        return r;
                spec->n_files = i + 1;
        }
        return 0;
}

static bool is_writable_place(const char *path) {
        static const char *const places[] = {"/workspace", "/tmp", "/var/tmp", "/output"};

        for (size_t i = 0; i < ELEMENTS(places); i++)
                if (path_is_under(path, places[i]))
                        return true;
        return false;
}

static int normalise_allowed_paths(char **paths, JsonError *reterr) {
        for (size_t i = 0; paths && paths[i]; i++) {
                const char *problem = NULL;
                char key[48], *clean = NULL;
                int r;

                (void) snprintf(key, sizeof key, "allowed_paths[%zu]", i);
                r = absolute_path_normalise(paths[i], &clean, &problem);
                if (r == -EINVAL)
                        json_error_set(reterr, key, "%s", problem);
                if (r < 0)
                        return r;
                free(paths[i]);
                paths[i] = clean;

                if (!is_writable_place(clean)) {
                        json_error_set(reterr, key,
                                "must lie under /workspace, /tmp, /var/tmp or /output, the writable places");
                        return -EINVAL;
                }
        }
        return 0;
}

static int read_parts(Raw *raw, JsonError *reterr) {
        Spec *spec = &raw->spec;
        int r;

        r = choose("code", raw->code_given, raw->code_base64_given, &spec->code, &raw->code_base64, reterr);
        if (r < 0)
                return r;
        spec->code_given = raw->code_given || raw->code_base64_given;
        r = choose("stdin", raw->stdin_given, raw->stdin_base64_given, &spec->stdin_data, &raw->stdin_base64,
                reterr);
        if (r < 0)
                return r;
        if (raw->env) {
                r = environment_read(
                        raw->env, "env", SPEC_ENV_MAX, ENVIRONMENT_SIZE_MAX, &spec->env, reterr);
                if (r < 0)
                        return r;
        }
        if (raw->files) {
                r = read_files(raw->files, spec, reterr);
                if (r < 0)
                        return r;
        }
        if (raw->limits) {
                r = limits_read(raw->limits, "limits.", /* with_top_level= */ false, &spec->limits, reterr);
                if (r < 0)
                        return r;
        }
        return normalise_allowed_paths(spec->allowed_paths, reterr);
}

static int read_document(const char *text, size_t size, Raw *raw, JsonError *reterr) {
        own(json_freep) json_object *object = NULL;
        int r;

        r = json_parse(text, size, &object, reterr);
        if (r < 0)
                return as_problem(r);
        r = read_fields(object, raw, reterr);
        if (r < 0)
                return as_problem(r);
        r = read_parts(raw, reterr);
        if (r < 0)
                return as_problem(r);
        r = spec_check(&raw->spec, reterr);
        if (r != 0)
                return r;
        return spec_check_supported(&raw->spec, reterr);
}

int spec_read(const char *text, size_t size, Spec **ret, JsonError *reterr) {
        own(raw_clear) Raw raw = {0};
        own(spec_freep) Spec *spec = NULL;
        int r;

        if (size > SPEC_SIZE_MAX) {
                json_error_set(reterr, "", "the spec is %zu bytes, at most %u (30 MiB) are read", size,
                        SPEC_SIZE_MAX);
                return SPEC_TOO_LARGE;
        }
        r = read_document(text, size, &raw, reterr);
        if (r != 0) {
                if (r > 0 && reterr->line == 0 && reterr->key[0])
                        reterr->line = json_find_line(text, size, reterr->key);
                return r;
        }

        spec = calloc(1, sizeof *spec);
        if (!spec)
                return -ENOMEM;
        *spec = raw.spec;
        raw.spec = (Spec){0};

        *ret = hand_over(spec);
        return 0;
}
