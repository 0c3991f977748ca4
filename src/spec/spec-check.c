/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What a single key cannot tell: the ways to say what runs exclude each other, sums and sizes have bounds,
 * files must fit beside each other. And the list of what is understood but not built yet: a row goes away
 * with the issue that builds it.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "spec/path.h"
#include "spec/spec-parts.h"

#define ARGUMENT_SIZE_MAX (128U * 1024) /* MAX_ARG_STRLEN of the kernel, with the NUL */
#define ARGUMENTS_SIZE_MAX (1024U * 1024)
#define LABEL_KEY_MAX 128U
#define LABEL_VALUE_MAX 1024U

static int invalid(JsonError *reterr, const char *key, const char *message) {
        json_error_set(reterr, key, "%s", message);
        return SPEC_INVALID;
}

static int check_what_runs(const Spec *spec, JsonError *reterr) {
        if (spec->argv) {
                if (spec->language)
                        return invalid(reterr, "language", "cannot stand beside \"argv\": give one of them");
                if (spec->code_given)
                        return invalid(reterr, "code", "cannot stand beside \"argv\": give one of them");
                if (spec->argv[0][0] != '/' || strlen(spec->argv[0]) >= 4096)
                        return invalid(reterr, "argv[0]",
                                "must be the absolute path of a program, such as \"/usr/bin/env\"");
                return 0;
        }
        if (!spec->language && !spec->code_given)
                return invalid(reterr, "code", "is missing: give \"language\" and \"code\", or \"argv\"");
        if (!spec->language)
                return invalid(reterr, "language", "is missing: \"code\" needs to know its language");
        if (!spec->code_given)
                return invalid(reterr, "code", "is missing: \"language\" needs \"code\" or \"code_base64\"");
        return 0;
}

static int check_arguments(const char *key, char *const *list, size_t *total, JsonError *reterr) {
        for (size_t i = 0; list && list[i]; i++) {
                size_t size = strlen(list[i]) + 1;
                char path[48];

                *total += size;
                if (size <= ARGUMENT_SIZE_MAX)
                        continue;
                (void) snprintf(path, sizeof path, "%s[%zu]", key, i);
                json_error_set(reterr, path, "must be at most %u bytes, not %zu: use stdin or a file",
                        ARGUMENT_SIZE_MAX - 1, size - 1);
                return SPEC_INVALID;
        }
        if (*total > ARGUMENTS_SIZE_MAX) {
                json_error_set(reterr, key, "must be at most %u bytes in all, not %zu: use stdin or a file",
                        ARGUMENTS_SIZE_MAX, *total);
                return SPEC_INVALID;
        }
        return 0;
}

static int check_sizes(const Spec *spec, JsonError *reterr) {
        const struct {
                const char *key;
                size_t size, max;
        } rows[] = {
                {"code", spec->code.size, SPEC_CODE_MAX},
                {"stdin", spec->stdin_data.size, SPEC_STDIN_MAX},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                if (rows[i].size <= rows[i].max)
                        continue;
                json_error_set(reterr, rows[i].key, "is %zu bytes, at most %zu (%zu MiB) are allowed",
                        rows[i].size, rows[i].max, rows[i].max / (1024 * 1024));
                return SPEC_TOO_LARGE;
        }
        return 0;
}

/* A file cannot be another one's directory, nor stand twice. */
static int check_files(const Spec *spec, JsonError *reterr) {
        for (size_t i = 0; i < spec->n_files; i++)
                for (size_t k = 0; k < spec->n_files; k++) {
                        const char *path = spec->files[i].path, *other = spec->files[k].path;
                        char key[48];

                        if (i == k || !path_is_under(path, other) || (i < k && streq(path, other)))
                                continue;
                        (void) snprintf(key, sizeof key, "files[%zu].path", i);
                        json_error_set(reterr, key,
                                streq(path, other)
                                        ? "is the same path as that of files[%zu]"
                                        : "lies below files[%zu], which is a file, not a directory",
                                k);
                        return SPEC_INVALID;
                }
        return 0;
}

static int check_allowed_paths(const Spec *spec, JsonError *reterr) {
        static const char workspace[] = "/workspace/";

        for (size_t i = 0; spec->allowed_paths && spec->allowed_paths[i]; i++)
                for (size_t k = 0; k < spec->n_files; k++) {
                        const char *path = spec->allowed_paths[i];
                        char key[48];

                        if (!starts_with(path, workspace) ||
                                !path_is_under(path + strlen(workspace), spec->files[k].path))
                                continue;
                        (void) snprintf(key, sizeof key, "allowed_paths[%zu]", i);
                        json_error_set(
                                reterr, key, "is to be a directory, but files[%zu] is a file there", k);
                        return SPEC_INVALID;
                }
        return 0;
}

static int check_labels(json_object *labels, JsonError *reterr) {
        struct json_object_iterator at, end;

        if (!labels)
                return 0;
        at = json_object_iter_begin(labels);
        end = json_object_iter_end(labels);
        for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
                const char *name = json_object_iter_peek_name(&at);
                json_object *value = json_object_iter_peek_value(&at);
                char key[sizeof reterr->key];

                (void) snprintf(key, sizeof key, "labels.%s", name);
                if (strlen(name) == 0 || strlen(name) > LABEL_KEY_MAX)
                        return invalid(reterr, key, "must have a name of 1 to 128 bytes");
                if (!json_object_is_type(value, json_type_string) ||
                        json_object_get_string_len(value) > (int) LABEL_VALUE_MAX)
                        return invalid(reterr, key, "must be a string of at most 1024 bytes");
        }
        return 0;
}

