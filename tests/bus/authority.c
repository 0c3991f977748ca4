/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The bus driver and polkit: who somebody is, and what that one may do, as the test wants it. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

void pid1_answer_late(World *world, const char *types, ...) {
        own(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        va_list arguments;

        cr_assert_not_null(world->late_answer);
        cr_assert_geq(sd_bus_message_new_method_return(world->late_answer, &reply), 0);
        va_start(arguments, types);
        cr_assert_geq(sd_bus_message_appendv(reply, types, arguments), 0);
        va_end(arguments);
        cr_assert_geq(sd_bus_send(NULL, reply, NULL), 0);
        world->late_answer = sd_bus_message_unref(world->late_answer);
}

/* ---- the driver and polkit ---- */

/* ":1.<uid>" or ":1.<uid>.<n>" is a connection of that user. */
static void credentials(World *world, sd_bus_message *call) {
        const char *name;

        world->n_credentials++;
        cr_assert_gt(sd_bus_message_read(call, "s", &name), 0);
        switch (world->credentials) {
        case ANSWER_YES:
                wire_answer(call, "a{sv}", 3, "ProcessID", "u", 1U, "LinuxSecurityLabel", "ay", 1, 'x',
                        "UnixUserID", "u", (uint32_t) strtoul(name + 3, NULL, 10));
                return;
        case ANSWER_NO:
                wire_answer(call, "a{sv}", 1, "ProcessID", "u", 1U);
                return;
        case ANSWER_CHALLENGE:
        case ANSWER_ERROR:
                wire_answer_error(call, "org.freedesktop.DBus.Error.NameHasNoOwner");
                return;
        case ANSWER_NEVER:
                return;
        case ANSWER_LATE:
                world->late_answer = sd_bus_message_ref(call);
                return;
        case ANSWER_GARBAGE:
                wire_answer(call, "a{sv}", 1, "UnixUserID", "s", "0");
                return;
        }
}

void driver_call(World *world, sd_bus_message *call, const char *member) {
        if (streq(member, "Hello"))
                wire_answer(call, "s", ":1.1");
        else if (streq(member, "GetConnectionCredentials"))
                credentials(world, call);
        else
                wire_answer(call, NULL); /* AddMatch, RemoveMatch */
}

static void read_details(World *world, sd_bus_message *call) {
        const char *kind, *sender, *action, *key, *value;

        cr_assert_gt(sd_bus_message_read(call, "(sa{sv})s", &kind, 1, &key, "s", &sender, &action), 0);
        cr_expect_str_eq(kind, "system-bus-name");
        (void) snprintf(world->polkit_action, sizeof world->polkit_action, "%s", action);
        world->polkit_details[0] = '\0';
        cr_assert_geq(sd_bus_message_enter_container(call, 'a', "{ss}"), 0);
        while (sd_bus_message_read(call, "{ss}", &key, &value) > 0)
                (void) snprintf(world->polkit_details + strlen(world->polkit_details),
                        sizeof world->polkit_details - strlen(world->polkit_details), "%s=%s;", key, value);
}

void polkit_call(World *world, sd_bus_message *call) {
        world->n_polkit++;
        read_details(world, call);
        switch (world->polkit) {
        case ANSWER_YES:
                wire_answer(call, "(bba{ss})", 1, 0, 1, "polkit.retains_authorization_after_challenge", "1");
                return;
        case ANSWER_NO:
                wire_answer(call, "(bba{ss})", 0, 0, 0);
                return;
        case ANSWER_CHALLENGE:
                wire_answer(call, "(bba{ss})", 0, 1, 0);
                return;
        case ANSWER_ERROR:
                wire_answer_error(call, "org.freedesktop.DBus.Error.ServiceUnknown");
                return;
        case ANSWER_NEVER:
                return;
        case ANSWER_LATE:
                world->late_answer = sd_bus_message_ref(call);
                return;
        case ANSWER_GARBAGE:
                wire_answer(call, "s", "yes");
                return;
        }
}
