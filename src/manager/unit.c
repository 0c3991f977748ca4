/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One watched unit. systemd sends the Service properties of a change before the Unit ones, so when ActiveState says
 * "failed" the result is already here. A unit counts as over only when its start job has been removed: a fresh one
 * is "inactive" too, before its job has run. JobRemoved comes after the PropertiesChanged of the same change.
 */

#include <errno.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "manager/internal.h"

static const struct {
        const char *name;
        UnitActive active;
} active_names[] = {
        {"activating", UNIT_ACTIVATING}, {"active", UNIT_ACTIVE},     {"reloading", UNIT_ACTIVE},
        {"refreshing", UNIT_ACTIVE},     {"maintenance", UNIT_ACTIVE}, {"deactivating", UNIT_DEACTIVATING},
        {"inactive", UNIT_INACTIVE},     {"failed", UNIT_FAILED},
};

static UnitActive active_from_name(const char *name) {
        for (size_t i = 0; i < ELEMENTS(active_names); i++)
                if (streq(active_names[i].name, name))
                        return active_names[i].active;
        return UNIT_UNKNOWN;
}

int unit_new(Manager *manager, const char *name, const UnitHandlers *handlers, void *userdata, Unit **ret) {
        own(unit_freep) Unit *unit = calloc(1, sizeof *unit);
        int r;

        if (!unit)
                return -ENOMEM;

        unit->handlers = *handlers;
        unit->userdata = userdata;
        unit->state.cpu_usage_nsec = UINT64_MAX;
        unit->name = strdup(name);
        if (!unit->name)
                return -ENOMEM;
        r = sd_bus_path_encode(SYSTEMD_PATH "/unit", name, &unit->path);
        if (r < 0)
                return r;
        if (lh_table_insert(manager->units, unit->path, unit) < 0)
                return -ENOMEM;
        unit->manager = manager;

        *ret = hand_over(unit);
        return 0;
}

Unit *unit_free(Unit *unit) {
        if (!unit)
                return NULL;

        if (unit->manager)
                lh_table_delete(unit->manager->units, unit->path);
        sd_bus_slot_unref(unit->start_slot);
        sd_bus_slot_unref(unit->query_slot);
        free(unit->job);
        free(unit->path);
        free(unit->name);
        free(unit);
        return NULL;
}

const UnitState *unit_state(const Unit *unit) {
        return &unit->state;
}

const char *unit_name(const Unit *unit) {
        return unit->name;
}

/* The handler may free the unit: nothing is touched after it. */
static void tell_state(Unit *unit) {
        unit->state.over =
                unit->job_over && (unit->state.active == UNIT_INACTIVE || unit->state.active == UNIT_FAILED);
        unit->handlers.on_state(unit->userdata, &unit->state);
}

/* ---- news ---- */

static int read_text(sd_bus_message *message, const char **ret) {
        return sd_bus_message_read(message, "v", "s", ret);
}

static int read_property(Unit *unit, const char *name, sd_bus_message *message) {
        UnitState *state = &unit->state;
        const char *text;
        const void *bytes;
        size_t size;
        int r;

        if (streq(name, "ActiveState")) {
                r = read_text(message, &text);
                if (r >= 0)
                        state->active = active_from_name(text);
                return r;
        }
        if (streq(name, "Result")) {
                r = read_text(message, &text);
                if (r >= 0)
                        (void) snprintf(state->result, sizeof state->result, "%s", text);
                return r;
        }
        if (streq(name, "ExecMainCode"))
                return sd_bus_message_read(message, "v", "i", &state->exec_main_code);
        if (streq(name, "ExecMainStatus"))
                return sd_bus_message_read(message, "v", "i", &state->exec_main_status);
        if (streq(name, "ExecMainExitTimestampMonotonic"))
                return sd_bus_message_read(message, "v", "t", &state->exec_main_exit_usec);
        if (streq(name, "CPUUsageNSec"))
                return sd_bus_message_read(message, "v", "t", &state->cpu_usage_nsec);
        if (streq(name, "Job")) {
                uint32_t id;

                r = sd_bus_message_read(message, "v", "(uo)", &id, &text);
                if (r >= 0)
                        unit->has_start_job = id != 0 && (!unit->job || streq(unit->job, text));
                return r;
        }
        if (streq(name, "InvocationID")) {
                r = sd_bus_message_enter_container(message, 'v', "ay");
                if (r < 0)
                        return r;
                r = sd_bus_message_read_array(message, 'y', &bytes, &size);
                if (r < 0)
                        return r;
                if (size == 16)
                        hex_encode(bytes, size, state->invocation_id);
                return sd_bus_message_exit_container(message);
        }

        return sd_bus_message_skip(message, "v");
}

