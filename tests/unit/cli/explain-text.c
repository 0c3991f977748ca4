/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <string.h>

#include "base/own.h"
#include "cli/document.h"
#include "cli/explain-text.h"

static char *explained(const char *text) {
        own(json_freep) json_object *document = NULL;
        char *shown = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&shown, &size);

        cr_assert_eq(document_parse(text, &document), 0);
        cr_assert_eq(explain_print(document, /* bold= */ false, stream), 0);
        cr_assert_eq(fclose(stream), 0);
        return shown;
}

Test(explain_text, sections) {
        own(freep) char *text = explained(
                "{\"plan\":{\"policy\":\"default\",\"argv\":[\"/usr/bin/"
                "python3\",\"it's\"],\"env\":{\"A\":\"b c\"},"
                "\"timeout_ms\":5000,\"limits\":{\"cpu_cpus\":0.5,\"memory_mb\":128},\"compile_timeout_ms\":"
                "20000,"
                "\"restricted\":false,\"allowed_paths\":[],\"widened\":[\"memory_mb 512 (default 256)\"],"
                "\"warnings\":[\"careful\"]},"
                "\"properties\":{\"DynamicUser\":{\"type\":\"b\",\"data\":true},"
                "\"SystemCallFilter\":[{\"type\":\"(bas)\",\"data\":[true,[\"@x\"]]},{\"type\":\"(bas)\","
                "\"data\":[false,[\"@y\"]]}]}}");

        cr_expect_str_eq(text,
                "Warnings\n  careful\n\n"
                "Wider than the policy's default\n  memory_mb 512 (default 256)\n\n"
                "Plan\n"
                "  policy              default\n"
                "  argv                /usr/bin/python3 'it'\\''s'\n"
                "  timeout_ms          5000 ms\n"
                "  compile_timeout_ms  20000 ms\n"
                "  restricted          false\n\n"
                "Limits\n"
                "  cpu_cpus   0.5 CPUs\n"
                "  memory_mb  128 MiB\n\n"
                "Environment\n"
                "  A  b c\n\n"
                "Unit properties\n"
                "  DynamicUser       true\n"
                "  SystemCallFilter  [true,[\"@x\"]]\n"
                "  SystemCallFilter  [false,[\"@y\"]]\n",
                "%s", text);
}

Test(explain_text, of_a_newer_daemon) {
        own(freep) char *text = explained("{\"plan\":{\"new\":[{\"a\":1}],\"null\":null},\"more\":1}");

        cr_expect_str_eq(text, "Plan\n  new  [{\"a\":1}]\n\n", "%s", text);
}

Test(explain_text, no_control_characters) {
        own(freep) char *text =
                explained("{\"plan\":{\"env\":{\"A\":\"\\u001b[2J\"},\"warnings\":[\"x\\u001b\"]}}");

        cr_expect_null(strchr(text, '\033'));
}
