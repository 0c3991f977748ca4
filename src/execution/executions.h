/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* All executions: who may start one more, which start next, how long their results are kept. */

#include <stddef.h>
#include <systemd/sd-event.h>

#include "execution/execution.h"
#include "execution/host.h"
#include "manager/manager.h"

typedef struct Executions Executions;

/* Controllers a host may lack when unitcell.conf's AllowMissing= names them. */
typedef enum Controller { CONTROLLER_MEMORY, CONTROLLER_PIDS, CONTROLLER_CPU, CONTROLLER_N } Controller;
extern const char *const controller_names[CONTROLLER_N];

typedef struct ExecutionsConfig {
        unsigned allow_missing;      /* bits of 1 << Controller */
        unsigned executions_at_once; /* for each caller */
        unsigned starts_in_flight;   /* for each caller; more wait, they are not refused */
        unsigned results_kept;       /* for each caller */
        uint64_t results_kept_usec;
        const char *state_directory;
        const char *result_directory;
        const char *cgroup_root;
} ExecutionsConfig;

typedef struct ExecutionsObserver {
        /* The state of an execution changed; FINISHED is told once, with the result ready. */
        void (*on_state)(void *userdata, Execution *execution);
        /* Something to know while it runs: kind is "memory" or "runaway". */
        void (*on_warning)(void *userdata, Execution *execution, const char *kind, const char *text);
        /* It is forgotten: no reference to it may stay. */
        void (*on_forgotten)(void *userdata, Execution *execution);
} ExecutionsObserver;

int executions_new(sd_event *event, Manager *manager, const Host *host, const ExecutionsConfig *config, Executions **ret);
Executions *executions_free(Executions *executions);
DEFINE_OWN(Executions, executions_free);
void executions_set_observer(Executions *executions, const ExecutionsObserver *observer, void *userdata);

/* Why a request did not become an execution; each has its name on the bus. */
typedef enum Admission {
        ADMISSION_OK = 0,
        ADMISSION_BUSY,           /* org.unitcell1.Error.Busy */
        ADMISSION_INVALID,        /* org.unitcell1.Error.InvalidSpec: a mount that cannot be */
        ADMISSION_CANNOT_ENFORCE, /* org.unitcell1.Error.CannotEnforce */
} Admission;

/*
 * A new execution. Takes over spec and plan on success (0). A positive Admission with *reterr_message (a new
 * string), or negative errno. The accepted record is written before anything is started.
 */
int executions_submit(Executions *executions, Spec **spec, Plan **plan, const Caller *caller, char **reterr_message,
        Execution **ret);

Execution *executions_find(const Executions *executions, const char *id);
/* In order of acceptance; NULL at the end. */
Execution *executions_next(const Executions *executions, const Execution *after);

/* How many of them: running ones of everybody, for status lines. */
size_t executions_count_running(const Executions *executions);
