/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * org.unitcell1.Execution at /org/unitcell1/execution/<id>. An id is no secret, so each access asks first who it
 * is; a foreign execution and one that is not there get the same answer. The vtable describes the interface; calls
 * to org.freedesktop.DBus.Properties are taken before sd-bus would answer them without asking.
 */

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "bus/internal.h"

#define PROPERTIES "org.freedesktop.DBus.Properties"

/* ---- properties ---- */

typedef struct ExecutionProperty {
        const char *name;
        char type;
        const char *(*text)(const Execution *execution);
        uint64_t (*number)(const Execution *execution);
} ExecutionProperty;

static const char *get_state(const Execution *execution) {
        return execution_state_name(execution_state(execution));
}

static const char *get_policy(const Execution *execution) {
        return execution_plan(execution)->policy;
}

static const char *get_language(const Execution *execution) {
        const Plan *plan = execution_plan(execution);

        return plan->language ? plan->language : "argv";
}

static const char *get_task_id(const Execution *execution) {
        return execution_plan(execution)->task_id;
}

static uint64_t get_owner(const Execution *execution) {
        return execution_caller(execution)->uid;
}

static const ExecutionProperty properties[] = {
        {"Id", 's', .text = execution_id},
        {"TaskId", 's', .text = get_task_id},
        {"State", 's', .text = get_state},
        {"Status", 's', .text = execution_status},
        {"Unit", 's', .text = execution_unit_name},
        {"Owner", 'u', .number = get_owner},
        {"Policy", 's', .text = get_policy},
        {"Language", 's', .text = get_language},
        {"CreatedTimestamp", 't', .number = execution_created_usec},
        {"FinishedTimestamp", 't', .number = execution_finished_usec},
};

static int append_value(sd_bus_message *reply, const ExecutionProperty *property, const Execution *execution) {
        const char *text;

        if (property->text) {
                text = property->text(execution);
                return sd_bus_message_append(reply, "s", text ? text : "");
        }
        if (property->type == 'u')
                return sd_bus_message_append(reply, "u", (uint32_t) property->number(execution));
        return sd_bus_message_append(reply, "t", property->number(execution));
}

static int append_variant(sd_bus_message *reply, const ExecutionProperty *property, const Execution *execution) {
        const char type[] = {property->type, '\0'};
        int r;

        r = sd_bus_message_open_container(reply, 'v', type);
        if (r < 0)
                return r;
        r = append_value(reply, property, execution);
        if (r < 0)
                return r;
        return sd_bus_message_close_container(reply);
}

