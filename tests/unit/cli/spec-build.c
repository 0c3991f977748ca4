/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "cli/spec-build.h"
#include "spec/spec.h"

static char *words[] = {"a", "b c", NULL};

static void build(const SpecParts *parts, char **ret) {
        own(json_freep) json_object *spec = NULL;
        JsonError error = {};

        cr_assert_eq(spec_build(parts, &spec, &error), 0, "%s %s", error.key, error.message);
        cr_assert_eq(json_to_text(spec, /* pretty= */ false, ret), 0);
}

static Bytes bytes(const char *data, size_t size) {
        Bytes copy;

        cr_assert_eq(bytes_copy(data, size, &copy), 0);
        return copy;
}

#define TEXT(literal) bytes(literal, sizeof(literal) - 1)

static json_object *parse(const char *text) {
        json_object *object;
        JsonError error = {};

        cr_assert_eq(json_parse(text, strlen(text), &object, &error), 0, "%s", error.message);
        return object;
}

Test(spec_build, code) {
        own(spec_parts_clear) SpecParts parts = {
                .language = "python", .code = TEXT("print(1)\n"), .code_given = true, .args = words};
        own(freep) char *text = NULL;

        build(&parts, &text);
        cr_expect_str_eq(
                text, "{\"language\":\"python\",\"code\":\"print(1)\\n\",\"args\":[\"a\",\"b c\"]}");
}

Test(spec_build, argv_alone) {
        own(spec_parts_clear) SpecParts parts = {.argv = words};
        own(freep) char *text = NULL;

        build(&parts, &text);
        cr_expect_str_eq(text, "{\"argv\":[\"a\",\"b c\"]}");
}

Test(spec_build, everything_is_a_good_spec) {
        own(spec_parts_clear) SpecParts parts = {.language = "c",
                .policy = "default",
                .task_id = "t1",
                .code = TEXT("int main(void) {}"),
                .code_given = true,
                .args = words,
                .stdin_data = TEXT("in"),
                .stdin_given = true};
        own(freep) char *text = NULL;
        own(spec_freep) Spec *spec = NULL;
        Bytes content = TEXT("x,y\n"), binary = TEXT("\xff\0");
        JsonError error = {};

        parts.limits.value[LIMIT_TIMEOUT_MS] = 5000;
        parts.limits.value[LIMIT_CPU_CPUS] = 500;
        parts.limits.value[LIMIT_MEMORY_MB] = 128;
        parts.limits.given[LIMIT_TIMEOUT_MS] = parts.limits.given[LIMIT_CPU_CPUS] =
                parts.limits.given[LIMIT_MEMORY_MB] = true;
        cr_assert_eq(strv_append(&parts.env, "A=b=c"), 0);
        cr_assert_eq(strv_append(&parts.labels, "agent=x"), 0);
        cr_assert_eq(strv_append(&parts.allowed_paths, "/tmp/output"), 0);
        cr_assert_eq(spec_parts_add_file(&parts, "data/in.csv", &content), 0);
        cr_assert_eq(spec_parts_add_file(&parts, "x.bin", &binary), 0);

        build(&parts, &text);
        cr_assert_eq(spec_read(text, strlen(text), &spec, &error), 0, "%s %s", error.key, error.message);
        cr_expect_str_eq(spec->language, "c");
        cr_expect_str_eq(spec->policy, "default");
        cr_expect_str_eq(spec->task_id, "t1");
        cr_expect_str_eq(spec->code.data, "int main(void) {}");
        cr_expect_str_eq(spec->args[1], "b c");
        cr_expect_str_eq(spec->stdin_data.data, "in");
        cr_expect_str_eq(spec->env[0], "A=b=c");
        cr_expect_str_eq(spec->allowed_paths[0], "/tmp/output");
        cr_expect_eq(spec->limits.value[LIMIT_TIMEOUT_MS], 5000);
        cr_expect_eq(spec->limits.value[LIMIT_CPU_CPUS], 500);
        cr_expect_eq(spec->limits.value[LIMIT_MEMORY_MB], 128);
        cr_assert_eq(spec->n_files, 2);
        cr_expect_eq(spec->files[1].content.size, 2);
        cr_expect_str_eq(json_object_get_string(json_object_object_get(spec->labels, "agent")), "x");
}

