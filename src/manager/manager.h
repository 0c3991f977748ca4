/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The conversation with PID 1: who it is, what it tells of our units, and what we ask of it. One broad match for
 * all units (dbus-daemon allows 512 match rules a connection), filtered here by the prefix of their object paths.
 * Every call is asynchronous and has a deadline; after a reload of systemd the states are read again, since
 * signals may be lost across it.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "base/own.h"
#include "unit/property.h"

typedef struct Manager Manager;
typedef struct Unit Unit;

typedef struct ManagerHandlers {
        /* Version and features are known (0), or systemd did not answer (negative errno). Once. */
        void (*on_ready)(void *userdata, int error);
        /* systemd has reloaded its configuration: drop-ins may have changed. */
        void (*on_reloaded)(void *userdata);
} ManagerHandlers;

int manager_new(sd_bus *bus, const ManagerHandlers *handlers, void *userdata, Manager **ret);
Manager *manager_free(Manager *manager);
DEFINE_OWN(Manager, manager_free);

/* Valid after on_ready. features is systemd's own string, "+SECCOMP … -BPF_FRAMEWORK …". */
unsigned manager_version(const Manager *manager);
const char *manager_features(const Manager *manager);

typedef enum UnitActive {
        UNIT_UNKNOWN,
        UNIT_ACTIVATING,
        UNIT_ACTIVE, /* reloading too */
        UNIT_DEACTIVATING,
        UNIT_INACTIVE,
        UNIT_FAILED,
} UnitActive;

typedef struct UnitState {
        UnitActive active;
        char result[32];        /* systemd's Result: "success", "signal", "timeout", "oom-kill", … */
        int32_t exec_main_code; /* CLD_EXITED, CLD_KILLED, CLD_DUMPED; 0: not ended */
        int32_t exec_main_status;
        uint64_t exec_main_exit_usec; /* monotonic; 0: not ended */
        char invocation_id[33]; /* "" until known */
        uint64_t cpu_usage_nsec; /* UINT64_MAX until known; read by unit_query() only */
        bool over;              /* the unit has been started and has ended: what stands here is final */
} UnitState;

typedef struct UnitHandlers {
        /* StartTransientUnit was refused or not answered; error_name is a D-Bus error name. The unit may still
         * come (a late answer), so the caller goes on to stop it. */
        void (*on_refused)(void *userdata, const char *error_name, const char *message);
        /* Something changed; after state->over nothing more comes. */
        void (*on_state)(void *userdata, const UnitState *state);
} UnitHandlers;

/* Watches the unit of that name from now on; nothing is asked of systemd yet. */
int unit_new(Manager *manager, const char *name, const UnitHandlers *handlers, void *userdata, Unit **ret);
/* Stops watching. The unit itself goes on. */
Unit *unit_free(Unit *unit);
DEFINE_OWN(Unit, unit_free);

const UnitState *unit_state(const Unit *unit);
const char *unit_name(const Unit *unit);

int unit_start(Unit *unit, const Properties *properties);
/* Reads the state from systemd; on_state follows. adopt: take a reference, the unit was started by a former us.
 * A unit that systemd does not know is over, result "". */
int unit_query(Unit *unit, bool adopt);
int unit_stop(Unit *unit);
/* Of a running unit only what belongs to its cgroup can change. The answer changes nothing for us. */
int unit_set_properties(Unit *unit, const Properties *properties);
/* Nothing more is needed of the unit: forget a failure, give the reference back. */
void unit_release(Unit *unit);

/* All properties as one document {"name": {"type", "data"}}, or NULL with a negative error. Once. */
typedef void (*UnitPropertiesHandler)(void *userdata, int error, json_object *properties);
int unit_get_properties(Unit *unit, UnitPropertiesHandler handler, void *userdata, sd_bus_slot **ret_slot);
