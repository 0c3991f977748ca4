/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Records and their way to the journal. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#include "audit/record.h"
#include "base/digest.h"
#include "base/text.h"

#define RECORD_FIELDS_MAX 40

static const struct {
        const char *name;
        const char *message_id;
        int priority;
} events[AUDIT_EVENT_N] = {
        [AUDIT_ACCEPTED] = {"accepted", "69dc6c2c83e3491d921133d2726c6a6c", LOG_INFO},
        [AUDIT_REFUSED] = {"refused", "a64ea2f850064995a0c0b5cfabb89576", LOG_NOTICE},
        [AUDIT_FINISHED] = {"finished", "85d92579b1fd4944b181436396d16ece", LOG_INFO},
        [AUDIT_WARNING] = {"warning", "4ae5f37e8ecc4237a264ccd8547ff93c", LOG_NOTICE},
        [AUDIT_DENIED] = {"syscall-denied", "cb543b4514814e9db8d070d8b1f34bc0", LOG_NOTICE},
        [AUDIT_REFUSALS_OMITTED] = {"refusals-omitted", "aff1e32158bf4be089b9be11ad1f88c4", LOG_NOTICE},
        [AUDIT_WALL_CHECKED] = {"wall-checked", "0f9aa3b47b7243b18cccb834bc698bec", LOG_INFO},
        [AUDIT_WALL_BROKEN] = {"wall-broken", "c20f8e5e2ada42cd9a597b486c98146b", LOG_ERR},
        [AUDIT_POLICY_REFUSED] = {"policy-refused", "abfc279169634b2a9b9eeab2d95b077c", LOG_WARNING},
        [AUDIT_RECOVERED] = {"recovered", "3c7271a5d9d8465393e146ba7ddc73b5", LOG_NOTICE},
};

struct Record {
        struct iovec fields[RECORD_FIELDS_MAX];
        size_t n_fields;
};

static int send_to_journal(const struct iovec *fields, int n) {
        return sd_journal_sendv(fields, n);
}

static RecordSender sender = send_to_journal;

void record_set_sender(RecordSender new_sender) {
        sender = new_sender ? new_sender : send_to_journal;
}

Record *record_free(Record *record) {
        if (!record)
                return NULL;

        for (size_t i = 0; i < record->n_fields; i++)
                free(record->fields[i].iov_base);
        free(record);
        return NULL;
}

static int add_sized(Record *record, const char *field, const char *data, size_t size) {
        size_t prefix = strlen(field) + 1;
        char *line;

        if (record->n_fields == RECORD_FIELDS_MAX)
                return -ENOSPC;
        line = malloc(prefix + size);
        if (!line)
                return -ENOMEM;

        memcpy(line, field, prefix - 1);
        line[prefix - 1] = '=';
        memcpy(line + prefix, data, size);
        record->fields[record->n_fields++] = (struct iovec) {.iov_base = line, .iov_len = prefix + size};
        return 0;
}

int record_add(Record *record, const char *field, const char *text) {
        size_t size;

        if (!text)
                return 0;
        size = strlen(text);
        return add_sized(record, field, text, size > AUDIT_FIELD_MAX ? AUDIT_FIELD_MAX : size);
}

int record_add_u64(Record *record, const char *field, uint64_t value) {
        char text[24];

        (void) snprintf(text, sizeof text, "%" PRIu64, value);
        return record_add(record, field, text);
}

int record_add_json(Record *record, const char *field, json_object *object) {
        own(freep) char *text = NULL;
        int r;

        r = json_to_text(object, /* pretty= */ false, &text);
        return r < 0 ? r : record_add(record, field, text);
}

int record_new(AuditEvent event, const char *message, Record **ret) {
        own(record_freep) Record *record = calloc(1, sizeof *record);
        int r;

        if (!record)
                return -ENOMEM;

        r = record_add(record, "MESSAGE", message);
        if (r < 0)
                return r;
        r = record_add(record, "MESSAGE_ID", events[event].message_id);
        if (r < 0)
                return r;
        r = record_add_u64(record, "PRIORITY", (uint64_t) events[event].priority);
        if (r < 0)
                return r;
        r = record_add(record, "SYSLOG_IDENTIFIER", "unitcelld");
        if (r < 0)
                return r;
        r = record_add(record, "UNITCELL_EVENT", events[event].name);
        if (r < 0)
                return r;

        *ret = hand_over(record);
        return 0;
}

