/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Writing and reading the work order: magic, version, then the fields of Order in their order. A number is
 * little-endian, bytes are a 64-bit length and the bytes, a list is a 32-bit count and its entries. Strings
 * are copied on reading, contents stay in the mapping: so the bulk can be let go (order_release_bulk) while
 * the command line and the environment are still needed.
 */

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/own.h"
#include "handover/order.h"

#define ORDER_MAGIC 0x6f6c6375U /* "uclo" */
#define ORDER_VERSION 2U
#define ORDER_SIZE_MAX (64U * 1024 * 1024)
#define FILTER_INSTRUCTION_SIZE 8U /* struct sock_filter */
#define FILTER_SIZE_MAX (4096U * FILTER_INSTRUCTION_SIZE) /* BPF_MAXINSNS */
#define ORDER_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* Writing. stdio keeps the first error; it is looked at once, at the end. */

static void put_u32(FILE *out, uint64_t value) {
        uint32_t little = htole32((uint32_t) value);

        (void) fwrite(&little, sizeof little, 1, out);
}

static void put_u64(FILE *out, uint64_t value) {
        uint64_t little = htole64(value);

        (void) fwrite(&little, sizeof little, 1, out);
}

static void put_bytes(FILE *out, const void *data, size_t size) {
        put_u64(out, size);
        if (size > 0)
                (void) fwrite(data, 1, size, out);
}

static void put_string(FILE *out, const char *text) {
        put_bytes(out, text, strlen(text));
}

static void put_list(FILE *out, char *const *list) {
        size_t n = strv_length(list);

        put_u32(out, n);
        for (size_t i = 0; i < n; i++)
                put_string(out, list[i]);
}

static void put_order(FILE *out, const Order *order) {
        put_u32(out, ORDER_MAGIC);
        put_u32(out, ORDER_VERSION);
        put_list(out, order->compile);
        put_list(out, order->argv);
        put_list(out, order->env);
        put_string(out, order->directory ?: "/");
        put_list(out, order->make_directories);

        put_u32(out, order->n_files);
        for (size_t i = 0; i < order->n_files; i++) {
                put_string(out, order->files[i].path);
                put_bytes(out, order->files[i].content.data, order->files[i].content.size);
                put_u32(out, order->files[i].mode);
        }

        put_bytes(out, order->stdin_data.data, order->stdin_data.size);

        put_u32(out, order->n_rlimits);
        for (size_t i = 0; i < order->n_rlimits; i++) {
                put_u32(out, order->rlimits[i].resource);
                put_u64(out, order->rlimits[i].soft);
                put_u64(out, order->rlimits[i].hard);
        }

        put_u32(out, order->n_mounts);
        for (size_t i = 0; i < order->n_mounts; i++) {
                put_string(out, order->mounts[i].target);
                put_u64(out, order->mounts[i].device);
                put_u64(out, order->mounts[i].inode);
        }

        put_bytes(out, order->filter.data, order->filter.size);
        put_u32(out, order->filter_reports);
        put_u32(out, order->read_only);
        put_u64(out, order->deadline_ms);
}

