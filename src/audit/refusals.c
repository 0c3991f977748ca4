/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How many refusals of each uid are recorded. Pure: the time comes from the caller. */

#include "audit/refusals.h"

#define WINDOW_USEC UINT64_C(60000000)

static size_t find_slot(const Refusals *refusals, uid_t uid) {
        size_t oldest = 0;

        for (size_t i = 0; i < REFUSALS_UIDS; i++)
                if (refusals->slots[i].used && refusals->slots[i].uid == uid)
                        return i;
        for (size_t i = 0; i < REFUSALS_UIDS; i++) {
                if (!refusals->slots[i].used)
                        return i;
                if (refusals->slots[i].window_start_usec < refusals->slots[oldest].window_start_usec)
                        oldest = i;
        }
        return oldest;
}

bool refusals_admit(Refusals *refusals, uid_t uid, uint64_t now_usec, RefusalsSummary *ret_summary) {
        size_t i = find_slot(refusals, uid);
        bool fresh = !refusals->slots[i].used || refusals->slots[i].uid != uid ||
                     now_usec - refusals->slots[i].window_start_usec >= WINDOW_USEC;

        *ret_summary = (RefusalsSummary) {};
        if (fresh) {
                *ret_summary = (RefusalsSummary) {refusals->slots[i].uid, refusals->slots[i].omitted};
                refusals->slots[i].used = true;
                refusals->slots[i].uid = uid;
                refusals->slots[i].window_start_usec = now_usec;
                refusals->slots[i].recorded = 0;
                refusals->slots[i].omitted = 0;
        }

        if (refusals->slots[i].recorded < REFUSALS_A_MINUTE) {
                refusals->slots[i].recorded++;
                return true;
        }
        refusals->slots[i].omitted++;
        return false;
}

bool refusals_expire(Refusals *refusals, uint64_t now_usec, RefusalsSummary *ret_summary) {
        for (size_t i = 0; i < REFUSALS_UIDS; i++) {
                if (!refusals->slots[i].used || now_usec - refusals->slots[i].window_start_usec < WINDOW_USEC)
                        continue;
                refusals->slots[i].used = false;
                if (refusals->slots[i].omitted == 0)
                        continue;
                *ret_summary = (RefusalsSummary) {refusals->slots[i].uid, refusals->slots[i].omitted};
                refusals->slots[i].omitted = 0;
                return true;
        }
        return false;
}
