/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Running the canary and judging the wall by what it found. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#include "audit/record.h"
#include "base/clock.h"
#include "execution/canary-facts.h"
#include "execution/canary.h"
#include "execution/internal.h"
#include "handover/inspect.h"
#include "unit/describe.h"

#define RETRY_USEC UINT64_C(30000000)

/* Room for a slow machine: the canary is the first thing that runs after boot. */
static const char canary_spec[] = "{\"argv\":[\"" INSPECT_RUNNER_PATH "\",\"" INSPECT_COMMAND "\"],"
                                  "\"timeout_ms\":60000}";

struct Canary {
        Executions *executions;
        const Store *store;
        CanaryHandler on_verdict;
        void *userdata;
        Execution *execution; /* while one is under way */
        bool again;
        json_object *properties; /* what systemd said of the unit */
        bool properties_in;
        sd_bus_slot *properties_slot;
        sd_event_source *retry;
        char **failures;
};

Canary *canary_free(Canary *canary) {
        if (!canary)
                return NULL;

        if (canary->execution)
                canary->execution->canary_userdata = NULL;
        sd_bus_slot_unref(canary->properties_slot);
        sd_event_source_disable_unref(canary->retry);
        json_object_put(canary->properties);
        strv_free(canary->failures);
        free(canary);
        return NULL;
}

