/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program without a writable place. Landlock handles every right that makes, removes or changes a file, and no rule
 * grants one but for /dev/null. Version 1 (Linux 5.13) has no truncate(2): the inner filter refuses that.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "base/own.h"
#include "runner/landlock.h"

#define WRITING                                                                                             \
        (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |   \
                LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |  \
                LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
                LANDLOCK_ACCESS_FS_MAKE_SYM)

static int allow_null(int ruleset) {
        own(close_fdp) int null = open("/dev/null", O_PATH | O_CLOEXEC);
        struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE, .parent_fd = null};

        if (null < 0)
                return -errno;
        return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int landlock_read_only(void) {
        const struct landlock_ruleset_attr attributes = {.handled_access_fs = WRITING};
        own(close_fdp) int ruleset = -1;
        int r;

        ruleset = (int) syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
        if (ruleset < 0)
                return -errno;
        r = allow_null(ruleset);
        if (r < 0)
                return r;
        return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}

int landlock_version(void) {
        long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

        return version < 0 ? -errno : (int) version;
}
