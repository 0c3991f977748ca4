/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "cli/policy-check.h"

static char directory[] = "/tmp/unitcell-test-XXXXXX";

static void start(void) {
        char path[64];

        cr_assert(mkdtemp(directory));
        (void) snprintf(path, sizeof path, "%s/languages", directory);
        cr_assert_eq(mkdir(path, 0755), 0);
}

static void stop(void) {
        char command[64];

        (void) snprintf(command, sizeof command, "rm -r %s", directory);
        cr_expect_eq(system(command), 0);
}

TestSuite(policy_check, .init = start, .fini = stop);

#define POLICY "{\"name\": \"small\", \"default\": {\"memory_mb\": 64}}"
#define LANGUAGE                                                                                            \
        "{\"name\": \"small\", \"suffixes\": [\".s\"], \"interpreters\": [\"/bin/s\"], \"file\": "          \
        "\"main.s\",\n\"argv\": [\"{interpreter}\", \"{code}\"]}"

static const struct {
        const char *file, *text;
        CheckKind kind;
        const char *line; /* after the directory; NULL text: there is no file */
} rows[] = {
        {"small.json", POLICY, CHECK_BY_PLACE, "small.json: ok"},
        {"small.json", POLICY, CHECK_LANGUAGE, "small.json:1: default: "},
        {"languages/small.json", LANGUAGE, CHECK_BY_PLACE, "languages/small.json: ok"},
        {"languages/small.json", POLICY, CHECK_BY_PLACE, "languages/small.json:1: default: "},
        {"small.json", LANGUAGE, CHECK_LANGUAGE, "small.json: ok"},
        {"small.json", LANGUAGE, CHECK_BY_PLACE, "small.json:1: suffixes: "},
        {"other.json", POLICY, CHECK_BY_PLACE, "other.json:1: name: "},
        {"small.json", "{\"name\": \"small\",\n\"default\": {\n\"memory_mb\": 1}}", CHECK_BY_PLACE,
                "small.json:3: default.memory_mb: must be"},
        {"small.json", "{\"name\": \"small\",\n}", CHECK_BY_PLACE, "small.json:2: "},
        {"small.json", "", CHECK_BY_PLACE, "small.json: ok (empty: it takes away what has this name)"},
        {"none.json", NULL, CHECK_BY_PLACE, "none.json: cannot be read: No such file or directory"},
        {"languages", NULL, CHECK_BY_PLACE, "languages: cannot be read: Is a directory"},
};

static void put(const char *path, const char *text) {
        FILE *file = fopen(path, "w");

        cr_assert(file);
        cr_assert_geq(fputs(text, file), 0);
        cr_assert_eq(fclose(file), 0);
}

Test(policy_check, lines) {
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(file_check_clear) FileCheck check = {};
                own(freep) char *line = NULL;
                char path[128];

                (void) snprintf(path, sizeof path, "%s/%s", directory, rows[i].file);
                if (rows[i].text)
                        put(path, rows[i].text);
                cr_assert_eq(file_check(path, rows[i].kind, &check), 0);
                cr_assert_eq(file_check_line(&check, &line), 0);
                cr_expect_eq(strncmp(line + strlen(directory) + 1, rows[i].line, strlen(rows[i].line)), 0,
                        "row %zu: %s", i, line);
                cr_expect_eq(check.ok, strstr(rows[i].line, ": ok") != NULL, "row %zu: %s", i, line);
        }
}

Test(policy_check, document) {
        FileCheck checks[] = {
                {.path = (char *) "a.json", .ok = true},
                {.path = (char *) "b.json", .error = {.key = "max", .message = "no", .line = 4}},
        };
        own(json_freep) json_object *document = NULL;
        own(freep) char *text = NULL;

        cr_assert_eq(file_checks_to_json(checks, 2, &document), 0);
        cr_assert_eq(json_to_text(document, false, &text), 0);
        cr_expect_str_eq(text,
                "{\"files\":[{\"file\":\"a.json\",\"ok\":true,\"line\":null,\"key\":null,\"message\":null},"
                "{\"file\":\"b.json\",\"ok\":false,\"line\":4,\"key\":\"max\",\"message\":\"no\"}],"
                "\"failed\":1}");
}
