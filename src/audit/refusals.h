/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Refused requests are recorded one by one up to a number a minute for each uid, then counted and told in one
 * summary: a caller that asks nonsense all day must not push other records out of the journal.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define REFUSALS_A_MINUTE 30U
#define REFUSALS_UIDS 64U

typedef struct Refusals {
        struct {
                bool used;
                uid_t uid;
                uint64_t window_start_usec;
                uint32_t recorded;
                uint64_t omitted;
        } slots[REFUSALS_UIDS]; /* when all are used, the oldest gives way, its summary told first */
} Refusals;

typedef struct RefusalsSummary {
        uid_t uid;
        uint64_t omitted; /* 0: nothing to tell */
} RefusalsSummary;

/* Whether a refusal of uid at now is to be recorded. A window that ended with omissions fills *ret_summary. */
bool refusals_admit(Refusals *refusals, uid_t uid, uint64_t now_usec, RefusalsSummary *ret_summary);
/* Windows that are over by now; call until it answers false. */
bool refusals_expire(Refusals *refusals, uint64_t now_usec, RefusalsSummary *ret_summary);