int record_add_caller(Record *record, const Caller *caller) {
        int r;

        r = record_add_u64(record, "UNITCELL_CALLER_UID", caller->uid);
        if (r < 0)
                return r;
        r = record_add(record, "UNITCELL_CALLER_UNIT", caller->unit);
        if (r < 0)
                return r;
        return record_add(record, "UNITCELL_ACT_FOR", caller->act_for);
}

static int add_code(Record *record, const Plan *plan, const Spec *spec) {
        char digest[SHA256_TEXT_SIZE];
        int r;

        if (!spec->code_given || plan->audit_code == AUDIT_CODE_NONE)
                return 0;

        sha256_text(spec->code.data ? spec->code.data : "", spec->code.size, digest);
        r = record_add(record, "UNITCELL_CODE_SHA256", digest);
        if (r < 0 || plan->audit_code == AUDIT_CODE_HASH)
                return r;

        return add_sized(record, "UNITCELL_CODE", spec->code.data ? spec->code.data : "",
                spec->code.size > AUDIT_CODE_MAX ? AUDIT_CODE_MAX : spec->code.size);
}

int record_add_plan(Record *record, const Plan *plan, const Spec *spec) {
        int r;

        r = record_add(record, "UNITCELL_POLICY", plan->policy);
        if (r < 0)
                return r;
        r = record_add(record, "UNITCELL_LANGUAGE", plan->language ? plan->language : "argv");
        if (r < 0)
                return r;
        r = record_add(record, "UNITCELL_TASK_ID", plan->task_id);
        if (r < 0)
                return r;
        if (strv_length(plan->widened)) {
                own(json_freep) json_object *list = json_object_new_array();

                for (size_t i = 0; list && plan->widened[i]; i++)
                        json_object_array_add(list, json_object_new_string(plan->widened[i]));
                if (!list)
                        return -ENOMEM;
                r = record_add_json(record, "UNITCELL_WIDENED", list);
                if (r < 0)
                        return r;
        }
        if (spec) {
                own(json_freep) json_object *summary = NULL;

                r = spec_summary(spec, &summary);
                if (r < 0)
                        return r;
                r = record_add_json(record, "UNITCELL_SPEC", summary);
                if (r < 0)
                        return r;
                r = add_code(record, plan, spec);
        }
        return r;
}

static int add_usage(Record *record, const char *field, uint64_t value) {
        return value == USAGE_UNKNOWN ? 0 : record_add_u64(record, field, value);
}

int record_add_result(Record *record, const Result *result) {
        own(json_freep) json_object *summary = NULL;
        const struct {
                const char *field;
                uint64_t value;
        } usage[] = {
                {"UNITCELL_DURATION_MS", result->duration_ms},
                {"UNITCELL_CPU_MS", result->cpu_ms},
                {"UNITCELL_MEMORY_PEAK_BYTES", result->memory_peak_bytes},
                {"UNITCELL_STDOUT_BYTES", result->out.produced},
                {"UNITCELL_STDERR_BYTES", result->err.produced},
        };
        int r;

        r = record_add(record, "UNITCELL_STATUS", status_name(result->status));
        if (r < 0)
                return r;
        if (result->exit_code >= 0) {
                r = record_add_u64(record, "UNITCELL_EXIT_CODE", (uint64_t) result->exit_code);
                if (r < 0)
                        return r;
        }
        r = record_add(record, "UNITCELL_SIGNAL", result->signal ? signal_name(result->signal) : NULL);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTS(usage); i++) {
                r = add_usage(record, usage[i].field, usage[i].value);
                if (r < 0)
                        return r;
        }
        r = record_add(record, "UNITCELL_UNIT", result->unit);
        if (r < 0)
                return r;
        r = record_add(record, "UNITCELL_INVOCATION_ID", result->invocation_id);
        if (r < 0)
                return r;

        r = result_summary(result, &summary);
        return r < 0 ? r : record_add_json(record, "UNITCELL_RESULT", summary);
}

int record_send(Record *record) {
        return sender(record->fields, (int) record->n_fields);
}
