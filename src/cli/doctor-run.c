/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The course that the probes take. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "bus/names.h"
#include "cli/bus.h"
#include "cli/cli.h"
#include "cli/doctor-run.h"
#include "cli/document.h"

/* Below the 16 executions of a caller, who may have others; two starts are in flight at a time anyway. */
#define AT_ONCE 4U
/* Somebody else's executions under the same uid may fill the quota for a while. */
#define BUSY_STEP_USEC UINT64_C(500000)
#define BUSY_STEPS 120U
/* Longer than any probe may run, queue included. */
#define RESULT_USEC UINT64_C(300000000)
#define UNITS_GONE_USEC UINT64_C(30000000)
#define UNITS_STEP_USEC UINT64_C(100000)

typedef enum State { WAITING, UNDER_WAY, DONE } State;

/* A trial while it is under way. */
typedef struct Walk {
        Course *course;
        Trial *trial;
        State state;
        unsigned busy_steps;
        sd_bus_slot *question;
        sd_event_source *pause;
} Walk;

struct Course {
        sd_bus *bus;
        sd_event *event;
        const ProbeArguments *arguments;
        bool has_python;
        ProbePhase phase;
        Walk *walks;
};

static int go_on(Course *course);

/* sd-bus swallows what a handler returns. */
static int or_leave(const Walk *walk, int r) {
        return r < 0 ? sd_event_exit(walk->course->event, r) : r;
}

static int walk_done(Walk *walk) {
        walk->state = DONE;
        return go_on(walk->course);
}

static int walk_fail(Walk *walk, const sd_bus_error *error) {
        Trial *trial = walk->trial;
        const char *dot = error->name ? strrchr(error->name, '.') : NULL;

        trial->away = bus_error_is_temporary(error);
        trial->denied = sd_bus_error_has_name(error, ERROR_ACCESS_DENIED);
        trial->refused = !trial->path;
        free(trial->error);
        if (asprintf(&trial->error, "%s: %s", dot ? dot + 1 : "error",
                    error->message ? error->message : "no more is known") < 0)
                trial->error = NULL;
        return walk_done(walk);
}

/* ---- the result ---- */

static int on_result(sd_bus_message *answer, void *userdata, sd_bus_error *ret_error) {
        Walk *walk = userdata;
        const sd_bus_error *error = sd_bus_message_get_error(answer);
        const char *text;
        int r;

        if (error)
                return or_leave(walk, walk_fail(walk, error));
        r = sd_bus_message_read(answer, "s", &text);
        if (r >= 0)
                r = document_parse(text, &walk->trial->result);
        return or_leave(walk, r < 0 ? r : walk_done(walk));
}

