/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "runner/namespaces.h"

Test(namespaces, compare) {
        static const struct {
                uint64_t ours[NAMESPACE_N], host[NAMESPACE_N];
                int result;
        } rows[] = {
                {{1, 2, 3, 4}, {5, 6, 7, 8}, 0},
                {{1, 2, 3, 4}, {1, 6, 7, 8}, 1 + NAMESPACE_NET},
                {{1, 2, 3, 4}, {5, 2, 7, 8}, 1 + NAMESPACE_IPC},
                {{1, 2, 3, 4}, {5, 6, 3, 8}, 1 + NAMESPACE_UTS},
                {{1, 2, 3, 4}, {5, 6, 7, 4}, 1 + NAMESPACE_MNT},
                {{1, 2, 3, 4}, {0, 0, 0, 0}, 0},
                {{1, 2, 3, 4}, {0, 0, 0, 4}, 1 + NAMESPACE_MNT},
                {{0, 2, 3, 4}, {0, 6, 7, 8}, 0},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++)
                cr_expect_eq(namespaces_compare(rows[i].ours, rows[i].host), rows[i].result, "row %zu", i);
}

Test(namespaces, record) {
        char directory[] = "/tmp/unitcell-namespaces-XXXXXX", path[64], expected[256] = "";
        uint64_t numbers[NAMESPACE_N];
        Bytes text = {};
        struct stat info;
        size_t used = 0;

        cr_assert_not_null(mkdtemp(directory));
        (void) snprintf(path, sizeof path, "%s/namespaces", directory);
        cr_assert_eq(namespaces_read("self", numbers), 0);
        for (size_t i = 0; i < NAMESPACE_N; i++)
                used += (size_t) snprintf(expected + used, sizeof expected - used, "%s %" PRIu64 "\n",
                        namespace_names[i], numbers[i]);

        for (int again = 0; again < 2; again++) {
                cr_assert_eq(namespaces_record("self", path), 0);
                cr_assert_eq(file_read(path, 4096, &text), 0);
                cr_expect_str_eq(text.data, expected);
                bytes_clear(&text);
        }
        cr_assert_eq(stat(path, &info), 0);
        cr_expect_eq(info.st_mode, S_IFREG | 0644);

        cr_expect_eq(namespaces_record("self", "/nonexistent/directory/file"), -ENOENT);
        cr_expect_eq(namespaces_record("0", path), -ENOENT);
        (void) unlink(path);
        cr_expect_eq(rmdir(directory), 0, "nothing else is left behind");
}
