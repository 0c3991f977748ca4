/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Starting: descriptors are made and stored, the state is written, and only then systemd is asked for the unit, so
 * that whatever dies afterwards finds the truth. The unit's own ends are closed here as soon as the message holds
 * them: systemd keeps its copies until the unit is gone, so end of file never means anything.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "execution/fd-store.h"
#include "execution/internal.h"
#include "handover/order.h"
#include "unit/describe.h"

#define NOFILE_SOFT 1024
#define NOFILE_HARD 4096
#define MIB UINT64_C(1048576)

static int make_pipe(int *ret_read, int *ret_write) {
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        *ret_read = fds[0];
        *ret_write = fds[1];
        /* Opening /dev/stdout opens the pipe anew, as the dynamic user. */
        return fchmod(fds[1], 0666) < 0 ? -errno : 0;
}

static int inode_of(int fd, uint64_t *ret) {
        struct stat info;

        if (fstat(fd, &info) < 0)
                return -errno;
        *ret = info.st_ino;
        return 0;
}

static void on_ceiling(void *userdata) {
        Execution *execution = userdata;
        bool kill = execution->plan->on_output_limit == ON_OUTPUT_KILL;

        execution_end(execution, CAUSE_OUTPUT_LIMIT,
                kill ? "more than stdout_bytes or stderr_bytes, and the policy does not cut" : "more than 256 MiB");
}

static uint64_t ceiling_of(const Execution *execution, LimitId id) {
        return execution->plan->on_output_limit == ON_OUTPUT_KILL ? execution->plan->limit[id] : OUTPUT_CEILING;
}

/* Takes over both descriptors. */
int execution_watch_streams(Execution *execution, int out, int err) {
        sd_event *event = execution->list->event;
        int r;

        r = reader_new(event, out, ceiling_of(execution, LIMIT_STDOUT_BYTES), on_ceiling, execution, &execution->out);
        if (r < 0) {
                close_fd(err);
                return r;
        }
        r = reader_new(event, err, ceiling_of(execution, LIMIT_STDERR_BYTES), on_ceiling, execution, &execution->err);
        if (r < 0)
                return r;
        r = reader_add_sink(execution->out, &execution->out_keep.sink);
        if (r < 0)
                return r;
        return reader_add_sink(execution->err, &execution->err_keep.sink);
}

static int make_descriptors(Execution *execution) {
        own(close_fdp) int out = -1, err = -1;
        int sockets[2], stored[3], r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
                return -errno;
        execution->control = sockets[0];
        execution->runner_control = sockets[1];
        r = fd_set_nonblock(execution->control, true);
        if (r < 0)
                return r;
        r = make_pipe(&out, &execution->runner_out);
        if (r < 0)
                return r;
        r = make_pipe(&err, &execution->runner_err);
        if (r < 0)
                return r;

        stored[0] = execution->control;
        stored[1] = out;
        stored[2] = err;
        for (size_t i = 0; i < ELEMENTS(stored); i++) {
                r = inode_of(stored[i], &execution->inode[i]);
                if (r < 0)
                        return r;
        }
        if (!execution->is_canary) {
                r = fd_store_put(execution->id, stored, ELEMENTS(stored));
                if (r < 0)
                        return r;
        }

        return execution_watch_streams(execution, hand_over_fd(out), hand_over_fd(err));
}

/* ---- the unit ---- */

static void on_refused(void *userdata, const char *error_name, const char *message) {
        Execution *execution = userdata;

        if (execution->last_message)
                return; /* its runner speaks: only the answer was lost */
        execution->facts.refused = true;
        if (execution->facts.cause == CAUSE_NONE)
                (void) snprintf(
                        execution->facts.detail, sizeof execution->facts.detail, "%s (%s)", message, error_name);
        execution_on_unit_refused(execution);
}

static void on_state(void *userdata, const UnitState *state) {
        Execution *execution = userdata;

        execution->facts.unit = *state;
        if (state->invocation_id[0])
                memcpy(execution->invocation_id, state->invocation_id, sizeof execution->invocation_id);
        if (state->over) {
                execution_on_unit_over(execution);
        } else if (execution->on_unit_known) {
                void (*handler)(Execution *) = hand_over(execution->on_unit_known);

                handler(execution);
        }
}

int execution_watch_unit(Execution *execution) {
        static const UnitHandlers handlers = {.on_refused = on_refused, .on_state = on_state};

        return unit_new(execution->list->manager, execution->unit_name, &handlers, execution, &execution->unit);
}

static void on_start_deadline(Execution *execution) {
        execution_end(execution, CAUSE_START_TIMEOUT, NULL);
}