static int read_properties(Unit *unit, sd_bus_message *message) {
        int r;

        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        if (r < 0)
                return r;

        while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                const char *name;

                r = sd_bus_message_read(message, "s", &name);
                if (r < 0)
                        return r;
                r = read_property(unit, name, message);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(message);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;

        return sd_bus_message_exit_container(message);
}

void unit_on_properties_changed(Unit *unit, sd_bus_message *message) {
        const char *interface;

        if (unit->state.over || sd_bus_message_read(message, "s", &interface) < 0 ||
                read_properties(unit, message) < 0)
                return;

        /* The Service half of a change comes first; its news is told with the Unit half. */
        if (streq(interface, SYSTEMD_NAME ".Unit"))
                tell_state(unit);
}

void unit_on_job_removed(Unit *unit, const char *job, const char *result) {
        /* Before the reply with the job's path only a start job can exist. */
        if (unit->state.over || !unit->start_asked || (unit->job && !streq(unit->job, job)))
                return;

        unit->job_over = true;
        /* It has failed, or was cancelled (a shutdown, a conflict) and the unit never started: nothing was told of the
         * unit then, so it is asked for. */
        if (unit->state.active == UNIT_UNKNOWN && !streq(result, "done") && unit_query(unit, /* adopt= */ false) >= 0)
                return;
        tell_state(unit);
}

/* ---- questions and orders ---- */

static int on_started(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Unit *unit = userdata;
        const sd_bus_error *error = sd_bus_message_get_error(message);
        const char *job;

        unit->start_slot = sd_bus_slot_unref(unit->start_slot);
        if (error) {
                unit->handlers.on_refused(unit->userdata, error->name, error->message ? error->message : "");
                return 0;
        }
        if (sd_bus_message_read(message, "o", &job) >= 0 && !unit->job)
                unit->job = strdup(job);
        return 0;
}

int unit_start(Unit *unit, const Properties *properties) {
        own(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        sd_bus *bus = unit->manager->bus;
        int r;

        r = sd_bus_message_new_method_call(
                bus, &call, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "StartTransientUnit");
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "ss", unit->name, "fail");
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(call, 'a', "(sv)");
        if (r < 0)
                return r;
        r = properties_append(properties, call);
        if (r < 0)
                return r;
        r = sd_bus_message_close_container(call);
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "a(sa(sv))", 0);
        if (r < 0)
                return r;

        r = sd_bus_call_async(bus, &unit->start_slot, call, on_started, unit, unit->manager->start_timeout_usec);
        if (r < 0)
                return r;
        unit->start_asked = true;
        return 0;
}

static int on_queried(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Unit *unit = userdata;

        unit->query_slot = sd_bus_slot_unref(unit->query_slot);
        if (unit->state.over)
                return 0;
        /* A busy PID 1 says nothing of the unit; asking again is paced by the time-out of the question. */
        if (sd_bus_message_is_method_error(message, SD_BUS_ERROR_NO_REPLY)) {
                (void) unit_query(unit, /* adopt= */ false);
                return 0;
        }
        unit->has_start_job = false;
        if (sd_bus_message_is_method_error(message, NULL) || read_properties(unit, message) < 0)
                unit->state.active = UNIT_INACTIVE; /* systemd does not know it (any more) */

        /* Inactive with its start job still waiting is not yet started; else the start is over, whether we saw that or
         * not, and stays so: a stop job may be there by now. */
        unit->job_over = unit->job_over || !unit->has_start_job;
        tell_state(unit);
        return 0;
}

