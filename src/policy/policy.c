/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Policies from their files. What a file does not say is filled from the table of limits and from the lists
 * below, so that after reading every value is there and nobody has to know what silence means.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/document.h"
#include "policy/policy.h"
#include "policy/syscall-groups.h"
#include "spec/path.h"

#define COMPILE_TIMEOUT_DEFAULT_MS 20000U
#define SYSCALLS_MAX 512U

/* systemd's set for services, and what it lacks: code may confine itself further. */
static const char *const syscalls_allow[] = {"@system-service", "landlock_add_rule",
        "landlock_create_ruleset", "landlock_restrict_self", "seccomp", NULL};

/*
 * What @system-service has and untrusted code has no use for: keys, io_uring (a second way to do every call,
 * past the filter), reaching into other processes, and the kernel's rarely walked corners. The groups below
 * them are not in @system-service; they stand here so that a policy that allows more has to take them out on
 * purpose.
 */
static const char *const syscalls_deny[] = {"@keyring", "io_uring_enter", "io_uring_register",
        "io_uring_setup", "kcmp", "personality", "pidfd_getfd", "process_vm_readv", "process_vm_writev",
        "ptrace", "userfaultfd", "@clock", "@cpu-emulation", "@debug", "@module", "@mount", "@obsolete",
        "@raw-io", "@reboot", "@swap", NULL};

static const char *const on_output_limit_names[] = {
        [ON_OUTPUT_TRUNCATE] = "truncate",
        [ON_OUTPUT_KILL] = "kill",
};

static const char *const audit_code_names[] = {
        [AUDIT_CODE_FULL] = "full",
        [AUDIT_CODE_HASH] = "hash",
        [AUDIT_CODE_NONE] = "none",
};

static const char *const on_memory_warn_names[] = {
        [ON_MEMORY_WARN_CONTINUE] = "continue",
        [ON_MEMORY_WARN_TERMINATE] = "terminate",
};

static const char *const processes_names[] = {"any", "threads"};

static const char *const network_names[] = {"deny", "egress"};

static const char *const proc_subset_names[] = {"all", "pid"};

static int choose(const char *key, const char *text, const char *const *names, size_t n, size_t *ret,
        JsonError *reterr) {
        char known[96] = "";
        size_t size = 0;

        if (!text)
                return 0;
        for (size_t i = 0; i < n; i++) {
                if (streq(text, names[i])) {
                        *ret = i;
                        return 0;
                }
                size += (size_t) snprintf(
                        known + size, sizeof known - size, "%s\"%s\"", i > 0 ? " or " : "", names[i]);
        }
        json_error_set(reterr, key, "must be %s, not \"%s\"", known, text);
        return -EINVAL;
}

int on_output_limit_from_name(const char *key, const char *text, OnOutputLimit *ret, JsonError *reterr) {
        size_t index = *ret;
        int r = choose(key, text, on_output_limit_names, ELEMENTS(on_output_limit_names), &index, reterr);

        *ret = (OnOutputLimit) index;
        return r;
}

int audit_code_from_name(const char *key, const char *text, AuditCode *ret, JsonError *reterr) {
        size_t index = *ret;
        int r = choose(key, text, audit_code_names, ELEMENTS(audit_code_names), &index, reterr);

        *ret = (AuditCode) index;
        return r;
}

int on_memory_warn_from_name(const char *key, const char *text, OnMemoryWarn *ret, JsonError *reterr) {
        size_t index = *ret;
        int r = choose(key, text, on_memory_warn_names, ELEMENTS(on_memory_warn_names), &index, reterr);

        *ret = (OnMemoryWarn) index;
        return r;
}

/* Of two words the second is the one that is "true". */
static int choose_second(const char *key, const char *text, const char *const names[2], bool *ret, JsonError *reterr) {
        size_t index = *ret;
        int r = choose(key, text, names, 2, &index, reterr);

        *ret = index == 1;
        return r;
}

int processes_from_name(const char *key, const char *text, bool *ret_threads_only, JsonError *reterr) {
        return choose_second(key, text, processes_names, ret_threads_only, reterr);
}

int network_from_name(const char *key, const char *text, bool *ret_egress, JsonError *reterr) {
        return choose_second(key, text, network_names, ret_egress, reterr);
}

int proc_subset_from_name(const char *key, const char *text, bool *ret_pid_only, JsonError *reterr) {
        return choose_second(key, text, proc_subset_names, ret_pid_only, reterr);
}

const char *on_memory_warn_name(OnMemoryWarn value) {
        return on_memory_warn_names[value];
}

const char *processes_name(bool threads_only) {
        return processes_names[threads_only];
}

const char *network_name(bool egress) {
        return network_names[egress];
}

const char *on_output_limit_name(OnOutputLimit value) {
        return on_output_limit_names[value];
}

