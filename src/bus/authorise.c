/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* polkit, asynchronous and fail closed. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bus/authorise.h"
#include "bus/internal.h"

#define POLKIT_NAME "org.freedesktop.PolicyKit1"
#define POLKIT_PATH "/org/freedesktop/PolicyKit1/Authority"
#define POLKIT_INTERFACE "org.freedesktop.PolicyKit1.Authority"
#define FLAG_INTERACTION 1U

static int append_detail(sd_bus_message *call, const char *key, const char *value) {
        return sd_bus_message_append(call, "{ss}", key, value);
}

/* What a rule can tell cases apart by. */
static int append_details(sd_bus_message *call, const Plan *plan) {
        own(freep) char *widened = NULL;
        int r;

        r = sd_bus_message_open_container(call, 'a', "{ss}");
        if (r < 0)
                return r;
        if (plan) {
                for (size_t i = 0; plan->widened && plan->widened[i]; i++) {
                        char *longer;

                        if (asprintf(&longer, "%s%s%s", widened ? widened : "", widened ? "; " : "",
                                    plan->widened[i]) < 0)
                                return -ENOMEM;
                        free(widened);
                        widened = longer;
                }
                r = append_detail(call, "policy", plan->policy);
                if (r >= 0)
                        r = append_detail(call, "language", plan->language ? plan->language : "argv");
                if (r >= 0)
                        r = append_detail(call, "network", "deny");
                if (r >= 0)
                        r = append_detail(call, "widened", widened ? widened : "");
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(call);
}

static int on_answer(sd_bus_message *answer, void *userdata, sd_bus_error *ret_error) {
        own(request_freep) Request *request = userdata;
        int authorised, challenge;

        request->slot = sd_bus_slot_unref(request->slot);
        if (sd_bus_message_is_method_error(answer, NULL)) {
                const sd_bus_error *error = sd_bus_message_get_error(answer);

                request_fail(request, ERROR_ACCESS_DENIED,
                        "polkit could not be asked whether this is allowed, so it is not (%s)", error->name);
        } else if (sd_bus_message_enter_container(answer, 'r', "bba{ss}") < 0 ||
                   sd_bus_message_read(answer, "bb", &authorised, &challenge) < 0)
                request_fail(request, ERROR_ACCESS_DENIED, "polkit's answer could not be read, so it counts as no");
        else if (!authorised)
                request_fail(request, ERROR_ACCESS_DENIED,
                        "Not authorised%s. Members of group unitcell and users of an active session are; an "
                        "administrator can allow others by a polkit rule (unitcelld(8))",
                        challenge ? " without an administrator's password" : "");

        if (request->answered) {
                face_record_refusal(request->face, request);
                return 0;
        }
        request->step(hand_over(request));
        return 0;
}

void authorise(Request *request, const char *action, RequestStep step) {
        own(request_freep) Request *owned = request;
        own(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        bool interactive = sd_bus_message_get_allow_interactive_authorization(request->message) > 0;
        int r;

        if (request->caller.uid == 0) {
                step(hand_over(owned));
                return;
        }

        request->step = step;
        r = sd_bus_message_new_method_call(request->face->bus, &call, POLKIT_NAME, POLKIT_PATH, POLKIT_INTERFACE,
                "CheckAuthorization");
        if (r >= 0)
                r = sd_bus_message_append(call, "(sa{sv})s", "system-bus-name", 1, "name", "s",
                        sd_bus_message_get_sender(request->message), action);
        if (r >= 0)
                r = append_details(call, request->plan);
        if (r >= 0)
                r = sd_bus_message_append(call, "us", interactive ? FLAG_INTERACTION : 0U, "");
        if (r >= 0)
                r = sd_bus_call_async(request->face->bus, &request->slot, call, on_answer, request,
                        interactive ? request->face->polkit_interactive_usec : request->face->polkit_usec);
        if (r < 0) {
                request_fail_errno(request, r);
                return;
        }
        owned = NULL;
}
