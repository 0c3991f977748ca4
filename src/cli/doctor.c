/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * unitcell doctor: is this host fit, and does the wall hold? It looks at the host as an ordinary user can,
 * and sends hostile programs through the service, as this user's executions.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/own.h"
#include "base/text.h"
#include "bus/names.h"
#include "cli/bus.h"
#include "cli/cli.h"
#include "cli/doctor-host.h"
#include "cli/doctor-run.h"
#include "cli/document.h"

static const Option options[] = {
        {OPTION_LONG_ONLY, "json", NULL, "print a document, one line of JSON"},
        {'h', "help", NULL, "show this"},
};
static const OptionList option_list = OPTION_LIST(options);

typedef struct Doctor {
        sd_bus *bus;
        Trial *trials;
        Course *course;
        Listeners listeners;
        Surroundings surroundings;
        Report report;
        char nonce[33], port[8];
} Doctor;

static void doctor_clear(Doctor *doctor) {
        course_free(doctor->course);
        for (size_t i = 0; doctor->trials && i < doctor_n_probes; i++)
                trial_clear(doctor->trials + i);
        free(doctor->trials);
        listeners_clear(&doctor->listeners);
        report_clear(&doctor->report);
        sd_bus_flush_close_unref(doctor->bus);
}

static int look_at_own_namespaces(Doctor *doctor) {
        for (size_t i = 0; i < NAMESPACE_N; i++) {
                char path[32];
                struct stat info;

                (void) snprintf(path, sizeof path, "/proc/self/ns/%s", namespace_kinds[i]);
                if (stat(path, &info) == 0)
                        doctor->surroundings.host_namespaces[i] = info.st_ino;
        }
        return 0;
}

/* 0, or an exit status with what was wrong told. */
static int prepare(Doctor *doctor, const ProbeArguments *arguments) {
        unsigned char bytes[16];
        int r;

        if (getrandom(bytes, sizeof bytes, 0) != (ssize_t) sizeof bytes)
                return complain_errno(-EIO, "No random numbers");
        hex_encode(bytes, sizeof bytes, doctor->nonce);
        r = listeners_open(doctor->nonce, &doctor->listeners);
        if (r < 0)
                return complain_errno(r, "The loopback cannot be listened on");
        (void) snprintf(doctor->port, sizeof doctor->port, "%u", doctor->listeners.port);

        doctor->trials = calloc(doctor_n_probes, sizeof *doctor->trials);
        if (!doctor->trials)
                return complain_errno(-ENOMEM, "The probes cannot be prepared");
        r = course_new(
                doctor->bus, doctor->trials, arguments, doctor->surroundings.has_python, &doctor->course);
        return r < 0 ? complain_errno(r, "The probes cannot be prepared") : look_at_own_namespaces(doctor);
}

static int run_phase(Doctor *doctor, ProbePhase phase) {
        int r = course_run(doctor->course, phase);

        return r < 0 ? complain_errno(r, "The probes cannot be sent") : r;
}

/* Whether anything runs at all. 0: it does. 1: it does not, and the rows say so. Else an exit status. */
static int try_first(Doctor *doctor, bool *ret_runs) {
        const Trial *first = doctor->trials;
        ReportRow permission = {.group = "host", .name = "permission", .proves = ACTION_EXECUTE},
                  execution = {.group = "host", .name = "execution", .proves = "the canary"};
        const char *message;
        int r;

        *ret_runs = false;
        r = run_phase(doctor, PROBE_FIRST);
        if (r != 0)
                return r;
        if (first->away) {
                complain("%s", first->error);
                return EXIT_OURS;
        }
        permission.passed = !first->denied;
        if (first->denied)
                permission.advice =
                        "become a member of group unitcell, or ask for a polkit rule (unitcelld(8))";
        r = report_say(
                &doctor->report, &permission, "%s", first->denied ? first->error : "this user may run code");
        if (r < 0 || first->denied)
                return r < 0 ? complain_errno(r, "The report cannot be made") : 0;

        *ret_runs = execution.passed = trial_succeeded(first);
        message = first->result ? document_text(first->result, "message") : first->error;
        if (!execution.passed)
                execution.advice = "see what is named here, and journalctl -u unitcelld";
        r = report_say(&doctor->report, &execution, "%s", message ? message : "no more is known");
        if (r >= 0 && *ret_runs)
                r = judge_controllers(first, &doctor->report);
        return r < 0 ? complain_errno(r, "The report cannot be made") : 0;
}

