/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whole files in one call, with a bound; nothing here blocks on anything but a local disk. */

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Reads from the current position to the end. -EFBIG when there is more than max. */
int fd_read_all(int fd, size_t max, Bytes *ret);
/* dir may be AT_FDCWD. */
int file_read_at(int dir, const char *path, size_t max, Bytes *ret);
int file_read(const char *path, size_t max, Bytes *ret);
/* pread from offset 0 of a held descriptor (a cgroup file); at most max bytes. */
int fd_pread_text(int fd, size_t max, Bytes *ret);

int fd_write_all(int fd, const void *data, size_t size);
/* Written aside and renamed: readers see the old file or the whole new one. */
int file_replace_at(int dir, const char *name, const void *data, size_t size, unsigned mode);

/* A sealed memfd (write, grow, shrink, seal) holding data, read position 0. */
int memfd_sealed(const char *name, const void *data, size_t size, int *ret_fd);

int fd_set_nonblock(int fd, bool nonblock);
int mkdir_if_missing(const char *path, unsigned mode);
