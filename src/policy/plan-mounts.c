/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Read-only mounts of host directories. A source lies below a prefix that the policy lists; a target is /data or below
 * it, or in /scratch beside what the runner makes there: anywhere else systemd would have to make a mount point in the
 * skeleton, for all executions to see.
 */

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "policy/plan-parts.h"
#include "spec/path.h"

typedef struct Mount {
        char *source, *target;
} Mount;

static void mount_clear(Mount *mount) {
        free(mount->source);
        free(mount->target);
}

static int refuse(JsonError *reterr, size_t index, const char *key, const char *problem) {
        char path[48];

        (void) snprintf(path, sizeof path, "mounts[%zu].%s", index, key);
        json_error_set(reterr, path, "%s", problem);
        return PLAN_INVALID;
}

static int normalise(char **path, size_t index, const char *key, JsonError *reterr) {
        char *normal;
        const char *problem;
        int r;

        r = absolute_path_normalise(*path, &normal, &problem);
        if (r == -EINVAL)
                return refuse(reterr, index, key, problem);
        if (r < 0)
                return r;
        free(*path);
        *path = normal;
        return 0;
}

static bool is_listed(const Policy *policy, const char *source) {
        for (size_t i = 0; policy->mount_prefixes && policy->mount_prefixes[i]; i++)
                if (path_is_under(source, policy->mount_prefixes[i]))
                        return true;
        return false;
}

static bool target_is_possible(const char *target) {
        static const char *const made_by_runner[] = {"/scratch/work", "/scratch/tmp", "/scratch/output", "/scratch/code"};

        if (path_is_under(target, "/data"))
                return true;
        for (size_t i = 0; i < ELEMENTS(made_by_runner); i++)
                if (path_is_under(target, made_by_runner[i]))
                        return false;
        return path_is_under(target, "/scratch") && !streq(target, "/scratch");
}

/* One inside another would depend on the order of mounting. */
static bool overlaps_earlier(const Plan *plan, const char *target) {
        for (size_t i = 0; plan->mounts && plan->mounts[i]; i += 2)
                if (path_is_under(target, plan->mounts[i + 1]) || path_is_under(plan->mounts[i + 1], target))
                        return true;
        return false;
}

static int check(const Plan *plan, const Policy *policy, Mount *mount, size_t index, JsonError *reterr) {
        int r;

        r = normalise(&mount->source, index, "source", reterr);
        if (r != 0)
                return r;
        r = normalise(&mount->target, index, "target", reterr);
        if (r != 0)
                return r;
        if (strchr(mount->source, ':') || strchr(mount->target, ':'))
                return refuse(reterr, index, "source", "must not contain a colon");
        if (!is_listed(policy, mount->source))
                return refuse(reterr, index, "source",
                        policy->mount_prefixes && policy->mount_prefixes[0] ?
                                "does not lie below one of the policy's mount_prefixes" :
                                "cannot be mounted: the policy lists no mount_prefixes");
        if (!target_is_possible(mount->target))
                return refuse(reterr, index, "target",
                        "must be /data, lie below it, or in /scratch but not in its work, tmp, output or code");
        if (overlaps_earlier(plan, mount->target))
                return refuse(reterr, index, "target", "must not be, contain or lie in the target of another mount");
        return 0;
}

int plan_resolve_mounts(Plan *plan, const Spec *spec, const Policy *policy, JsonError *reterr) {
        static const JsonField fields[] = {
                {"source", JSON_STRING, offsetof(Mount, source), 1, PATH_SIZE_MAX, .mandatory = true},
                {"target", JSON_STRING, offsetof(Mount, target), 1, PATH_SIZE_MAX, .mandatory = true},
        };
        size_t n = spec->mounts ? json_object_array_length(spec->mounts) : 0;

        for (size_t i = 0; i < n; i++) {
                own(mount_clear) Mount mount = {0};
                json_object *entry = json_object_array_get_idx(spec->mounts, i);
                char prefix[32];
                int r;

                (void) snprintf(prefix, sizeof prefix, "mounts[%zu].", i);
                if (!json_object_is_type(entry, json_type_object))
                        return refuse(reterr, i, "source", "each mount must be an object with \"source\" and \"target\"");
                r = json_read_object(entry, prefix, fields, ELEMENTS(fields), &mount, reterr);
                if (r == -EINVAL)
                        return PLAN_INVALID;
                if (r < 0)
                        return r;
                r = check(plan, policy, &mount, i, reterr);
                if (r != 0)
                        return r;
                r = strv_append(&plan->mounts, mount.source);
                if (r >= 0)
                        r = strv_append(&plan->mounts, mount.target);
                if (r < 0)
                        return r;
        }
        return 0;
}
