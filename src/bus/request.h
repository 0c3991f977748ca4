/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One method call on its way. The request owns the message until somebody answers; if it dies unanswered its
 * destructor answers with a failure, so no path forgets a caller. Steps that need an answer from elsewhere (who is
 * it, does polkit allow it) take the request over and go on with the next function.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "base/own.h"
#include "policy/plan.h"
#include "spec/caller.h"
#include "spec/spec.h"

typedef struct Request Request;

/* Goes on with a request; it is the function's to answer, hand on, or let die. */
typedef void (*RequestStep)(Request *request);

struct Request {
        struct Face *face;
        Request *next, *previous;
        sd_bus_message *message;
        sd_bus_slot *slot; /* the answer we wait for */
        RequestStep step;
        Caller caller;
        bool answered;
        bool lost; /* the caller's connection is gone */

        Spec *spec;
        Plan *plan;
        const char *refusal; /* error name of what was answered, for the record */
        char *refusal_message;
        char waits_for[33]; /* id of the execution whose result is the answer, or "" */
        bool cancel_when_lost;
};

int request_new(struct Face *face, sd_bus_message *message, Request **ret);
Request *request_free(Request *request);
DEFINE_OWN(Request, request_free);

/* Answers; the request stays to be freed. */
void request_reply(Request *request, const char *types, ...);
void request_fail(Request *request, const char *name, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
void request_fail_errno(Request *request, int error);

/* What a handler does: a request for message, and on with step once it is known who asks. */
int request_begin(struct Face *face, sd_bus_message *message, RequestStep step);

/* Fills caller, then goes on. Takes the request over. */
void request_identify(Request *request, RequestStep step);
