/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "policy/policy.h"

static int read_text(const char *text, Policy **ret, JsonError *error) {
        *error = (JsonError){0};
        return policy_read(text, strlen(text), "/etc/unitcell/policies/p.json", ret, error);
}

Test(policy, silence_is_filled) {
        own(policy_freep) Policy *policy = NULL;
        JsonError error;

        cr_assert_eq(read_text("{\"name\":\"p\"}", &policy, &error), 0, "%s %s", error.key, error.message);
        for (LimitId id = 0; id < LIMIT_N; id++) {
                cr_expect_eq(policy->defaults.value[id], limits[id].fallback, "%s", limits[id].key);
                cr_expect_eq(policy->max.value[id], limits[id].fallback_max, "%s", limits[id].key);
        }
        cr_expect_eq(policy->compile_timeout_ms, 20000U);
        cr_expect(policy_allows_language(policy, "python") && policy_allows_language(policy, "argv"));
        cr_expect(strv_contains(policy->syscalls_allow, "@system-service"));
        cr_expect(strv_contains(policy->syscalls_allow, "seccomp"));
        cr_expect(strv_contains(policy->syscalls_deny, "@keyring"));
        cr_expect(strv_contains(policy->syscalls_deny, "process_vm_writev"));
        cr_expect_eq(policy->on_output_limit, ON_OUTPUT_TRUNCATE);
        cr_expect_eq(policy->audit_code, AUDIT_CODE_FULL);
        cr_expect(!policy->restricted && !policy->proc_pid_only);
}

Test(policy, everything) {
        own(policy_freep) Policy *policy = NULL;
        JsonError error;

        cr_assert_eq(read_text("{\"name\":\"p\",\"description\":\"d\",\"default\":{\"timeout_ms\":5,\"cpu_"
                               "cpus\":0.5},"
                               "\"max\":{\"timeout_ms\":6,\"memory_mb\":100,\"cpu_cpus\":2},\"languages\":["
                               "\"python\"],"
                               "\"syscalls\":{\"allow\":[\"@system-service\"],\"deny\":[]},\"on_output_"
                               "limit\":\"kill\","
                               "\"audit_code\":\"hash\",\"restricted\":true,\"proc_subset\":\"pid\","
                               "\"compile_timeout_ms\":1}",
                             &policy, &error),
                0, "%s %s", error.key, error.message);
        cr_expect_eq(policy->defaults.value[LIMIT_TIMEOUT_MS], 5U);
        cr_expect_eq(policy->max.value[LIMIT_CPU_CPUS], 2000U);
        cr_expect_eq(
                policy->defaults.value[LIMIT_MEMORY_MB], 100U, "a lowered max takes a silent default along");
        cr_expect(!policy_allows_language(policy, "argv") && policy_allows_language(policy, "python"));
        cr_expect_eq(strv_length(policy->syscalls_deny), 0U, "empty is not silent");
        cr_expect_eq(policy->on_output_limit, ON_OUTPUT_KILL);
        cr_expect_eq(policy->audit_code, AUDIT_CODE_HASH);
        cr_expect(policy->restricted && policy->proc_pid_only);
}