static int order_memfd(int *ret) {
        int fd = memfd_create("unitcell-order", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

        if (fd < 0 && errno == EINVAL) /* before 6.3 */
                fd = memfd_create("unitcell-order", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return -errno;

        *ret = fd;
        return 0;
}

int order_write(const Order *order, int *ret_fd) {
        own(close_fdp) int fd = -1;
        FILE *out;
        int copy, r;

        if (!order->argv || !order->argv[0])
                return -EINVAL;

        r = order_memfd(&fd);
        if (r < 0)
                return r;

        copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (copy < 0)
                return -errno;
        out = fdopen(copy, "w");
        if (!out) {
                r = -errno;
                (void) close(copy);
                return r;
        }

        errno = 0;
        put_order(out, order);
        if (ferror(out) || fflush(out) != 0)
                r = errno > 0 ? -errno : -EIO;
        if (fclose(out) != 0 && r == 0)
                r = errno > 0 ? -errno : -EIO;
        if (r < 0)
                return r;

        if (lseek(fd, 0, SEEK_CUR) > ORDER_SIZE_MAX)
                return -E2BIG;
        if (fcntl(fd, F_ADD_SEALS, ORDER_SEALS) < 0 || lseek(fd, 0, SEEK_SET) < 0)
                return -errno;

        *ret_fd = hand_over_fd(fd);
        return 0;
}

/* Reading. Each take_ function moves on only over what is there. */

typedef struct Cursor {
        const char *data;
        size_t left;
} Cursor;

static int take(Cursor *cursor, size_t size, const char **ret) {
        if (size > cursor->left)
                return -EBADMSG;

        *ret = cursor->data;
        cursor->data += size;
        cursor->left -= size;
        return 0;
}

static int take_u32(Cursor *cursor, uint32_t *ret) {
        uint32_t little;
        const char *data;
        int r;

        r = take(cursor, sizeof little, &data);
        if (r < 0)
                return r;
        memcpy(&little, data, sizeof little);
        *ret = le32toh(little);
        return 0;
}

static int take_u64(Cursor *cursor, uint64_t *ret) {
        uint64_t little;
        const char *data;
        int r;

        r = take(cursor, sizeof little, &data);
        if (r < 0)
                return r;
        memcpy(&little, data, sizeof little);
        *ret = le64toh(little);
        return 0;
}

/* The bytes stay where they are: no NUL follows them. */
static int take_bytes(Cursor *cursor, Bytes *ret) {
        const char *data = NULL;
        uint64_t size;
        int r;

        r = take_u64(cursor, &size);
        if (r < 0)
                return r;
        r = take(cursor, size, &data);
        if (r < 0)
                return r;

        *ret = (Bytes){.data = size > 0 ? (char *) data : NULL, .size = size};
        return 0;
}

static int take_string(Cursor *cursor, char **ret) {
        Bytes bytes;
        char *text;
        int r;

        r = take_bytes(cursor, &bytes);
        if (r < 0)
                return r;
        if (bytes.size > 0 && memchr(bytes.data, 0, bytes.size))
                return -EBADMSG;

        text = bytes.size > 0 ? strndup(bytes.data, bytes.size) : strdup("");
        if (!text)
                return -ENOMEM;

        *ret = text;
        return 0;
}

/* A count is believed only as far as that many entries of at least entry_size bytes can follow. */
static int take_count(Cursor *cursor, size_t entry_size, size_t *ret) {
        uint32_t count;
        int r;

        r = take_u32(cursor, &count);
        if (r < 0)
                return r;
        if (count > cursor->left / entry_size)
                return -EBADMSG;

        *ret = count;
        return 0;
}

/* An empty list is NULL. On failure *ret holds what was read so far, for order_clear(). */
static int take_list(Cursor *cursor, char ***ret) {
        size_t n;
        int r;

        r = take_count(cursor, sizeof(uint64_t), &n);
        if (r < 0 || n == 0)
                return r;

        *ret = calloc(n + 1, sizeof **ret);
        if (!*ret)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                r = take_string(cursor, &(*ret)[i]);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int take_files(Cursor *cursor, Order *order) {
        size_t n;
        int r;

        r = take_count(cursor, 2 * sizeof(uint64_t) + sizeof(uint32_t), &n);
        if (r < 0 || n == 0)
                return r;

        order->files = calloc(n, sizeof *order->files);
        if (!order->files)
                return -ENOMEM;
        for (; order->n_files < n; order->n_files++) {
                OrderFile *file = &order->files[order->n_files];

                r = take_string(cursor, &file->path);
                if (r == 0)
                        r = take_bytes(cursor, &file->content);
                if (r == 0)
                        r = take_u32(cursor, &file->mode);
                if (r == 0 && (file->path[0] == 0 || file->mode > 0777))
                        r = -EBADMSG;
                if (r < 0) {
                        free(file->path);
                        return r;
                }
        }

        return 0;
}

static int take_rlimits(Cursor *cursor, Order *order) {
        size_t n;
        int r;

        r = take_count(cursor, sizeof(uint32_t) + 2 * sizeof(uint64_t), &n);
        if (r < 0 || n == 0)
                return r;

        order->rlimits = calloc(n, sizeof *order->rlimits);
        if (!order->rlimits)
                return -ENOMEM;
        order->n_rlimits = n;
        for (size_t i = 0; i < n; i++) {
                r = take_u32(cursor, &order->rlimits[i].resource);
                if (r == 0)
                        r = take_u64(cursor, &order->rlimits[i].soft);
                if (r == 0)
                        r = take_u64(cursor, &order->rlimits[i].hard);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int take_mounts(Cursor *cursor, Order *order) {
        size_t n;
        int r;

        r = take_count(cursor, 3 * sizeof(uint64_t), &n);
        if (r < 0 || n == 0)
                return r;

        order->mounts = calloc(n, sizeof *order->mounts);
        if (!order->mounts)
                return -ENOMEM;
        order->n_mounts = n;
        for (size_t i = 0; i < n; i++) {
                r = take_string(cursor, &order->mounts[i].target);
                if (r == 0)
                        r = take_u64(cursor, &order->mounts[i].device);
                if (r == 0)
                        r = take_u64(cursor, &order->mounts[i].inode);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Copied: it is needed when the bulk has been let go. */
static int take_filter(Cursor *cursor, Order *order) {
        uint32_t reports, read_only;
        Bytes bytes;
        int r;

        r = take_bytes(cursor, &bytes);
        if (r == 0)
                r = take_u32(cursor, &reports);
        if (r == 0)
                r = take_u32(cursor, &read_only);
        if (r == 0 && (bytes.size % FILTER_INSTRUCTION_SIZE != 0 || bytes.size > FILTER_SIZE_MAX || reports > 1 || read_only > 1))
                r = -EBADMSG;
        if (r < 0)
                return r;

        order->filter_reports = reports;
        order->read_only = read_only;
        return bytes.size > 0 ? bytes_copy(bytes.data, bytes.size, &order->filter) : 0;
}

static int take_order(Cursor *cursor, Order *order) {
        uint32_t magic, version;
        int r;

        r = take_u32(cursor, &magic);
        if (r == 0)
                r = take_u32(cursor, &version);
        if (r == 0 && (magic != ORDER_MAGIC || version != ORDER_VERSION))
                r = -EBADMSG;
        if (r == 0)
                r = take_list(cursor, &order->compile);
        if (r == 0)
                r = take_list(cursor, &order->argv);
        if (r == 0)
                r = take_list(cursor, &order->env);
        if (r == 0)
                r = take_string(cursor, &order->directory);
        if (r == 0)
                r = take_list(cursor, &order->make_directories);
        if (r == 0)
                r = take_files(cursor, order);
        if (r == 0)
                r = take_bytes(cursor, &order->stdin_data);
        if (r == 0)
                r = take_rlimits(cursor, order);
        if (r == 0)
                r = take_mounts(cursor, order);
        if (r == 0)
                r = take_filter(cursor, order);
        if (r == 0)
                r = take_u64(cursor, &order->deadline_ms);
        if (r == 0 && (cursor->left > 0 || !order->argv))
                r = -EBADMSG;

        return r;
}

void order_release_bulk(Order *order) {
        if (order->mapping)
                (void) munmap(order->mapping, order->mapping_size);
        order->mapping = NULL;
        order->mapping_size = 0;

        for (size_t i = 0; i < order->n_files; i++)
                free(order->files[i].path);
        free(order->files);
        order->files = NULL;
        order->n_files = 0;
        order->stdin_data = (Bytes){};
}

void order_clear(Order *order) {
        order_release_bulk(order);
        order->compile = strv_free(order->compile);
        order->argv = strv_free(order->argv);
        order->env = strv_free(order->env);
        order->make_directories = strv_free(order->make_directories);
        free(order->directory);
        free(order->rlimits);
        bytes_clear(&order->filter);
        for (size_t i = 0; i < order->n_mounts; i++)
                free(order->mounts[i].target);
        free(order->mounts);
        *order = (Order){};
}

int order_read(int fd, Order *ret) {
        own(order_clear) Order order = {};
        struct stat info;
        Cursor cursor;
        int seals, r;

        /* Sealed, or it could change and shrink (SIGBUS) under the reader; only a memfd has seals. */
        seals = fcntl(fd, F_GET_SEALS);
        if (seals < 0 || (seals & ORDER_SEALS) != ORDER_SEALS)
                return -EBADMSG;
        if (fstat(fd, &info) < 0)
                return -errno;
        if (info.st_size <= 0 || info.st_size > ORDER_SIZE_MAX)
                return -EBADMSG;

        order.mapping = mmap(NULL, (size_t) info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (order.mapping == MAP_FAILED) {
                order.mapping = NULL;
                return -errno;
        }
        order.mapping_size = (size_t) info.st_size;

        cursor = (Cursor){.data = order.mapping, .left = order.mapping_size};
        r = take_order(&cursor, &order);
        if (r < 0)
                return r;

        *ret = order;
        order = (Order){};
        return 0;
}
