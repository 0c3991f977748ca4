/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Ownership in two tools. A variable declared with own(destroy) gives back what it holds when it goes out of
 * scope; hand_over(variable) empties it on the way, for "return 0 and the caller owns it now".
 */

#include <stdlib.h>
#include <unistd.h>

/* unused: some hold a thing only to give it back. */
#define own(destroy) __attribute__((cleanup(destroy), unused))

#define hand_over(ptr)                          \
        __extension__({                         \
                __typeof__(ptr) given_ = (ptr); \
                (ptr) = NULL;                   \
                given_;                         \
        })

#define hand_over_fd(fd)           \
        __extension__({            \
                int given_ = (fd); \
                (fd) = -1;         \
                given_;            \
        })

/* Defines destroy##p for own(): destroy takes the object and stands NULL. */
#define DEFINE_OWN(type, destroy)                           \
        static inline void destroy##p(type **object) {      \
                if (*object)                                \
                        destroy(*object);                   \
        }                                                   \
        struct allow_semicolon_##destroy##_

static inline void freep(void *pointer) {
        free(*(void **) pointer);
}

/* Closes and returns -1, so that "fd = close_fd(fd)" leaves no stale number behind. Takes -1. */
static inline int close_fd(int fd) {
        if (fd >= 0)
                (void) close(fd);
        return -1;
}

static inline void close_fdp(int *fd) {
        *fd = close_fd(*fd);
}

#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))
#define streq(a, b) (__builtin_strcmp((a), (b)) == 0)
