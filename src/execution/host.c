/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Looking at the host. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/file.h"
#include "execution/host.h"
#include "manager/cgroup.h"

#define CGROUP2_MAGIC 0x63677270L /* linux/magic.h CGROUP2_SUPER_MAGIC */
#define NAMESPACES_FILE_MAX 4096

static void read_namespaces(const char *path, Host *host) {
        own(bytes_clear) Bytes text = {};
        char *line, *rest;

        if (file_read(path, NAMESPACES_FILE_MAX, &text) < 0 || !text.data)
                return;

        for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                unsigned long long number;
                char name[16];

                if (sscanf(line, "%15s %llu", name, &number) != 2)
                        continue;
                for (size_t i = 0; i < NAMESPACE_N; i++)
                        if (streq(name, namespace_names[i]))
                                host->namespaces[i] = number;
        }
}

int host_look(const char *namespaces_file, Host *ret) {
        Host host = {};
        struct statfs filesystem;
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);

        host.cpus = cpus > 0 ? (unsigned) cpus : 1;
        if (statfs(CGROUP_ROOT, &filesystem) < 0)
                return -errno;
        host.unified_cgroups = filesystem.f_type == CGROUP2_MAGIC;
        read_namespaces(namespaces_file, &host);

        *ret = host;
        return 0;
}
