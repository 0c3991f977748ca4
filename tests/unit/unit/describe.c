/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The wall as it is asked for: every row of DESIGN section 4 with its value, and nothing of the caller in
 * it. */

#include <stdio.h>

#include "../plan-fixture.h"
#include "base/json.h"
#include "unit/describe.h"

#define ID "0123456789abcdef0123456789abcdef"

static void describe(const char *spec_text, unsigned version, int control, Properties *ret) {
        own(spec_freep) Spec *spec = NULL;
        own(plan_freep) Plan *plan = NULL;
        UnitDescription description = {.id = ID,
                .slice = "unitcell-u1000.slice",
                .manager_version = version,
                .control = control,
                .out = control + 1,
                .err = control + 2};

        fixture_plan(spec_text, &spec, &plan);
        cr_assert_eq(unit_describe(plan, &description, ret), 0);
}

static const char spec[] =
        "{\"language\":\"sh\",\"code\":\"echo "
        "SECRET\",\"args\":[\"SECRET\"],\"env\":{\"SECRET\":\"SECRET\"},"
        "\"stdin\":\"SECRET\",\"files\":[{\"path\":\"SECRET\",\"content\":\"SECRET\"}],\"task_id\":"
        "\"SECRET\","
        "\"timeout_ms\":5000,\"limits\":{\"cpu_cpus\":0.5,\"memory_mb\":256,\"pids_max\":32,\"disk_mb\":8}}";

static const struct {
        const char *name, *data;
} wall[] = {
        {"Description", "\"Unitcell execution " ID "\""},
        {"Type", "\"exec\""},
        {"ExecStart",
                "[[\"/usr/lib/unitcell/unitcell-runner\",[\"/usr/lib/unitcell/unitcell-runner\"],false]]"},
        {"Slice", "\"unitcell-u1000.slice\""},
        {"CollectMode", "\"inactive\""},
        {"LogLevelMax", "5"},
        {"DynamicUser", "true"},
        {"CapabilityBoundingSet", "0"},
        {"AmbientCapabilities", "0"},
        {"NoNewPrivileges", "true"},
        {"KeyringMode", "\"private\""},
        {"RootDirectory", "\"/usr/lib/unitcell/root\""},
        {"TemporaryFileSystem", "[[\"/scratch\",\"size=8M,nr_inodes=2048,mode=1777\"],[\"/dev/"
                                "shm\",\"size=8M,nr_inodes=2048,mode=1777\"],"
                                "[\"/run\",\"ro,size=64K,nr_inodes=64\"]]"},
        {"PrivateTmp", "true"},
        {"BindPaths", "[[\"/nonexistent\",\"/tmp\",true,16384],[\"/nonexistent\",\"/var/tmp\",true,16384]]"},
        {"InaccessiblePaths", "[\"-+/dev/pts\",\"-+/dev/ptmx\",\"-+/dev/hugepages\",\"-+/dev/mqueue\"]"},
        {"ProtectSystem", "\"strict\""},
        {"ProtectHome", "\"yes\""},
        {"PrivateDevices", "true"},
        {"DevicePolicy", "\"closed\""},
        {"PrivateMounts", "true"},
        {"PrivateIPC", "true"},
        {"ProtectProc", "\"invisible\""},
        {"ProcSubset", "\"all\""},
        {"ProtectKernelTunables", "true"},
        {"ProtectKernelModules", "true"},
        {"ProtectKernelLogs", "true"},
        {"ProtectControlGroups", "true"},
        {"ProtectClock", "true"},
        {"ProtectHostname", "true"},
        {"PrivateNetwork", "true"},
        {"RestrictAddressFamilies", "[true,[\"AF_UNIX\",\"AF_INET\",\"AF_INET6\",\"AF_NETLINK\"]]"},
        {"IPAddressDeny", "[[2,[0,0,0,0],0],[10,[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],0]]"},
        {"IPAddressAllow", "[[2,[127,0,0,0],8],[10,[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1],128]]"},
        {"SystemCallErrorNumber", "1"},
        {"SystemCallArchitectures", "[\"native\"]"},
        {"RestrictNamespaces", "0"},
        {"RestrictRealtime", "true"},
        {"RestrictSUIDSGID", "true"},
        {"LockPersonality", "true"},
        {"MemoryMax", "268435456"},
        {"MemorySwapMax", "0"},
        {"MemoryHigh", "18446744073709551615"},
        {"OOMPolicy", "\"continue\""},
        {"CPUQuotaPerSecUSec", "500000"},
        {"TasksMax", "33"},
        {"LimitCORE", "1"},
        {"RuntimeMaxUSec", "35000000"},
        {"TimeoutStartUSec", "30000000"},
        {"TimeoutStopUSec", "10000000"},
        {"KillSignal", "9"},
        {"KillMode", "\"control-group\""},
        {"NotifyAccess", "\"none\""},
};