static int start(Execution *execution) {
        own(properties_clear) Properties properties = {};
        UnitDescription description;
        int r;

        r = make_descriptors(execution);
        if (r < 0)
                return r;
        r = execution_save(execution, STATE_STARTING);
        if (r < 0)
                return r;
        r = execution_watch_control(execution);
        if (r < 0)
                return r;
        r = execution_watch_unit(execution);
        if (r < 0)
                return r;

        description = (UnitDescription) {
                .id = execution->id,
                .slice = execution->slice,
                .manager_version = manager_version(execution->list->manager),
                .control = execution->runner_control,
                .out = execution->runner_out,
                .err = execution->runner_err,
        };
        r = unit_describe(execution->plan, &description, &properties);
        if (r < 0)
                return r;
        r = execution_set_deadline(execution, execution->list->deadlines.start_usec, on_start_deadline);
        if (r < 0)
                return r;
        /* The last that can fail: from here on there may be a unit. */
        r = unit_start(execution->unit, &properties);
        if (r < 0)
                return r;

        execution->runner_control = close_fd(execution->runner_control);
        execution->runner_out = close_fd(execution->runner_out);
        execution->runner_err = close_fd(execution->runner_err);
        return 0;
}

int execution_start(Execution *execution) {
        int r;

        execution->facts.start_usec = clock_monotonic_usec();
        execution->in_flight = true;
        execution_set_state(execution, EXECUTION_STARTING);

        r = start(execution);
        if (r < 0) {
                char detail[128];

                /* Nothing was asked of systemd: there is no unit to wait for. */
                execution->unit = unit_free(execution->unit);

                (void) snprintf(detail, sizeof detail, "it could not be started: %s", strerror(-r));
                execution_end(execution, CAUSE_INTERNAL, detail);
        }
        return r;
}

/* ---- the work order ---- */

static int order_add_file(Order *order, const char *directory, const char *name, const Bytes *content) {
        OrderFile *file = order->files + order->n_files;

        if (asprintf(&file->path, "%s/%s", directory, name) < 0)
                return -ENOMEM;
        file->content = *content;
        file->mode = 0644;
        order->n_files++;
        return 0;
}

static void order_files_free(Order *order) {
        for (size_t i = 0; i < order->n_files; i++)
                free(order->files[i].path);
        free(order->files);
}

int execution_hand_over(Execution *execution) {
        const Plan *plan = execution->plan;
        const Spec *spec = execution->spec;
        OrderRlimit rlimits[] = {
                {RLIMIT_FSIZE, plan->limit[LIMIT_FILE_MB] * MIB, plan->limit[LIMIT_FILE_MB] * MIB},
                {RLIMIT_NOFILE, NOFILE_SOFT, NOFILE_HARD},
        };
        own(order_files_free) Order order = {
                .compile = plan->compile,
                .argv = plan->argv,
                .env = plan->env,
                .directory = (char *) PLAN_WORKSPACE,
                .make_directories = plan->allowed_paths,
                .rlimits = rlimits,
                .n_rlimits = ELEMENTS(rlimits),
                .filter_reports = plan->syscalls_report,
                .read_only = plan->read_only,
                .deadline_ms = plan->limit[LIMIT_TIMEOUT_MS] + UNIT_RUNNER_GRACE_MS,
        };
        const Bytes *filter;
        own(close_fdp) int fd = -1;
        int r;

        order.files = calloc((spec ? spec->n_files : 0) + 1, sizeof *order.files);
        if (!order.files)
                return -ENOMEM;
        if (spec) {
                order.stdin_data = spec->stdin_data;
                if (plan->code_file) {
                        r = order_add_file(&order, "code", plan->code_file, &spec->code);
                        if (r < 0)
                                return r;
                }
                for (size_t i = 0; i < spec->n_files; i++) {
                        r = order_add_file(&order, "work", spec->files[i].path, &spec->files[i].content);
                        if (r < 0)
                                return r;
                }
        }

        r = filters_get(&execution->list->filters, plan, &filter);
        if (r < 0)
                return r;
        order.filter = *filter;
        order.mounts = execution->mounts.items;
        order.n_mounts = execution->mounts.n;
        r = order_write(&order, &fd);
        if (r < 0)
                return r;
        /* Written before it is sent: from here on the runner can go on without us. */
        r = execution_save(execution, STATE_HANDED_OVER);
        if (r < 0)
                return r;
        r = message_send(execution->control, MESSAGE_HAND_OVER, NULL, 0, NULL, &fd, 1);
        if (r < 0)
                return r;

        execution->facts.handed_over = true;
        execution->spec = spec_free(execution->spec);
        return 0;
}