static int check_names(const Spec *spec, JsonError *reterr) {
        if (spec->language && !name_is_valid(spec->language, 64))
                return invalid(
                        reterr, "language", "must be a name of letters, digits, \"_\", \"-\" and \".\"");
        if (spec->policy && !name_is_valid(spec->policy, 64))
                return invalid(
                        reterr, "policy", "must be a name of letters, digits, \"_\", \"-\" and \".\"");
        if (spec->network && !streq(spec->network, "deny") && !streq(spec->network, "allowlist"))
                return invalid(reterr, "network", "must be \"deny\" or \"allowlist\"");
        return 0;
}

int spec_check(const Spec *spec, JsonError *reterr) {
        size_t total = 0;
        int r;

        r = check_what_runs(spec, reterr);
        if (r != 0)
                return r;
        r = check_names(spec, reterr);
        if (r != 0)
                return r;
        r = check_sizes(spec, reterr);
        if (r != 0)
                return r;
        r = check_arguments("argv", spec->argv, &total, reterr);
        if (r != 0)
                return r;
        r = check_arguments("args", spec->args, &total, reterr);
        if (r != 0)
                return r;
        r = check_files(spec, reterr);
        if (r != 0)
                return r;
        r = check_allowed_paths(spec, reterr);
        if (r != 0)
                return r;
        return check_labels(spec->labels, reterr);
}

typedef enum NotBuiltKind { NOT_BUILT_NUMBER, NOT_BUILT_TEXT, NOT_BUILT_LIST, NOT_BUILT_ARRAY } NotBuiltKind;

/* The only value that is accepted: 0, the empty list, or the text (NULL: none at all). */
static const struct NotBuilt {
        const char *key;
        NotBuiltKind kind;
        size_t offset;
        const char *accepted;
} not_built[] = {
        {"limits.external_calls", NOT_BUILT_NUMBER, offsetof(Spec, limits.value[LIMIT_EXTERNAL_CALLS])},
        {"network", NOT_BUILT_TEXT, offsetof(Spec, network), "deny"},
        {"egress_allow", NOT_BUILT_LIST, offsetof(Spec, egress_allow)},
        {"handles", NOT_BUILT_LIST, offsetof(Spec, handles)},
        {"artifacts", NOT_BUILT_LIST, offsetof(Spec, artifacts)},
        {"report", NOT_BUILT_TEXT, offsetof(Spec, report), "report.json"},
        {"image", NOT_BUILT_TEXT, offsetof(Spec, image), "host"},
        {"isolation", NOT_BUILT_TEXT, offsetof(Spec, isolation), "unit"},
        {"queue_ms", NOT_BUILT_NUMBER, offsetof(Spec, queue_ms)},
        {"request_key", NOT_BUILT_TEXT, offsetof(Spec, request_key)},
};

static bool is_accepted(const Spec *spec, const struct NotBuilt *row) {
        const void *member = (const char *) spec + row->offset;
        const char *text;

        switch (row->kind) {
        case NOT_BUILT_NUMBER:
                return *(const uint64_t *) member == 0;
        case NOT_BUILT_TEXT:
                text = *(const char *const *) member;
                return !text || (row->accepted && streq(text, row->accepted));
        case NOT_BUILT_LIST:
                return strv_length(*(char *const *const *) member) == 0;
        case NOT_BUILT_ARRAY:
        default:
                return !*(json_object *const *) member ||
                       json_object_array_length(*(json_object *const *) member) == 0;
        }
}

static void refuse_not_built(const struct NotBuilt *row, JsonError *reterr) {
        static const char sentence[] = "is understood but not supported by this version";

        switch (row->kind) {
        case NOT_BUILT_NUMBER:
                json_error_set(reterr, row->key, "%s: leave it out or use 0", sentence);
                return;
        case NOT_BUILT_LIST:
        case NOT_BUILT_ARRAY:
                json_error_set(reterr, row->key, "%s: leave it out or use []", sentence);
                return;
        case NOT_BUILT_TEXT:
        default:
                if (row->accepted)
                        json_error_set(
                                reterr, row->key, "%s: leave it out or use \"%s\"", sentence, row->accepted);
                else
                        json_error_set(reterr, row->key, "%s: leave it out", sentence);
        }
}

int spec_check_supported(const Spec *spec, JsonError *reterr) {
        for (size_t i = 0; i < ELEMENTS(not_built); i++) {
                if (is_accepted(spec, &not_built[i]))
                        continue;
                refuse_not_built(&not_built[i], reterr);
                return SPEC_NOT_SUPPORTED;
        }
        for (size_t i = 0; i < spec->n_files; i++) {
                char key[48];

                if (!spec->files[i].fd)
                        continue;
                (void) snprintf(key, sizeof key, "files[%zu].fd", i);
                json_error_set(reterr, key,
                        "is understood but not supported by this version: use \"content\" or "
                        "\"content_base64\"");
                return SPEC_NOT_SUPPORTED;
        }
        return 0;
}