static const char *data_of(json_object *document, const char *name) {
        json_object *property, *data;

        if (!json_object_object_get_ex(document, name, &property) ||
                !json_object_object_get_ex(property, "data", &data))
                return "nothing";
        return json_object_to_json_string_ext(data, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

Test(describe, every_row) {
        own(properties_clear) Properties properties = {};
        own(json_freep) json_object *document = NULL;

        describe(spec, 252, -1, &properties);
        cr_assert_eq(properties_to_json(&properties, &document), 0);
        for (size_t i = 0; i < ELEMENTS(wall); i++)
                cr_expect_str_eq(data_of(document, wall[i].name), wall[i].data, "%s", wall[i].name);

        /* The two that have rows of their own below, and no other. */
        cr_expect_eq((size_t) json_object_object_length(document), ELEMENTS(wall) + 2);
}

Test(describe, binds) {
        own(properties_clear) Properties properties = {};
        own(json_freep) json_object *document = NULL;
        static const char *const parts[] = {
                "[\"/usr\",\"/usr\",false,0]", "[\"/usr/lib/unitcell/sys\",\"/sys\",false,16384]",
                "[\"/etc/ld.so.cache\",\"/etc/ld.so.cache\",true,16384]",
                "[\"/sys/devices/system/cpu\",\"/sys/devices/system/cpu\",false,16384]",
                "[\"/etc/sh.conf\",\"/etc/sh.conf\",true,16384]", /* the language's */
        };

        describe(spec, 252, -1, &properties);
        cr_assert_eq(properties_to_json(&properties, &document), 0);
        for (size_t i = 0; i < ELEMENTS(parts); i++)
                cr_expect(strstr(data_of(document, "BindReadOnlyPaths"), parts[i]), "%s", parts[i]);
}

Test(describe, system_calls) {
        own(properties_clear) Properties properties = {};
        own(json_freep) json_object *document = NULL;
        json_object *filter;

        describe(spec, 252, -1, &properties);
        cr_assert_eq(properties_to_json(&properties, &document), 0);
        cr_assert(json_object_object_get_ex(document, "SystemCallFilter", &filter));
        /* First what is allowed, then what is taken away from it. */
        cr_expect_str_eq(json_object_to_json_string_ext(filter, JSON_C_TO_STRING_PLAIN),
                "[{\"type\":\"(bas)\",\"data\":[true,[\"@system-service\",\"seccomp\"]]},"
                "{\"type\":\"(bas)\",\"data\":[false,[\"@keyring\",\"ptrace\"]]}]");
}

/* With reporting the exact list is the inner filter's: the outer one holds what no policy could allow. */
Test(describe, system_calls_reported) {
        own(properties_clear) Properties properties = {};
        own(json_freep) json_object *document = NULL;
        own(spec_freep) Spec *asked = NULL;
        own(plan_freep) Plan *plan = NULL;
        const UnitDescription description = {.id = "x", .slice = "unitcell-u1.slice", .manager_version = 252, .control = -1};
        json_object *filter;

        fixture_plan(spec, &asked, &plan);
        plan->syscalls_report = true;
        cr_assert_eq(unit_describe(plan, &description, &properties), 0);
        cr_assert_eq(properties_to_json(&properties, &document), 0);
        cr_assert(json_object_object_get_ex(document, "SystemCallFilter", &filter));
        cr_expect_str_eq(json_object_to_json_string_ext(filter, JSON_C_TO_STRING_PLAIN),
                "{\"type\":\"(bas)\",\"data\":[false,[\"@clock\",\"@cpu-emulation\",\"@module\",\"@obsolete\","
                "\"@raw-io\",\"@reboot\",\"@swap\"]]}");
}

Test(describe, newer_systemd) {
        static const struct {
                const char *name;
                unsigned since;
                const char *data;
        } rows[] = {
                {"BindLogSockets", 257, "false"},
                {"PrivatePIDs", 257, "\"yes\""},
        };

        for (unsigned version = 252; version <= 258; version++) {
                own(properties_clear) Properties properties = {};
                own(json_freep) json_object *document = NULL;

                describe(spec, version, -1, &properties);
                cr_assert_eq(properties_to_json(&properties, &document), 0);
                for (size_t i = 0; i < ELEMENTS(rows); i++)
                        cr_expect_str_eq(data_of(document, rows[i].name),
                                version >= rows[i].since ? rows[i].data : "nothing", "%s on %u",
                                rows[i].name, version);
        }
}

Test(describe, what_the_plan_changes) {
        static const struct {
                const char *spec, *name, *data;
        } rows[] = {
                {"{\"argv\":[\"/bin/a\"],\"policy\":\"quiet\"}", "ProcSubset", "\"pid\""},
                {"{\"argv\":[\"/bin/a\"],\"policy\":\"quiet\"}", "MemoryMax", "67108864"},
                {"{\"argv\":[\"/bin/a\"],\"limits\":{\"cpu_cpus\":0.01}}", "CPUQuotaPerSecUSec", "10000"},
                {"{\"argv\":[\"/bin/a\"],\"limits\":{\"cpu_cpus\":4}}", "CPUQuotaPerSecUSec", "4000000"},
                {"{\"argv\":[\"/bin/a\"],\"limits\":{\"pids_max\":1}}", "TasksMax", "2"},
                {"{\"argv\":[\"/bin/a\"],\"timeout_ms\":1}", "RuntimeMaxUSec", "30001000"},
                {"{\"argv\":[\"/bin/a\"],\"timeout_ms\":300000}", "RuntimeMaxUSec", "330000000"},
                /* a compile step comes on top */
                {"{\"language\":\"cc\",\"code\":\"\",\"timeout_ms\":1000}", "RuntimeMaxUSec", "51000000"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(properties_clear) Properties properties = {};
                own(json_freep) json_object *document = NULL;

                describe(rows[i].spec, 252, -1, &properties);
                cr_assert_eq(properties_to_json(&properties, &document), 0);
                cr_expect_str_eq(
                        data_of(document, rows[i].name), rows[i].data, "%s %s", rows[i].spec, rows[i].name);
        }
}

/* A unit's properties are readable by every local user. */
Test(describe, nothing_of_the_caller) {
        own(properties_clear) Properties properties = {};
        own(json_freep) json_object *document = NULL;

        describe(spec, 257, -1, &properties);
        cr_assert_eq(properties_to_json(&properties, &document), 0);
        cr_expect_null(strstr(json_object_to_json_string(document), "SECRET"));
}

/* What only a real start has, and Explain does not show. */
Test(describe, descriptors) {
        own(properties_clear) Properties shown = {}, started = {};
        own(json_freep) json_object *a = NULL, *b = NULL;
        static const char *const more[] = {"StandardInputFileDescriptor", "StandardOutputFileDescriptor",
                "StandardErrorFileDescriptor", "AddRef"};

        describe(spec, 252, -1, &shown);
        describe(spec, 252, 10, &started);
        cr_assert_eq(started.n, shown.n + ELEMENTS(more));
        for (size_t i = 0; i < ELEMENTS(more); i++) {
                cr_expect_str_eq(started.items[shown.n + i].name, more[i]);
                cr_expect(started.items[shown.n + i].write_only);
                if (started.items[shown.n + i].kind == PROPERTY_FD)
                        cr_expect_eq(started.items[shown.n + i].fd, 10 + (int) i);
        }
        cr_assert_eq(properties_to_json(&shown, &a), 0);
        cr_assert_eq(properties_to_json(&started, &b), 0);
        cr_expect(json_object_equal(a, b));
}
