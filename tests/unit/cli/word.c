/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>

#include "base/own.h"
#include "cli/word.h"

Test(word, durations) {
        static const struct {
                const char *text;
                uint64_t ms;
        } good[] = {
                {"5", 5000},
                {"5s", 5000},
                {"5 s", 5000},
                {"500ms", 500},
                {"2min", 120000},
                {"1h", 3600000},
                {"1.5s", 1500},
                {"0.25", 250},
                {"0", 0},
                {"1.5h", 5400000},
                {"2m", 120000},
                {"0.001s", 1},
                {"007s", 7000},
        };
        static const char *const bad[] = {
                "",
                "s",
                "-1",
                "+1",
                "5x",
                "5ss",
                "1e3",
                ".5",
                "5.",
                "0.0001s",
                "0.5ms",
                " 5",
                "5s ",
                "1min 30s",
                "nan",
                "18446744073709551615",
                "99999999999999999999999999h",
                "18446744073709551h",
        };

        for (size_t i = 0; i < ELEMENTS(good); i++) {
                uint64_t ms = 42;

                cr_expect_eq(parse_duration_ms(good[i].text, &ms), 0, "%s", good[i].text);
                cr_expect_eq(ms, good[i].ms, "%s is %lu", good[i].text, (unsigned long) ms);
        }
        for (size_t i = 0; i < ELEMENTS(bad); i++) {
                uint64_t ms;

                cr_expect_lt(parse_duration_ms(bad[i], &ms), 0, "%s", bad[i]);
        }
}

Test(word, limits) {
        static const struct {
                const char *text;
                LimitId id;
                uint64_t value;
        } good[] = {
                {"memory_mb=128", LIMIT_MEMORY_MB, 128},
                {"memory_mb=128.000", LIMIT_MEMORY_MB, 128},
                {"cpu_cpus=0.5", LIMIT_CPU_CPUS, 500},
                {"cpu_cpus=2", LIMIT_CPU_CPUS, 2000},
                {"timeout_ms=5", LIMIT_TIMEOUT_MS, 5},
                {"stdout_bytes=0", LIMIT_STDOUT_BYTES, 0},
        };
        static const char *const bad[] = {
                "",
                "memory_mb",
                "memory_mb=",
                "memory_mb=1.5",
                "memory_mb=-1",
                "memory_mb=x",
                "memory_mb=1x",
                "=1",
                "memory=1",
                "Memory_mb=1",
                "cpu_cpus=0.0001",
                "cpu_cpus=1e9",
                "memory_mb=99999999999999999999",
                "memory_mb=1,\"pids_max\":9",
        };

        for (size_t i = 0; i < ELEMENTS(good); i++) {
                JsonError error = {};
                uint64_t value = 42;
                LimitId id = LIMIT_N;

                cr_expect_eq(parse_limit(good[i].text, &id, &value, &error), 0, "%s: %s", good[i].text,
                        error.message);
                cr_expect_eq(id, good[i].id, "%s", good[i].text);
                cr_expect_eq(value, good[i].value, "%s is %lu", good[i].text, (unsigned long) value);
        }
        for (size_t i = 0; i < ELEMENTS(bad); i++) {
                JsonError error = {};
                uint64_t value;
                LimitId id;

                cr_expect_eq(parse_limit(bad[i], &id, &value, &error), -EINVAL, "%s", bad[i]);
                cr_expect(error.message[0], "%s", bad[i]);
        }
}

Test(word, file_or_code) {
        static const char *const files[] = {
                "script.py", "./a.c", "../x/y.js", "/tmp/run-1.sh", "a.b.py", "~/x.py", "\xc3\xa4.py"};
        static const char *const code[] = {
                "",
                "print(1)",
                "ls",
                "1.5+2",
                "a.b c.py",
                "cat main.c",
                "echo hi >x.sh",
                "x.",
                ".py",
                "a/.py",
                "x.p y",
                "import a.py;",
                "\"a.py",
                "a.py\n",
                "$x.py",
                "a=b.sh",
        };

        for (size_t i = 0; i < ELEMENTS(files); i++)
                cr_expect(word_looks_like_file(files[i]), "%s", files[i]);
        for (size_t i = 0; i < ELEMENTS(code); i++)
                cr_expect_not(word_looks_like_file(code[i]), "%s", code[i]);
}

Test(word, names_of_files) {
        static const struct {
                const char *local, *name;
        } rows[] = {
                {"a.csv", "a.csv"},
                {"data/a.csv", "data/a.csv"},
                {"./data/a.csv", "data/a.csv"},
                {".//./a", "a"},
                {"/srv/data/a.csv", "a.csv"},
                {"../a.csv", "a.csv"},
                {"x/../a.csv", "a.csv"},
                {"/dev/fd/63", "63"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++)
                cr_expect_str_eq(file_default_name(rows[i].local), rows[i].name, "%s", rows[i].local);
}
