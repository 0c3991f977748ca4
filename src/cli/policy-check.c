/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checking files with the daemon's own readers. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/own.h"
#include "cli/policy-check.h"
#include "policy/language.h"
#include "policy/policy.h"

/* As policy/store.c has it. */
#define FILE_SIZE_MAX (256U * 1024)

void file_check_clear(FileCheck *check) {
        free(check->path);
        *check = (FileCheck){};
}

/* The directory is looked at as it is on disk: "go.json" may have been named from inside of languages/. */
static bool is_language(const char *path, CheckKind kind) {
        own(freep) char *real = NULL;
        const char *end, *start;

        if (kind != CHECK_BY_PLACE)
                return kind == CHECK_LANGUAGE;
        real = realpath(path, NULL);
        if (!real)
                return false;
        end = strrchr(real, '/');
        for (start = end; start > real && start[-1] != '/';)
                start--;
        return (size_t) (end - start) == strlen("languages") && starts_with(start, "languages/");
}

static int read_document(const char *text, size_t size, const char *path, bool language, JsonError *reterr) {
        own(policy_freep) Policy *policy = NULL;
        own(language_freep) Language *read = NULL;

        return language ? language_read(text, size, path, &read, reterr)
                        : policy_read(text, size, path, &policy, reterr);
}

int file_check(const char *path, CheckKind kind, FileCheck *ret) {
        own(file_check_clear) FileCheck check = {.path = strdup(path)};
        own(bytes_clear) Bytes text = {};
        int r;

        if (!check.path)
                return -ENOMEM;
        r = file_read(path, FILE_SIZE_MAX, &text);
        if (r == -ENOMEM)
                return r;
        if (r == -EFBIG)
                json_error_set(&check.error, "", "is larger than %u KiB", FILE_SIZE_MAX / 1024);
        else if (r < 0)
                json_error_set(&check.error, "", "cannot be read: %s", strerror(-r));
        else if (text.size == 0)
                check.masks = check.ok = true;
        else {
                r = read_document(text.data, text.size, path, is_language(path, kind), &check.error);
                if (r == -ENOMEM)
                        return r;
                check.ok = r >= 0;
        }

        *ret = check;
        check = (FileCheck){};
        return 0;
}

int file_check_line(const FileCheck *check, char **ret) {
        const JsonError *error = &check->error;
        char line[16] = "";
        int n;

        if (error->line > 0)
                (void) snprintf(line, sizeof line, ":%u", error->line);
        if (check->ok)
                n = asprintf(ret, "%s: ok%s", check->path,
                        check->masks ? " (empty: it takes away what has this name)" : "");
        else
                n = asprintf(ret, "%s%s: %s%s%s", check->path, line, error->key, error->key[0] ? ": " : "",
                        error->message);
        return n < 0 ? -ENOMEM : 0;
}

static int file_to_json(const FileCheck *check, json_object **ret) {
        own(json_freep) json_object *object = json_object_new_object();
        const JsonError *error = &check->error;
        int r;

        if (!object)
                return -ENOMEM;
        r = json_add_string(object, "file", check->path);
        if (r >= 0)
                r = json_add_bool(object, "ok", check->ok);
        if (r >= 0)
                r = error->line > 0 ? json_add_u64(object, "line", error->line)
                                    : json_add_string(object, "line", NULL);
        if (r >= 0)
                r = json_add_string(object, "key", error->key[0] ? error->key : NULL);
        if (r >= 0)
                r = json_add_string(object, "message", check->ok ? NULL : error->message);
        if (r < 0)
                return r;

        *ret = hand_over(object);
        return 0;
}

int file_checks_to_json(const FileCheck *checks, size_t n, json_object **ret) {
        own(json_freep) json_object *document = json_object_new_object(), *files = json_object_new_array();
        uint64_t failed = 0;
        int r;

        if (!document || !files)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *file;

                r = file_to_json(checks + i, &file);
                if (r < 0)
                        return r;
                if (json_object_array_add(files, file) < 0) {
                        json_object_put(file);
                        return -ENOMEM;
                }
                failed += !checks[i].ok;
        }
        r = json_add_object(document, "files", hand_over(files));
        if (r >= 0)
                r = json_add_u64(document, "failed", failed);
        if (r < 0)
                return r;

        *ret = hand_over(document);
        return 0;
}
