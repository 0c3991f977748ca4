/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Refused system calls of one execution, as its inner filter tells them: each is answered with EPERM, never
 * continued, and counted by number. Answers are paced: a refused call blocks its caller, so a storm of them slows
 * down only itself.
 */

#include <json-c/json.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "base/own.h"

#define DENIALS_KINDS_MAX 64U

typedef struct Denials Denials;

/* The first of a kind was refused. */
typedef void (*DenialsHandler)(void *userdata, const char *name);

int denials_new(sd_event *event, DenialsHandler on_first, void *userdata, Denials **ret);
/* Takes over the listener of the next process: the compiler's is over when the code's comes. */
int denials_listen(Denials *denials, int listener);
Denials *denials_free(Denials *denials);
DEFINE_OWN(Denials, denials_free);

/* [{"name": "mount", "count": 3}, …], in the order of their first refusal; beyond DENIALS_KINDS_MAX as "other". */
int denials_to_json(const Denials *denials, json_object **ret);
