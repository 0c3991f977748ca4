/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What is known of the wall: the verdict of the last canary. Nothing is started before the first one, nor between a
 * reload of systemd and the canary after it; a broken wall refuses every plan, naming what is missing.
 */

#include <json-c/json.h>
#include <stdbool.h>

#include "base/text.h"

typedef enum WallVerdict { WALL_UNCHECKED, WALL_HOLDS, WALL_BROKEN } WallVerdict;

typedef struct Wall {
        WallVerdict verdict;
        char **failures;       /* "PrivateNetwork: …", when broken */
        unsigned missing;      /* bits of 1 << Controller: not on this host */
        json_object *enforced; /* what the canary found in force, goes into each result */
} Wall;

void wall_clear(Wall *wall);
