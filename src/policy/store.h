/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * All policies and languages that are in force, read from their directories: a file in an earlier directory
 * replaces the file of the same name in later ones; an empty file or a link to /dev/null masks it. A file that does
 * not load is refused whole and stops nothing else; what was wrong is kept for whoever asks.
 */

#include <stddef.h>

#include "policy/language.h"
#include "policy/policy.h"

typedef struct StoreProblem {
        char *path;
        JsonError error;
} StoreProblem;

typedef struct Store {
        Policy **policies; /* sorted by name */
        size_t n_policies;
        Language **languages; /* sorted by name */
        size_t n_languages;
        StoreProblem *problems;
        size_t n_problems;
} Store;

/* Earlier wins. Languages are in <directory>/languages. NULL-terminated; NULL: the built-in three. */
int store_load(const char *const *directories, Store **ret);
Store *store_free(Store *store);
DEFINE_OWN(Store, store_free);
const Policy *store_find_policy(const Store *store, const char *name);
const Language *store_find_language(const Store *store, const char *name);
