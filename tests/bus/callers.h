/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Callers of a face: what they send, what comes back, and their going away. Included by each test of the
 * face once. */

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/face.h"
#include "bus/internal.h"
#include "world.h"

#define SPEC "{\"argv\":[\"/bin/a\"]}"
#define ALICE ":1.1000"
#define ALICE_TOO ":1.1000.2"
#define BOB ":1.1001"
#define ROOT ":1.0"

static World world;
static Face *face;

/* What came back for one call. */
typedef struct Call {
        sd_bus_message *message;
        unsigned n;
        sd_bus_slot *slot;
} Call;

static struct {
        unsigned n;
        char id[33], path[128], status[32], to[32];
} finished;

static int on_signal(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        const char *id, *path, *status;

        if (!sd_bus_message_is_signal(message, UNITCELL_MANAGER, "ExecutionFinished"))
                return 0;
        cr_assert_gt(sd_bus_message_read(message, "sos", &id, &path, &status), 0);
        finished.n++;
        (void) snprintf(finished.id, sizeof finished.id, "%s", id);
        (void) snprintf(finished.path, sizeof finished.path, "%s", path);
        (void) snprintf(finished.status, sizeof finished.status, "%s", status);
        (void) snprintf(finished.to, sizeof finished.to, "%s", sd_bus_message_get_destination(message));
        return 0;
}

static void face_set_up(void) {
        world_begin(&world);
        cr_assert_eq(
                face_new(world.daemon, world.executions, world.manager, &world.host, world.store, &face), 0);
        cr_assert_geq(sd_bus_add_filter(world.wire, NULL, on_signal, NULL), 0);
        world_settle(&world);
}

static void face_tear_down(void) {
        face_free(face);
        world_close(&world);
}

static int on_reply(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Call *call = userdata;

        call->n++;
        call->message = sd_bus_message_ref(message);
        return 0;
}

static void call_clear(Call *call) {
        sd_bus_slot_unref(call->slot);
        sd_bus_message_unref(call->message);
}

static void ask_at(Call *call, const char *sender, const char *path, const char *interface,
        const char *member, const char *types, ...) {
        own(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        va_list arguments;

        cr_assert_geq(
                sd_bus_message_new_method_call(world.wire, &message, UNITCELL_NAME, path, interface, member),
                0);
        if (sender)
                cr_assert_geq(sd_bus_message_set_sender(message, sender), 0);
        if (types) {
                va_start(arguments, types);
                cr_assert_geq(sd_bus_message_appendv(message, types, arguments), 0);
                va_end(arguments);
        }
        cr_assert_geq(
                sd_bus_call_async(world.wire, &call->slot, message, on_reply, call, UINT64_C(60000000)), 0);
}

#define ask(call, sender, member, ...)                                                                      \
        ask_at(call, sender, UNITCELL_PATH, UNITCELL_MANAGER, member, __VA_ARGS__)

static inline void expect_error(Call *call, const char *name, const char *says) {
        UNTIL(&world, call->n > 0);
        cr_assert(sd_bus_message_is_method_error(call->message, NULL), "no error, but %s was due", name);
        cr_expect_str_eq(sd_bus_message_get_error(call->message)->name, name);
        cr_expect(strstr(sd_bus_message_get_error(call->message)->message, says), "%s",
                sd_bus_message_get_error(call->message)->message);
}

static inline const char *expect_text(Call *call, const char *type) {
        const char *text;

        UNTIL(&world, call->n > 0);
        cr_assert_not(sd_bus_message_is_method_error(call->message, NULL), "%s",
                sd_bus_message_get_error(call->message)->message);
        cr_assert_gt(sd_bus_message_read(call->message, type, &text), 0);
        return text;
}

/* An execution of sender, submitted over the bus. */
static inline const char *submit(const char *sender, const char *spec) {
        static char paths[8][128];
        static size_t next;
        own(call_clear) Call call = {};
        char *path = paths[next++ % ELEMENTS(paths)];

        ask(&call, sender, "Submit", "sa{sh}", spec, 0);
        (void) snprintf(path, sizeof paths[0], "%s", expect_text(&call, "o"));
        return path;
}

static inline void lose(const char *name) {
        own(sd_bus_message_unrefp) sd_bus_message *signal = NULL;

        cr_assert_geq(sd_bus_message_new_signal(world.wire, &signal, "/org/freedesktop/DBus",
                              "org.freedesktop.DBus", "NameOwnerChanged"),
                0);
        cr_assert_geq(sd_bus_message_set_sender(signal, "org.freedesktop.DBus"), 0);
        cr_assert_geq(sd_bus_message_append(signal, "sss", name, name, ""), 0);
        cr_assert_geq(sd_bus_send(world.wire, signal, NULL), 0);
}