const char *audit_code_name(AuditCode value) {
        return audit_code_names[value];
}

const char *proc_subset_name(bool pid_only) {
        return proc_subset_names[pid_only];
}

static void policy_clear(Policy *policy) {
        strv_freep(&policy->languages);
        strv_freep(&policy->mount_prefixes);
        strv_freep(&policy->syscalls_allow);
        strv_freep(&policy->syscalls_deny);
        free(policy->name);
        free(policy->description);
        free(policy->source_path);
        *policy = (Policy){0};
}

Policy *policy_free(Policy *policy) {
        if (!policy)
                return NULL;
        policy_clear(policy);
        free(policy);
        return NULL;
}

typedef struct Raw {
        Policy policy;
        json_object *defaults, *max, *syscalls;
        char *on_output_limit, *on_memory_warn, *audit_code, *proc_subset, *processes, *network;
        bool writable;
} Raw;

static void raw_clear(Raw *raw) {
        policy_clear(&raw->policy);
        json_freep(&raw->defaults);
        json_freep(&raw->max);
        json_freep(&raw->syscalls);
        free(raw->on_output_limit);
        free(raw->on_memory_warn);
        free(raw->processes);
        free(raw->network);
        free(raw->audit_code);
        free(raw->proc_subset);
}

static int refuse_limit(const Policy *policy, LimitId id, JsonError *reterr) {
        char key[64], value[LIMIT_TEXT_SIZE], max[LIMIT_TEXT_SIZE];

        (void) snprintf(key, sizeof key, "default.%s", limits[id].key);
        limit_format(id, policy->defaults.value[id], value);
        limit_format(id, policy->max.value[id], max);
        json_error_set(reterr, key, "is %s, more than max.%s, which is %s%s", value, limits[id].key, max,
                policy->max.given[id] ? "" : " where the policy does not say otherwise");
        return -EINVAL;
}

/*
 * A maximum that the file lowers takes the default along where the file has none. The other way round is
 * refused: a default never raises what is allowed.
 */
static int fill_limits(Policy *policy, JsonError *reterr) {
        for (LimitId id = 0; id < LIMIT_N; id++) {
                uint64_t *value = &policy->defaults.value[id], *max = &policy->max.value[id];

                if (!policy->max.given[id])
                        *max = limits[id].fallback_max;
                if (!policy->defaults.given[id])
                        *value = limits[id].fallback < *max ? limits[id].fallback : *max;
                /* a maximum of 0 for a limit that can be off: no maximum */
                if (*value > *max && !(limits[id].zero_is_none && *max == 0))
                        return refuse_limit(policy, id, reterr);
        }
        return 0;
}

static int check_words(const char *key, char *const *words, bool (*is_valid)(const char *word),
        const char *problem, JsonError *reterr) {
        for (size_t i = 0; words && words[i]; i++) {
                char path[sizeof reterr->key];

                if (is_valid(words[i]))
                        continue;
                (void) snprintf(path, sizeof path, "%s[%zu]", key, i);
                json_error_set(reterr, path, "%s, not \"%s\"", problem, words[i]);
                return -EINVAL;
        }
        return 0;
}

static bool is_syscall_word(const char *word) {
        size_t size = strlen(word);

        return size > 0 && size <= 64 && strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_@-") == size &&
               syscall_word_is_known(word);
}

static bool is_language_word(const char *word) {
        return streq(word, "*") || name_is_valid(word, 64);
}

static int fill_list(char ***list, const char *const *fallback) {
        if (*list)
                return 0;
        return strv_copy((char *const *) fallback, list);
}

static int read_syscalls(json_object *object, Policy *policy, JsonError *reterr) {
        static const JsonField fields[] = {
                {"allow", JSON_STRINGS, offsetof(Policy, syscalls_allow), 0, SYSCALLS_MAX},
                {"deny", JSON_STRINGS, offsetof(Policy, syscalls_deny), 0, SYSCALLS_MAX},
                {"report", JSON_BOOL, offsetof(Policy, syscalls_report)},
        };
        static const char problem[] =
                "must be the name of a system call or, with \"@\", of a group of systemd's that is known here (systemd-analyze "
                "syscall-filter lists them)";
        int r;

        policy->syscalls_report = true;
        if (object) {
                r = json_read_object(object, "syscalls.", fields, ELEMENTS(fields), policy, reterr);
                if (r < 0)
                        return r;
                r = check_words("syscalls.allow", policy->syscalls_allow, is_syscall_word, problem, reterr);
                if (r < 0)
                        return r;
                r = check_words("syscalls.deny", policy->syscalls_deny, is_syscall_word, problem, reterr);
                if (r < 0)
                        return r;
                /* an empty allow-list would be read as "no filter" by systemd */
                if (policy->syscalls_allow && !policy->syscalls_allow[0]) {
                        json_error_set(reterr, "syscalls.allow",
                                "must have at least one entry: nothing runs without");
                        return -EINVAL;
                }
        }
        r = fill_list(&policy->syscalls_allow, syscalls_allow);
        if (r < 0)
                return r;
        return fill_list(&policy->syscalls_deny, syscalls_deny);
}