static int try_wall(Doctor *doctor) {
        static const ProbePhase phases[] = {PROBE_NEIGHBOUR, PROBE_CROWD, PROBE_LAST};
        int r = 0;

        if (isatty(STDERR_FILENO))
                complain("Sending %zu probes through the service", doctor_n_probes);
        for (size_t i = 0; i < ELEMENTS(phases) && r == 0; i++)
                r = run_phase(doctor, phases[i]);
        if (r != 0)
                return r;
        r = course_end_neighbour(doctor->course);
        if (r != 0)
                return r < 0 ? complain_errno(r, "The probes cannot be ended") : r;
        r = course_look_for_units(doctor->course);
        if (r >= 0)
                doctor->surroundings.visitor = listeners_look(&doctor->listeners);
        if (r >= 0)
                r = judge_trials(doctor->trials, &doctor->surroundings, &doctor->report);
        return r < 0 ? complain_errno(r, "The report cannot be made") : 0;
}

static int print_report(const Report *report, bool json) {
        own(json_freep) json_object *document = NULL;
        own(freep) char *text = NULL;
        int r;

        if (!json) {
                r = report_print(report, isatty(STDOUT_FILENO), stdout);
                return r < 0 ? complain_errno(r, "The report cannot be made") : write_out("", 0);
        }
        r = report_to_json(report, &document);
        if (r >= 0)
                r = json_to_text(document, /* pretty= */ false, &text);
        return r < 0 ? complain_errno(r, "The report cannot be made") : write_line(text);
}

static int examine(Doctor *doctor) {
        const ProbeArguments arguments = {.nonce = doctor->nonce, .port = doctor->port};
        own(freep) char *languages = NULL;
        bool runs;
        int r;

        r = bus_open(&doctor->bus);
        /* Asks, and so starts, the service. */
        if (r == 0)
                r = bus_ask(doctor->bus, "ListLanguages", NULL, NULL, &languages);
        if (r != 0)
                return r;
        r = host_examine(doctor->bus, languages, &doctor->report, &doctor->surroundings.has_python);
        if (r < 0)
                return complain_errno(r, "The host cannot be looked at");
        r = prepare(doctor, &arguments);
        if (r == 0)
                r = try_first(doctor, &runs);
        if (r == 0 && runs)
                return try_wall(doctor);
        if (r == 0 && report_say(&doctor->report,
                              &(ReportRow){.group = "wall",
                                      .name = "self-test",
                                      .advice = "mend what failed above, then run this again"},
                              "not tried: nothing runs") < 0)
                return complain_errno(-ENOMEM, "The report cannot be made");
        return r;
}

static int run_doctor(const Verb *verb, int argc, char **argv) {
        own(doctor_clear) Doctor doctor = {};
        Operands operands;
        VerbAnswer answer;
        bool json;
        int r;

        answer = verb_read_json(verb, argc, argv, &json, &operands);
        if (answer != VERB_GO_ON)
                return answer == VERB_DONE ? 0 : EXIT_USAGE;
        if (operands.n > 0)
                return complain_usage(verb, "\"%s\" is one word too many", operands.list[0]);

        r = examine(&doctor);
        if (r == 0)
                r = print_report(&doctor.report, json);
        if (r != 0)
                return r;
        return doctor.report.n_failed > 0 ? EXIT_FAILED : 0;
}

const Verb verb_doctor = {
        .name = "doctor",
        .synopsis = "[--json]",
        .summary = "Look at this host, and try to get through the wall with hostile programs",
        .lists = (const OptionList *const[]){&option_list, NULL},
        .details = "Exit status 0: every check passed. 1: one failed. 125: the service cannot be asked.\n",
        .run = run_doctor,
};
