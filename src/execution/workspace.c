/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Looking at a workspace that is full of somebody else's files. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/own.h"
#include "execution/workspace.h"

DEFINE_OWN(DIR, closedir);

typedef struct Look {
        uint64_t size;
        unsigned left;
} Look;

bool workspace_is_full(int scratch) {
        struct statvfs info;

        return scratch >= 0 && fstatvfs(scratch, &info) == 0 && (info.f_bfree == 0 || info.f_ffree == 0);
}

static bool look_in(int parent, const char *name, unsigned depth, Look *look);

static bool look_at(int directory, const char *name, unsigned depth, Look *look) {
        struct stat info;

        if (fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
                return false;
        if (S_ISREG(info.st_mode))
                return (uint64_t) info.st_size == look->size;
        return S_ISDIR(info.st_mode) && depth < WORKSPACE_DEPTH_MAX && look_in(directory, name, depth + 1, look);
}

static bool look_in(int parent, const char *name, unsigned depth, Look *look) {
        own(closedirp) DIR *directory = NULL;
        struct dirent *entry;
        int fd;

        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return false;
        directory = fdopendir(fd);
        if (!directory) {
                close_fd(fd);
                return false;
        }
        while (look->left > 0 && (entry = readdir(directory))) {
                if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
                        continue;
                look->left--;
                if (look_at(dirfd(directory), entry->d_name, depth, look))
                        return true;
        }
        return false;
}

bool workspace_has_file_of(int scratch, uint64_t size) {
        Look look = {.size = size, .left = WORKSPACE_LOOK_MAX};

        return scratch >= 0 && look_in(scratch, ".", 0, &look);
}
