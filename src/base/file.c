/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whole files in one call. What is opened by name must be a plain file: a FIFO there would hang us. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own.h"

/* Reads up to want bytes; fewer only at the end of the file. */
static int read_some(int fd, char *data, size_t want, size_t *ret_size) {
        size_t n = 0;

        while (n < want) {
                ssize_t r = read(fd, data + n, want - n);

                if (r < 0 && errno == EINTR)
                        continue;
                if (r < 0)
                        return -errno;
                if (r == 0)
                        break;
                n += (size_t) r;
        }
        *ret_size = n;
        return 0;
}

int fd_read_all(int fd, size_t max, Bytes *ret) {
        own(freep) char *data = NULL;
        size_t size = 0, room = 4096;

        for (;;) {
                char *grown = realloc(data, room + 1);
                size_t got = 0;
                int r;

                if (!grown)
                        return -ENOMEM;
                data = grown;
                r = read_some(fd, data + size, room - size, &got);
                if (r < 0)
                        return r;
                size += got;
                if (size > max)
                        return -EFBIG;
                if (size < room)
                        break;
                room *= 2;
        }

        data[size] = 0;
        *ret = (Bytes){.data = hand_over(data), .size = size};
        return 0;
}

int file_read_at(int dir, const char *path, size_t max, Bytes *ret) {
        own(close_fdp) int fd = -1;
        struct stat st;

        fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)) /* a link to /dev/null is an empty file */
                return -EINVAL;

        return fd_read_all(fd, max, ret);
}

int file_read(const char *path, size_t max, Bytes *ret) {
        return file_read_at(AT_FDCWD, path, max, ret);
}

int fd_pread_text(int fd, size_t max, Bytes *ret) {
        own(freep) char *data = NULL;
        size_t size = 0;

        data = malloc(max + 1);
        if (!data)
                return -ENOMEM;
        while (size < max) {
                ssize_t r = pread(fd, data + size, max - size, (off_t) size);

                if (r < 0 && errno == EINTR)
                        continue;
                if (r < 0)
                        return -errno;
                if (r == 0)
                        break;
                size += (size_t) r;
        }

        data[size] = 0;
        *ret = (Bytes){.data = hand_over(data), .size = size};
        return 0;
}

int fd_write_all(int fd, const void *data, size_t size) {
        const char *at = data;

        while (size > 0) {
                ssize_t r = write(fd, at, size);

                if (r < 0 && errno == EINTR)
                        continue;
                if (r < 0)
                        return -errno;
                at += r;
                size -= (size_t) r;
        }
        return 0;
}

static int write_new(int dir, const char *name, const void *data, size_t size, unsigned mode) {
        own(close_fdp) int fd = -1;

        fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, (mode_t) 0600);
        if (fd < 0)
                return -errno;
        /* the mode is exact, whatever the umask */
        if (fchmod(fd, (mode_t) mode) < 0)
                return -errno;
        return fd_write_all(fd, data, size);
}

/* No fsync: what we replace lives in /run and does not outlast the machine anyway. */
int file_replace_at(int dir, const char *name, const void *data, size_t size, unsigned mode) {
        own(freep) char *aside = NULL;
        int r;

        if (asprintf(&aside, ".%s.new", name) < 0) {
                aside = NULL;
                return -ENOMEM;
        }
        /* left over from a writer that died */
        if (unlinkat(dir, aside, 0) < 0 && errno != ENOENT)
                return -errno;

        r = write_new(dir, aside, data, size, mode);
        if (r >= 0 && renameat(dir, aside, dir, name) < 0)
                r = -errno;
        if (r < 0)
                (void) unlinkat(dir, aside, 0);
        return r;
}

int memfd_sealed(const char *name, const void *data, size_t size, int *ret_fd) {
        own(close_fdp) int fd = -1;
        int r;

        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return -errno;
        r = fd_write_all(fd, data, size);
        if (r < 0)
                return r;
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0 ||
                lseek(fd, 0, SEEK_SET) < 0)
                return -errno;

        *ret_fd = hand_over_fd(fd);
        return 0;
}

int fd_set_nonblock(int fd, bool nonblock) {
        int flags = fcntl(fd, F_GETFL), wanted;

        if (flags < 0)
                return -errno;
        wanted = nonblock ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
        if (wanted != flags && fcntl(fd, F_SETFL, wanted) < 0)
                return -errno;
        return 0;
}

int mkdir_if_missing(const char *path, unsigned mode) {
        struct stat st;

        if (mkdir(path, (mode_t) mode) >= 0)
                return 0;
        if (errno != EEXIST)
                return -errno;
        if (stat(path, &st) < 0)
                return -errno;
        return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}
