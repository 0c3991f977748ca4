/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Languages from their files. A file is checked as a whole when it is read, placeholders included, so that a
 * typing error shows when the administrator reloads and not when somebody's code runs.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/document.h"
#include "policy/language.h"
#include "spec/environment.h"
#include "spec/path.h"

static void language_clear(Language *language) {
        char ***const lists[] = {&language->suffixes, &language->interpreters, &language->compile,
                &language->argv, &language->environment, &language->bind_read_only};

        for (size_t i = 0; i < ELEMENTS(lists); i++)
                strv_freep(lists[i]);
        free(language->name);
        free(language->description);
        free(language->file);
        free(language->source_path);
        *language = (Language){0};
}

Language *language_free(Language *language) {
        if (!language)
                return NULL;
        language_clear(language);
        free(language);
        return NULL;
}

static int refuse(JsonError *reterr, const char *key, size_t index, const char *problem, const char *what) {
        char path[sizeof reterr->key];

        (void) snprintf(path, sizeof path, "%s[%zu]", key, index);
        json_error_set(reterr, path, "%s, not \"%s\"", problem, what);
        return -EINVAL;
}

/* "{word}" must be one we fill; braces around anything else are the program's own. */
static bool placeholders_are_known(const char *entry) {
        static const char *const known[] = {"{interpreter}", "{code}", "{program}", "{memory_mb}", "{heap_mb}", "{cpus}"};

        for (const char *at = strchr(entry, '{'); at; at = strchr(at + 1, '{')) {
                size_t size = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_") + 2;
                bool found = size == 2 || at[size - 1] != '}';

                for (size_t i = 0; i < ELEMENTS(known) && !found; i++)
                        found = strncmp(at, known[i], size) == 0;
                if (!found)
                        return false;
        }
        return true;
}

static int check_command(const char *key, char *const *command, JsonError *reterr) {
        for (size_t i = 0; command && command[i]; i++) {
                bool is_args = streq(command[i], "{args}");

                if (i == 0 && (is_args || (command[0][0] != '/' && command[0][0] != '{')))
                        return refuse(reterr, key, i, "must be an absolute path, {interpreter} or {program}",
                                command[i]);
                if (!is_args && !placeholders_are_known(command[i]))
                        return refuse(reterr, key, i,
                                "knows {interpreter}, {code}, {program}, {memory_mb}, {heap_mb} and {cpus}, and {args} as a "
                                "whole entry",
                                command[i]);
        }
        return 0;
}

/* Paths that exist in the root of an execution: /usr, and /etc where a language binds its own files. */
static int check_paths(const char *key, char *const *paths, const char *const *places, const char *problem,
        JsonError *reterr) {
        for (size_t i = 0; paths && paths[i]; i++) {
                own(freep) char *clean = NULL;
                const char *ignored;
                bool found = false;
                int r;

                r = absolute_path_normalise(paths[i], &clean, &ignored);
                if (r == -ENOMEM)
                        return r;
                for (size_t k = 0; r >= 0 && places[k]; k++)
                        found = found || (path_is_under(clean, places[k]) && !streq(clean, places[k]));
                if (!found || !streq(clean, paths[i]))
                        return refuse(reterr, key, i, problem, paths[i]);
        }
        return 0;
}

static int check_suffixes(char *const *suffixes, JsonError *reterr) {
        for (size_t i = 0; suffixes && suffixes[i]; i++)
                if (suffixes[i][0] != '.' || !name_is_valid(suffixes[i] + 1, 16))
                        return refuse(reterr, "suffixes", i, "must be like \".py\"", suffixes[i]);
        return 0;
}

