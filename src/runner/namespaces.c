/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A namespace setting that failed open shows in one number: the namespace is the host's. unitcelld, uid 0
 * without capabilities, may not look at process 1, so an ExecStartPre=+ of its unit writes the host's
 * numbers down.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/own.h"
#include "runner/namespaces.h"

int namespaces_read(const char *process, uint64_t ret[static NAMESPACE_N]) {
        uint64_t numbers[NAMESPACE_N];

        for (size_t i = 0; i < NAMESPACE_N; i++) {
                struct stat info;
                char path[64];

                (void) snprintf(path, sizeof path, "/proc/%s/ns/%s", process, namespace_names[i]);
                if (stat(path, &info) < 0)
                        return -errno;
                numbers[i] = info.st_ino;
        }

        for (size_t i = 0; i < NAMESPACE_N; i++)
                ret[i] = numbers[i];
        return 0;
}

int namespaces_compare(
        const uint64_t own_numbers[static NAMESPACE_N], const uint64_t host[static NAMESPACE_N]) {
        for (size_t i = 0; i < NAMESPACE_N; i++)
                if (host[i] != 0 && own_numbers[i] == host[i])
                        return 1 + (int) i;

        return 0;
}

int namespaces_record(const char *process, const char *path) {
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        own(close_fdp) int dir = -1;
        own(freep) char *parent = NULL;
        uint64_t numbers[NAMESPACE_N];
        char text[256];
        size_t used = 0;
        int r;

        r = namespaces_read(process, numbers);
        if (r < 0)
                return r;

        for (size_t i = 0; i < NAMESPACE_N; i++)
                used += (size_t) snprintf(
                        text + used, sizeof text - used, "%s %" PRIu64 "\n", namespace_names[i], numbers[i]);

        parent = slash ? strndup(path, (size_t) (name - path)) : strdup(".");
        if (!parent)
                return -ENOMEM;
        dir = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return -errno;

        return file_replace_at(dir, name, text, used, 0644);
}
