/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of the bus layer share. */

#include "audit/refusals.h"
#include "bus/face.h"
#include "bus/names.h"
#include "bus/request.h"

#define CALLERS_CACHED 64

typedef struct CachedCaller {
        char *name; /* unique name: never used again by another connection */
        Caller caller;
} CachedCaller;

/* Who is told of the end of an execution: connections that submitted or asked for it. */
typedef struct Interest Interest;
struct Interest {
        Interest *next;
        char id[33];
        char *name;
};

struct Face {
        sd_bus *bus;
        Executions *executions;
        Manager *manager;
        Host host;
        const Store *store;
        uint64_t polkit_usec, polkit_interactive_usec; /* how long polkit is waited for; tests shorten them */
        FaceReload reload;
        void *reload_userdata;
        Refusals refusals;
        Request *requests; /* all that are not answered yet */
        Interest *interests;
        CachedCaller callers[CALLERS_CACHED];
        size_t next_cached;
        sd_bus_slot *slots[8];
        size_t n_slots;
};

/* manager-object.c */
int face_add_manager(Face *face);
/* execution-object.c */
int face_add_execution(Face *face);
/* face.c */
void face_add_interest(Face *face, const char *id, const char *name);
int face_execution_path(const char *id, char **ret);
/* The execution if it is there and the caller may see it, else NULL: both are NoSuchExecution. */
Execution *face_find_visible(Face *face, const char *id, const Caller *caller);
/* refuse.c: one refused request into the journal, bounded for each uid. */
void face_record_refusal(Face *face, const Request *request);