/* Where the daemon's own sandbox shows it something else than systemd will bind, or where nothing of a host belongs. */
static int check_mount_prefixes(char **prefixes, JsonError *reterr) {
        static const char *const never[] = {"/home", "/root", "/run", "/tmp", "/var/tmp", "/proc", "/sys", "/dev", "/boot"};

        for (size_t i = 0; prefixes && prefixes[i]; i++) {
                own(freep) char *normal = NULL;
                const char *problem = NULL;
                char key[48];
                int r;

                (void) snprintf(key, sizeof key, "mount_prefixes[%zu]", i);
                r = absolute_path_normalise(prefixes[i], &normal, &problem);
                if (r == -ENOMEM)
                        return r;
                for (size_t k = 0; r >= 0 && k < ELEMENTS(never) && !problem; k++)
                        if (path_is_under(normal, never[k]) || streq(normal, "/"))
                                problem = "cannot lie in /home, /root, /run, /tmp, /var/tmp, /proc, /sys, /dev or /boot, nor be /";
                if (problem) {
                        json_error_set(reterr, key, "%s", problem);
                        return -EINVAL;
                }
                free(prefixes[i]);
                prefixes[i] = hand_over(normal);
        }
        return 0;
}

static int read_parts(Raw *raw, JsonError *reterr) {
        static const char *const all_languages[] = {"*", NULL};
        Policy *policy = &raw->policy;
        int r;

        r = document_check_name(policy->name, policy->source_path, reterr);
        if (r < 0)
                return r;
        if (raw->defaults) {
                r = limits_read(
                        raw->defaults, "default.", /* with_top_level= */ true, &policy->defaults, reterr);
                if (r < 0)
                        return r;
        }
        if (raw->max) {
                r = limits_read(raw->max, "max.", /* with_top_level= */ true, &policy->max, reterr);
                if (r < 0)
                        return r;
        }
        r = fill_limits(policy, reterr);
        if (r < 0)
                return r;
        r = check_words("languages", policy->languages, is_language_word,
                "must be the name of a language, \"argv\" or \"*\"", reterr);
        if (r < 0)
                return r;
        r = fill_list(&policy->languages, all_languages);
        if (r < 0)
                return r;
        r = check_mount_prefixes(policy->mount_prefixes, reterr);
        if (r < 0)
                return r;
        r = read_syscalls(raw->syscalls, policy, reterr);
        if (r < 0)
                return r;
        r = on_output_limit_from_name(
                "on_output_limit", raw->on_output_limit, &policy->on_output_limit, reterr);
        if (r < 0)
                return r;
        r = on_memory_warn_from_name("on_memory_warn", raw->on_memory_warn, &policy->on_memory_warn, reterr);
        if (r < 0)
                return r;
        r = processes_from_name("processes", raw->processes, &policy->threads_only, reterr);
        if (r < 0)
                return r;
        r = network_from_name("network", raw->network, &policy->egress, reterr);
        if (r < 0)
                return r;
        policy->read_only = !raw->writable;
        r = audit_code_from_name("audit_code", raw->audit_code, &policy->audit_code, reterr);
        if (r < 0)
                return r;
        return proc_subset_from_name("proc_subset", raw->proc_subset, &policy->proc_pid_only, reterr);
}

static int read_document(const char *text, size_t size, Raw *raw, JsonError *reterr) {
        static const JsonField fields[] = {
                {"name", JSON_STRING, offsetof(Raw, policy.name), 1, 64, .mandatory = true},
                {"description", JSON_STRING, offsetof(Raw, policy.description), 0, 1024},
                {"default", JSON_OBJECT, offsetof(Raw, defaults)},
                {"max", JSON_OBJECT, offsetof(Raw, max)},
                {"languages", JSON_STRINGS, offsetof(Raw, policy.languages), 0, 256},
                {"syscalls", JSON_OBJECT, offsetof(Raw, syscalls)},
                {"on_output_limit", JSON_STRING, offsetof(Raw, on_output_limit)},
                {"mount_prefixes", JSON_STRINGS, offsetof(Raw, policy.mount_prefixes), 0, 64},
                {"on_memory_warn", JSON_STRING, offsetof(Raw, on_memory_warn)},
                {"processes", JSON_STRING, offsetof(Raw, processes)},
                {"writable", JSON_BOOL, offsetof(Raw, writable)},
                {"network", JSON_STRING, offsetof(Raw, network)},
                {"audit_code", JSON_STRING, offsetof(Raw, audit_code)},
                {"restricted", JSON_BOOL, offsetof(Raw, policy.restricted)},
                {"proc_subset", JSON_STRING, offsetof(Raw, proc_subset)},
                {"compile_timeout_ms", JSON_U64, offsetof(Raw, policy.compile_timeout_ms), 1,
                        POLICY_COMPILE_TIMEOUT_MAX_MS, .unit = "ms"},
        };
        own(json_freep) json_object *object = NULL;
        int r;

        r = json_parse(text, size, &object, reterr);
        if (r < 0)
                return r;
        r = json_read_object(object, "", fields, ELEMENTS(fields), raw, reterr);
        if (r < 0)
                return r;
        return read_parts(raw, reterr);
}

