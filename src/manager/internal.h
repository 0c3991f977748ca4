/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What manager.c (the link) and unit.c (one unit) know of each other. */

#include <json-c/json.h>

#include "manager/manager.h"

#define SYSTEMD_NAME "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER SYSTEMD_NAME ".Manager"

struct Manager {
        sd_bus *bus;
        ManagerHandlers handlers;
        void *userdata;
        unsigned version;
        char *features;
        uint64_t start_timeout_usec; /* for the answer to StartTransientUnit; tests shorten it */
        unsigned n_questions; /* start-up questions not answered yet */
        int first_error;
        sd_bus_slot *slots[8];
        size_t n_slots;
        struct lh_table *units; /* object path → Unit */
};

struct Unit {
        Manager *manager;
        char *name;
        char *path;
        UnitHandlers handlers;
        void *userdata;
        UnitState state;
        char *job;        /* object path of the start job, when known */
        bool start_asked;
        bool has_start_job; /* as the last look at it said */
        bool job_over;    /* the start job has been removed: an inactive state counts from now on */
        sd_bus_slot *start_slot;
        sd_bus_slot *query_slot;
};

/* A signal's news for one unit; called by the link. */
void unit_on_properties_changed(Unit *unit, sd_bus_message *message);
void unit_on_job_removed(Unit *unit, const char *job, const char *result);
Unit *manager_find_unit(Manager *manager, const char *path);