static int ask_result(Walk *walk) {
        own(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(
                walk->course->bus, &call, UNITCELL_NAME, walk->trial->path, UNITCELL_EXECUTION, "GetResult");
        if (r < 0)
                return r;
        walk->question = sd_bus_slot_unref(walk->question);
        return sd_bus_call_async(walk->course->bus, &walk->question, call, on_result, walk, RESULT_USEC);
}

/* ---- the start ---- */

static int on_submitted(sd_bus_message *answer, void *userdata, sd_bus_error *ret_error);

static int submit(Walk *walk) {
        own(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        Course *course = walk->course;
        own(freep) char *spec = NULL;
        int r;

        r = probe_to_spec(walk->trial->probe, course->arguments, course->has_python, &spec);
        if (r >= 0)
                r = sd_bus_message_new_method_call(
                        course->bus, &call, UNITCELL_NAME, UNITCELL_PATH, UNITCELL_MANAGER, "Submit");
        if (r >= 0)
                r = sd_bus_message_append(call, "sa{sh}", spec, 0);
        if (r < 0)
                return r;
        walk->state = UNDER_WAY;
        walk->question = sd_bus_slot_unref(walk->question);
        return sd_bus_call_async(course->bus, &walk->question, call, on_submitted, walk, BUS_PATIENCE_USEC);
}

static int on_pause_over(sd_event_source *source, uint64_t usec, void *userdata) {
        Walk *walk = userdata;

        walk->pause = sd_event_source_disable_unref(walk->pause);
        return or_leave(walk, submit(walk));
}

static int submitted(Walk *walk, sd_bus_message *answer) {
        const sd_bus_error *error = sd_bus_message_get_error(answer);
        const char *path;
        int r;

        if (error && sd_bus_error_has_name(error, ERROR_BUSY) && walk->busy_steps++ < BUSY_STEPS)
                return sd_event_add_time(walk->course->event, &walk->pause, CLOCK_MONOTONIC,
                        clock_monotonic_usec() + BUSY_STEP_USEC, 0, on_pause_over, walk);
        if (error)
                return walk_fail(walk, error);
        r = sd_bus_message_read(answer, "o", &path);
        if (r < 0)
                return r;
        walk->trial->path = strdup(path);
        if (!walk->trial->path)
                return -ENOMEM;
        if (walk->trial->probe->phase == PROBE_NEIGHBOUR)
                return walk_done(walk);
        return ask_result(walk);
}

static int on_submitted(sd_bus_message *answer, void *userdata, sd_bus_error *ret_error) {
        Walk *walk = userdata;

        return or_leave(walk, submitted(walk, answer));
}

/* Starts what may be started; leaves the loop when nothing is under way any more. */
static int go_on(Course *course) {
        unsigned n = 0;
        int r;

        for (size_t i = 0; i < doctor_n_probes; i++)
                n += course->walks[i].state == UNDER_WAY;
        for (size_t i = 0; i < doctor_n_probes && n < AT_ONCE; i++) {
                Walk *walk = course->walks + i;

                if (walk->state != WAITING || walk->trial->probe->phase != course->phase)
                        continue;
                if (walk->trial->probe->needs &&
                        controller_is_missing(course->walks[0].trial, walk->trial->probe->needs)) {
                        walk->state = DONE;
                        continue;
                }
                r = submit(walk);
                if (r < 0)
                        return r;
                n++;
        }
        return n == 0 ? sd_event_exit(course->event, 0) : 0;
}

/* ---- the course ---- */

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Course *course = userdata;

        return sd_event_exit(course->event, EXIT_CANCELED);
}

static int watch_signals(Course *course) {
        static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
        sigset_t set;
        int r = 0;

        (void) sigemptyset(&set);
        for (size_t i = 0; i < ELEMENTS(signals); i++)
                (void) sigaddset(&set, signals[i]);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        for (size_t i = 0; i < ELEMENTS(signals) && r >= 0; i++)
                r = sd_event_add_signal(course->event, /* ret= */ NULL, signals[i], on_signal, course);
        return r;
}

int course_new(sd_bus *bus, Trial *trials, const ProbeArguments *arguments, bool has_python, Course **ret) {
        own(course_freep) Course *course = calloc(1, sizeof *course);
        int r;

        if (!course)
                return -ENOMEM;
        /* or the end of the first loop would close it */
        r = sd_bus_set_close_on_exit(bus, 0);
        if (r < 0)
                return r;
        *course = (Course){.bus = sd_bus_ref(bus), .arguments = arguments, .has_python = has_python};
        course->walks = calloc(doctor_n_probes, sizeof *course->walks);
        if (!course->walks)
                return -ENOMEM;
        for (size_t i = 0; i < doctor_n_probes; i++) {
                trials[i].probe = doctor_probes + i;
                course->walks[i] = (Walk){.course = course, .trial = trials + i};
        }
        *ret = hand_over(course);
        return 0;
}

/* Nobody waits for the answers. */
static void cancel_rest(Course *course) {
        for (size_t i = 0; i < doctor_n_probes; i++) {
                const Trial *trial = course->walks[i].trial;

                if (trial->path && !trial->result && !trial->error)
                        (void) sd_bus_call_method_async(course->bus, NULL, UNITCELL_NAME, trial->path,
                                UNITCELL_EXECUTION, "Cancel", NULL, NULL, NULL);
        }
        (void) sd_bus_flush(course->bus);
}

Course *course_free(Course *course) {
        if (!course)
                return NULL;
        if (course->walks)
                cancel_rest(course);
        for (size_t i = 0; course->walks && i < doctor_n_probes; i++) {
                sd_bus_slot_unref(course->walks[i].question);
                sd_event_source_disable_unref(course->walks[i].pause);
        }
        sd_event_unref(course->event);
        sd_bus_unref(course->bus);
        free(course->walks);
        free(course);
        return NULL;
}

/* A loop that was left cannot be entered again, so each run has its own. */
static int loop_begin(Course *course) {
        int r;

        r = sd_event_new(&course->event);
        if (r >= 0)
                r = watch_signals(course);
        return r < 0 ? r : sd_bus_attach_event(course->bus, course->event, SD_EVENT_PRIORITY_NORMAL);
}

static int loop_end(Course *course, int error) {
        int r = error;

        if (r >= 0)
                r = sd_event_loop(course->event);
        (void) sd_bus_detach_event(course->bus);
        course->event = sd_event_unref(course->event);
        return r;
}

int course_run(Course *course, ProbePhase phase) {
        int r;

        course->phase = phase;
        r = loop_begin(course);
        if (r >= 0)
                r = go_on(course);
        return loop_end(course, r);
}

int course_end_neighbour(Course *course) {
        Walk *walk = course->walks;
        int r;

        while (walk->trial->probe->phase != PROBE_NEIGHBOUR)
                walk++;
        if (!walk->trial->path)
                return 0;
        r = loop_begin(course);
        if (r >= 0)
                r = sd_bus_call_method_async(course->bus, NULL, UNITCELL_NAME, walk->trial->path,
                        UNITCELL_EXECUTION, "Cancel", NULL, NULL, NULL);
        if (r >= 0) {
                walk->state = UNDER_WAY;
                r = ask_result(walk);
        }
        return loop_end(course, r);
}

/* ---- units ---- */

static bool unit_is_gone(sd_bus *bus, const char *unit) {
        own(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

        return sd_bus_call_method(bus, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                       "org.freedesktop.systemd1.Manager", "GetUnit", &error, NULL, "s", unit) < 0 &&
               sd_bus_error_has_name(&error, "org.freedesktop.systemd1.NoSuchUnit");
}

int course_look_for_units(Course *course) {
        uint64_t until = clock_monotonic_usec() + UNITS_GONE_USEC;

        for (size_t i = 0; i < doctor_n_probes; i++) {
                Trial *trial = course->walks[i].trial;
                const char *unit = trial->result ? document_text(trial->result, "unit") : NULL;
                const struct timespec step = {.tv_nsec = UNITS_STEP_USEC * 1000};

                while (unit && !unit_is_gone(course->bus, unit)) {
                        trial->left_unit = clock_monotonic_usec() > until;
                        if (trial->left_unit)
                                break;
                        (void) nanosleep(&step, NULL);
                }
        }
        return 0;
}
