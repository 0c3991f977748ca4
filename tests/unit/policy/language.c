/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "policy/language.h"

static int read_text(const char *text, Language **ret, JsonError *error) {
        *error = (JsonError){0};
        return language_read(text, strlen(text), "/x/languages/c.json", ret, error);
}

#define HEAD "{\"name\":\"c\",\"interpreters\":[\"/usr/bin/env\"],\"file\":\"main.c\""
#define ARGV ",\"argv\":[\"{program}\",\"{args}\"]}"

Test(language, reads) {
        own(language_freep) Language *language = NULL;
        JsonError error;

        cr_assert_eq(read_text(HEAD ",\"description\":\"C\",\"suffixes\":[\".c\"],\"compile\":[\"{"
                                    "interpreter}\",\"-DX={1}\","
                                    "\"-o{program}\",\"{code}\"],\"environment\":{\"A\":\"b\"},\"bind_read_"
                                    "only\":[\"/etc/x\"]" ARGV,
                             &language, &error),
                0, "%s %s", error.key, error.message);
        cr_expect_str_eq(language->name, "c");
        cr_expect_eq(strv_length(language->compile), 4U);
        cr_expect_str_eq(language->environment[0], "A=b");
        cr_expect_str_eq(language->source_path, "/x/languages/c.json");
}

Test(language, refuses) {
        static const struct {
                const char *text, *key, *message;
        } rows[] = {
                {"{}", "name", "is missing"},
                {"{\"name\":\"d\",\"interpreters\":[\"/usr/bin/env\"],\"file\":\"x\"" ARGV, "name",
                        "that of the file"},
                {"{\"name\":\"c\",\"interpreters\":[],\"file\":\"x\"" ARGV, "interpreters",
                        "1 to 16 entries"},
                {"{\"name\":\"c\",\"interpreters\":[\"cc\"],\"file\":\"x\"" ARGV, "interpreters[0]",
                        "under /usr or /bin"},
                {"{\"name\":\"c\",\"interpreters\":[\"/opt/cc\"],\"file\":\"x\"" ARGV, "interpreters[0]",
                        "under /usr or /bin"},
                {"{\"name\":\"c\",\"interpreters\":[\"/usr/../cc\"],\"file\":\"x\"" ARGV, "interpreters[0]",
                        "under /usr"},
                {"{\"name\":\"c\",\"interpreters\":[\"/usr/bin/cc\"],\"file\":\"a/b\"" ARGV, "file",
                        "plain file name"},
                {"{\"name\":\"c\",\"interpreters\":[\"/usr/bin/cc\"],\"file\":\"program\"" ARGV, "file",
                        "not \"program\""},
                {HEAD ",\"argv\":[]}", "argv", "1 to 128 entries"},
                {HEAD ",\"argv\":[\"{args}\"]}", "argv[0]", "absolute path"},
                {HEAD ",\"argv\":[\"cc\"]}", "argv[0]", "absolute path"},
                {HEAD ",\"argv\":[\"{program}\",\"{file}\"]}", "argv[1]", "knows {interpreter}"},
                {HEAD ",\"argv\":[\"{program}\",\"x{args}\"]}", "argv[1]", "as a whole entry"},
                {HEAD ",\"compile\":[\"{interpretr}\"]" ARGV, "compile[0]", "knows {interpreter}"},
                {HEAD ",\"suffixes\":[\"c\"]" ARGV, "suffixes[0]", "like \".py\""},
                {HEAD ",\"bind_read_only\":[\"/root\"]" ARGV, "bind_read_only[0]", "under /etc or /usr"},
                {HEAD ",\"bind_read_only\":[\"/etc\"]" ARGV, "bind_read_only[0]", "under /etc or /usr"},
                {HEAD ",\"bind_read_only\":[\"/etc/../root\"]" ARGV, "bind_read_only[0]",
                        "under /etc or /usr"},
                {HEAD ",\"environment\":{\"1\":\"\"}" ARGV, "environment.1", "letters"},
                {HEAD ",\"suffix\":\".c\"" ARGV, "suffix", "did you mean \"suffixes\"?"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(language_freep) Language *language = NULL;
                JsonError error;

                cr_expect_eq(read_text(rows[i].text, &language, &error), -EINVAL, "%s", rows[i].text);
                cr_expect_str_eq(error.key, rows[i].key, "%s: %s", rows[i].text, error.key);
                cr_expect_not_null(
                        strstr(error.message, rows[i].message), "%s: %s", rows[i].text, error.message);
        }
}

Test(language, finds_interpreters) {
        own(language_freep) Language *language = NULL, *missing = NULL;
        own(freep) char *reason = NULL, *none = NULL;
        const char *found = NULL;
        JsonError error;

        cr_assert_eq(read_text("{\"name\":\"c\",\"interpreters\":[\"/usr/bin/no-such\",\"/usr/bin\",\"/usr/"
                               "bin/env\"],"
                               "\"file\":\"x\"" ARGV,
                             &language, &error),
                0);
        cr_expect_eq(language_find_interpreter(language, &found, &none), 0);
        cr_expect_str_eq(found, "/usr/bin/env");
        cr_expect_null(none);

        cr_assert_eq(read_text("{\"name\":\"c\",\"interpreters\":[\"/usr/bin/no-such\",\"/usr/"
                               "lib\"],\"file\":\"x\"" ARGV,
                             &missing, &error),
                0);
        cr_expect_eq(language_find_interpreter(missing, &found, &reason), -ENOENT);
        cr_expect_not_null(strstr(reason, "none of /usr/bin/no-such, /usr/lib exists"), "%s", reason);
        cr_expect_eq(language_find_interpreter(missing, &found, NULL), -ENOENT);
}