Test(spec_build, bytes_survive) {
        static const struct {
                const char *data;
                size_t size;
                bool base64;
        } rows[] = {
                {"", 0, false},
                {"\xc3\xa4\n\t", 4, false},
                {"caf\xe9", 4, true},
                {"a\0b", 3, true},
                {"\xed\xa0\x80", 3, true},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(spec_parts_clear) SpecParts parts = {
                        .language = "python", .code = bytes(rows[i].data, rows[i].size), .code_given = true};
                own(freep) char *text = NULL;
                own(spec_freep) Spec *spec = NULL;
                JsonError error = {};

                build(&parts, &text);
                cr_expect_eq(!!strstr(text, "code_base64"), rows[i].base64, "%s", text);
                cr_assert_eq(
                        spec_read(text, strlen(text), &spec, &error), 0, "%s %s", error.key, error.message);
                cr_assert_eq(spec->code.size, rows[i].size, "row %zu", i);
                cr_expect_eq(memcmp(spec->code.data ? spec->code.data : "", rows[i].data, rows[i].size), 0,
                        "row %zu", i);
        }
}

/* As text each of these would be six bytes, and 16 MiB of stdin would not fit a spec. */
Test(spec_build, control_characters_go_as_base64) {
        own(spec_parts_clear) SpecParts parts = {.argv = words, .stdin_given = true};
        own(freep) char *text = NULL;
        char data[4096];

        memset(data, 1, sizeof data);
        parts.stdin_data = bytes(data, sizeof data);
        build(&parts, &text);
        cr_expect_lt(strlen(text), 6000);
        cr_expect(strstr(text, "stdin_base64"));
}

Test(spec_build, words_win_over_the_spec) {
        own(spec_parts_clear)
                SpecParts parts = {.base = parse("{\"language\":\"bash\",\"code_base64\":\"bHM=\",\"args\":["
                                                 "\"old\"],\"env\":{\"A\":\"1\",\"B\":\"2\"},"
                                                 "\"limits\":{\"memory_mb\":64,\"pids_max\":8},\"stdin_"
                                                 "base64\":\"AA==\",\"policy\":\"p\"}"),
                        .language = "python",
                        .code = TEXT("1"),
                        .code_given = true,
                        .stdin_data = TEXT("new"),
                        .stdin_given = true};
        own(freep) char *text = NULL;

        parts.limits.value[LIMIT_MEMORY_MB] = 128;
        parts.limits.given[LIMIT_MEMORY_MB] = true;
        cr_assert_eq(strv_append(&parts.env, "B=3"), 0);
        build(&parts, &text);
        cr_expect_str_eq(text,
                "{\"language\":\"python\",\"env\":{\"A\":\"1\",\"B\":\"3\"},\"limits\":{\"memory_mb\":128,"
                "\"pids_max\":8},\"policy\":\"p\",\"code\":\"1\",\"stdin\":\"new\"}");
}

Test(spec_build, argv_wins_over_the_spec) {
        own(spec_parts_clear) SpecParts parts = {
                .base = parse("{\"language\":\"bash\",\"code\":\"ls\",\"args\":[\"old\"],\"timeout_ms\":7}"),
                .argv = words};
        own(freep) char *text = NULL;

        build(&parts, &text);
        cr_expect_str_eq(text, "{\"timeout_ms\":7,\"argv\":[\"a\",\"b c\"]}");
}

Test(spec_build, files_add_to_the_spec) {
        own(spec_parts_clear) SpecParts parts = {
                .base = parse("{\"argv\":[\"/x\"],\"files\":[{\"path\":\"a\",\"content\":\"1\"}]}")};
        own(freep) char *text = NULL;
        Bytes content = TEXT("2");

        cr_assert_eq(spec_parts_add_file(&parts, "b", &content), 0);
        build(&parts, &text);
        cr_expect_str_eq(text,
                "{\"argv\":[\"/"
                "x\"],\"files\":[{\"path\":\"a\",\"content\":\"1\"},{\"path\":\"b\",\"content\":\"2\"}]}");
}

Test(spec_build, words_must_be_utf8) {
        static char *bad_words[] = {"ok", "\xff", NULL};
        own(spec_parts_clear) SpecParts parts = {.argv = bad_words};
        json_object *spec;
        JsonError error = {};

        cr_expect_eq(spec_build(&parts, &spec, &error), -EINVAL);
        cr_expect_str_eq(error.message, "must be UTF-8");
}
