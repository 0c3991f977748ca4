/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Path checks by text alone: the paths are names inside the sandbox, where nothing of them exists yet. */

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "spec/path.h"

#define COMPONENT_SIZE_MAX 255U /* NAME_MAX */

static const char *component_problem(const char *component, size_t size) {
        if (size == 0 || (size == 1 && component[0] == '.'))
                return "must have no empty and no \".\" component";
        if (size == 2 && memcmp(component, "..", 2) == 0)
                return "must have no \"..\" component";
        if (size > COMPONENT_SIZE_MAX)
                return "must have no component of more than 255 bytes";
        return NULL;
}

const char *relative_path_problem(const char *path) {
        unsigned depth = 0;

        if (!*path || *path == '/')
                return "must be a path relative to the workspace, such as \"data/in.csv\"";
        if (strlen(path) > PATH_SIZE_MAX)
                return "must be at most 1024 bytes";

        for (const char *at = path;; at++) {
                size_t size = strcspn(at, "/");
                const char *problem = component_problem(at, size);

                if (problem)
                        return problem;
                if (++depth > PATH_DEPTH_MAX)
                        return "must be at most 32 components deep";
                at += size;
                if (!*at)
                        return NULL;
        }
}

int absolute_path_normalise(const char *path, char **ret, const char **reterr_problem) {
        own(freep) char *clean = NULL;
        size_t n = 0;

        *reterr_problem = "must be an absolute path";
        if (*path != '/')
                return -EINVAL;
        *reterr_problem = "must be at most 1024 bytes";
        if (strlen(path) > PATH_SIZE_MAX)
                return -EINVAL;
        clean = malloc(strlen(path) + 2);
        if (!clean)
                return -ENOMEM;

        for (const char *at = path; *at;) {
                size_t size;

                at += strspn(at, "/");
                size = strcspn(at, "/");
                if (size > 0 && !(size == 1 && *at == '.')) {
                        *reterr_problem = component_problem(at, size);
                        if (*reterr_problem)
                                return -EINVAL;
                        clean[n++] = '/';
                        memcpy(clean + n, at, size);
                        n += size;
                }
                at += size;
        }
        if (n == 0)
                clean[n++] = '/';
        clean[n] = 0;

        *reterr_problem = NULL;
        *ret = hand_over(clean);
        return 0;
}

bool path_is_under(const char *path, const char *directory) {
        size_t size = strlen(directory);

        return strncmp(path, directory, size) == 0 && (path[size] == 0 || path[size] == '/');
}
