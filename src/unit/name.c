/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names of units, slices and cgroups, made from our own ids and numbers only. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/own.h"
#include "base/text.h"
#include "unit/name.h"

#define ID_BYTES 16

int unit_id_new(char ret[static UNIT_ID_SIZE]) {
        uint8_t random[ID_BYTES];

        /* Never short for up to 256 bytes once the pool is ready, which it is before any service starts. */
        if (getrandom(random, sizeof random, 0) != sizeof random)
                return -EIO;

        hex_encode(random, sizeof random, ret);
        return 0;
}

bool unit_id_is_valid(const char *id) {
        return strlen(id) == UNIT_ID_SIZE - 1 && strspn(id, "0123456789abcdef") == UNIT_ID_SIZE - 1;
}

int unit_name_from_id(const char *id, char **ret) {
        return asprintf(ret, UNIT_PREFIX "%s.service", id) < 0 ? -ENOMEM : 0;
}

int unit_slice_from_uid(uid_t uid, char **ret) {
        return asprintf(ret, "unitcell-u%u.slice", (unsigned) uid) < 0 ? -ENOMEM : 0;
}

int unit_name_to_id(const char *name, char ret[static UNIT_ID_SIZE]) {
        const size_t prefix = strlen(UNIT_PREFIX);

        if (!starts_with(name, UNIT_PREFIX) || strlen(name) != prefix + UNIT_ID_SIZE - 1 + strlen(".service") ||
                !ends_with(name, ".service"))
                return -EINVAL;

        memcpy(ret, name + prefix, UNIT_ID_SIZE - 1);
        ret[UNIT_ID_SIZE - 1] = '\0';
        return unit_id_is_valid(ret) ? 0 : -EINVAL;
}

int unit_cgroup_path(const char *slice, const char *unit, char **ret) {
        /* "unitcell-u1000.slice" lies in "unitcell.slice": a dash in a slice's name is a level. */
        return asprintf(ret, "/" UNIT_SLICE "/%s/%s", slice, unit) < 0 ? -ENOMEM : 0;
}
