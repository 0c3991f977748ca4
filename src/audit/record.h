/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Audit records: one journal entry with fixed fields for each event an operator or a reviewer acts on. One table of
 * events (record.c, catalog and unitcelld(8) follow it). Program output never goes into a record, but for the
 * first KiB of each stream in the result's summary; code does only when the policy says so, bounded.
 */

#include <stdint.h>
#include <sys/uio.h>

#include "base/own.h"
#include "policy/plan.h"
#include "spec/caller.h"
#include "spec/result.h"

typedef enum AuditEvent {
        AUDIT_ACCEPTED,        /* a request became an execution */
        AUDIT_REFUSED,         /* a request was refused */
        AUDIT_FINISHED,        /* the end of an accepted execution: exactly one each */
        AUDIT_WARNING,         /* something to know of a running execution: memory, runaway */
        AUDIT_DENIED,          /* the first refused system call of its kind in an execution */
        AUDIT_REFUSALS_OMITTED, /* how many refusals of one uid were not recorded one by one */
        AUDIT_WALL_CHECKED,    /* the canary passed */
        AUDIT_WALL_BROKEN,     /* the canary found something missing: nothing runs until it is mended */
        AUDIT_POLICY_REFUSED,  /* a policy or language file does not load */
        AUDIT_RECOVERED,       /* executions of a former daemon were found and taken over */
        AUDIT_EVENT_N
} AuditEvent;

/* Bounds of what one field may hold; the journal cuts nothing below them. */
#define AUDIT_CODE_MAX (64U * 1024)
#define AUDIT_FIELD_MAX (64U * 1024)

typedef struct Record Record;

/* message is one line for people. */
int record_new(AuditEvent event, const char *message, Record **ret);
Record *record_free(Record *record);
DEFINE_OWN(Record, record_free);

/* Adds FIELD=text; NULL text adds nothing. Longer than AUDIT_FIELD_MAX is cut. */
int record_add(Record *record, const char *field, const char *text);
int record_add_u64(Record *record, const char *field, uint64_t value);
int record_add_json(Record *record, const char *field, json_object *object);
int record_add_caller(Record *record, const Caller *caller);
/* Policy, language, widened values, the code as far as the policy's audit_code says. spec may be NULL. */
int record_add_plan(Record *record, const Plan *plan, const Spec *spec);
int record_add_result(Record *record, const Result *result);

/* Where records go: the journal, or in tests a function. */
typedef int (*RecordSender)(const struct iovec *fields, int n);
void record_set_sender(RecordSender sender);
int record_send(Record *record);
