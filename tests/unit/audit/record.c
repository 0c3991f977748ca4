/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What stands in a record, field by field, and what never does. */

#include <errno.h>
#include <stdio.h>

#include "../plan-fixture.h"
#include "audit/record.h"
#include "base/json.h"
#include "base/text.h"

/* The last record that was sent, one "FIELD=value" an entry. */
static char **sent;
static size_t largest;
static int answer;

static int keep_sent(const struct iovec *fields, int n) {
        sent = strv_free(sent);
        largest = 0;
        for (int i = 0; i < n; i++) {
                own(freep) char *line = strndup(fields[i].iov_base, fields[i].iov_len);

                if (fields[i].iov_len > largest)
                        largest = fields[i].iov_len;
                cr_assert_eq(strv_append(&sent, line), 0);
        }
        return answer;
}

static void set_up(void) {
        record_set_sender(keep_sent);
}

static void tear_down(void) {
        sent = strv_free(sent);
        record_set_sender(NULL);
}

TestSuite(record, .init = set_up, .fini = tear_down);

static const char *field(const char *name) {
        size_t size = strlen(name);

        for (size_t i = 0; sent && sent[i]; i++)
                if (strncmp(sent[i], name, size) == 0 && sent[i][size] == '=')
                        return sent[i] + size + 1;
        return NULL;
}

Test(record, of_each_event) {
        own(strv_freep) char **ids = NULL, **names = NULL;

        for (AuditEvent event = 0; event < AUDIT_EVENT_N; event++) {
                own(record_freep) Record *record = NULL;

                cr_assert_eq(record_new(event, "in words", &record), 0);
                cr_assert_eq(record_send(record), 0);
                cr_expect_str_eq(field("MESSAGE"), "in words");
                cr_expect_str_eq(field("SYSLOG_IDENTIFIER"), "unitcelld");
                cr_assert_not_null(field("MESSAGE_ID"));
                cr_expect_eq(strspn(field("MESSAGE_ID"), "0123456789abcdef"), 32);
                cr_expect_eq(strlen(field("PRIORITY")), 1);

                /* One each. */
                cr_expect_not(strv_contains(ids, field("MESSAGE_ID")));
                cr_expect_not(strv_contains(names, field("UNITCELL_EVENT")));
                cr_assert_eq(strv_append(&ids, field("MESSAGE_ID")), 0);
                cr_assert_eq(strv_append(&names, field("UNITCELL_EVENT")), 0);
        }
}

Test(record, bounds) {
        own(record_freep) Record *record = NULL;
        own(freep) char *huge = malloc(1 << 20);
        int added = 0, r;

        memset(huge, 'x', (1 << 20) - 1);
        huge[(1 << 20) - 1] = '\0';
        cr_assert_eq(record_new(AUDIT_ACCEPTED, huge, &record), 0);
        cr_assert_eq(record_add(record, "NOTHING", NULL), 0);
        cr_assert_eq(record_add_u64(record, "NUMBER", UINT64_MAX), 0);
        while ((r = record_add(record, "F", "v")) == 0)
                added++;
        cr_expect_eq(r, -ENOSPC);
        cr_expect_gt(added, 20);

        cr_assert_eq(record_send(record), 0);
        cr_expect_null(field("NOTHING"));
        cr_expect_str_eq(field("NUMBER"), "18446744073709551615");
        cr_expect_eq(largest, AUDIT_FIELD_MAX + strlen("MESSAGE="));
}

Test(record, a_journal_that_does_not_take_it) {
        own(record_freep) Record *record = NULL;

        answer = -ENOBUFS;
        cr_assert_eq(record_new(AUDIT_ACCEPTED, "m", &record), 0);
        cr_expect_eq(record_send(record), -ENOBUFS);
}

Test(record, caller) {
        static const struct {
                Caller caller;
                const char *uid, *unit, *act_for;
        } rows[] = {
                {{.uid = 0}, "0", NULL, NULL},
                {{.uid = 1000, .unit = (char *) "a.service"}, "1000", "a.service", NULL},
                {{.uid = 4294967294U, .act_for = (char *) "eve\nMESSAGE=forged"}, "4294967294", NULL,
                        "eve\nMESSAGE=forged"}, /* a field of its own: the journal takes lengths */
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(record_freep) Record *record = NULL;

                cr_assert_eq(record_new(AUDIT_REFUSED, "m", &record), 0);
                cr_assert_eq(record_add_caller(record, &rows[i].caller), 0);
                cr_assert_eq(record_send(record), 0);
                cr_expect_str_eq(field("UNITCELL_CALLER_UID"), rows[i].uid);
                cr_expect_eq(!field("UNITCELL_CALLER_UNIT"), !rows[i].unit);
                cr_expect_eq(!field("UNITCELL_ACT_FOR"), !rows[i].act_for);
                cr_expect_str_eq(field("MESSAGE"), "m");
        }
}

