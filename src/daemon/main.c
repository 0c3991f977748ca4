/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * unitcelld: one thread, one event loop. It looks at the host, takes over what a former daemon left, lets the canary
 * look at the wall, and only then takes its name on the bus. Losing the bus ends it: systemd starts it again, and
 * what runs meanwhile is adopted, so there is one way of recovering and not two.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-journal.h>

#include "audit/record.h"
#include "base/file.h"
#include "bus/face.h"
#include "bus/names.h"
#include "daemon/settings.h"
#include "execution/canary.h"
#include "execution/recovery.h"
#include "execution/state-file.h"
#include "manager/cgroup.h"

typedef struct Daemon {
        sd_event *event;
        sd_bus *bus;
        Settings settings;
        Host host;
        StoredFds fds;
        Store *store;
        Manager *manager;
        Executions *executions;
        Canary *canary;
        Face *face;
        bool named;
} Daemon;

static void daemon_clear(Daemon *daemon) {
        face_free(daemon->face);
        canary_free(daemon->canary);
        executions_free(daemon->executions);
        manager_free(daemon->manager);
        store_free(daemon->store);
        stored_fds_clear(&daemon->fds);
        sd_bus_flush_close_unref(daemon->bus);
        sd_event_unref(daemon->event);
}

static void on_settings_problem(const char *file, unsigned line, const char *message) {
        sd_journal_print(LOG_WARNING, "%s:%u: %s", file, line, message);
}

/* ---- policies ---- */

static void record_problem(const StoreProblem *problem) {
        own(record_freep) Record *record = NULL;
        own(freep) char *message = NULL;
        int r;

        if (asprintf(&message, "%s:%u: %s%s%s; the file is refused", problem->path, problem->error.line,
                    problem->error.key, problem->error.key[0] ? ": " : "", problem->error.message) < 0)
                return;
        r = record_new(AUDIT_POLICY_REFUSED, message, &record);
        if (r >= 0)
                r = record_send(record);
        if (r < 0)
                sd_journal_print(LOG_ERR, "A refused policy could not be recorded: %s", strerror(-r));
}

static int load_policies(Daemon *daemon) {
        own(store_freep) Store *store = NULL;
        int r;

        r = store_load(/* directories= */ NULL, &store);
        if (r < 0)
                return r;
        if (daemon->face)
                face_set_store(daemon->face, store);
        if (daemon->canary)
                canary_set_store(daemon->canary, store);
        store_free(daemon->store);
        daemon->store = hand_over(store);
        for (size_t i = 0; i < daemon->store->n_problems; i++)
                record_problem(daemon->store->problems + i);
        return 0;
}

/* Running executions have their plans; the canary looks at what the new policies ask for. */
static int on_reload(void *userdata) {
        Daemon *daemon = userdata;
        int r;

        r = load_policies(daemon);
        if (r < 0)
                return r;
        if (daemon->canary)
                canary_run(daemon->canary);
        return 0;
}

/* ---- the way to readiness ---- */

static int fail(Daemon *daemon, const char *what, int error) {
        sd_journal_print(LOG_ERR, "%s: %s", what, strerror(-error));
        return sd_event_exit(daemon->event, 1);
}

static int on_named(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Daemon *daemon = userdata;

        if (sd_bus_message_is_method_error(message, NULL))
                return fail(daemon, "Cannot take the name " UNITCELL_NAME " on the bus",
                        -sd_bus_message_get_errno(message));
        (void) sd_notify(0, "READY=1\nSTATUS=Ready");
        return 0;
}

static void on_verdict(void *userdata) {
        Daemon *daemon = userdata;
        int r;

        if (daemon->named)
                return;
        daemon->named = true;
        r = sd_bus_request_name_async(daemon->bus, NULL, UNITCELL_NAME, 0, on_named, daemon);
        if (r < 0)
                (void) fail(daemon, "Cannot ask for the bus name", r);
}

