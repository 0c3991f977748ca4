/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Looking at mount sources without following a link. */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/own.h"
#include "base/text.h"
#include "execution/mounts.h"

void mounts_clear(Mounts *mounts) {
        for (size_t i = 0; i < mounts->n; i++)
                free(mounts->items[i].target);
        free(mounts->items);
        *mounts = (Mounts) {};
}

static int look(const char *source, struct stat *ret) {
        const struct open_how how = {
                .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        own(close_fdp) int fd = (int) syscall(SYS_openat2, AT_FDCWD, source, &how, sizeof how);

        if (fd < 0 || fstat(fd, ret) < 0)
                return -errno;
        return S_ISDIR(ret->st_mode) || S_ISREG(ret->st_mode) ? 0 : -ENOTDIR;
}

static const char *in_words(int error) {
        switch (error) {
        case -ELOOP:
                return "it is, or leads through, a symbolic link";
        case -ENOTDIR:
                return "it is neither a directory nor a regular file";
        default:
                return strerror(-error);
        }
}

int mounts_look(const Plan *plan, Mounts *ret, char **reterr_problem) {
        own(mounts_clear) Mounts mounts = {};
        size_t n = strv_length(plan->mounts) / 2;

        mounts.items = calloc(n + 1, sizeof *mounts.items);
        if (!mounts.items)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                struct stat info;
                int r;

                r = look(plan->mounts[2 * i], &info);
                if (r < 0) {
                        if (asprintf(reterr_problem, "mounts[%zu].source: %s cannot be mounted: %s", i,
                                    plan->mounts[2 * i], in_words(r)) < 0)
                                return -ENOMEM;
                        return -EINVAL;
                }
                mounts.items[i].target = strdup(plan->mounts[2 * i + 1]);
                if (!mounts.items[i].target)
                        return -ENOMEM;
                mounts.items[i].device = info.st_dev;
                mounts.items[i].inode = info.st_ino;
                mounts.n++;
        }

        *ret = mounts;
        mounts = (Mounts) {};
        return 0;
}
