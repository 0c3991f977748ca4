/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests: their life, their answer, and who sent them. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-login.h>

#include "bus/internal.h"

int request_new(Face *face, sd_bus_message *message, Request **ret) {
        Request *request = calloc(1, sizeof *request);

        if (!request)
                return -ENOMEM;

        request->face = face;
        request->message = sd_bus_message_ref(message);
        request->next = face->requests;
        if (face->requests)
                face->requests->previous = request;
        face->requests = request;
        *ret = request;
        return 0;
}

Request *request_free(Request *request) {
        if (!request)
                return NULL;

        if (!request->answered)
                request_fail(request, ERROR_FAILED, "The service could not answer this request");
        if (request->previous)
                request->previous->next = request->next;
        else
                request->face->requests = request->next;
        if (request->next)
                request->next->previous = request->previous;
        sd_bus_slot_unref(request->slot);
        sd_bus_message_unref(request->message);
        caller_clear(&request->caller);
        spec_free(request->spec);
        plan_free(request->plan);
        free(request->refusal_message);
        free(request);
        return NULL;
}

void request_reply(Request *request, const char *types, ...) {
        own(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        va_list arguments;
        int r;

        if (request->answered || request->lost)
                return;

        r = sd_bus_message_new_method_return(request->message, &reply);
        if (r >= 0 && types) {
                va_start(arguments, types);
                r = sd_bus_message_appendv(reply, types, arguments);
                va_end(arguments);
        }
        if (r >= 0)
                r = sd_bus_send(NULL, reply, NULL);
        if (r < 0) {
                request_fail_errno(request, r);
                return;
        }
        request->answered = true;
}

void request_fail(Request *request, const char *name, const char *format, ...) {
        own(freep) char *text = NULL;
        va_list arguments;
        int r;

        if (request->answered)
                return;
        request->answered = true;
        request->refusal = name;

        va_start(arguments, format);
        r = vasprintf(&text, format, arguments);
        va_end(arguments);
        if (r < 0)
                text = NULL;
        (void) sd_bus_reply_method_error(
                request->message, &SD_BUS_ERROR_MAKE_CONST(name, text ? text : "No memory for a message"));
        request->refusal_message = hand_over(text);
}

void request_fail_errno(Request *request, int error) {
        if (error == -ENOMEM)
                request_fail(request, ERROR_NO_MEMORY, "The service has no memory for this request");
        else
                request_fail(request, ERROR_FAILED, "The service failed: %s", strerror(-error));
}

/* ---- who is it ---- */

static const Caller *find_cached(const Face *face, const char *name) {
        for (size_t i = 0; i < CALLERS_CACHED; i++)
                if (face->callers[i].name && streq(face->callers[i].name, name))
                        return &face->callers[i].caller;
        return NULL;
}

static void cache(Face *face, const char *name, const Caller *caller) {
        CachedCaller *slot = face->callers + face->next_cached;

        free(slot->name);
        caller_clear(&slot->caller);
        slot->name = strdup(name);
        if (!slot->name || caller_copy(caller, &slot->caller) < 0) {
                free(slot->name);
                slot->name = NULL;
                return;
        }
        face->next_cached = (face->next_cached + 1) % CALLERS_CACHED;
}

static int read_credentials(sd_bus_message *answer, uint32_t *ret_uid, uint32_t *ret_pid) {
        bool has_uid = false;
        int r;

        *ret_pid = 0;
        r = sd_bus_message_enter_container(answer, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(answer, 'e', "sv")) > 0) {
                const char *key;

                r = sd_bus_message_read(answer, "s", &key);
                if (r < 0)
                        return r;
                if (streq(key, "UnixUserID")) {
                        r = sd_bus_message_read(answer, "v", "u", ret_uid);
                        has_uid = true;
                } else if (streq(key, "ProcessID"))
                        r = sd_bus_message_read(answer, "v", "u", ret_pid);
                else
                        r = sd_bus_message_skip(answer, "v");
                if (r >= 0)
                        r = sd_bus_message_exit_container(answer);
        }
        if (r < 0)
                return r;
        return has_uid ? 0 : -ENODATA;
}

static int on_credentials(sd_bus_message *answer, void *userdata, sd_bus_error *ret_error) {
        own(request_freep) Request *request = userdata;
        uint32_t uid, pid;
        int r;

        request->slot = sd_bus_slot_unref(request->slot);
        if (sd_bus_message_is_method_error(answer, NULL))
                r = -sd_bus_message_get_errno(answer);
        else
                r = read_credentials(answer, &uid, &pid);
        if (r < 0 || request->lost) {
                request_fail(request, ERROR_ACCESS_DENIED, "It is not known who asks");
                return 0;
        }

        request->caller.uid = uid;
        /* For the record only: the process may have moved, so nothing is decided by it. */
        if (pid > 0 && sd_pid_get_unit((pid_t) pid, &request->caller.unit) < 0)
                request->caller.unit = NULL;
        cache(request->face, sd_bus_message_get_sender(request->message), &request->caller);
        request->step(hand_over(request));
        return 0;
}

void request_identify(Request *request, RequestStep step) {
        own(request_freep) Request *owned = request;
        const char *sender = sd_bus_message_get_sender(request->message);
        const Caller *cached;
        int r;

        if (!sender) {
                request_fail(request, ERROR_ACCESS_DENIED, "It is not known who asks");
                return;
        }
        cached = find_cached(request->face, sender);
        if (cached) {
                r = caller_copy(cached, &request->caller);
                if (r < 0)
                        request_fail_errno(request, r);
                else
                        step(hand_over(owned));
                return;
        }

        request->step = step;
        r = sd_bus_call_method_async(request->face->bus, &request->slot, "org.freedesktop.DBus",
                "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetConnectionCredentials", on_credentials, request,
                "s", sender);
        if (r < 0) {
                request_fail_errno(request, r);
                return;
        }
        owned = NULL;
}

int request_begin(Face *face, sd_bus_message *message, RequestStep step) {
        Request *request;
        int r;

        r = request_new(face, message, &request);
        if (r < 0)
                return r;
        request_identify(request, step);
        return 1;
}
