/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The store reads each directory in the order of precedence, and of each name only the first file that it
 * meets: whether that one loads, is masked or is refused, the later ones are out. So a policy that an
 * administrator tightened in /etc and mistyped is missing, and never silently the laxer one from /usr/lib.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "policy/store.h"

#define DOCUMENT_SIZE_MAX (256U * 1024)

static const char *const default_directories[] = {
        "/etc/unitcell/policies", "/run/unitcell/policies", "/usr/lib/unitcell/policies", NULL};

/* What differs between policies and languages: where they lie, how they are read, where they go. */
typedef struct Kind {
        const char *subdirectory;
        int (*load)(Store *store, const char *path, const Bytes *text, JsonError *reterr);
} Kind;

static int grow(void *array, size_t n, size_t size) {
        void **target = array, *grown = reallocarray(*target, n + 1, size);

        if (!grown)
                return -ENOMEM;
        *target = grown;
        return 0;
}

static int load_policy(Store *store, const char *path, const Bytes *text, JsonError *reterr) {
        int r;

        r = grow(&store->policies, store->n_policies, sizeof(Policy *));
        if (r < 0)
                return r;
        r = policy_read(text->data, text->size, path, &store->policies[store->n_policies], reterr);
        if (r >= 0)
                store->n_policies++;
        return r;
}

static int load_language(Store *store, const char *path, const Bytes *text, JsonError *reterr) {
        int r;

        r = grow(&store->languages, store->n_languages, sizeof(Language *));
        if (r < 0)
                return r;
        r = language_read(text->data, text->size, path, &store->languages[store->n_languages], reterr);
        if (r >= 0)
                store->n_languages++;
        return r;
}

static int add_problem(Store *store, const char *path, const JsonError *error) {
        own(freep) char *copy = strdup(path);
        int r;

        if (!copy)
                return -ENOMEM;
        r = grow(&store->problems, store->n_problems, sizeof(StoreProblem));
        if (r < 0)
                return r;
        store->problems[store->n_problems++] = (StoreProblem){.path = hand_over(copy), .error = *error};
        return 0;
}

static int add_errno_problem(Store *store, const char *path, int error) {
        JsonError problem;

        if (error == -EFBIG)
                json_error_set(&problem, "", "is larger than %u KiB", DOCUMENT_SIZE_MAX / 1024);
        else
                json_error_set(&problem, "", "cannot be read: %s", strerror(-error));
        return add_problem(store, path, &problem);
}

/* Only trouble of our own is negative; what is wrong with the file goes to the problems. */
static int load_file(Store *store, const Kind *kind, const char *path) {
        own(bytes_clear) Bytes text = {0};
        JsonError error = {0};
        int r;

        r = file_read(path, DOCUMENT_SIZE_MAX, &text);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return add_errno_problem(store, path, r);
        if (text.size == 0) /* masked */
                return 0;
        r = kind->load(store, path, &text, &error);
        return r == -EINVAL ? add_problem(store, path, &error) : r;
}

static int is_document(const struct dirent *entry) {
        return entry->d_name[0] != '.' && ends_with(entry->d_name, ".json");
}

/* In the order of their names, so that problems are listed the same way each time. */
static int list_documents(const char *directory, char ***ret) {
        own(strv_freep) char **names = NULL;
        struct dirent **entries = NULL;
        int n, r = 0;

        n = scandir(directory, &entries, is_document, alphasort);
        if (n < 0)
                return -errno;
        for (int i = 0; i < n; i++) {
                if (r >= 0)
                        r = strv_append(&names, entries[i]->d_name);
                free(entries[i]);
        }
        free(entries);
        if (r < 0)
                return r;

        *ret = hand_over(names);
        return 0;
}

static int load_directory(Store *store, const Kind *kind, const char *directory, char ***seen) {
        own(strv_freep) char **names = NULL;
        int r;

        r = list_documents(directory, &names);
        if (r == -ENOENT)
                return 0;
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return add_errno_problem(store, directory, r);

        for (size_t i = 0; names && names[i]; i++) {
                own(freep) char *path = NULL;

                if (strv_contains(*seen, names[i]))
                        continue;
                r = strv_append(seen, names[i]);
                if (r < 0)
                        return r;
                if (asprintf(&path, "%s/%s", directory, names[i]) < 0) {
                        path = NULL;
                        return -ENOMEM;
                }
                r = load_file(store, kind, path);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int load_kind(Store *store, const Kind *kind, const char *const *directories) {
        own(strv_freep) char **seen = NULL;

        for (size_t i = 0; directories[i]; i++) {
                own(freep) char *directory = NULL;
                int r;

                if (asprintf(&directory, "%s%s", directories[i], kind->subdirectory) < 0) {
                        directory = NULL;
                        return -ENOMEM;
                }
                r = load_directory(store, kind, directory, &seen);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int compare_policies(const void *a, const void *b) {
        const Policy *const *x = a, *const *y = b;

        return strcmp((*x)->name, (*y)->name);
}

static int compare_languages(const void *a, const void *b) {
        const Language *const *x = a, *const *y = b;

        return strcmp((*x)->name, (*y)->name);
}

int store_load(const char *const *directories, Store **ret) {
        static const Kind kinds[] = {{"", load_policy}, {"/languages", load_language}};
        own(store_freep) Store *store = calloc(1, sizeof *store);

        if (!store)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTS(kinds); i++) {
                int r = load_kind(store, &kinds[i], directories ? directories : default_directories);

                if (r < 0)
                        return r;
        }
        if (store->n_policies > 1)
                qsort(store->policies, store->n_policies, sizeof(Policy *), compare_policies);
        if (store->n_languages > 1)
                qsort(store->languages, store->n_languages, sizeof(Language *), compare_languages);

        *ret = hand_over(store);
        return 0;
}

Store *store_free(Store *store) {
        if (!store)
                return NULL;
        for (size_t i = 0; i < store->n_policies; i++)
                (void) policy_free(store->policies[i]);
        for (size_t i = 0; i < store->n_languages; i++)
                (void) language_free(store->languages[i]);
        for (size_t i = 0; i < store->n_problems; i++)
                free(store->problems[i].path);
        free(store->policies);
        free(store->languages);
        free(store->problems);
        free(store);
        return NULL;
}

const Policy *store_find_policy(const Store *store, const char *name) {
        for (size_t i = 0; i < store->n_policies; i++)
                if (streq(store->policies[i]->name, name))
                        return store->policies[i];
        return NULL;
}

const Language *store_find_language(const Store *store, const char *name) {
        for (size_t i = 0; i < store->n_languages; i++)
                if (streq(store->languages[i]->name, name))
                        return store->languages[i];
        return NULL;
}
