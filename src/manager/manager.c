/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The link to PID 1. It subscribes and installs its matches before anything is started, since a short unit is over
 * before a later watch could see it; then it asks for version and features, and tells the owner when both are there.
 */

#include <errno.h>
#include <json-c/linkhash.h>
#include <string.h>
#include <systemd/sd-journal.h>

#include "base/text.h"
#include "manager/internal.h"

/* Longer than a busy PID 1 takes to answer, shorter than anybody waits. */
#define START_TIMEOUT_USEC UINT64_C(25000000)

/* Object paths of our units: "unitcell-x-" escaped as sd-bus does. */
#define UNIT_PATH_PREFIX SYSTEMD_PATH "/unit/unitcell_2dx_2d"

Unit *manager_find_unit(Manager *manager, const char *path) {
        void *unit;

        return lh_table_lookup_ex(manager->units, path, &unit) ? unit : NULL;
}

static int on_properties_changed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Manager *manager = userdata;
        const char *path = sd_bus_message_get_path(message);
        Unit *unit;

        if (!path || !starts_with(path, UNIT_PATH_PREFIX))
                return 0;

        unit = manager_find_unit(manager, path);
        if (unit)
                unit_on_properties_changed(unit, message);
        return 0;
}

static int on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Manager *manager = userdata;
        const char *job, *name, *result;
        own(freep) char *path = NULL;
        uint32_t id;
        Unit *unit;

        if (sd_bus_message_read(message, "uoss", &id, &job, &name, &result) < 0 || !starts_with(name, "unitcell-x-"))
                return 0;
        if (sd_bus_path_encode(SYSTEMD_PATH "/unit", name, &path) < 0)
                return 0;

        unit = manager_find_unit(manager, path);
        if (unit)
                unit_on_job_removed(unit, job, result);
        return 0;
}

static int on_reloading(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Manager *manager = userdata;
        struct lh_entry *entry, *next;
        int active;

        if (sd_bus_message_read(message, "b", &active) < 0 || active)
                return 0;

        for (entry = lh_table_head(manager->units); entry; entry = next) {
                Unit *unit = lh_entry_v(entry);

                next = lh_entry_next(entry);
                if (!unit->state.over && unit->start_asked)
                        (void) unit_query(unit, /* adopt= */ false);
        }

        manager->handlers.on_reloaded(manager->userdata);
        return 0;
}

/* ---- the questions at the start ---- */

static void question_answered(Manager *manager, int error) {
        if (error < 0 && manager->first_error == 0)
                manager->first_error = error;
        if (--manager->n_questions == 0)
                manager->handlers.on_ready(manager->userdata, manager->first_error);
}

static int on_subscribed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        bool failed = sd_bus_message_is_method_error(message, NULL) &&
                      !sd_bus_message_is_method_error(message, SYSTEMD_NAME ".AlreadySubscribed");

        /* Without it no unit's end would be heard of. */
        question_answered(userdata, failed ? -sd_bus_message_get_errno(message) : 0);
        return 0;
}

static int on_version(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Manager *manager = userdata;
        const char *text;
        int r;

        if (sd_bus_message_is_method_error(message, NULL))
                r = -sd_bus_message_get_errno(message);
        else
                r = sd_bus_message_read(message, "v", "s", &text);
        if (r >= 0) {
                /* "252.39-1~deb12u1", "257~rc1": the leading number counts. */
                manager->version = (unsigned) strtoul(text, NULL, 10);
                r = manager->version == 0 ? -EBADMSG : 0;
        }

        question_answered(manager, r);
        return 0;
}

static int on_features(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Manager *manager = userdata;
        const char *text;
        int r;

        if (sd_bus_message_is_method_error(message, NULL))
                r = -sd_bus_message_get_errno(message);
        else
                r = sd_bus_message_read(message, "v", "s", &text);
        if (r >= 0) {
                manager->features = strdup(text);
                r = manager->features ? 0 : -ENOMEM;
        }

        question_answered(manager, r);
        return 0;
}

static int on_match_installed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        question_answered(userdata, sd_bus_message_is_method_error(message, NULL) ?
                                            -sd_bus_message_get_errno(message) :
                                            0);
        return 0;
}

static int ask(Manager *manager) {
        static const struct {
                const char *path, *interface, *member;
                sd_bus_message_handler_t handler;
        } signals[] = {
                {NULL, "org.freedesktop.DBus.Properties", "PropertiesChanged", on_properties_changed},
                {SYSTEMD_PATH, SYSTEMD_MANAGER, "JobRemoved", on_job_removed},
                {SYSTEMD_PATH, SYSTEMD_MANAGER, "Reloading", on_reloading},
        };
        static const struct {
                const char *property;
                sd_bus_message_handler_t handler;
        } questions[] = {{"Version", on_version}, {"Features", on_features}};
        int r;

        for (size_t i = 0; i < ELEMENTS(signals); i++) {
                r = sd_bus_match_signal_async(manager->bus, &manager->slots[manager->n_slots], SYSTEMD_NAME,
                        signals[i].path, signals[i].interface, signals[i].member, signals[i].handler,
                        on_match_installed, manager);
                if (r < 0)
                        return r;
                manager->n_slots++;
                manager->n_questions++;
        }

        r = sd_bus_call_method_async(manager->bus, &manager->slots[manager->n_slots], SYSTEMD_NAME, SYSTEMD_PATH,
                SYSTEMD_MANAGER, "Subscribe", on_subscribed, manager, NULL);
        if (r < 0)
                return r;
        manager->n_slots++;
        manager->n_questions++;

        for (size_t i = 0; i < ELEMENTS(questions); i++) {
                r = sd_bus_call_method_async(manager->bus, &manager->slots[manager->n_slots], SYSTEMD_NAME,
                        SYSTEMD_PATH, "org.freedesktop.DBus.Properties", "Get", questions[i].handler, manager, "ss",
                        SYSTEMD_MANAGER, questions[i].property);
                if (r < 0)
                        return r;
                manager->n_slots++;
                manager->n_questions++;
        }
        return 0;
}

int manager_new(sd_bus *bus, const ManagerHandlers *handlers, void *userdata, Manager **ret) {
        own(manager_freep) Manager *manager = calloc(1, sizeof *manager);
        int r;

        if (!manager)
                return -ENOMEM;

        manager->bus = sd_bus_ref(bus);
        manager->handlers = *handlers;
        manager->userdata = userdata;
        manager->start_timeout_usec = START_TIMEOUT_USEC;
        manager->units = lh_kchar_table_new(64, /* free_fn= */ NULL);
        if (!manager->units)
                return -ENOMEM;

        r = ask(manager);
        if (r < 0)
                return r;

        *ret = hand_over(manager);
        return 0;
}

Manager *manager_free(Manager *manager) {
        if (!manager)
                return NULL;

        for (size_t i = 0; i < manager->n_slots; i++)
                sd_bus_slot_unref(manager->slots[i]);
        if (manager->units)
                lh_table_free(manager->units);
        free(manager->features);
        sd_bus_unref(manager->bus);
        free(manager);
        return NULL;
}

unsigned manager_version(const Manager *manager) {
        return manager->version;
}

const char *manager_features(const Manager *manager) {
        return manager->features ? manager->features : "";
}