Test(record, code_as_the_policy_says) {
        static const struct {
                const char *policy;
                bool digest, code;
        } rows[] = {{"default", true, true}, {"quiet", true, false}, {"silent", false, false}};

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(spec_freep) Spec *spec = NULL;
                own(plan_freep) Plan *plan = NULL;
                own(record_freep) Record *record = NULL;
                own(freep) char *text = NULL;

                cr_assert_geq(asprintf(&text,
                                      "{\"language\":\"sh\",\"code\":\"echo hidden\",\"stdin\":\"hidden\","
                                      "\"policy\":\"%s\",\"labels\":{\"agent\":\"a1\"}}",
                                      rows[i].policy),
                        0);
                fixture_plan(text, &spec, &plan);
                cr_assert_eq(record_new(AUDIT_ACCEPTED, "m", &record), 0);
                cr_assert_eq(record_add_plan(record, plan, spec), 0);
                cr_assert_eq(record_send(record), 0);

                cr_expect_str_eq(field("UNITCELL_POLICY"), rows[i].policy);
                cr_expect_str_eq(field("UNITCELL_LANGUAGE"), "sh");
                cr_expect_null(field("UNITCELL_TASK_ID"));
                cr_expect_eq(!!field("UNITCELL_CODE_SHA256"), rows[i].digest, "%s", rows[i].policy);
                cr_expect_eq(!!field("UNITCELL_CODE"), rows[i].code, "%s", rows[i].policy);
                cr_expect(strstr(field("UNITCELL_SPEC"), "a1"));
                for (size_t k = 0; sent[k]; k++)
                        cr_expect(!strstr(sent[k], "hidden") || starts_with(sent[k], "UNITCELL_CODE="), "%s",
                                sent[k]);
        }
}

Test(record, long_code_is_bounded) {
        own(spec_freep) Spec *spec = NULL;
        own(plan_freep) Plan *plan = NULL;
        own(record_freep) Record *record = NULL;
        own(freep) char *text = malloc(300000);
        size_t n = (size_t) sprintf(text, "{\"task_id\":\"t\",\"language\":\"sh\",\"code\":\"");

        memset(text + n, 'y', 200000);
        strcpy(text + n + 200000, "\"}");
        fixture_plan(text, &spec, &plan);
        cr_assert_eq(record_new(AUDIT_ACCEPTED, "m", &record), 0);
        cr_assert_eq(record_add_plan(record, plan, spec), 0);
        cr_assert_eq(record_send(record), 0);
        cr_expect_eq(strlen(field("UNITCELL_CODE")), AUDIT_CODE_MAX);
        cr_expect_str_eq(field("UNITCELL_TASK_ID"), "t");
}

Test(record, widened) {
        own(spec_freep) Spec *spec = NULL;
        own(plan_freep) Plan *plan = NULL;
        own(record_freep) Record *record = NULL;
        own(json_freep) json_object *list = NULL;

        fixture_plan(
                "{\"argv\":[\"/bin/a\"],\"limits\":{\"memory_mb\":512,\"pids_max\":100}}", &spec, &plan);
        cr_assert_eq(record_new(AUDIT_FINISHED, "m", &record), 0);
        cr_assert_eq(record_add_plan(record, plan, /* spec= */ NULL), 0);
        cr_assert_eq(record_send(record), 0);
        cr_expect_str_eq(field("UNITCELL_LANGUAGE"), "argv");
        cr_assert_not_null(field("UNITCELL_WIDENED"));
        list = json_tokener_parse(field("UNITCELL_WIDENED"));
        cr_expect_eq(json_object_array_length(list), 2);
        cr_expect_null(field("UNITCELL_SPEC"));
        cr_expect_null(field("UNITCELL_CODE"));
}

Test(record, result) {
        static const struct {
                Result result;
                const char *exit_code, *signal, *memory;
        } rows[] = {
                {{.status = STATUS_SUCCESS, .exit_code = 0, .memory_peak_bytes = 4096}, "0", NULL, "4096"},
                {{.status = STATUS_SIGNALED,
                         .exit_code = -1,
                         .signal = 11,
                         .memory_peak_bytes = USAGE_UNKNOWN},
                        NULL, "SIGSEGV", NULL},
                {{.status = STATUS_CANCELED, .exit_code = -1, .memory_peak_bytes = 0}, NULL, NULL, "0"},
        };
        static char output[100000];

        memset(output, 'z', sizeof output);
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(record_freep) Record *record = NULL;
                Result result = rows[i].result;

                result.message = (char *) "ended";
                result.id = (char *) "0123";
                result.unit = (char *) "unitcell-x-0.service";
                result.out.head = (Bytes){.data = output, .size = sizeof output};
                result.out.produced = sizeof output;
                cr_assert_eq(record_new(AUDIT_FINISHED, "m", &record), 0);
                cr_assert_eq(record_add_result(record, &result), 0);
                cr_assert_eq(record_send(record), 0);

                cr_expect_str_eq(field("UNITCELL_STATUS"), status_name(result.status));
                cr_expect_eq(!field("UNITCELL_EXIT_CODE"), !rows[i].exit_code);
                cr_expect_eq(!field("UNITCELL_SIGNAL"), !rows[i].signal);
                cr_expect_eq(!field("UNITCELL_MEMORY_PEAK_BYTES"), !rows[i].memory);
                cr_expect_str_eq(field("UNITCELL_STDOUT_BYTES"), "100000");
                cr_expect_str_eq(field("UNITCELL_UNIT"), "unitcell-x-0.service");
                cr_expect_null(field("UNITCELL_INVOCATION_ID"));
                cr_assert_not_null(field("UNITCELL_RESULT"));
                for (size_t k = 0; sent[k]; k++)
                        cr_expect(!strstr(sent[k], "zzzz") || starts_with(sent[k], "UNITCELL_RESULT="), "%s",
                                sent[k]);
                cr_expect_lt(strlen(field("UNITCELL_RESULT")), 4096U); /* of the output only a summary */
        }
}
