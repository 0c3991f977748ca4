/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The loop, the directories, the records, and submissions. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#include "audit/record.h"
#include "base/json.h"
#include "base/text.h"
#include "world.h"

static World *recording; /* one world a process: records have no userdata */

static void copy_field(const struct iovec *field, const char *name, char *ret, size_t size) {
        size_t prefix = strlen(name), length;

        if (field->iov_len < prefix || memcmp(field->iov_base, name, prefix) != 0)
                return;
        length = field->iov_len - prefix;
        (void) snprintf(ret, size, "%.*s", (int) length, (const char *) field->iov_base + prefix);
}

static int keep_record(const struct iovec *fields, int n) {
        World *world = recording;

        cr_assert_lt(world->n_records, WORLD_RECORDS);
        if (world->record_answer < 0)
                return world->record_answer;
        for (int i = 0; i < n; i++) {
                copy_field(fields + i, "UNITCELL_EVENT=", world->records[world->n_records].event, 32);
                copy_field(
                        fields + i, "UNITCELL_EXECUTION=", world->records[world->n_records].execution, 33);
                copy_field(fields + i, "UNITCELL_ERROR=", world->records[world->n_records].error, 96);
        }
        world->n_records++;
        return 0;
}

unsigned world_count_records(const World *world, const char *event, const char *execution) {
        unsigned n = 0;

        for (size_t i = 0; i < world->n_records; i++)
                n += streq(world->records[i].event, event) &&
                     (!execution || streq(world->records[i].execution, execution));
        return n;
}

unsigned world_count_descriptors(void) {
        DIR *directory = opendir("/proc/self/fd");
        unsigned n = 0;

        cr_assert_not_null(directory);
        while (readdir(directory))
                n++;
        closedir(directory);
        return n;
}

/* ---- policies ---- */

static const char *const policies[] = {
        "{\"name\":\"default\",\"syscalls\":{\"allow\":[\"@system-service\"],\"report\":false}}",
        "{\"name\":\"special\",\"restricted\":true,\"syscalls\":{\"report\":false}}",
};
static const char *const languages[] = {
        "{\"name\":\"sh\",\"interpreters\":[\"/bin/"
        "sh\"],\"file\":\"main.sh\",\"argv\":[\"{interpreter}\",\"{code}\"]}",
        "{\"name\":\"cc\",\"interpreters\":[\"/bin/"
        "sh\"],\"file\":\"main.c\",\"compile\":[\"{interpreter}\",\"{code}\"],"
        "\"argv\":[\"{program}\"]}",
        "{\"name\":\"gone\",\"interpreters\":[\"/usr/bin/"
        "no-such\"],\"file\":\"x\",\"argv\":[\"{interpreter}\"]}",
};

static Store *make_store(void) {
        Store *store = calloc(1, sizeof *store);
        JsonError error = {};

        store->policies = calloc(ELEMENTS(policies), sizeof(Policy *));
        store->languages = calloc(ELEMENTS(languages), sizeof(Language *));
        for (size_t i = 0; i < ELEMENTS(policies); i++)
                cr_assert_eq(policy_read(policies[i], strlen(policies[i]), NULL,
                                     &store->policies[store->n_policies++], &error),
                        0, "%s %s", error.key, error.message);
        for (size_t i = 0; i < ELEMENTS(languages); i++)
                cr_assert_eq(language_read(languages[i], strlen(languages[i]), NULL,
                                     &store->languages[store->n_languages++], &error),
                        0, "%s %s", error.key, error.message);
        return store;
}

/* ---- the loop ---- */

void world_settle(World *world) {
        for (unsigned i = 0; i < 10000 && sd_event_run(world->event, 0) > 0; i++)
                ;
}

static void make_directory(char *ret, size_t size, const char *root, const char *name) {
        (void) snprintf(ret, size, "%s/%s", root, name);
        cr_assert_eq(mkdir(ret, 0700), 0);
}

void world_open(World *world) {
        (void) signal(SIGPIPE, SIG_IGN);
        (void) sd_journal_print(
                LOG_DEBUG, "tests"); /* opens the journal's socket, before descriptors are counted */
        recording = world;
        record_set_sender(keep_record);
        (void) snprintf(world->root, sizeof world->root, "/tmp/unitcell-test-XXXXXX");
        cr_assert_not_null(mkdtemp(world->root));
        make_directory(world->state_directory, sizeof world->state_directory, world->root, "state");
        make_directory(world->result_directory, sizeof world->result_directory, world->root, "results");
        make_directory(world->cgroup_root, sizeof world->cgroup_root, world->root, "cgroup");
        world->store = make_store();
        world->host = (Host){.cpus = 4, .unified_cgroups = true, .namespaces = {1, 2, 3, 4}};
        world->version = "252.39-1~deb12u1";
        cr_assert_geq(sd_event_new(&world->event), 0);
        pid1_open(world);
}

static void on_ready(void *userdata, int error) {
        World *world = userdata;

        cr_assert_not(world->ready, "ready is told once");
        world->ready = true;
        world->ready_error = error;
}

