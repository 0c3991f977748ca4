/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Every policy and language of the source tree loads, is named as its file is, and can be used. */

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/plan.h"

static size_t count_files(const char *directory) {
        DIR *dir = opendir(directory);
        struct dirent *entry;
        size_t n = 0;

        cr_assert_not_null(dir, "%s", directory);
        while ((entry = readdir(dir)))
                n += ends_with(entry->d_name, ".json");
        (void) closedir(dir);
        return n;
}

Test(policies, all_load) {
        const char *const directories[] = {SOURCE_POLICIES, NULL};
        own(store_freep) Store *store = NULL;

        cr_assert_eq(store_load(directories, &store), 0);
        for (size_t i = 0; i < store->n_problems; i++)
                cr_expect_fail("%s:%u: %s %s", store->problems[i].path, store->problems[i].error.line,
                        store->problems[i].error.key, store->problems[i].error.message);
        cr_expect_eq(store->n_policies, count_files(SOURCE_POLICIES));
        cr_expect_eq(store->n_languages, count_files(SOURCE_POLICIES "/languages"));
        cr_expect_not_null(store_find_policy(store, "default"));
}

/* Plain argv under each: the defaults of a policy fit its own maxima. */
Test(policies, all_make_a_plan) {
        const char *const directories[] = {SOURCE_POLICIES, NULL};
        own(store_freep) Store *store = NULL;

        cr_assert_eq(store_load(directories, &store), 0);
        for (size_t i = 0; i < store->n_policies; i++) {
                own(spec_freep) Spec *spec = NULL;
                own(plan_freep) Plan *plan = NULL;
                JsonError error = {};
                char text[256];

                if (!policy_allows_language(store->policies[i], "argv"))
                        continue;
                (void) snprintf(text, sizeof text, "{\"argv\":[\"/bin/true\"],\"policy\":\"%s\"}",
                        store->policies[i]->name);
                cr_assert_eq(
                        spec_read(text, strlen(text), &spec, &error), 0, "%s %s", error.key, error.message);
                cr_expect_eq(plan_resolve(spec, store, /* host_cpus= */ 1, &plan, &error), PLAN_OK,
                        "%s: %s %s", store->policies[i]->name, error.key, error.message);
        }
}
