/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/own.h"
#include "policy/store.h"

/* <root>/etc and <root>/lib, each with languages/, as an administrator and a package fill them. */
static char root[] = "/tmp/unitcell-test-XXXXXX";
static char etc[64], lib[64];
static const char *directories[] = {etc, lib, NULL};

static void set_up(void) {
        static const char *const names[] = {"etc", "etc/languages", "lib", "lib/languages"};

        cr_assert_not_null(mkdtemp(root));
        for (size_t i = 0; i < ELEMENTS(names); i++) {
                char path[128];

                (void) snprintf(path, sizeof path, "%s/%s", root, names[i]);
                cr_assert_eq(mkdir_if_missing(path, 0755), 0);
        }
        (void) snprintf(etc, sizeof etc, "%s/etc", root);
        (void) snprintf(lib, sizeof lib, "%s/lib", root);
}

static void tear_down(void) {
        char command[96];

        (void) snprintf(command, sizeof command, "rm -rf '%s'", root);
        cr_assert_eq(system(command), 0);
}

TestSuite(store, .init = set_up, .fini = tear_down);

static void put(const char *name, const char *text) {
        own(close_fdp) int fd = -1;
        char path[128];

        (void) snprintf(path, sizeof path, "%s/%s", root, name);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        cr_assert(fd >= 0);
        cr_assert_eq(fd_write_all(fd, text, strlen(text)), 0);
}

#define LANGUAGE(name)                                                                                      \
        "{\"name\":\"" name "\",\"interpreters\":[\"/usr/bin/"                                              \
                            "env\"],\"file\":\"x\",\"argv\":[\"{program}\"]}"

Test(store, earlier_wins) {
        own(store_freep) Store *store = NULL;

        put("lib/b.json", "{\"name\":\"b\",\"description\":\"lib\"}");
        put("lib/a.json", "{\"name\":\"a\",\"description\":\"lib\"}");
        put("etc/b.json", "{\"name\":\"b\",\"description\":\"etc\"}");
        put("etc/languages/x.json", LANGUAGE("x"));
        put("lib/languages/w.json", LANGUAGE("w"));
        cr_assert_eq(store_load(directories, &store), 0);
        cr_expect_eq(store->n_policies, 2U);
        cr_expect_eq(store->n_languages, 2U);
        cr_expect_eq(store->n_problems, 0U);
        cr_expect_str_eq(store->policies[0]->name, "a");
        cr_expect_str_eq(store_find_policy(store, "b")->description, "etc");
        cr_expect_str_eq(store->languages[0]->name, "w");
        cr_expect_null(store_find_policy(store, "c"));
        cr_expect_null(store_find_language(store, "b"));
}

Test(store, masks) {
        own(store_freep) Store *store = NULL;
        char path[128];

        put("lib/a.json", "{\"name\":\"a\"}");
        put("lib/b.json", "{\"name\":\"b\"}");
        put("etc/a.json", "");
        (void) snprintf(path, sizeof path, "%s/b.json", etc);
        cr_assert_eq(symlink("/dev/null", path), 0);
        cr_assert_eq(store_load(directories, &store), 0);
        cr_expect_eq(store->n_policies, 0U);
        cr_expect_eq(store->n_problems, 0U);
}

Test(store, a_bad_file_stops_nothing_else) {
        own(store_freep) Store *store = NULL;
        own(freep) char *big = malloc(300000);
        char path[128];

        memset(big, ' ', 299999);
        big[299999] = 0;
        put("lib/a.json", "{\"name\":\"a\"}");
        put("etc/a.json", "{\n\"name\":\"a\",\n\"max\":{\"memory_mb\":\"lots\"}}");
        put("lib/b.json", "{\"name\":\"b\"}");
        put("lib/big.json", big);
        put("lib/not json.json", "{\"name\":\"not json\"}");
        put("lib/readme.txt", "not read");
        put("lib/.hidden.json", "not read");
        put("lib/languages/l.json", "{}");
        (void) snprintf(path, sizeof path, "%s/fifo.json", lib);
        cr_assert_eq(mkfifo(path, 0600), 0);
        (void) snprintf(path, sizeof path, "%s/gone.json", lib);
        cr_assert_eq(symlink("/no/such/file", path), 0);

        cr_assert_eq(store_load(directories, &store), 0);
        cr_expect_eq(store->n_policies, 1U);
        cr_expect_not_null(store_find_policy(store, "b"));
        cr_expect_null(store_find_policy(store, "a"), "the file of the package does not come back");
        cr_assert_eq(store->n_problems, 6U);
        cr_expect(ends_with(store->problems[0].path, "/etc/a.json"));
        cr_expect_str_eq(store->problems[0].error.key, "max.memory_mb");
        cr_expect_eq(store->problems[0].error.line, 3U);
        cr_expect_not_null(strstr(store->problems[1].error.message, "larger than 256 KiB"));
}

Test(store, missing_directories) {
        static const char *const none[] = {"/no/such/directory", NULL};
        own(store_freep) Store *store = NULL;

        cr_assert_eq(store_load(none, &store), 0);
        cr_expect_eq(store->n_policies + store->n_languages + store->n_problems, 0U);
}

/* What ships loads, says what DESIGN says, and differs from silence in nothing. */
Test(store, shipped) {
        static const char *const shipped[] = {UNITCELL_SOURCE_POLICIES, NULL};
        static const char *const policies[] = {"build", "compute", "default", "network", "readonly"};
        static const char *const languages[] = {"bash", "c", "go", "java", "javascript", "python"};
        own(store_freep) Store *store = NULL;
        own(policy_freep) Policy *silent = NULL;
        own(json_freep) json_object *first = NULL, *second = NULL;
        static const char text[] = "{\"name\":\"default\"}";
        const Policy *policy;
        JsonError error;

        cr_assert_eq(store_load(shipped, &store), 0);
        for (size_t i = 0; i < store->n_problems; i++)
                cr_expect(false, "%s: %s %s", store->problems[i].path, store->problems[i].error.key,
                        store->problems[i].error.message);
        cr_assert_eq(store->n_languages, ELEMENTS(languages));
        for (size_t i = 0; i < ELEMENTS(languages); i++)
                cr_expect_str_eq(store->languages[i]->name, languages[i]);

        cr_assert_eq(store->n_policies, ELEMENTS(policies));
        for (size_t i = 0; i < ELEMENTS(policies); i++)
                cr_expect_str_eq(store->policies[i]->name, policies[i]);

        policy = store_find_policy(store, "default");
        cr_assert_not_null(policy);
        cr_assert_eq(policy_read(text, strlen(text), NULL, &silent, &error), 0);
        cr_assert_eq(policy_to_json(policy, &first), 0);
        cr_assert_eq(policy_to_json(silent, &second), 0);
        json_object_object_del(first, "description");
        json_object_object_del(second, "description");
        cr_expect(json_object_equal(first, second));
}