static int append_all(sd_bus_message *reply, const Execution *execution) {
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{sv}");
        for (size_t i = 0; r >= 0 && i < ELEMENTS(properties); i++) {
                r = sd_bus_message_open_container(reply, 'e', "sv");
                if (r >= 0)
                        r = sd_bus_message_append(reply, "s", properties[i].name);
                if (r >= 0)
                        r = append_variant(reply, properties + i, execution);
                if (r >= 0)
                        r = sd_bus_message_close_container(reply);
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* ---- requests ---- */

/* The execution of the message's path that the caller may see; NULL: the request has been answered. */
static Execution *find(Request *request) {
        const char *path = sd_bus_message_get_path(request->message);
        /* The fallback vtable answers at its own path as well, where no id follows. */
        const char *id = starts_with(path, UNITCELL_EXECUTION_PATH "/") ? path + strlen(UNITCELL_EXECUTION_PATH "/") : "";
        Execution *execution = face_find_visible(request->face, id, &request->caller);

        if (!execution)
                request_fail(request, ERROR_NO_SUCH_EXECUTION, "There is no execution %.64s of this caller", id);
        return execution;
}

static void get_result(Request *request) {
        own(request_freep) Request *owned = request;
        own(freep) char *result = NULL;
        Execution *execution = find(request);
        int r;

        if (!execution)
                return;
        r = execution_get_result(execution, &result);
        if (r == -EAGAIN) {
                /* Answered when it has ended; a caller with a shorter patience asks again. */
                memcpy(request->waits_for, execution_id(execution), sizeof request->waits_for);
                owned = NULL;
                return;
        }
        if (r == -ENOENT)
                request_fail(request, ERROR_NO_SUCH_EXECUTION, "The result of %s is not kept any more",
                        execution_id(execution));
        else if (r < 0)
                request_fail_errno(request, r);
        else
                request_reply(request, "s", result);
}

static void cancel(Request *request) {
        own(request_freep) Request *owned = request;
        Execution *execution = find(request);

        if (!execution)
                return;
        /* First the answer: "it will be ended"; the result tells how. One that has ended already is no error. */
        request_reply(request, NULL);
        execution_cancel(execution, "by its owner");
}

static void properties_get(Request *request) {
        own(request_freep) Request *owned = request;
        own(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Execution *execution = find(request);
        const char *interface, *name;
        int r;

        if (!execution)
                return;
        r = sd_bus_message_read(request->message, "ss", &interface, &name);
        for (size_t i = 0; r >= 0 && i < ELEMENTS(properties); i++) {
                if (!streq(properties[i].name, name) || !(streq(interface, UNITCELL_EXECUTION) || !interface[0]))
                        continue;
                r = sd_bus_message_new_method_return(request->message, &reply);
                if (r >= 0)
                        r = append_variant(reply, properties + i, execution);
                if (r >= 0)
                        r = sd_bus_send(NULL, reply, NULL);
                if (r >= 0)
                        request->answered = true;
                break;
        }
        if (r < 0)
                request_fail_errno(request, r);
        else if (!request->answered)
                request_fail(request, ERROR_UNKNOWN_PROPERTY, "There is no property %.64s on %.64s", name, interface);
}

static void properties_get_all(Request *request) {
        own(request_freep) Request *owned = request;
        own(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Execution *execution = find(request);
        int r;

        if (!execution)
                return;
        r = sd_bus_message_new_method_return(request->message, &reply);
        if (r >= 0)
                r = append_all(reply, execution);
        if (r >= 0)
                r = sd_bus_send(NULL, reply, NULL);
        if (r < 0)
                request_fail_errno(request, r);
        else
                request->answered = true;
}

/* ---- the object ---- */

static int on_get_result(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        return request_begin(userdata, message, get_result);
}

static int on_cancel(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        return request_begin(userdata, message, cancel);
}

/* Before any vtable: reading properties asks first. */
static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        const char *path = sd_bus_message_get_path(message);

        if (!path || !starts_with(path, UNITCELL_EXECUTION_PATH "/"))
                return 0;
        if (sd_bus_message_is_method_call(message, PROPERTIES, "Get") &&
                streq(sd_bus_message_get_signature(message, /* complete= */ 1), "ss"))
                return request_begin(userdata, message, properties_get);
        if (sd_bus_message_is_method_call(message, PROPERTIES, "GetAll") &&
                streq(sd_bus_message_get_signature(message, /* complete= */ 1), "s"))
                return request_begin(userdata, message, properties_get_all);
        return 0;
}

/* Never reached through the bus, since on_message() answers; introspection needs it to be there. */
static int on_property(sd_bus *bus, const char *path, const char *interface, const char *property,
        sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        return -EPERM;
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Id", "s", on_property, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("TaskId", "s", on_property, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("State", "s", on_property, 0, 0),
        SD_BUS_PROPERTY("Status", "s", on_property, 0, 0),
        SD_BUS_PROPERTY("Unit", "s", on_property, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Owner", "u", on_property, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Policy", "s", on_property, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Language", "s", on_property, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("CreatedTimestamp", "t", on_property, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("FinishedTimestamp", "t", on_property, 0, 0),
        SD_BUS_METHOD_WITH_ARGS("GetResult", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", result), on_get_result,
                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Cancel", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, on_cancel, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

int face_add_execution(Face *face) {
        int r;

        r = sd_bus_add_filter(face->bus, &face->slots[face->n_slots], on_message, face);
        if (r < 0)
                return r;
        face->n_slots++;
        r = sd_bus_add_fallback_vtable(face->bus, &face->slots[face->n_slots], UNITCELL_EXECUTION_PATH,
                UNITCELL_EXECUTION, vtable, /* find= */ NULL, face);
        if (r < 0)
                return r;
        face->n_slots++;
        return 0;
}
