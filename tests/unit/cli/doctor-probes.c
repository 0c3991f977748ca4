/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <string.h>

#include "base/own.h"
#include "cli/doctor-probes.h"
#include "cli/document.h"
#include "spec/spec.h"

static const ProbeArguments arguments = {.nonce = "0123", .port = "4711"};

static json_object *spec_of(const Probe *probe, bool has_python) {
        own(freep) char *text = NULL;
        json_object *object = NULL;

        cr_assert_eq(probe_to_spec(probe, &arguments, has_python, &text), 0, "%s", probe->name);
        cr_assert_eq(document_parse(text, &object), 0);
        return object;
}

/* With the reader that the daemon uses. */
Test(doctor_probes, each_is_a_valid_spec) {
        for (size_t i = 0; i < 2 * doctor_n_probes; i++) {
                const Probe *probe = doctor_probes + i / 2;
                own(spec_freep) Spec *spec = NULL;
                own(freep) char *text = NULL;
                JsonError error = {};

                cr_assert_eq(probe_to_spec(probe, &arguments, i % 2, &text), 0);
                cr_expect_eq(spec_read(text, strlen(text), &spec, &error), 0, "%s: %s: %s", probe->name,
                        error.key, error.message);
        }
}

Test(doctor_probes, python_where_there_is_one) {
        for (size_t i = 0; i < doctor_n_probes; i++) {
                const Probe *probe = doctor_probes + i;
                own(json_freep) json_object *with = spec_of(probe, true), *without = spec_of(probe, false);
                const char *language = document_text(with, "language");

                cr_expect_eq(document_list(with, "argv") == NULL, language != NULL, "%s", probe->name);
                if (!language)
                        continue;
                cr_expect_str_eq(language, probe->python ? "python" : "bash", "%s", probe->name);
                cr_expect_str_eq(document_text(without, "language"), "bash", "%s", probe->name);
                cr_expect_str_eq(document_text(with, "code"), probe->python ? probe->python : probe->bash);
                cr_expect_eq(json_object_array_length(document_list(with, "args")), 2);
        }
}

/* What a missing controller would leave without a bound is not sent. */
Test(doctor_probes, bounded_by_a_controller) {
        for (size_t i = 0; i < doctor_n_probes; i++) {
                const char *name = doctor_probes[i].name, *needs = doctor_probes[i].needs;

                if (streq(name, "forks"))
                        cr_expect_str_eq(needs, "pids");
                if (streq(name, "memory"))
                        cr_expect_str_eq(needs, "memory");
        }
        cr_expect_str_eq(doctor_probes[0].name, "first");
        cr_expect_eq(doctor_probes[0].phase, PROBE_FIRST);
}

/* kill(-1) looks at its uid before it sends anything. */
Test(doctor_probes, kill_all_asks_who_it_is) {
        for (size_t i = 0; i < doctor_n_probes; i++) {
                const char *code = doctor_probes[i].bash, *kill = code ? strstr(code, "kill -9 -1") : NULL;
                const char *exit = code ? strstr(code, "exit 9") : NULL;

                cr_expect_eq(kill != NULL, streq(doctor_probes[i].name, "kill-all"));
                if (kill)
                        cr_expect(exit && exit < kill && strstr(code, "$UID -lt 61184") < exit);
        }
}
