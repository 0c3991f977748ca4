/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "spec/environment.h"

static int read_text(const char *text, size_t max_bytes, char ***ret, JsonError *error) {
        own(json_freep) json_object *object = NULL;

        cr_assert_eq(json_parse(text, strlen(text), &object, error), 0);
        return environment_read(object, "env", 3, max_bytes, ret, error);
}

Test(environment, round_trip) {
        static const char text[] = "{\"A\":\"1\",\"_b2\":\"x=y\",\"LD_PRELOAD\":\"\"}";
        own(json_freep) json_object *object = json_object_new_object();
        own(strv_freep) char **environment = NULL;
        own(freep) char *written = NULL;
        JsonError error = {0};

        cr_assert_eq(read_text(text, ENVIRONMENT_SIZE_MAX, &environment, &error), 0);
        cr_expect_str_eq(environment[1], "_b2=x=y");
        cr_assert_eq(environment_add_json(object, "env", environment), 0);
        cr_assert_eq(json_to_text(object, false, &written), 0);
        cr_expect_str_eq(written, "{\"env\":{\"A\":\"1\",\"_b2\":\"x=y\",\"LD_PRELOAD\":\"\"}}");
}

Test(environment, refuses) {
        static const struct {
                const char *text, *key;
                size_t max_bytes;
        } rows[] = {
                {"{\"1A\":\"\"}", "env.1A", 100},
                {"{\"\":\"\"}", "env.", 100},
                {"{\"A=B\":\"\"}", "env.A=B", 100},
                {"{\"A B\":\"\"}", "env.A B", 100},
                {"{\"A\":1}", "env.A", 100},
                {"{\"A\":null}", "env.A", 100},
                {"{\"A\":\"12\",\"B\":\"34\"}", "env", 9}, /* with '=' and NUL: 10 */
                {"{\"A\":\"\",\"B\":\"\",\"C\":\"\",\"D\":\"\"}", "env", 100},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(strv_freep) char **environment = NULL;
                JsonError error = {0};

                cr_expect_eq(read_text(rows[i].text, rows[i].max_bytes, &environment, &error), -EINVAL, "%s",
                        rows[i].text);
                cr_expect_str_eq(error.key, rows[i].key);
        }
}

Test(environment, last_wins_in_place) {
        own(strv_freep) char **environment = NULL;
        char *more[] = {"PATH=/b", "PATHS=x", "C=3", NULL};

        cr_assert_eq(environment_set(&environment, "PATH=/a"), 0);
        cr_assert_eq(environment_set(&environment, "B=2"), 0);
        cr_assert_eq(environment_merge(&environment, more), 0);
        cr_assert_eq(environment_merge(&environment, NULL), 0);
        cr_expect_eq(strv_length(environment), 4U);
        cr_expect_str_eq(environment[0], "PATH=/b");
        cr_expect_str_eq(environment[2], "PATHS=x");
}
