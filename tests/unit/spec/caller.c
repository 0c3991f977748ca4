/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>

#include "base/own.h"
#include "spec/caller.h"

static int read_text(const char *text, Caller *ret, JsonError *error) {
        own(json_freep) json_object *object = NULL;

        cr_assert_eq(json_parse(text, strlen(text), &object, error), 0);
        return caller_from_json(object, ret, error);
}

Test(caller, round_trip) {
        char unit[] = "session-1.scope", act_for[] = "alice";
        const Caller rows[] = {
                {.uid = 1000}, {.uid = 0, .unit = unit}, {.uid = 70000, .unit = unit, .act_for = act_for}};

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(json_freep) json_object *object = NULL;
                own(caller_clear) Caller read = {0}, copy = {0};
                JsonError error = {0};

                cr_assert_eq(caller_to_json(&rows[i], &object), 0);
                cr_assert_eq(caller_from_json(object, &read, &error), 0, "%s %s", error.key, error.message);
                cr_expect(caller_is_same(&rows[i], &read));
                cr_expect_eq(!read.unit, !rows[i].unit);
                cr_assert_eq(caller_copy(&read, &copy), 0);
                cr_expect(caller_is_same(&copy, &read));
        }
}

Test(caller, the_same) {
        char a[] = "a", b[] = "b";
        const Caller one = {.uid = 1, .unit = a}, other_unit = {.uid = 1, .unit = b},
                     other_uid = {.uid = 2, .unit = a};
        const Caller for_a = {.uid = 1, .act_for = a}, for_b = {.uid = 1, .act_for = b};

        cr_expect(caller_is_same(&one, &other_unit));
        cr_expect(!caller_is_same(&one, &other_uid));
        cr_expect(!caller_is_same(&one, &for_a) && !caller_is_same(&for_a, &one));
        cr_expect(!caller_is_same(&for_a, &for_b) && caller_is_same(&for_a, &for_a));
}

Test(caller, refuses) {
        static const char *const rows[] = {
                "{}",
                "{\"uid\":-1}",
                "{\"uid\":4294967295}",
                "{\"uid\":\"0\"}",
                "{\"uid\":null}",
                "{\"uid\":1,\"gid\":1}",
                "{\"uid\":1,\"unit\":1}",
                "{\"uid\":1.0}",
                "{\"uid\":1,\"unit\":\"\"}",
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(caller_clear) Caller caller = {0};
                JsonError error = {0};

                cr_expect_eq(read_text(rows[i], &caller, &error), -EINVAL, "%s", rows[i]);
        }
}
