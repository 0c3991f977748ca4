/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "spec/spec.h"

static int read_text(const char *text, Spec **ret, JsonError *error) {
        *error = (JsonError){0};
        return spec_read(text, strlen(text), ret, error);
}

/* The request that the project was built for, verbatim. */
static const char reference[] = "{\"task_id\":\"task_7f3a2d91\",\"language\":\"python\",\"code\":\"print("
                                "sum(range(100)))\",\"timeout_ms\":10000,"
                                "\"limits\":{\"cpu_cpus\":0.5,\"memory_mb\":256,\"pids_max\":32,\"disk_mb\":"
                                "64},\"network\":\"deny\","
                                "\"allowed_paths\":[\"/tmp/output\"],\"env\":{}}";

Test(spec, reference_request) {
        own(spec_freep) Spec *spec = NULL;
        JsonError error;

        cr_assert_eq(read_text(reference, &spec, &error), SPEC_OK, "%s %s", error.key, error.message);
        cr_expect_str_eq(spec->task_id, "task_7f3a2d91");
        cr_expect_str_eq(spec->language, "python");
        cr_expect_str_eq(spec->code.data, "print(sum(range(100)))");
        cr_expect(spec->code_given);
        cr_expect_eq(spec->limits.value[LIMIT_TIMEOUT_MS], 10000U);
        cr_expect_eq(spec->limits.value[LIMIT_CPU_CPUS], 500U);
        cr_expect_eq(spec->limits.value[LIMIT_PIDS_MAX], 32U);
        cr_expect(!spec->limits.given[LIMIT_FILE_MB]);
        cr_expect_str_eq(spec->allowed_paths[0], "/tmp/output");
        cr_expect_eq(strv_length(spec->env), 0U);
}

Test(spec, everything_that_is_built) {
        static const char text[] =
                "{\"task_id\":\"\",\"language\":\"python\",\"code_base64\":\"AP8=\",\"args\":[\"--n\",\"\"],"
                "\"stdin_base64\":\"/w==\",\"env\":{\"TZ\":\"UTC\"},\"files\":[{\"path\":\"data/"
                "in.csv\",\"content\":\"a\"},"
                "{\"path\":\"x.bin\",\"content_base64\":\"AAE=\"}],\"timeout_ms\":1,\"limits\":{\"cpu_ms\":"
                "0,"
                "\"memory_warn_mb\":0,\"external_calls\":0,\"stdout_bytes\":0},\"egress_allow\":[],"
                "\"handles\":[],"
                "\"allowed_paths\":[\"/tmp//output/\",\"/workspace/out\"],\"mounts\":[],\"artifacts\":[],"
                "\"report\":\"report.json\",\"policy\":\"build\",\"image\":\"host\",\"isolation\":\"unit\","
                "\"queue_ms\":0,"
                "\"labels\":{\"agent\":\"x\"}}";
        own(spec_freep) Spec *spec = NULL;
        JsonError error;

        cr_assert_eq(read_text(text, &spec, &error), SPEC_OK, "%s %s", error.key, error.message);
        cr_expect_eq(spec->code.size, 2U);
        cr_expect_eq(memcmp(spec->code.data, "\x00\xff", 3), 0, "bytes, and a NUL behind");
        cr_expect_eq(spec->stdin_data.size, 1U);
        cr_expect_str_eq(spec->args[1], "");
        cr_expect_str_eq(spec->env[0], "TZ=UTC");
        cr_expect_eq(spec->n_files, 2U);
        cr_expect_str_eq(spec->files[1].path, "x.bin");
        cr_expect_eq(spec->files[1].content.size, 2U);
        cr_expect_str_eq(spec->allowed_paths[0], "/tmp/output", "normalised");
        cr_expect_str_eq(spec->policy, "build");
}

Test(spec, plain_argv) {
        own(spec_freep) Spec *spec = NULL;
        JsonError error;

        cr_assert_eq(read_text("{\"argv\":[\"/usr/bin/env\",\"A=b\"]}", &spec, &error), SPEC_OK);
        cr_expect(!spec->language && !spec->code_given);
        cr_expect_eq(strv_length(spec->argv), 2U);
}

#define CODE "\"language\":\"python\",\"code\":\"\""