static int begin(Daemon *daemon) {
        ExecutionsConfig config = {
                .allow_missing = daemon->settings.allow_missing,
                .executions_at_once = (unsigned) daemon->settings.executions_at_once,
                .starts_in_flight = (unsigned) daemon->settings.starts_in_flight,
                .results_kept = (unsigned) daemon->settings.results_kept,
                .results_kept_usec = daemon->settings.results_kept_sec * 1000000,
                .state_directory = STATE_DIRECTORY,
                .result_directory = RESULT_DIRECTORY,
                .cgroup_root = CGROUP_ROOT,
        };
        int r;

        r = executions_new(daemon->event, daemon->manager, &daemon->host, &config, &daemon->executions);
        if (r < 0)
                return r;
        r = face_new(daemon->bus, daemon->executions, daemon->manager, &daemon->host, daemon->store, &daemon->face);
        if (r < 0)
                return r;
        face_set_reload(daemon->face, on_reload, daemon);
        r = recovery_run(daemon->executions, daemon->bus, &daemon->fds);
        if (r < 0)
                return r;
        r = canary_new(daemon->executions, daemon->store, on_verdict, daemon, &daemon->canary);
        if (r < 0)
                return r;
        canary_run(daemon->canary);
        return 0;
}

static void on_manager_ready(void *userdata, int error) {
        Daemon *daemon = userdata;
        int r = error;

        if (r >= 0 && manager_version(daemon->manager) < 252) {
                sd_journal_print(LOG_ERR, "systemd %u is too old, 252 is needed", manager_version(daemon->manager));
                r = -EOPNOTSUPP;
        }
        if (r >= 0)
                r = begin(daemon);
        if (r < 0)
                (void) fail(daemon, "Cannot begin", r);
}

static void on_reloaded(void *userdata) {
        Daemon *daemon = userdata;

        if (daemon->canary)
                canary_run(daemon->canary);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        (void) sd_notify(0, "STOPPING=1");
        return sd_event_exit(sd_event_source_get_event(source), 0);
}

static int set_up_loop(Daemon *daemon) {
        sigset_t mask;
        int r;

        r = sd_event_default(&daemon->event);
        if (r < 0)
                return r;
        (void) sigemptyset(&mask);
        (void) sigaddset(&mask, SIGTERM);
        (void) sigaddset(&mask, SIGINT);
        if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
                return -errno;
        (void) signal(SIGPIPE, SIG_IGN);
        r = sd_event_add_signal(daemon->event, NULL, SIGTERM, on_signal, NULL);
        if (r < 0)
                return r;
        r = sd_event_add_signal(daemon->event, NULL, SIGINT, on_signal, NULL);
        if (r < 0)
                return r;
        return sd_event_set_watchdog(daemon->event, true);
}

static int set_up_bus(Daemon *daemon) {
        int r;

        r = sd_bus_open_system(&daemon->bus);
        if (r < 0)
                return r;
        r = sd_bus_set_exit_on_disconnect(daemon->bus, true);
        if (r < 0)
                return r;
        return sd_bus_attach_event(daemon->bus, daemon->event, SD_EVENT_PRIORITY_NORMAL);
}

static int run(Daemon *daemon) {
        static const ManagerHandlers handlers = {.on_ready = on_manager_ready, .on_reloaded = on_reloaded};
        int r;

        r = set_up_loop(daemon);
        if (r < 0)
                return r;
        r = fd_store_take(&daemon->fds);
        if (r < 0)
                return r;
        r = settings_load(/* directories= */ NULL, on_settings_problem, &daemon->settings);
        if (r < 0)
                return r;
        r = mkdir_if_missing(STATE_DIRECTORY, 0700);
        if (r < 0)
                return r;
        r = mkdir_if_missing(RESULT_DIRECTORY, 0700);
        if (r < 0)
                return r;
        r = host_look(HOST_NAMESPACES_FILE, &daemon->host);
        if (r < 0)
                return r;
        r = load_policies(daemon);
        if (r < 0)
                return r;
        r = set_up_bus(daemon);
        if (r < 0)
                return r;
        r = manager_new(daemon->bus, &handlers, daemon, &daemon->manager);
        if (r < 0)
                return r;
        return sd_event_loop(daemon->event);
}

int main(int argc, char *argv[]) {
        Daemon daemon = {};
        int r;

        if (argc > 1) {
                bool version = streq(argv[1], "--version");

                (void) fprintf(version ? stdout : stderr,
                        version ? "unitcelld " UNITCELL_VERSION "\n" :
                                  "unitcelld takes no arguments; systemd starts it (unitcelld.service)\n");
                return version ? 0 : 2;
        }

        r = run(&daemon);
        if (r < 0)
                sd_journal_print(LOG_ERR, "Cannot go on: %s", strerror(-r));
        daemon_clear(&daemon);
        return r < 0 ? 1 : r;
}
