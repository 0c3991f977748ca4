/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the namespaces file says; that the host has processors and a file system for cgroups. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "execution/host.h"

Test(host, namespaces) {
        static const struct {
                const char *text;
                uint64_t number[NAMESPACE_N];
        } rows[] = {
                {"net 4026531840\nipc 1\nuts 2\nmnt 3\n", {4026531840, 1, 2, 3}},
                {"mnt 3\nnet 5", {5, 0, 0, 3}},
                {"", {0}},
                {"net\nipc x\n uts 7\nnetwork 9\n\nmnt 18446744073709551615 and more\n",
                        {0, 0, 7, UINT64_MAX}},
                {"net 1\nnet 2\n", {2, 0, 0, 0}},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                char path[] = "/tmp/unitcell-test-XXXXXX";
                int fd = mkstemp(path);
                Host host;

                cr_assert_eq(write(fd, rows[i].text, strlen(rows[i].text)), (ssize_t) strlen(rows[i].text));
                close(fd);
                cr_assert_eq(host_look(path, &host), 0);
                unlink(path);
                for (size_t k = 0; k < NAMESPACE_N; k++)
                        cr_expect_eq(
                                host.namespaces[k], rows[i].number[k], "row %zu, %s", i, namespace_names[k]);
                cr_expect_gt(host.cpus, 0);
        }
}

/* Nobody wrote it down: nothing is compared then, and the canary says so. */
Test(host, no_file) {
        Host host;

        cr_assert_eq(host_look("/nonexistent", &host), 0);
        for (size_t k = 0; k < NAMESPACE_N; k++)
                cr_expect_eq(host.namespaces[k], 0);
}
