/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>

#include "base/own.h"
#include "cli/document.h"
#include "cli/language.h"

Test(language, by_suffix) {
        static const struct {
                const char *file, *wanted, *found;
        } rows[] = {
                {"a.py", NULL, "python"},
                {"/tmp/a.b/c.py", NULL, "python"},
                {"a.test.py", NULL, "tests"},
                {"a.test.py", "python", "python"},
                {"a.js", "python", NULL},
                {"a.js", "cobol", NULL},
                {"a.PY", NULL, NULL},
                {"a.py~", NULL, NULL},
                {".py", NULL, NULL},
                {"py", NULL, NULL},
                {"", NULL, NULL},
        };
        own(json_freep) json_object *languages = NULL;

        cr_assert_eq(
                document_parse_list("[{\"name\":\"python\",\"suffixes\":[\".py\",\".pyw\"]},"
                                    "{\"name\":\"tests\",\"suffixes\":[\".test.py\"]},{\"name\":\"none\"},"
                                    "{\"suffixes\":[\".js\"]},7]",
                        &languages),
                0);
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                const char *found = language_by_suffix(languages, rows[i].file, rows[i].wanted);

                if (rows[i].found)
                        cr_expect(found && streq(found, rows[i].found), "%s: %s", rows[i].file,
                                found ? found : "none");
                else
                        cr_expect_null(found, "%s", rows[i].file);
        }
}
