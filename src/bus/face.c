/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The face as a whole: objects registered, news of executions told, lost callers noticed. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bus/internal.h"

/* A machine decides at once; a person needs time to type a password. */
#define POLKIT_USEC UINT64_C(20000000)
#define POLKIT_INTERACTIVE_USEC UINT64_C(120000000)

int face_execution_path(const char *id, char **ret) {
        /* 32 hex digits are a valid element as they stand, so anybody who has the id has the path. */
        return asprintf(ret, UNITCELL_EXECUTION_PATH "/%s", id) < 0 ? -ENOMEM : 0;
}

Execution *face_find_visible(Face *face, const char *id, const Caller *caller) {
        Execution *execution = executions_find(face->executions, id);

        if (!execution || (caller->uid != 0 && !caller_is_same(execution_caller(execution), caller)))
                return NULL;
        return execution;
}

/* ---- who wants to know ---- */

void face_add_interest(Face *face, const char *id, const char *name) {
        Interest *interest;

        for (interest = face->interests; interest; interest = interest->next)
                if (streq(interest->id, id) && streq(interest->name, name))
                        return;

        interest = calloc(1, sizeof *interest);
        if (!interest)
                return;
        interest->name = strdup(name);
        if (!interest->name) {
                free(interest);
                return;
        }
        memcpy(interest->id, id, sizeof interest->id);
        interest->next = face->interests;
        face->interests = interest;
}

/* Those of an execution, of a connection, or (both NULL) all. */
static void drop_interests(Face *face, const char *id, const char *name) {
        Interest **link = &face->interests;

        while (*link) {
                Interest *interest = *link;

                if ((id && !streq(interest->id, id)) || (name && !streq(interest->name, name))) {
                        link = &interest->next;
                        continue;
                }
                *link = interest->next;
                free(interest->name);
                free(interest);
        }
}

/* By hand and to each alone: a broadcast would tell everybody. types as sd_bus_message_append(). */
static void tell_interested(Face *face, const Execution *execution, const char *member, const char *types, const char *a,
        const char *b, const char *c) {
        for (Interest *interest = face->interests; interest; interest = interest->next) {
                own(sd_bus_message_unrefp) sd_bus_message *signal = NULL;

                if (!streq(interest->id, execution_id(execution)))
                        continue;
                if (sd_bus_message_new_signal(face->bus, &signal, UNITCELL_PATH, UNITCELL_MANAGER, member) < 0 ||
                        sd_bus_message_set_destination(signal, interest->name) < 0 ||
                        sd_bus_message_append(signal, types, a, b, c) < 0)
                        continue;
                (void) sd_bus_send(face->bus, signal, NULL);
        }
}

static void send_finished(Face *face, Execution *execution) {
        own(freep) char *path = NULL;

        if (face_execution_path(execution_id(execution), &path) >= 0)
                tell_interested(face, execution, "ExecutionFinished", "sos", execution_id(execution), path,
                        execution_status(execution));
}

static void on_warning(void *userdata, Execution *execution, const char *kind, const char *text) {
        tell_interested(userdata, execution, "ExecutionWarning", "sss", execution_id(execution), kind, text);
}

static void answer_waiting(Face *face, Execution *execution) {
        Request *next;

        for (Request *request = face->requests; request; request = next) {
                own(freep) char *result = NULL;
                int r;

                next = request->next;
                if (!streq(request->waits_for, execution_id(execution)))
                        continue;
                r = execution_get_result(execution, &result);
                if (r < 0)
                        request_fail_errno(request, r);
                else
                        request_reply(request, "s", result);
                request_free(request);
        }
}

static void on_state(void *userdata, Execution *execution) {
        Face *face = userdata;

        if (execution_state(execution) != EXECUTION_FINISHED)
                return;
        send_finished(face, execution);
        answer_waiting(face, execution);
}

static void on_forgotten(void *userdata, Execution *execution) {
        drop_interests(userdata, execution_id(execution), NULL);
}

static Request *find_of_sender(Face *face, const char *name) {
        for (Request *request = face->requests; request; request = request->next) {
                const char *sender = sd_bus_message_get_sender(request->message);

                if (!request->lost && sender && streq(sender, name))
                        return request;
        }
        return NULL;
}

/* A connection is gone: its Execute calls are cancelled, its questions dropped. */
static int on_name_lost(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Face *face = userdata;
        const char *name;
        Request *request;

        if (sd_bus_message_read(message, "s", &name) < 0 || name[0] != ':')
                return 0;

        drop_interests(face, NULL, name);
        /* From the start each time: cancelling may end other requests of the list. */
        while ((request = find_of_sender(face, name))) {
                Execution *execution = executions_find(face->executions, request->waits_for);
                bool cancel = request->cancel_when_lost;

                request->lost = true;
                if (!request->waits_for[0])
                        continue; /* a step of it is under way and frees it */
                request->answered = true; /* nobody is there to be answered */
                request_free(request);
                if (execution && cancel)
                        execution_cancel(execution, "the caller's connection is gone");
        }
        return 0;
}

/* ---- the object ---- */

int face_new(sd_bus *bus, Executions *executions, Manager *manager, const Host *host, const Store *store,
        Face **ret) {
        static const ExecutionsObserver observer = {
                .on_state = on_state, .on_warning = on_warning, .on_forgotten = on_forgotten};
        own(face_freep) Face *face = calloc(1, sizeof *face);
        int r;

        if (!face)
                return -ENOMEM;
        face->bus = sd_bus_ref(bus);
        face->executions = executions;
        face->manager = manager;
        face->host = *host;
        face->store = store;
        face->polkit_usec = POLKIT_USEC;
        face->polkit_interactive_usec = POLKIT_INTERACTIVE_USEC;

        r = face_add_manager(face);
        if (r < 0)
                return r;
        r = face_add_execution(face);
        if (r < 0)
                return r;
        r = sd_bus_add_match_async(bus, &face->slots[face->n_slots],
                "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                "member='NameOwnerChanged',arg2=''",
                on_name_lost, NULL, face);
        if (r < 0)
                return r;
        face->n_slots++;
        executions_set_observer(executions, &observer, face);

        *ret = hand_over(face);
        return 0;
}

Face *face_free(Face *face) {
        if (!face)
                return NULL;

        executions_set_observer(face->executions, &(ExecutionsObserver) {}, NULL);
        while (face->requests) {
                /* The next daemon answers: these callers see the connection's end and ask again. */
                face->requests->answered = true;
                request_free(face->requests);
        }
        drop_interests(face, NULL, NULL);
        for (size_t i = 0; i < CALLERS_CACHED; i++) {
                free(face->callers[i].name);
                caller_clear(&face->callers[i].caller);
        }
        for (size_t i = 0; i < face->n_slots; i++)
                sd_bus_slot_unref(face->slots[i]);
        sd_bus_unref(face->bus);
        free(face);
        return NULL;
}

void face_set_reload(Face *face, FaceReload reload, void *userdata) {
        face->reload = reload;
        face->reload_userdata = userdata;
}

void face_set_store(Face *face, const Store *store) {
        face->store = store;
}
