/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which mounts a plan takes: by the policy's prefixes and by where a mount point can be. */

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/plan-parts.h"

static int resolve(const char *prefixes, const char *mounts, Plan *plan, JsonError *error) {
        own(spec_freep) Spec *spec = NULL;
        own(policy_freep) Policy *policy = NULL;
        char text[1024];

        (void) snprintf(text, sizeof text, "{\"name\":\"p\",\"mount_prefixes\":%s}", prefixes);
        cr_assert_eq(policy_read(text, strlen(text), NULL, &policy, error), 0, "%s %s", error->key, error->message);
        (void) snprintf(text, sizeof text, "{\"argv\":[\"/usr/bin/env\"],\"mounts\":%s}", mounts);
        cr_assert_eq(spec_read(text, strlen(text), &spec, error), 0, "%s %s", error->key, error->message);
        return plan_resolve_mounts(plan, spec, policy, error);
}

Test(mounts, taken) {
        static const struct {
                const char *prefixes, *mounts, *source, *target;
        } rows[] = {
                {"[\"/srv\"]", "[{\"source\":\"/srv\",\"target\":\"/data\"}]", "/srv", "/data"},
                {"[\"/srv/data\"]", "[{\"source\":\"/srv//data/./x/\",\"target\":\"/data/in\"}]", "/srv/data/x",
                        "/data/in"},
                {"[\"/opt\",\"/srv\"]", "[{\"source\":\"/srv/a\",\"target\":\"/scratch/in\"}]", "/srv/a", "/scratch/in"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                Plan plan = {};
                JsonError error = {};

                cr_expect_eq(resolve(rows[i].prefixes, rows[i].mounts, &plan, &error), 0, "%zu: %s %s", i, error.key,
                        error.message);
                cr_assert_eq(strv_length(plan.mounts), 2U);
                cr_expect_str_eq(plan.mounts[0], rows[i].source);
                cr_expect_str_eq(plan.mounts[1], rows[i].target);
                plan_clear(&plan);
        }
}

Test(mounts, refused) {
        static const struct {
                const char *prefixes, *mounts, *key, *part;
        } rows[] = {
                {"[]", "[{\"source\":\"/srv\",\"target\":\"/data\"}]", "mounts[0].source", "lists no mount_prefixes"},
                {"[\"/srv\"]", "[{\"source\":\"/srvx\",\"target\":\"/data\"}]", "mounts[0].source", "does not lie below"},
                {"[\"/srv\"]", "[{\"source\":\"/srv/../etc\",\"target\":\"/data\"}]", "mounts[0].source", ".."},
                {"[\"/srv\"]", "[{\"source\":\"srv\",\"target\":\"/data\"}]", "mounts[0].source", "absolute"},
                {"[\"/srv\"]", "[{\"source\":\"/srv/a:b\",\"target\":\"/data\"}]", "mounts[0].source", "colon"},
                {"[\"/srv\"]", "[{\"source\":\"/srv\",\"target\":\"/usr\"}]", "mounts[0].target", "/data"},
                {"[\"/srv\"]", "[{\"source\":\"/srv\",\"target\":\"/workspace/x\"}]", "mounts[0].target", "/data"},
                {"[\"/srv\"]", "[{\"source\":\"/srv\",\"target\":\"/scratch/work/x\"}]", "mounts[0].target", "/data"},
                {"[\"/srv\"]", "[{\"source\":\"/srv\",\"target\":\"/scratch\"}]", "mounts[0].target", "/data"},
                {"[\"/srv\"]", "[{\"source\":\"/srv\"}]", "mounts[0].target", "missing"},
                {"[\"/srv\"]", "[{\"source\":\"/srv\",\"target\":\"/data\",\"write\":true}]", "mounts[0].write", "known key"},
                {"[\"/srv\"]", "[\"x\"]", "mounts[0].source", "object"},
                {"[\"/srv\"]",
                        "[{\"source\":\"/srv\",\"target\":\"/data\"},{\"source\":\"/srv\",\"target\":\"/data/x\"}]",
                        "mounts[1].target", "another mount"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                Plan plan = {};
                JsonError error = {};

                cr_expect_eq(resolve(rows[i].prefixes, rows[i].mounts, &plan, &error), PLAN_INVALID, "%zu", i);
                cr_expect_str_eq(error.key, rows[i].key, "%zu", i);
                cr_expect(strstr(error.message, rows[i].part), "%zu: %s", i, error.message);
                plan_clear(&plan);
        }
}

Test(mounts, prefixes) {
        static const char *const bad[] = {"/", "/home", "/home/alice", "/tmp/x", "/proc", "relative", "/srv/../etc"};

        for (size_t i = 0; i < ELEMENTS(bad); i++) {
                own(policy_freep) Policy *policy = NULL;
                JsonError error = {};
                char text[128];

                (void) snprintf(text, sizeof text, "{\"name\":\"p\",\"mount_prefixes\":[\"/srv\",\"%s\"]}", bad[i]);
                cr_expect_eq(policy_read(text, strlen(text), NULL, &policy, &error), -EINVAL, "%s", bad[i]);
                cr_expect_str_eq(error.key, "mount_prefixes[1]", "%s", bad[i]);
        }
}
