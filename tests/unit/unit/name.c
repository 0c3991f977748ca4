/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names: made from our own ids and numbers, and nothing else is taken for one of ours. */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "unit/name.h"

#define ID "0123456789abcdef0123456789abcdef"

Test(name, ids) {
        char a[UNIT_ID_SIZE], b[UNIT_ID_SIZE];

        cr_assert_eq(unit_id_new(a), 0);
        cr_assert_eq(unit_id_new(b), 0);
        cr_expect(unit_id_is_valid(a));
        cr_expect_neq(strcmp(a, b), 0);
}

Test(name, what_is_an_id) {
        static const struct {
                const char *text;
                bool valid;
        } rows[] = {
                {ID, true},
                {"00000000000000000000000000000000", true},
                {"", false},
                {"0123456789abcdef0123456789abcde", false},
                {ID "0", false},
                {"0123456789ABCDEF0123456789abcdef", false},
                {"0123456789abcdeg0123456789abcdef", false},
                {"../../../../../../etc/passwd0000", false},
                {"0123456789abcdef 123456789abcdef", false},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++)
                cr_expect_eq(unit_id_is_valid(rows[i].text), rows[i].valid, "%s", rows[i].text);
}

Test(name, of_unit_slice_and_cgroup) {
        own(freep) char *unit = NULL, *slice = NULL, *largest = NULL, *cgroup = NULL;

        cr_assert_eq(unit_name_from_id(ID, &unit), 0);
        cr_expect_str_eq(unit, "unitcell-x-" ID ".service");
        cr_assert_eq(unit_slice_from_uid(0, &slice), 0);
        cr_expect_str_eq(slice, "unitcell-u0.slice");
        cr_assert_eq(unit_slice_from_uid((uid_t) 4294967294U, &largest), 0);
        cr_expect_str_eq(largest, "unitcell-u4294967294.slice");
        cr_assert_eq(unit_cgroup_path(slice, unit, &cgroup), 0);
        cr_expect_str_eq(cgroup, "/unitcell.slice/unitcell-u0.slice/unitcell-x-" ID ".service");
}

Test(name, back_to_an_id) {
        static const struct {
                const char *name;
                int result;
        } rows[] = {
                {"unitcell-x-" ID ".service", 0},
                {"unitcell-x-" ID ".scope", -EINVAL},
                {"unitcell-x-" ID, -EINVAL},
                {"unitcell-x-.service", -EINVAL},
                {"unitcell-x-" ID "0.service", -EINVAL},
                {"unitcell-x-0123456789abcdef0123456789abcdeX.service", -EINVAL},
                {"unitcell-y-" ID ".service", -EINVAL},
                {"xunitcell-x-" ID ".service", -EINVAL},
                {"unitcell-x-" ID ".service.service", -EINVAL},
                {"unitcelld.service", -EINVAL},
                {"", -EINVAL},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                char id[UNIT_ID_SIZE] = "";

                cr_expect_eq(unit_name_to_id(rows[i].name, id), rows[i].result, "%s", rows[i].name);
                if (rows[i].result == 0)
                        cr_expect_str_eq(id, ID);
        }
}
