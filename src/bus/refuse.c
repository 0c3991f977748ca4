/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Refused requests in the journal, bounded for each uid. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#include "audit/record.h"
#include "base/clock.h"
#include "bus/internal.h"

static void record_summary(const RefusalsSummary *summary) {
        own(record_freep) Record *record = NULL;
        char message[128];
        int r;

        (void) snprintf(message, sizeof message, "%" PRIu64 " more requests of uid %u were refused within a minute",
                summary->omitted, (unsigned) summary->uid);
        r = record_new(AUDIT_REFUSALS_OMITTED, message, &record);
        if (r >= 0)
                r = record_add_u64(record, "UNITCELL_CALLER_UID", summary->uid);
        if (r >= 0)
                r = record_add_u64(record, "UNITCELL_OMITTED", summary->omitted);
        if (r >= 0)
                r = record_send(record);
        if (r < 0)
                sd_journal_print(LOG_ERR, "A refusal could not be recorded: %s", strerror(-r));
}

void face_record_refusal(Face *face, const Request *request) {
        own(record_freep) Record *record = NULL;
        own(freep) char *message = NULL;
        RefusalsSummary summary;
        bool admitted;
        int r;

        admitted = refusals_admit(&face->refusals, request->caller.uid, clock_monotonic_usec(), &summary);
        if (summary.omitted > 0)
                record_summary(&summary);
        while (refusals_expire(&face->refusals, clock_monotonic_usec(), &summary))
                record_summary(&summary);
        if (!admitted || asprintf(&message, "Request of uid %u refused: %.500s", (unsigned) request->caller.uid,
                                 request->refusal_message ? request->refusal_message : "") < 0)
                return;

        r = record_new(AUDIT_REFUSED, message, &record);
        if (r >= 0)
                r = record_add(record, "UNITCELL_DECISION", "refused");
        if (r >= 0)
                r = record_add(record, "UNITCELL_ERROR", request->refusal);
        if (r >= 0)
                r = record_add_caller(record, &request->caller);
        if (r >= 0 && request->plan)
                r = record_add_plan(record, request->plan, request->spec);
        if (r >= 0)
                r = record_send(record);
        if (r < 0)
                sd_journal_print(LOG_ERR, "A refusal could not be recorded: %s", strerror(-r));
}
