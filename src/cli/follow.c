/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Submit, wait, cancel, and asking again. */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-event.h>

#include "base/clock.h"
#include "base/own.h"
#include "bus/names.h"
#include "cli/bus.h"
#include "cli/cli.h"
#include "cli/follow.h"

/* How long the daemon may be away, and how often it is asked meanwhile. */
#define AWAY_MAX_USEC UINT64_C(60000000)
#define RETRY_MIN_USEC UINT64_C(100000)
#define RETRY_MAX_USEC UINT64_C(1000000)
/* A question that was open this long had been taken: what ends it is a new absence. */
#define TAKEN_USEC UINT64_C(5000000)

typedef struct Follow {
        sd_event *event;
        sd_bus *bus;
        sd_bus_slot *question; /* Submit or GetResult, waiting for its answer */
        sd_bus_slot *cancel;
        sd_event_source *retry;
        char *path; /* of the execution, once it is accepted */
        char *result;
        unsigned interrupts;
        bool canceled; /* Cancel was answered */
        uint64_t asked_usec, away_since_usec, retry_usec;
} Follow;

static void follow_clear(Follow *follow) {
        sd_bus_slot_unref(follow->question);
        sd_bus_slot_unref(follow->cancel);
        sd_event_source_disable_unref(follow->retry);
        sd_bus_flush_close_unref(follow->bus);
        sd_event_unref(follow->event);
        free(follow->path);
        free(follow->result);
        *follow = (Follow){};
}

static int leave(Follow *follow, int exit_status) {
        return sd_event_exit(follow->event, exit_status);
}

static int retry_later(Follow *follow);

/* ---- cancel ---- */

static int on_canceled(sd_bus_message *answer, void *userdata, sd_bus_error *ret_error) {
        Follow *follow = userdata;

        /* when the daemon was away it is said again with the next question */
        follow->canceled = !sd_bus_message_is_method_error(answer, NULL);
        return 0;
}

static int cancel(Follow *follow) {
        follow->cancel = sd_bus_slot_unref(follow->cancel);
        return sd_bus_call_method_async(follow->bus, &follow->cancel, UNITCELL_NAME, follow->path,
                UNITCELL_EXECUTION, "Cancel", on_canceled, follow, NULL);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Follow *follow = userdata;

        if (++follow->interrupts > 1)
                return leave(follow, EXIT_CANCELED);
        if (isatty(STDERR_FILENO))
                complain("Canceling; once more leaves without waiting for the result");
        if (follow->path)
                (void) cancel(follow); /* without a connection: with the next question */
        return 0;
}

/* ---- the result ---- */

static int on_result(sd_bus_message *answer, void *userdata, sd_bus_error *ret_error) {
        Follow *follow = userdata;
        const sd_bus_error *error = sd_bus_message_get_error(answer);
        const char *text;
        int r;

        if (error && bus_error_is_temporary(error))
                return retry_later(follow);
        if (error)
                return leave(follow, bus_complain(error));

        r = sd_bus_message_read(answer, "s", &text);
        if (r >= 0) {
                follow->result = strdup(text);
                r = follow->result ? 0 : -ENOMEM;
        }
        return leave(follow, r < 0 ? complain_errno(r, "The result cannot be read") : 0);
}

