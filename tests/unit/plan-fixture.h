/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A spec and its plan under made-up policies, for tests that need one but are not about it. */

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "policy/plan.h"

static inline Store *fixture_store(void) {
        static const char *const policies[] = {
                "{\"name\":\"default\",\"syscalls\":{\"report\":false,\"allow\":[\"@system-service\",\"seccomp\"],"
                "\"deny\":[\"@keyring\",\"ptrace\"]}}",
                "{\"name\":\"quiet\",\"audit_code\":\"hash\",\"proc_subset\":\"pid\",\"restricted\":true,"
                "\"default\":{\"memory_mb\":64}}",
                "{\"name\":\"silent\",\"audit_code\":\"none\"}",
        };
        static const char *const languages[] = {
                "{\"name\":\"sh\",\"interpreters\":[\"/bin/sh\"],\"file\":\"main.sh\","
                "\"argv\":[\"{interpreter}\",\"{code}\",\"{args}\"],\"bind_read_only\":[\"/etc/sh.conf\"]}",
                "{\"name\":\"cc\",\"interpreters\":[\"/bin/sh\"],\"file\":\"main.c\","
                "\"compile\":[\"{interpreter}\",\"{code}\"],\"argv\":[\"{program}\",\"{args}\"]}",
                "{\"name\":\"gone\",\"interpreters\":[\"/usr/bin/"
                "no-such\"],\"file\":\"x\",\"argv\":[\"{interpreter}\"]}",
        };
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

static inline void fixture_plan(const char *text, Spec **ret_spec, Plan **ret_plan) {
        own(store_freep) Store *store = fixture_store();
        JsonError error = {};

        cr_assert_eq(spec_read(text, strlen(text), ret_spec, &error), 0, "%s %s", error.key, error.message);
        cr_assert_eq(plan_resolve(*ret_spec, store, /* host_cpus= */ 4, ret_plan, &error), 0, "%s %s",
                error.key, error.message);
}