Test(policy, refuses) {
        static const struct {
                const char *text, *key, *message;
                unsigned line;
        } rows[] = {
                {"{}", "name", "is missing", 0},
                {"{\"name\":\"q\"}", "name", "that of the file", 1},
                {"{\"name\":\"p\",\n\"default\":{\"memory_mb\":4096}}", "default.memory_mb",
                        "is 4096, more than max.memory_mb, which is 2048 where the policy does not say "
                        "otherwise",
                        2},
                {"{\"name\":\"p\",\n\"default\":{\n\"cpu_cpus\":1.5},\"max\":{\"cpu_cpus\":1}}",
                        "default.cpu_cpus", "is 1.5, more than max.cpu_cpus, which is 1", 3},
                {"{\"name\":\"p\",\"max\":{\"timeout_ms\":86400001}}", "max.timeout_ms",
                        "from 1 to 86400000 (ms)", 1},
                {"{\"name\":\"p\",\"max\":{\"stdout_bytes\":16777217}}", "max.stdout_bytes",
                        "16777216 (bytes)", 1},
                {"{\"name\":\"p\",\"max\":{\"memory\":1}}", "max.memory", "is not a known key", 1},
                {"{\"name\":\"p\",\"languages\":[\"a/b\"]}", "languages[0]",
                        "must be the name of a language", 1},
                {"{\"name\":\"p\",\"languages\":\"*\"}", "languages", "must be an array", 1},
                {"{\"name\":\"p\",\"syscalls\":{\"allow\":[]}}", "syscalls.allow", "at least one", 1},
                {"{\"name\":\"p\",\"syscalls\":{\"allow\":[\"Open\"]}}", "syscalls.allow[0]",
                        "name of a system call", 1},
                {"{\"name\":\"p\",\"syscalls\":{\"deny\":[\"~open\"]}}", "syscalls.deny[0]",
                        "name of a system call", 1},
                {"{\"name\":\"p\",\"syscalls\":{\"block\":[]}}", "syscalls.block", "known here: allow, deny",
                        1},
                {"{\"name\":\"p\",\"on_output_limit\":\"cut\"}", "on_output_limit",
                        "must be \"truncate\" or \"kill\"", 1},
                {"{\"name\":\"p\",\"audit_code\":\"no\"}", "audit_code", "\"full\" or \"hash\" or \"none\"",
                        1},
                {"{\"name\":\"p\",\"proc_subset\":\"x\"}", "proc_subset", "must be \"all\" or \"pid\"", 1},
                {"{\"name\":\"p\",\"restricted\":1}", "restricted", "true or false", 1},
                {"{\"name\":\"p\",\"compile_timeout_ms\":0}", "compile_timeout_ms", "from 1 to 300000 (ms)",
                        1},
                {"{\"name\":\"p\",\n\"name\":\"p\"}", "name", "stands twice", 2},
                {"{\"name\":\"p\",\"mount_prefix\":[]}", "mount_prefix", "is not a known key", 1},
                {"{\"name\":\"p\",\"syscalls\":{\"deny\":[\"ptrase\"]}}", "syscalls.deny[0]", "known here", 1},
                {"{\"name\":\"p\",\"syscalls\":{\"allow\":[\"read\",\"@no-such\"]}}", "syscalls.allow[1]", "known here", 1},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(policy_freep) Policy *policy = NULL;
                JsonError error;

                cr_expect_eq(read_text(rows[i].text, &policy, &error), -EINVAL, "%s", rows[i].text);
                cr_expect_str_eq(error.key, rows[i].key, "%s: %s", rows[i].text, error.key);
                cr_expect_not_null(
                        strstr(error.message, rows[i].message), "%s: %s", rows[i].text, error.message);
                cr_expect_eq(error.line, rows[i].line, "%s: %u", rows[i].text, error.line);
        }
}

/* What GetPolicy shows is a whole policy: read again, it shows the same. */
Test(policy, document_is_a_policy) {
        static const char *const rows[] = {
                "{\"name\":\"p\"}",
                "{\"name\":\"p\",\"max\":{\"cpu_cpus\":0.5},\"restricted\":true,\"syscalls\":{\"deny\":[]}}",
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(policy_freep) Policy *policy = NULL, *again = NULL;
                own(json_freep) json_object *first = NULL, *second = NULL;
                own(freep) char *text = NULL;
                JsonError error;

                cr_assert_eq(read_text(rows[i], &policy, &error), 0);
                cr_assert_eq(policy_to_json(policy, &first), 0);
                cr_assert_eq(json_to_text(first, true, &text), 0);
                cr_assert_eq(read_text(text, &again, &error), 0, "%s %s", error.key, error.message);
                cr_assert_eq(policy_to_json(again, &second), 0);
                cr_expect(json_object_equal(first, second));
        }
}