static int fail(Canary *canary, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(Canary *canary, const char *format, ...) {
        own(freep) char *text = NULL;
        va_list arguments;
        int r;

        va_start(arguments, format);
        r = vasprintf(&text, format, arguments);
        va_end(arguments);
        if (r < 0) {
                text = NULL;
                return -ENOMEM;
        }
        return strv_append(&canary->failures, text);
}

/* ---- from outside ---- */

static const char *shown(json_object *object) {
        json_object *data;

        return object && json_object_object_get_ex(object, "data", &data) ?
                       json_object_to_json_string_ext(data, JSON_C_TO_STRING_PLAIN) :
                       "nothing";
}

static int compare_properties(Canary *canary, const Properties *asked) {
        for (size_t i = 0; i < asked->n; i++) {
                const char *name = asked->items[i].name;
                json_object *said = NULL;
                own(json_freep) json_object *ours = NULL;
                bool seen = false;
                int r;

                for (size_t k = 0; k < i; k++)
                        seen = seen || streq(asked->items[k].name, name);
                if (seen || asked->items[i].write_only)
                        continue;

                (void) json_object_object_get_ex(canary->properties, name, &said);
                if (said && unit_property_compare(asked, name, said) != PROPERTY_DIFFERS)
                        continue;
                r = property_to_json(asked->items + i, &ours);
                if (r < 0)
                        return r;
                r = fail(canary, "%s: systemd says %.200s, the plan says %.200s", name, shown(said), shown(ours));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* What the kernel's cgroup files said at HELLO: a value, false for a missing controller, or that it differs. */
static int compare_limits(Canary *canary, unsigned *ret_missing) {
        static const struct {
                const char *key, *property;
                Controller controller;
        } rows[] = {
                {"memory_max_bytes", "MemoryMax", CONTROLLER_MEMORY},
                {"memory_swap_max_bytes", "MemorySwapMax", CONTROLLER_MEMORY},
                {"pids_max", "TasksMax", CONTROLLER_PIDS},
                {"cpu_thousandths", "CPUQuotaPerSecUSec", CONTROLLER_CPU},
        };
        const ExecutionsConfig *config = &canary->executions->config;
        unsigned missing = 0;
        int r = 0;

        for (size_t i = 0; i < ELEMENTS(rows) && r >= 0; i++) {
                json_object *value = NULL;

                if (canary->execution->limits_found)
                        (void) json_object_object_get_ex(canary->execution->limits_found, rows[i].key, &value);
                if (!value)
                        r = fail(canary, "%s: it was not looked at", rows[i].property);
                else if (json_object_is_type(value, json_type_string))
                        r = fail(canary, "%s: the kernel holds another value", rows[i].property);
                else if (json_object_is_type(value, json_type_boolean)) {
                        missing |= 1U << rows[i].controller;
                        if (!(config->allow_missing & (1U << rows[i].controller)))
                                r = fail(canary,
                                        "%s: the %s controller is not available to units of this host "
                                        "(AllowMissing= in unitcell.conf(5) can allow that)",
                                        rows[i].property, controller_names[rows[i].controller]);
                }
        }

        *ret_missing = missing;
        return r;
}

/* ---- from inside ---- */

static int compare_facts(Canary *canary, json_object *result, json_object **ret_enforced) {
        own(strv_freep) char **failures = NULL;
        json_object *status, *message, *out;
        CanaryExpect expect = {
                .host_namespace = canary->executions->host.namespaces,
                .disk_bytes = canary->execution->plan->limit[LIMIT_DISK_MB] * 1024 * 1024,
                .proc_pid_only = canary->execution->plan->proc_pid_only,
                .systemd_version = manager_version(canary->executions->manager),
        };
        int r;

        if (!json_object_object_get_ex(result, "status", &status) ||
                !json_object_object_get_ex(result, "message", &message) ||
                !json_object_object_get_ex(result, "stdout", &out))
                return fail(canary, "canary: it has no result");
        if (!streq(json_object_get_string(status), status_name(STATUS_SUCCESS)))
                return fail(canary, "canary: %s: %s", json_object_get_string(status), json_object_get_string(message));

        r = canary_facts_check(json_object_get_string(out), (size_t) json_object_get_string_len(out), &expect,
                &failures, ret_enforced);
        for (size_t i = 0; r >= 0 && failures && failures[i]; i++)
                r = strv_append(&canary->failures, failures[i]);
        return r;
}

/* ---- the verdict ---- */

static int add_missing(json_object *enforced, unsigned missing) {
        json_object *list = json_object_new_array();

        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < CONTROLLER_N; i++)
                if (missing & (1U << i))
                        json_object_array_add(list, json_object_new_string(controller_names[i]));
        return json_add_object(enforced, "missing_controllers", list);
}

static void record_verdict(const Wall *wall) {
        own(record_freep) Record *record = NULL;
        own(freep) char *message = NULL;
        bool holds = wall->verdict == WALL_HOLDS;
        int r;

        if (asprintf(&message, holds ? "The wall was looked at and holds" :
                        "The wall is broken, nothing runs until it is mended: %.2000s", holds ? "" : wall->failures[0]) < 0)
                return;
        r = record_new(holds ? AUDIT_WALL_CHECKED : AUDIT_WALL_BROKEN, message, &record);
        if (r >= 0 && wall->enforced)
                r = record_add_json(record, "UNITCELL_ENFORCED", wall->enforced);
        for (size_t i = 0; r >= 0 && i < 16 && wall->failures && wall->failures[i]; i++)
                r = record_add(record, "UNITCELL_FAILURE", wall->failures[i]);
        if (r >= 0)
                r = record_send(record);
        if (r < 0)
                sd_journal_print(LOG_ERR, "The verdict on the wall could not be recorded: %s", strerror(-r));
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        Canary *canary = userdata;

        canary->retry = sd_event_source_disable_unref(canary->retry);
        canary_run(canary);
        return 0;
}

static void conclude(Canary *canary, unsigned missing, json_object *enforced) {
        Executions *executions = canary->executions;
        Wall *wall = &executions->wall;

        wall_clear(wall);
        wall->missing = missing;
        wall->enforced = enforced;
        wall->failures = hand_over(canary->failures);
        wall->verdict = wall->failures ? WALL_BROKEN : WALL_HOLDS;
        record_verdict(wall);

        if (canary->execution) {
                canary->execution->canary_userdata = NULL;
                canary->execution = NULL;
        }
        executions_schedule(executions);

        if (canary->again) {
                canary->again = false;
                canary_run(canary);
        } else if (wall->verdict == WALL_BROKEN && !canary->retry)
                (void) sd_event_add_time(executions->event, &canary->retry, CLOCK_MONOTONIC,
                        clock_monotonic_usec() + RETRY_USEC, 1000000, on_retry, canary);
        canary->on_verdict(canary->userdata);
}

static int judge(Canary *canary, unsigned *ret_missing, json_object **ret_enforced) {
        Execution *execution = canary->execution;
        UnitDescription description = {
                .id = execution->id,
                .slice = execution->slice,
                .manager_version = manager_version(canary->executions->manager),
                .control = -1,
        };
        own(properties_clear) Properties asked = {};
        own(json_freep) json_object *result = NULL, *enforced = NULL;
        own(freep) char *text = NULL;
        JsonError error;
        int r;

        r = execution_get_result(execution, &text);
        if (r < 0)
                return r;
        r = json_parse(text, strlen(text), &result, &error);
        if (r < 0)
                return r;
        r = compare_facts(canary, result, &enforced);
        if (r < 0)
                return r;
        r = unit_describe(execution->plan, &description, &asked);
        if (r < 0)
                return r;
        if (!canary->properties)
                r = fail(canary, "canary: systemd did not tell the properties of its unit");
        else
                r = compare_properties(canary, &asked);
        if (r < 0)
                return r;
        r = compare_limits(canary, ret_missing);
        if (r < 0)
                return r;

        if (!enforced) {
                enforced = json_object_new_object();
                if (!enforced)
                        return -ENOMEM;
        }
        r = add_missing(enforced, *ret_missing);
        if (r < 0)
                return r;
        *ret_enforced = hand_over(enforced);
        return 0;
}

static void conclude_when_complete(Canary *canary) {
        json_object *enforced = NULL;
        unsigned missing = 0;
        int r;

        if (canary->execution->state != EXECUTION_FINISHED || (canary->properties_slot && !canary->properties_in))
                return;

        r = judge(canary, &missing, &enforced);
        if (r < 0) {
                if (!canary->failures)
                        (void) fail(canary, "canary: its findings could not be read: %s", strerror(-r));
                if (!canary->failures)
                        return; /* not even memory to say so: the wall stays unchecked, nothing runs */
        }
        conclude(canary, missing, enforced);
}

static void on_properties(void *userdata, int error, json_object *properties) {
        Canary *canary = userdata;
        json_object *load_state, *data;

        canary->properties_in = true;
        /* Of a unit that it does not have systemd tells defaults: they would be compared with the plan. */
        if (json_object_object_get_ex(properties, "LoadState", &load_state) &&
                json_object_object_get_ex(load_state, "data", &data) &&
                streq(json_object_get_string(data), "loaded"))
                canary->properties = json_object_get(properties);
        conclude_when_complete(canary);
}

static void on_state(Execution *execution, void *userdata) {
        Canary *canary = userdata;

        /* At the end too: what kept it from running is most likely a property that is not ours any more. */
        if ((execution->state == EXECUTION_RUNNING || execution->state == EXECUTION_FINISHED) && execution->unit &&
                !canary->properties_slot && !execution->facts.refused)
                (void) unit_get_properties(execution->unit, on_properties, canary, &canary->properties_slot);
        if (execution->state == EXECUTION_FINISHED)
                conclude_when_complete(canary);
}

static int start(Canary *canary) {
        own(spec_freep) Spec *spec = NULL;
        own(plan_freep) Plan *plan = NULL;
        own(execution_freep) Execution *execution = NULL;
        const Caller nobody = {};
        char id[UNIT_ID_SIZE];
        JsonError error;
        int r;

        r = spec_read(canary_spec, strlen(canary_spec), &spec, &error);
        if (r != 0)
                return r < 0 ? r : -EINVAL;
        r = plan_resolve(spec, canary->store, canary->executions->host.cpus, &plan, &error);
        if (r > 0) {
                (void) fail(canary, "policy default: %s %s", error.key, error.message);
                return -EINVAL;
        }
        if (r < 0)
                return r;
        r = unit_id_new(id);
        if (r < 0)
                return r;
        r = execution_new(canary->executions, id, &nobody, &plan, &execution);
        if (r < 0)
                return r;

        execution->is_canary = true;
        execution->canary_on_state = on_state;
        execution->canary_userdata = canary;
        execution->spec = hand_over(spec);
        executions_add(canary->executions, execution);
        canary->execution = hand_over(execution);
        (void) execution_start(canary->execution);
        return 0;
}

void canary_run(Canary *canary) {
        int r;

        if (canary->execution) {
                canary->again = true;
                return;
        }

        canary->executions->wall.verdict = WALL_UNCHECKED;
        canary->properties_slot = sd_bus_slot_unref(canary->properties_slot);
        json_object_put(canary->properties);
        canary->properties = NULL;
        canary->properties_in = false;
        canary->retry = sd_event_source_disable_unref(canary->retry);

        r = start(canary);
        if (r < 0) {
                if (!canary->failures)
                        (void) fail(canary, "canary: it could not be started: %s", strerror(-r));
                if (canary->failures)
                        conclude(canary, 0, NULL);
        }
}

void canary_set_store(Canary *canary, const Store *store) {
        canary->store = store;
}

int canary_new(Executions *executions, const Store *store, CanaryHandler on_verdict, void *userdata, Canary **ret) {
        Canary *canary = calloc(1, sizeof *canary);

        if (!canary)
                return -ENOMEM;
        *canary = (Canary) {
                .executions = executions, .store = store, .on_verdict = on_verdict, .userdata = userdata};
        *ret = canary;
        return 0;
}