static int ask_result(Follow *follow) {
        own(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        if (follow->interrupts > 0 && !follow->canceled) {
                r = cancel(follow);
                if (r < 0)
                        return r;
        }
        follow->question = sd_bus_slot_unref(follow->question);
        r = sd_bus_message_new_method_call(
                follow->bus, &call, UNITCELL_NAME, follow->path, UNITCELL_EXECUTION, "GetResult");
        if (r < 0)
                return r;
        follow->asked_usec = clock_monotonic_usec();
        return sd_bus_call_async(follow->bus, &follow->question, call, on_result, follow, UINT64_MAX);
}

/* ---- the daemon is away ---- */

static int ensure_connection(Follow *follow) {
        own(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        if (sd_bus_is_open(follow->bus) > 0)
                return 0;

        follow->question = sd_bus_slot_unref(follow->question);
        follow->cancel = sd_bus_slot_unref(follow->cancel);
        follow->bus = sd_bus_close_unref(follow->bus);
        r = sd_bus_open_system(&bus);
        if (r < 0)
                return r;
        r = sd_bus_attach_event(bus, follow->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        follow->bus = hand_over(bus);
        return 0;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        Follow *follow = userdata;
        int r;

        r = ensure_connection(follow);
        if (r >= 0)
                r = ask_result(follow);
        return r < 0 ? retry_later(follow) : 0;
}

static int retry_later(Follow *follow) {
        uint64_t now = clock_monotonic_usec();

        if (follow->away_since_usec == 0 || now - follow->asked_usec > TAKEN_USEC) {
                follow->away_since_usec = now;
                follow->retry_usec = RETRY_MIN_USEC;
        }
        if (now - follow->away_since_usec > AWAY_MAX_USEC) {
                complain("The service has been away for %" PRIu64
                         " s; the execution is %s, its result can be had from "
                         "there when the service is back",
                        AWAY_MAX_USEC / 1000000, follow->path);
                return leave(follow, EXIT_OURS);
        }

        follow->retry = sd_event_source_disable_unref(follow->retry);
        now += follow->retry_usec;
        if (follow->retry_usec < RETRY_MAX_USEC)
                follow->retry_usec *= 2;
        return sd_event_add_time(
                follow->event, &follow->retry, CLOCK_MONOTONIC, now, RETRY_MIN_USEC, on_retry, follow);
}

/* ---- the start ---- */

static int on_submitted(sd_bus_message *answer, void *userdata, sd_bus_error *ret_error) {
        Follow *follow = userdata;
        const sd_bus_error *error = sd_bus_message_get_error(answer);
        const char *path;
        int r;

        /* Not asked again: it may have been accepted, and would run twice. */
        if (error)
                return leave(follow, bus_complain(error));

        r = sd_bus_message_read(answer, "o", &path);
        if (r >= 0) {
                follow->path = strdup(path);
                r = follow->path ? ask_result(follow) : -ENOMEM;
        }
        return r < 0 ? leave(follow, complain_errno(r, "The answer cannot be read")) : 0;
}

static int submit(Follow *follow, const char *spec) {
        own(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(
                follow->bus, &call, UNITCELL_NAME, UNITCELL_PATH, UNITCELL_MANAGER, "Submit");
        if (r >= 0)
                r = sd_bus_message_append(call, "sa{sh}", spec, 0);
        if (r >= 0)
                r = sd_bus_call_async(
                        follow->bus, &follow->question, call, on_submitted, follow, BUS_PATIENCE_USEC);
        return r;
}

static int watch_signals(Follow *follow) {
        static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
        sigset_t set;
        int r = 0;

        (void) sigemptyset(&set);
        for (size_t i = 0; i < ELEMENTS(signals); i++)
                (void) sigaddset(&set, signals[i]);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        for (size_t i = 0; i < ELEMENTS(signals) && r >= 0; i++)
                r = sd_event_add_signal(follow->event, /* ret= */ NULL, signals[i], on_signal, follow);
        return r;
}

/* From here on a signal acts as usual again: writing the result out may block on whoever reads it. */
static void unwatch_signals(void) {
        sigset_t set;

        (void) sigemptyset(&set);
        (void) sigprocmask(SIG_SETMASK, &set, NULL);
}

static int start(Follow *follow, const char *spec) {
        int r;

        r = sd_event_new(&follow->event);
        if (r >= 0)
                r = watch_signals(follow);
        if (r >= 0)
                r = sd_bus_attach_event(follow->bus, follow->event, SD_EVENT_PRIORITY_NORMAL);
        return r < 0 ? r : submit(follow, spec);
}

int follow_spec(sd_bus **bus, const char *spec, char **ret_result) {
        own(follow_clear) Follow follow = {.bus = hand_over(*bus)};
        int r;

        r = start(&follow, spec);
        if (r < 0)
                return complain_errno(r, "The spec cannot be sent");
        r = sd_event_loop(follow.event);
        unwatch_signals();
        if (r < 0)
                return complain_errno(r, "Waiting for the result failed");
        if (r == 0)
                *ret_result = hand_over(follow.result);
        return r;
}