static void on_reloaded(void *userdata) {
        ((World *) userdata)->reloads++;
}

static void on_state(void *userdata, Execution *execution) {
        World *world = userdata;

        world->finished += execution_state(execution) == EXECUTION_FINISHED;
}

void world_new_executions(World *world) {
        static const ExecutionsObserver observer = {.on_state = on_state};
        ExecutionsConfig config = {
                .executions_at_once = 16,
                .starts_in_flight = 4,
                .results_kept = 64,
                .results_kept_usec = UINT64_C(900000000),
                .state_directory = world->state_directory,
                .result_directory = world->result_directory,
                .cgroup_root = world->cgroup_root,
        };

        cr_assert_eq(
                executions_new(world->event, world->manager, &world->host, &config, &world->executions), 0);
        executions_set_observer(world->executions, &observer, world);
        world->executions->wall.verdict = WALL_HOLDS;
}

void world_begin(World *world) {
        static const ManagerHandlers handlers = {.on_ready = on_ready, .on_reloaded = on_reloaded};

        world_open(world);
        cr_assert_eq(manager_new(world->daemon, &handlers, world, &world->manager), 0);
        UNTIL(world, world->ready);
        cr_assert_eq(world->ready_error, 0);
        world_new_executions(world);
}

void world_forget_executions(World *world) {
        world->executions = executions_free(world->executions);
}

void world_close(World *world) {
        char command[128];

        executions_free(world->executions);
        manager_free(world->manager);
        pid1_forget(world);
        sd_bus_close_unref(world->daemon);
        sd_bus_close_unref(world->wire);
        store_free(world->store);
        sd_event_unref(world->event);
        record_set_sender(NULL);
        (void) snprintf(command, sizeof command, "rm -rf %s", world->root);
        cr_assert_eq(system(command), 0);
}

/* ---- executions ---- */

static int submit(World *world, uid_t uid, const char *text, Execution **ret) {
        own(spec_freep) Spec *spec = NULL;
        own(plan_freep) Plan *plan = NULL;
        own(freep) char *message = NULL;
        const Caller caller = {.uid = uid};
        JsonError error = {};

        cr_assert_eq(spec_read(text, strlen(text), &spec, &error), 0, "%s %s", error.key, error.message);
        cr_assert_eq(plan_resolve(spec, world->store, world->host.cpus, &plan, &error), 0, "%s %s",
                error.key, error.message);
        return executions_submit(world->executions, &spec, &plan, &caller, &message, ret);
}

Execution *world_submit(World *world, uid_t uid, const char *text) {
        Execution *execution;

        cr_assert_eq(submit(world, uid, text, &execution), ADMISSION_OK);
        return execution;
}

Admission world_submit_refused(World *world, uid_t uid, const char *text) {
        Execution *execution;
        int r = submit(world, uid, text, &execution);

        cr_assert_neq(r, 0);
        return (Admission) r;
}

void world_shorten_deadlines(World *world) {
        world->executions->deadlines = (Deadlines){
                .start_usec = 15000000, .leave_usec = 1000000, .empty_usec = 3000000, .gone_usec = 500000};
}

Execution *world_submit_to_miss(World *world, const char *spec) {
        uint64_t kept = world->executions->deadlines.start_usec;
        Execution *execution;

        world->executions->deadlines.start_usec = 2 * NEVER_USEC;
        execution = world_submit(world, 1000, spec);
        UNTIL(world, world->n_units == 1); /* it is armed by then */
        world->executions->deadlines.start_usec = kept;
        return execution;
}

FakeUnit *world_unit_of(World *world, const Execution *execution) {
        for (size_t i = 0; i < world->n_units; i++)
                if (streq(world->units[i]->id, execution_id(execution)))
                        return world->units[i];
        return NULL;
}

void expect_result(World *world, Execution *execution, Status status, const char *says) {
        own(json_freep) json_object *result = NULL;
        own(freep) char *text = NULL;
        json_object *value;
        JsonError error;

        UNTIL(world, execution_state(execution) == EXECUTION_FINISHED);
        cr_assert_eq(execution_get_result(execution, &text), 0);
        cr_assert_eq(json_parse(text, strlen(text), &result, &error), 0, "%.600s", text);
        cr_assert(json_object_object_get_ex(result, "status", &value));
        cr_expect_str_eq(json_object_get_string(value), status_name(status), "%.600s", text);
        cr_expect_str_eq(execution_status(execution), status_name(status));
        cr_assert(json_object_object_get_ex(result, "message", &value));
        cr_expect(strstr(json_object_get_string(value), says), "%.600s", text);
        cr_assert(json_object_object_get_ex(result, "id", &value));
        cr_expect_str_eq(json_object_get_string(value), execution_id(execution));
        cr_expect_eq(world_count_records(world, "accepted", execution_id(execution)), 1);
        cr_expect_eq(world_count_records(world, "finished", execution_id(execution)), 1);
}