Test(spec, invalid) {
        static const struct {
                const char *text, *key, *message;
        } rows[] = {
                {"", "", "not JSON"},
                {"[]", "", "must be a JSON object"},
                {"{}", "code", "give \"language\" and \"code\", or \"argv\""},
                {"{\"code\":\"\"}", "language", "is missing"},
                {"{\"language\":\"python\"}", "code", "is missing"},
                {"{" CODE ",\"code_base64\":\"\"}", "code", "given twice"},
                {"{" CODE ",\"stdin\":\"\",\"stdin_base64\":\"\"}", "stdin", "given twice"},
                {"{" CODE ",\"argv\":[\"/bin/true\"]}", "language", "beside \"argv\""},
                {"{\"code\":\"\",\"argv\":[\"/bin/true\"]}", "code", "beside \"argv\""},
                {"{\"argv\":[]}", "argv", "1 to 1024 entries"},
                {"{\"argv\":[\"true\"]}", "argv[0]", "absolute path"},
                {"{\"argv\":[\"\"]}", "argv[0]", "absolute path"},
                {"{\"argv\":\"/bin/true\"}", "argv", "must be an array"},
                {"{\"argv\":[\"/bin/true\",1]}", "argv[1]", "must be a string"},
                {"{" CODE ",\"cmd\":1}", "cmd", "is not a known key"},
                {"{" CODE ",\"timout_ms\":1}", "timout_ms", "did you mean \"timeout_ms\"?"},
                {"{" CODE ",\"code\":\"\"}", "code", "stands twice"},
                {"{" CODE ",\"timeout_ms\":0}", "timeout_ms", "from 1 to 86400000 (ms), not 0"},
                {"{" CODE ",\"timeout_ms\":-5}", "timeout_ms", "from 1 to 86400000 (ms), not -5"},
                {"{" CODE ",\"timeout_ms\":1e99}", "timeout_ms", "from 1 to 86400000 (ms)"},
                {"{" CODE ",\"timeout_ms\":\"10\"}", "timeout_ms", "not a string"},
                {"{" CODE ",\"limits\":{\"memory_mb\":8}}", "limits.memory_mb",
                        "from 16 to 1048576 (MiB), not 8"},
                {"{" CODE ",\"limits\":{\"memory_mb\":16,\"memory_mb\":16}}", "limits.memory_mb",
                        "stands twice"},
                {"{" CODE ",\"limits\":{\"timeout_ms\":8}}", "limits.timeout_ms", "key of the spec itself"},
                {"{" CODE ",\"limits\":[]}", "limits", "must be an object"},
                {"{" CODE ",\"limits\":{\"cpu_cpus\":0}}", "limits.cpu_cpus",
                        "from 0.01 to 1024 (CPUs), not 0"},
                {"{" CODE ",\"network\":\"allow\"}", "network", "\"deny\" or \"allowlist\""},
                {"{" CODE ",\"network\":false}", "network", "must be a string"},
                {"{" CODE ",\"env\":{\"A-B\":\"\"}}", "env.A-B", "letters, digits"},
                {"{" CODE ",\"env\":{\"A\":1}}", "env.A", "must be a string"},
                {"{" CODE ",\"env\":[]}", "env", "must be an object"},
                {"{" CODE ",\"policy\":\"../x\"}", "policy", "must be a name"},
                {"{\"language\":\"../x\",\"code\":\"\"}", "language", "must be a name"},
                {"{" CODE ",\"files\":[{\"path\":\"/etc/passwd\",\"content\":\"\"}]}", "files[0].path",
                        "relative"},
                {"{" CODE ",\"files\":[{\"path\":\"a/../b\",\"content\":\"\"}]}", "files[0].path", "\"..\""},
                {"{" CODE ",\"files\":[{\"path\":\"a\"}]}", "files[0]", "exactly one of"},
                {"{" CODE ",\"files\":[{\"path\":\"a\",\"content\":\"\",\"fd\":\"x\"}]}", "files[0]",
                        "exactly one of"},
                {"{" CODE ",\"files\":[{\"content\":\"\"}]}", "files[0].path", "is missing"},
                {"{" CODE ",\"files\":[{\"path\":\"a\",\"fd\":\"a b\"}]}", "files[0].fd", "must be a name"},
                {"{" CODE ",\"files\":[{\"path\":\"a\",\"content\":\"\",\"mode\":1}]}", "files[0].mode",
                        "not a known key"},
                {"{" CODE ",\"files\":[\"a\"]}", "files[0]", "must be an object"},
                {"{" CODE
                 ",\"files\":[{\"path\":\"a\",\"content\":\"\"},{\"path\":\"a\",\"content\":\"\"}]}",
                        "files[1].path", "same path as that of files[0]"},
                {"{" CODE
                 ",\"files\":[{\"path\":\"a/b/c\",\"content\":\"\"},{\"path\":\"a/b\",\"content\":\"\"}]}",
                        "files[0].path", "lies below files[1]"},
                {"{" CODE ",\"allowed_paths\":[\"/etc\"]}", "allowed_paths[0]", "must lie under /workspace"},
                {"{" CODE ",\"allowed_paths\":[\"/tmp\",\"/tmpx\"]}", "allowed_paths[1]", "must lie under"},
                {"{" CODE ",\"allowed_paths\":[\"/tmp/../etc\"]}", "allowed_paths[0]", "\"..\""},
                {"{" CODE ",\"allowed_paths\":[\"tmp\"]}", "allowed_paths[0]", "absolute"},
                {"{" CODE
                 ",\"allowed_paths\":[\"/workspace/a/b\"],\"files\":[{\"path\":\"a\",\"content\":\"\"}]}",
                        "allowed_paths[0]", "files[0] is a file there"},
                {"{" CODE ",\"labels\":{\"a\":1}}", "labels.a", "must be a string of at most 1024 bytes"},
                {"{" CODE ",\"labels\":{\"\":\"\"}}", "labels.", "1 to 128 bytes"},
                {"{" CODE ",\"stdin\":\"\\u0000\"}", "stdin", "NUL"},
                {"{" CODE ",\"task_id\":1}", "task_id", "must be a string of at most 256 bytes"},
                {"{" CODE ",\"queue_ms\":3600001}", "queue_ms", "from 0 to 3600000 (ms)"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(spec_freep) Spec *spec = NULL;
                JsonError error;

                cr_expect_eq(read_text(rows[i].text, &spec, &error), SPEC_INVALID, "%s", rows[i].text);
                cr_expect_str_eq(error.key, rows[i].key, "%s: %s", rows[i].text, error.key);
                cr_expect_not_null(
                        strstr(error.message, rows[i].message), "%s: %s", rows[i].text, error.message);
        }
}

Test(spec, not_supported) {
        static const struct {
                const char *text, *key;
        } rows[] = {
                {"{" CODE ",\"limits\":{\"external_calls\":1}}", "limits.external_calls"},
                {"{" CODE ",\"network\":\"allowlist\"}", "network"},
                {"{" CODE ",\"egress_allow\":[\"pypi.org:443\"]}", "egress_allow"},
                {"{" CODE ",\"handles\":[\"docs.read\"]}", "handles"},
                {"{" CODE ",\"artifacts\":[\"*.png\"]}", "artifacts"},
                {"{" CODE ",\"report\":\"out.json\"}", "report"},
                {"{" CODE ",\"image\":\"debian\"}", "image"},
                {"{" CODE ",\"isolation\":\"vm\"}", "isolation"},
                {"{" CODE ",\"queue_ms\":1}", "queue_ms"},
                {"{" CODE ",\"request_key\":\"k\"}", "request_key"},
                {"{" CODE ",\"files\":[{\"path\":\"a\",\"fd\":\"x\"}]}", "files[0].fd"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(spec_freep) Spec *spec = NULL;
                JsonError error;

                cr_expect_eq(read_text(rows[i].text, &spec, &error), SPEC_NOT_SUPPORTED, "%s", rows[i].text);
                cr_expect_str_eq(error.key, rows[i].key);
                cr_expect_not_null(strstr(error.message, "not supported"), "%s", error.message);
        }
}

/* A spec with one long string of x: {"…": "xxxx"…}. */
static int read_long(const char *before, size_t size, const char *after, Spec **ret, JsonError *error) {
        size_t n = strlen(before);
        own(freep) char *text = malloc(n + size + strlen(after) + 1);

        cr_assert_not_null(text);
        memcpy(text, before, n);
        memset(text + n, 'A', size);
        memcpy(text + n + size, after, strlen(after) + 1);
        return read_text(text, ret, error);
}

Test(spec, sizes) {
        static const struct {
                const char *before, *after, *key;
                size_t size;
                int result;
        } rows[] = {
                {"{\"language\":\"python\",\"code\":\"", "\"}", "", 4194304, SPEC_OK},
                {"{\"language\":\"python\",\"code\":\"", "\"}", "code", 4194305, SPEC_TOO_LARGE},
                {"{\"language\":\"python\",\"code\":\"", "\"}", "code", 10485760, SPEC_TOO_LARGE},
                {"{\"language\":\"python\",\"code_base64\":\"", "\"}", "code", 5592408, SPEC_TOO_LARGE},
                {"{" CODE ",\"stdin\":\"", "\"}", "", 16777216, SPEC_OK},
                {"{" CODE ",\"stdin\":\"", "\"}", "stdin", 16777217, SPEC_TOO_LARGE},
                {"{" CODE ",\"files\":[{\"path\":\"a\",\"content\":\"", "\"}]}", "", 31457280,
                        SPEC_TOO_LARGE},
                {"{" CODE ",\"task_id\":\"", "\"}", "", 256, SPEC_OK},
                {"{" CODE ",\"task_id\":\"", "\"}", "task_id", 257, SPEC_INVALID},
                {"{" CODE ",\"args\":[\"", "\"]}", "", 131071, SPEC_OK},
                {"{" CODE ",\"args\":[\"", "\"]}", "args[0]", 131072, SPEC_INVALID},
                {"{" CODE ",\"env\":{\"A\":\"", "\"}}", "", 131069, SPEC_OK},
                {"{" CODE ",\"env\":{\"A\":\"", "\"}}", "env", 131070, SPEC_INVALID},
                {"{" CODE ",\"labels\":{\"A\":\"", "\"}}", "", 1024, SPEC_OK},
                {"{" CODE ",\"labels\":{\"A\":\"", "\"}}", "labels.A", 1025, SPEC_INVALID},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(spec_freep) Spec *spec = NULL;
                JsonError error;

                cr_expect_eq(read_long(rows[i].before, rows[i].size, rows[i].after, &spec, &error),
                        rows[i].result, "row %zu: %s", i, error.message);
                cr_expect_str_eq(error.key, rows[i].key);
        }
}

Test(spec, counts) {
        static const struct {
                const char *key, *entry;
                unsigned max;
                char open, close;
        } rows[] = {
                {"args", "\"%u\"", 1024, '[', ']'},
                {"env", "\"A%u\":\"\"", 256, '{', '}'},
                {"files", "{\"path\":\"%u\",\"content\":\"\"}", 256, '[', ']'},
                {"allowed_paths", "\"/tmp/%u\"", 64, '[', ']'},
                {"labels", "\"%u\":\"\"", 64, '{', '}'},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++)
                for (unsigned more = 0; more < 2; more++) {
                        own(spec_freep) Spec *spec = NULL;
                        own(freep) char *text = malloc(65536);
                        JsonError error;
                        size_t n;

                        n = (size_t) sprintf(text, "{" CODE ",\"%s\":%c", rows[i].key, rows[i].open);
                        for (unsigned k = 0; k < rows[i].max + more; k++) {
                                n += (size_t) sprintf(text + n, "%s", k > 0 ? "," : "");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                                n += (size_t) sprintf(text + n, rows[i].entry, k);
#pragma GCC diagnostic pop
                        }
                        (void) sprintf(text + n, "%c}", rows[i].close);
                        cr_expect_eq(read_text(text, &spec, &error), more ? SPEC_INVALID : SPEC_OK, "%s: %s",
                                rows[i].key, error.message);
                        if (more)
                                cr_expect_str_eq(error.key, rows[i].key);
                }
}

Test(spec, errors_have_lines) {
        own(spec_freep) Spec *spec = NULL;
        JsonError error;

        cr_expect_eq(
                read_text("{\n" CODE ",\n\"limits\": {\n\"memory_mb\": 8}}", &spec, &error), SPEC_INVALID);
        cr_expect_eq(error.line, 4U);
}

Test(spec, summary_has_no_bulk) {
        own(spec_freep) Spec *spec = NULL;
        own(json_freep) json_object *object = NULL;
        own(freep) char *text = NULL;
        JsonError error;

        cr_assert_eq(
                read_text("{\"task_id\":\"t\",\"language\":\"c\",\"code\":\"SECRETBULK\",\"args\":[\"x\"],"
                          "\"stdin\":\"SECRETBULK\","
                          "\"env\":{\"A\":\"b\"},\"files\":[{\"path\":\"f\",\"content\":\"SECRETBULK\"}],"
                          "\"timeout_ms\":5,"
                          "\"limits\":{\"cpu_cpus\":0.5},\"network\":\"deny\",\"labels\":{\"agent\":\"z\"}}",
                        &spec, &error),
                SPEC_OK);
        cr_assert_eq(spec_summary(spec, &object), 0);
        cr_assert_eq(json_to_text(object, false, &text), 0);
        cr_expect_str_eq(text,
                "{\"task_id\":\"t\",\"language\":\"c\",\"code\":{\"bytes\":10},\"args\":[\"x\"],\"stdin\":{"
                "\"bytes\":10},"
                "\"env\":{\"A\":\"b\"},\"files\":[{\"path\":\"f\",\"bytes\":10}],\"timeout_ms\":5,"
                "\"limits\":{\"cpu_cpus\":0.5},\"network\":\"deny\",\"labels\":{\"agent\":\"z\"}}");
}

Test(spec, summary_counts_long_lists) {
        own(spec_freep) Spec *spec = NULL;
        own(json_freep) json_object *object = NULL;
        own(freep) char *text = NULL;
        JsonError error;

        cr_assert_eq(read_long("{" CODE ",\"args\":[\"x\",\"", 8000, "\"]}", &spec, &error), SPEC_OK);
        cr_assert_eq(spec_summary(spec, &object), 0);
        cr_assert_eq(json_to_text(object, false, &text), 0);
        cr_expect_not_null(strstr(text, "\"args\":{\"bytes\":8003,\"entries\":2}"), "%s", text);
}
