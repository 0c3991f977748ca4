/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The D-Bus face: objects, requests on their way, and who is told what. Handlers here read the message, ask who the
 * caller is and whether polkit allows it, and hand over to the layers below; nothing below mentions the bus.
 */

#include <systemd/sd-bus.h>

#include "base/own.h"
#include "execution/executions.h"
#include "policy/store.h"

typedef struct Face Face;

/* Registers the objects; the bus name is requested by the caller, when everything is ready. */
int face_new(sd_bus *bus, Executions *executions, Manager *manager, const Host *host, const Store *store, Face **ret);
Face *face_free(Face *face);
DEFINE_OWN(Face, face_free);

/* Reload was asked for and allowed: reads policies and languages again. Negative errno: the old ones stay. */
typedef int (*FaceReload)(void *userdata);
void face_set_reload(Face *face, FaceReload reload, void *userdata);

void face_set_store(Face *face, const Store *store);
