/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The world around the daemon's layers, in one process on one event loop: at the other end of a socketpair
 * sit the bus driver, systemd, polkit and the callers (pid1.c), and on the control socket that each
 * StartTransientUnit brings sits a runner (runner-place.c). Everything there does as it should unless a
 * Script says otherwise; each unit, in order of its start, has one.
 */

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "base/clock.h"
#include "base/own.h"
#include "execution/internal.h"
#include "policy/store.h"

#define WORLD_UNITS 64
#define WORLD_RECORDS 256
#define NEVER_USEC                                                                                          \
        UINT64_C(250000) /* what the deadlines are cut down to, where a test waits for one in vain */

typedef struct World World;
typedef struct FakeUnit FakeUnit;

/* What a runner says, in order. A hook stands in place of what it should say at that point. */
typedef enum Step { STEP_HELLO, STEP_PREPARED, STEP_STARTED, STEP_ENDED, STEP_LEAVE, STEP_N } Step;
typedef void (*RunnerHook)(FakeUnit *unit);

typedef enum Reply {
        REPLY_AS_IT_SHOULD,
        REPLY_LATE,  /* after everything else */
        REPLY_NEVER, /* and nothing is started */
        REPLY_LOST,  /* the unit starts all the same */
        REPLY_TWICE,
        REPLY_ERROR,
        REPLY_GARBAGE, /* of another type than it should be */
} Reply;

typedef struct Script {
        Reply reply;
        bool job_first;      /* JobRemoved before the reply that names the job */
        bool job_never;      /* no JobRemoved */
        bool job_fails;      /* nothing runs */
        bool job_stays;      /* the unit never gets to run: its job waits until it is stopped */
        bool inactive_first; /* "inactive" is told before the job has run */
        bool silent;         /* no PropertiesChanged */
        bool twice;          /* all news are told twice */
        bool nonsense;       /* news of others and malformed ones in between */
        bool immortal;       /* neither StopUnit nor cgroup.kill does anything */
        bool elsewhere;      /* the cgroup is not where it should be */
        bool query_never;    /* GetAll is not answered */
        const char *limit_file,
                *limit_text; /* a file of the cgroup with another value; text NULL: without it */

        RunnerHook in_place_of[STEP_N];
        bool stays;      /* the code does not end by itself */
        int wait_status; /* how it ends */
        const char *out, *err;
} Script;

struct FakeUnit {
        World *world;
        Script script;
        char name[64], id[33], path[128], cgroup[256], job_path[64];
        int control, out, err, scratch;
        sd_event_source *control_source, *kill_source;
        sd_bus_message *late; /* the call that is answered later */
        char *slice;
        uint64_t memory_max, tasks_max, cpu_quota;
        const char *active, *result;
        int main_code, main_status;
        uint32_t job;
        bool job_waits, ended;
        unsigned n_prepare, n_hand_over, n_done; /* what the daemon told the runner */
        unsigned stops, resets, refs, unrefs, queries;
};

typedef enum Answer {
        ANSWER_YES,
        ANSWER_NO,
        ANSWER_CHALLENGE,
        ANSWER_ERROR,
        ANSWER_NEVER,
        ANSWER_LATE,
        ANSWER_GARBAGE
} Answer;

struct World {
        sd_event *event;
        sd_bus *daemon; /* the daemon's connection */
        sd_bus *wire;   /* everybody else */
        char root[32];
        char state_directory[64], result_directory[64], cgroup_root[64];
        Store *store;
        Host host;
        Manager *manager;
        Executions *executions;
        bool ready;
        int ready_error;
        unsigned reloads;

        Script scripts[WORLD_UNITS];
        FakeUnit *units[WORLD_UNITS];
        size_t n_units;
        void (*on_start)(World *world); /* before a StartTransientUnit does anything */
        uint32_t next_job;
        bool never_subscribed; /* Subscribe is not answered */
        const char *version;   /* what systemd says it is */
        const char *listed[4]; /* what ListUnitsByPatterns tells besides the units; may be none of ours */

        Answer credentials, polkit;
        unsigned n_credentials, n_polkit;
        char polkit_action[64], polkit_details[512];
        sd_bus_message *late_answer; /* of polkit or the driver */

        struct {
                char event[32], execution[33], error[96];
        } records[WORLD_RECORDS];
        size_t n_records;
        int record_answer;
        unsigned finished; /* times on_state told FINISHED */
};

/* The bus and everybody on it; no manager yet. */
void world_open(World *world);
/* And a manager that is ready, executions under a wall that holds. */
void world_begin(World *world);
void world_close(World *world);
/* The executions anew, as after a restart of the daemon: the former's descriptors are closed, its files
 * stay. */
void world_forget_executions(World *world);
void world_new_executions(World *world);

/* Runs the loop until there is nothing at hand. */
void world_settle(World *world);
#define UNTIL(world, condition)                                                                             \
        for (uint64_t end_ = clock_monotonic_usec() + 20000000; !(condition);) {                            \
                cr_assert_lt(clock_monotonic_usec(), end_, "waited in vain: %s", #condition);               \
                cr_assert_geq(sd_event_run((world)->event, 20000), 0);                                      \
        }

Execution *world_submit(World *world, uid_t uid, const char *spec);
/* A submission that is refused. */
Admission world_submit_refused(World *world, uid_t uid, const char *spec);
/* Deadlines that a test can wait for, and a slow machine can meet. */
void world_shorten_deadlines(World *world);
/* The first submission, with a start deadline that it is meant to miss; of those after it, none is. */
Execution *world_submit_to_miss(World *world, const char *spec);
void expect_result(World *world, Execution *execution, Status status, const char *says);
unsigned world_count_records(const World *world, const char *event, const char *execution);
unsigned world_count_descriptors(void);
FakeUnit *world_unit_of(World *world, const Execution *execution);

/* pid1.c */
void pid1_open(World *world);
void pid1_forget(World *world);
void pid1_reloaded(World *world);
void wire_answer(sd_bus_message *call, const char *types, ...);
void wire_answer_error(sd_bus_message *call, const char *name);
void unit_tell(FakeUnit *unit);
void unit_job_removed(FakeUnit *unit, uint32_t job, const char *result);
void unit_reply_late(FakeUnit *unit);
/* Its processes are gone, however that came. */
void unit_ends(FakeUnit *unit, int main_code, int main_status, const char *result);

/* authority.c */
void driver_call(World *world, sd_bus_message *call, const char *member);
void polkit_call(World *world, sd_bus_message *call);
void pid1_answer_late(World *world, const char *types, ...); /* of driver or polkit, ANSWER_LATE */

/* runner-place.c */
void runner_begin(FakeUnit *unit);
void runner_close(FakeUnit *unit);
void runner_say(FakeUnit *unit, Step step);
void runner_send(
        FakeUnit *unit, MessageType type, const void *body, size_t size, const int *fds, size_t n_fds);
void runner_silent(FakeUnit *unit); /* a hook: nothing is said */
