/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Makes what the code finds. Paths come from the caller, so they are walked one component at a time and no
 * link is followed, although nothing of the caller has run yet when this happens. (openat2 could do it in
 * one call, but RestrictSUIDSGID= answers ENOSYS to it, since its mode argument is out of a filter's sight.)
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/own.h"
#include "runner/workspace.h"

static const struct {
        const char *name;
        mode_t mode;
} directories[] = {
        {"work", 0755},
        {"tmp", 01777},
        {"output", 0755},
        {"code", 0755},
};

/* Fills the sentence and returns error, so that a caller can say "return complain(…)". */
static int complain(Complaint *reterr, int error, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
static int complain(Complaint *reterr, int error, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(reterr->text, sizeof reterr->text, format, arguments);
        va_end(arguments);
        return error;
}

int workspace_make(int root, int *ret_scratch, Complaint *reterr) {
        own(close_fdp) int scratch = -1;

        scratch = openat(root, "scratch", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (scratch < 0)
                return complain(reterr, -errno, "cannot open /scratch: %s", strerror(errno));

        for (size_t i = 0; i < ELEMENTS(directories); i++) {
                /* Existing already: not a fresh tmpfs. chmod, because of the umask. */
                if (mkdirat(scratch, directories[i].name, 0700) < 0 ||
                        fchmodat(scratch, directories[i].name, directories[i].mode, 0) < 0)
                        return complain(reterr, -errno, "cannot make /scratch/%s: %s", directories[i].name,
                                strerror(errno));
        }

        *ret_scratch = hand_over_fd(scratch);
        return 0;
}

/* "work/data/in.csv" is data/in.csv to the caller, who never named the file of the code. */
static const char *name_for_caller(const char *path) {
        if (starts_with(path, "work/"))
                return path + strlen("work/");
        if (starts_with(path, "code/"))
                return "the code";
        return path;
}

/* One step down; a directory that is missing is made. follow: through the skeleton's own links. */
static int step_down(int parent, const char *name, bool follow) {
        int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
        int fd = openat(parent, name, flags);

        if (fd >= 0 || errno != ENOENT)
                return fd < 0 ? -errno : fd;
        if (mkdirat(parent, name, 0755) < 0)
                return -errno;
        fd = openat(parent, name, flags);
        return fd < 0 ? -errno : fd;
}

/*
 * Walks path below dir, making each missing directory above its last component. *ret_parent is where the
 * last component belongs, *ret_name that component, in path (which is cut apart); "" when path ends with a
 * slash.
 */
static int walk(int dir, char *path, bool follow, int *ret_parent, const char **ret_name) {
        own(close_fdp) int parent = fcntl(dir, F_DUPFD_CLOEXEC, 3);
        char *slash;

        if (parent < 0)
                return -errno;

        while ((slash = strchr(path, '/'))) {
                int next;

                *slash = 0;
                if (streq(path, "..") || streq(path, "."))
                        return -EINVAL;
                if (*path) {
                        next = step_down(parent, path, follow);
                        if (next < 0)
                                return next;
                        (void) close(parent);
                        parent = next;
                }
                path = slash + 1;
        }
        if (streq(path, "..") || streq(path, "."))
                return -EINVAL;

        *ret_parent = hand_over_fd(parent);
        *ret_name = path;
        return 0;
}

static int write_file(int scratch, const OrderFile *file) {
        own(freep) char *path = strdup(file->path);
        own(close_fdp) int parent = -1, fd = -1;
        const char *name;
        int r;

        if (!path)
                return -ENOMEM;
        r = walk(scratch, path, /* follow= */ false, &parent, &name);
        if (r < 0)
                return r;

        fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        r = fd_write_all(fd, file->content.data, file->content.size);
        if (r < 0)
                return r;

        return fchmod(fd, file->mode) < 0 ? -errno : 0;
}

int workspace_write_files(int scratch, const OrderFile *files, size_t n_files, Complaint *reterr) {
        for (size_t i = 0; i < n_files; i++) {
                int r = write_file(scratch, &files[i]);

                if (r < 0)
                        return complain(reterr, r, "cannot write %s: %s", name_for_caller(files[i].path),
                                strerror(-r));
        }

        return 0;
}

int workspace_make_directory(int root, const char *path, Complaint *reterr) {
        own(freep) char *whole = NULL;
        own(close_fdp) int parent = -1;
        const char *name;
        int r;

        /* With a slash at its end the last component is a parent too. */
        if (asprintf(&whole, "%s/", path + strspn(path, "/")) < 0) {
                whole = NULL;
                return complain(reterr, -ENOMEM, "cannot make %s: %s", path, strerror(ENOMEM));
        }

        r = walk(root, whole, /* follow= */ true, &parent, &name);
        if (r < 0)
                return complain(reterr, r, "cannot make %s: %s", path, strerror(-r));

        return 0;
}

int workspace_check_mounts(int root, const OrderMount *mounts, size_t n_mounts, Complaint *reterr) {
        for (size_t i = 0; i < n_mounts; i++) {
                struct stat info;

                if (fstatat(root, mounts[i].target + strspn(mounts[i].target, "/"), &info, AT_SYMLINK_NOFOLLOW) < 0)
                        return complain(reterr, -errno, "cannot look at the mount %s: %s", mounts[i].target,
                                strerror(errno));
                if (info.st_dev != mounts[i].device || info.st_ino != mounts[i].inode)
                        return complain(reterr, -ESTALE, "the source of the mount %s was exchanged while it was mounted",
                                mounts[i].target);
        }
        return 0;
}

int workspace_stdin(int scratch, const Bytes *data, int *ret_fd, Complaint *reterr) {
        own(close_fdp) int fd = -1, again = -1;
        char path[64];
        int r;

        fd = openat(scratch, "tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0)
                return complain(reterr, -errno, "cannot make a file for stdin: %s", strerror(errno));
        r = fd_write_all(fd, data->data, data->size);
        if (r < 0)
                return complain(reterr, r, "cannot write stdin: %s", strerror(-r));

        (void) snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        again = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (again < 0)
                return complain(reterr, -errno, "cannot open stdin: %s", strerror(errno));

        *ret_fd = hand_over_fd(again);
        return 0;
}