int unit_query(Unit *unit, bool adopt) {
        sd_bus *bus = unit->manager->bus;

        unit->start_asked = true;
        if (adopt) {
                int r;

                r = sd_bus_call_method_async(bus, NULL, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "RefUnit",
                        NULL, NULL, "s", unit->name);
                if (r < 0)
                        return r;
        }

        unit->query_slot = sd_bus_slot_unref(unit->query_slot);
        return sd_bus_call_method_async(bus, &unit->query_slot, SYSTEMD_NAME, unit->path,
                "org.freedesktop.DBus.Properties", "GetAll", on_queried, unit, "s", "");
}

/* A call whose answer changes nothing for us. */
static int tell_manager(Unit *unit, const char *member, const char *mode) {
        own(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(
                unit->manager->bus, &call, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, member);
        if (r < 0)
                return r;
        r = mode ? sd_bus_message_append(call, "ss", unit->name, mode) :
                   sd_bus_message_append(call, "s", unit->name);
        if (r < 0)
                return r;
        r = sd_bus_message_set_expect_reply(call, 0);
        if (r < 0)
                return r;

        return sd_bus_send(unit->manager->bus, call, NULL);
}

int unit_set_properties(Unit *unit, const Properties *properties) {
        own(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(
                unit->manager->bus, &call, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "SetUnitProperties");
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "sb", unit->name, /* runtime= */ 1);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(call, 'a', "(sv)");
        if (r < 0)
                return r;
        r = properties_append(properties, call);
        if (r < 0)
                return r;
        r = sd_bus_message_close_container(call);
        if (r < 0)
                return r;
        r = sd_bus_message_set_expect_reply(call, 0);
        if (r < 0)
                return r;
        return sd_bus_send(unit->manager->bus, call, NULL);
}

int unit_stop(Unit *unit) {
        return tell_manager(unit, "StopUnit", "replace");
}

void unit_release(Unit *unit) {
        if (unit->state.active == UNIT_FAILED)
                (void) tell_manager(unit, "ResetFailedUnit", NULL);
        (void) tell_manager(unit, "UnrefUnit", NULL);
}

/* ---- all properties at once ---- */

typedef struct Question {
        UnitPropertiesHandler handler;
        void *userdata;
} Question;

static int read_document(sd_bus_message *message, json_object **ret) {
        own(json_freep) json_object *document = json_object_new_object();
        int r;

        if (!document)
                return -ENOMEM;
        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        if (r < 0)
                return r;

        while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                json_object *value;
                const char *name;

                r = sd_bus_message_read(message, "s", &name);
                if (r < 0)
                        return r;
                r = property_read_json(message, &value);
                if (r < 0)
                        return r;
                r = json_add_object(document, name, value);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(message);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;

        *ret = hand_over(document);
        return 0;
}

static int on_all_properties(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        const Question *question = userdata;
        own(json_freep) json_object *document = NULL;
        int r;

        if (sd_bus_message_is_method_error(message, NULL))
                r = -sd_bus_message_get_errno(message);
        else
                r = read_document(message, &document);

        question->handler(question->userdata, r, document);
        return 0;
}

int unit_get_properties(Unit *unit, UnitPropertiesHandler handler, void *userdata, sd_bus_slot **ret_slot) {
        own(freep) Question *question = calloc(1, sizeof *question);
        sd_bus_slot *slot;
        int r;

        if (!question)
                return -ENOMEM;
        *question = (Question) {handler, userdata};

        r = sd_bus_call_method_async(unit->manager->bus, &slot, SYSTEMD_NAME, unit->path,
                "org.freedesktop.DBus.Properties", "GetAll", on_all_properties, question, "s", "");
        if (r < 0)
                return r;

        /* The slot owns the question: it goes with the answer or with whoever gives up waiting. */
        (void) sd_bus_slot_set_destroy_callback(slot, free);
        question = NULL;
        *ret_slot = slot;
        return 0;
}