static int language_check(const Language *language, JsonError *reterr) {
        static const char *const interpreter_places[] = {"/usr", "/bin", NULL};
        static const char *const bind_places[] = {"/usr", "/etc", NULL};
        int r;

        r = document_check_name(language->name, language->source_path, reterr);
        if (r < 0)
                return r;
        if (!name_is_valid(language->file, 64) || streq(language->file, "program")) {
                json_error_set(reterr, "file",
                        "must be a plain file name such as \"main.py\", and not \"program\"");
                return -EINVAL;
        }
        r = check_suffixes(language->suffixes, reterr);
        if (r < 0)
                return r;
        r = check_paths("interpreters", language->interpreters, interpreter_places,
                "must be an absolute path under /usr or /bin, which is what an execution sees", reterr);
        if (r < 0)
                return r;
        r = check_paths("bind_read_only", language->bind_read_only, bind_places,
                "must be an absolute path under /etc or /usr", reterr);
        if (r < 0)
                return r;
        r = check_command("compile", language->compile, reterr);
        if (r < 0)
                return r;
        return check_command("argv", language->argv, reterr);
}

typedef struct Raw {
        Language language;
        json_object *environment;
} Raw;

static void raw_clear(Raw *raw) {
        language_clear(&raw->language);
        json_freep(&raw->environment);
}

static int read_document(const char *text, size_t size, Raw *raw, JsonError *reterr) {
        static const JsonField fields[] = {
                {"name", JSON_STRING, offsetof(Raw, language.name), 1, 64, .mandatory = true},
                {"description", JSON_STRING, offsetof(Raw, language.description), 0, 1024},
                {"suffixes", JSON_STRINGS, offsetof(Raw, language.suffixes), 0, 16},
                {"interpreters", JSON_STRINGS, offsetof(Raw, language.interpreters), 1, 16,
                        .mandatory = true},
                {"file", JSON_STRING, offsetof(Raw, language.file), 1, 64, .mandatory = true},
                {"compile", JSON_STRINGS, offsetof(Raw, language.compile), 1, 128},
                {"argv", JSON_STRINGS, offsetof(Raw, language.argv), 1, 128, .mandatory = true},
                {"environment", JSON_OBJECT, offsetof(Raw, environment)},
                {"bind_read_only", JSON_STRINGS, offsetof(Raw, language.bind_read_only), 0, 64},
                {"reports_stack", JSON_BOOL, offsetof(Raw, language.reports_stack)},
        };
        own(json_freep) json_object *object = NULL;
        int r;

        r = json_parse(text, size, &object, reterr);
        if (r < 0)
                return r;
        r = json_read_object(object, "", fields, ELEMENTS(fields), raw, reterr);
        if (r < 0)
                return r;
        if (raw->environment) {
                r = environment_read(raw->environment, "environment", 256, ENVIRONMENT_SIZE_MAX,
                        &raw->language.environment, reterr);
                if (r < 0)
                        return r;
        }
        return language_check(&raw->language, reterr);
}

int language_read(
        const char *text, size_t size, const char *source_path, Language **ret, JsonError *reterr) {
        own(raw_clear) Raw raw = {0};
        own(language_freep) Language *language = NULL;
        int r;

        raw.language.source_path = strdup(source_path ? source_path : "");
        if (!raw.language.source_path)
                return -ENOMEM;
        r = read_document(text, size, &raw, reterr);
        if (r < 0)
                return document_locate(text, size, r, reterr);

        language = calloc(1, sizeof *language);
        if (!language)
                return -ENOMEM;
        *language = raw.language;
        raw.language = (Language){0};

        *ret = hand_over(language);
        return 0;
}

static bool is_program(const char *path) {
        struct stat st;

        return stat(path, &st) >= 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

int language_find_interpreter(const Language *language, const char **ret, char **reterr_reason) {
        own(freep) char *tried = strdup("");

        for (size_t i = 0; language->interpreters[i]; i++) {
                char *longer;

                if (is_program(language->interpreters[i])) {
                        *ret = language->interpreters[i];
                        return 0;
                }
                if (!tried ||
                        asprintf(&longer, "%s%s%s", tried, i > 0 ? ", " : "", language->interpreters[i]) < 0)
                        return -ENOMEM;
                free(tried);
                tried = longer;
        }
        if (!reterr_reason)
                return -ENOENT;
        if (asprintf(reterr_reason, "none of %s exists on this host: install the package that brings it",
                    tried) < 0) {
                *reterr_reason = NULL;
                return -ENOMEM;
        }
        return -ENOENT;
}