int policy_read(const char *text, size_t size, const char *source_path, Policy **ret, JsonError *reterr) {
        own(raw_clear) Raw raw = {.policy.compile_timeout_ms = COMPILE_TIMEOUT_DEFAULT_MS, .writable = true};
        own(policy_freep) Policy *policy = NULL;
        int r;

        raw.policy.source_path = strdup(source_path ? source_path : "");
        if (!raw.policy.source_path)
                return -ENOMEM;
        r = read_document(text, size, &raw, reterr);
        if (r < 0)
                return document_locate(text, size, r, reterr);

        policy = calloc(1, sizeof *policy);
        if (!policy)
                return -ENOMEM;
        *policy = raw.policy;
        raw.policy = (Policy){0};

        *ret = hand_over(policy);
        return 0;
}

bool policy_allows_language(const Policy *policy, const char *name) {
        return strv_contains(policy->languages, "*") || strv_contains(policy->languages, name);
}

static int add_limits(json_object *object, const char *key, const Limits *values) {
        own(json_freep) json_object *inner = json_object_new_object();

        if (!inner)
                return -ENOMEM;
        for (LimitId id = 0; id < LIMIT_N; id++) {
                int r;

                /* the host's number of CPUs is no figure of the policy: left out, as a file does */
                if (values->value[id] == UINT64_MAX)
                        continue;
                r = limit_add_json(inner, id, values->value[id]);
                if (r < 0)
                        return r;
        }
        return json_add_object(object, key, hand_over(inner));
}

static int add_syscalls(json_object *object, const Policy *policy) {
        own(json_freep) json_object *inner = json_object_new_object();
        int r;

        if (!inner)
                return -ENOMEM;
        r = json_add_strings(inner, "allow", policy->syscalls_allow);
        if (r < 0)
                return r;
        r = json_add_strings(inner, "deny", policy->syscalls_deny);
        if (r < 0)
                return r;
        r = json_add_bool(inner, "report", policy->syscalls_report);
        if (r < 0)
                return r;
        return json_add_object(object, "syscalls", hand_over(inner));
}

static int add_parts(json_object *object, const Policy *policy) {
        int r;

        r = json_add_string(object, "name", policy->name);
        if (r < 0)
                return r;
        r = json_add_string(object, "description", policy->description ? policy->description : "");
        if (r < 0)
                return r;
        r = add_limits(object, "default", &policy->defaults);
        if (r < 0)
                return r;
        r = add_limits(object, "max", &policy->max);
        if (r < 0)
                return r;
        r = json_add_strings(object, "languages", policy->languages);
        if (r < 0)
                return r;
        r = add_syscalls(object, policy);
        if (r < 0)
                return r;
        r = json_add_string(object, "on_output_limit", on_output_limit_name(policy->on_output_limit));
        if (r < 0)
                return r;
        r = json_add_strings(object, "mount_prefixes", policy->mount_prefixes);
        if (r < 0)
                return r;
        r = json_add_string(object, "on_memory_warn", on_memory_warn_name(policy->on_memory_warn));
        if (r < 0)
                return r;
        r = json_add_string(object, "processes", processes_name(policy->threads_only));
        if (r < 0)
                return r;
        r = json_add_bool(object, "writable", !policy->read_only);
        if (r < 0)
                return r;
        r = json_add_string(object, "network", network_name(policy->egress));
        if (r < 0)
                return r;
        r = json_add_string(object, "audit_code", audit_code_name(policy->audit_code));
        if (r < 0)
                return r;
        r = json_add_bool(object, "restricted", policy->restricted);
        if (r < 0)
                return r;
        r = json_add_string(object, "proc_subset", proc_subset_name(policy->proc_pid_only));
        if (r < 0)
                return r;
        return json_add_u64(object, "compile_timeout_ms", policy->compile_timeout_ms);
}

int policy_to_json(const Policy *policy, json_object **ret) {
        own(json_freep) json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = add_parts(object, policy);
        if (r < 0)
                return r;

        *ret = hand_over(object);
        return 0;
}
