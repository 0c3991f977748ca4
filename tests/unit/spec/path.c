/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "spec/path.h"

Test(path, relative) {
        static const char *const good[] = {
                "a", "a/b.c", "data/in.csv", ".hidden", "...", "a b", "\xc3\xa4", "a/..b"};
        static const char *const bad[] = {
                "", "/", "/a", "a/", "a//b", ".", "./a", "a/.", "..", "../a", "a/..", "a/../b"};

        for (size_t i = 0; i < ELEMENTS(good); i++)
                cr_expect_null(relative_path_problem(good[i]), "%s", good[i]);
        for (size_t i = 0; i < ELEMENTS(bad); i++)
                cr_expect_not_null(relative_path_problem(bad[i]), "%s", bad[i]);
}

Test(path, relative_bounds) {
        char path[1100];

        memset(path, 'a', sizeof path);
        path[255] = 0;
        cr_expect_null(relative_path_problem(path));
        path[255] = 'a';
        path[256] = 0;
        cr_expect_not_null(relative_path_problem(path), "a component of 256");
        for (size_t i = 1; i < 64; i += 2)
                path[i] = '/';
        path[63] = 0;
        cr_expect_null(relative_path_problem(path), "32 deep");
        path[63] = '/';
        path[65] = 0;
        cr_expect_not_null(relative_path_problem(path), "33 deep");
        memset(path, 'a', sizeof path);
        for (size_t i = 200; i < 1025; i += 200)
                path[i] = '/';
        path[1024] = 0;
        cr_expect_null(relative_path_problem(path), "1024 long");
        path[1024] = 'a';
        path[1025] = 0;
        cr_expect_not_null(relative_path_problem(path), "1025 long");
}

Test(path, absolute) {
        static const struct {
                const char *path, *clean;
        } rows[] = {
                {"/tmp/output", "/tmp/output"},
                {"/tmp/output/", "/tmp/output"},
                {"//tmp///output//", "/tmp/output"},
                {"/./tmp/./x/.", "/tmp/x"},
                {"/", "/"},
                {"/tmp/...", "/tmp/..."},
                {"/tmp/..", NULL},
                {"/../tmp", NULL},
                {"/tmp/a/../b", NULL},
                {"tmp", NULL},
                {"", NULL},
                {"./tmp", NULL},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(freep) char *clean = NULL;
                const char *problem = NULL;
                int r = absolute_path_normalise(rows[i].path, &clean, &problem);

                cr_expect_eq(r, rows[i].clean ? 0 : -EINVAL, "%s", rows[i].path);
                cr_expect_eq(!problem, !!rows[i].clean);
                if (rows[i].clean && clean)
                        cr_expect_str_eq(clean, rows[i].clean);
        }
}

Test(path, under) {
        cr_expect(path_is_under("/tmp", "/tmp") && path_is_under("/tmp/a", "/tmp") &&
                  path_is_under("a/b", "a"));
        cr_expect(!path_is_under("/tmpa", "/tmp") && !path_is_under("/tm", "/tmp") &&
                  !path_is_under("ab", "a"));
}
