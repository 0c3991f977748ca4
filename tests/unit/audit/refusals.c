/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Refusals one by one up to a number, then in a summary; no uid silences another. */

#include <criterion/criterion.h>

#include "audit/refusals.h"

#define SECOND UINT64_C(1000000)

static Refusals refusals;
static RefusalsSummary summary;

static unsigned admit(uid_t uid, uint64_t now, unsigned times) {
        unsigned admitted = 0;

        for (unsigned i = 0; i < times; i++) {
                admitted += refusals_admit(&refusals, uid, now, &summary);
                cr_expect(i == 0 || summary.omitted == 0);
        }
        return admitted;
}

Test(refusals, a_minute) {
        cr_expect_eq(admit(1000, 5 * SECOND, 29), 29);
        cr_expect_eq(admit(1000, 64 * SECOND, 100), 1);

        /* Another has a window of its own. */
        cr_expect_eq(admit(1001, 64 * SECOND, 31), 30);

        /* The window is over: what was left out is told with the next. */
        cr_expect_eq(refusals_admit(&refusals, 1000, 65 * SECOND, &summary), true);
        cr_expect_eq(summary.uid, 1000);
        cr_expect_eq(summary.omitted, 99);
        cr_expect_eq(admit(1000, 65 * SECOND, 40), 29);
}

Test(refusals, expire) {
        cr_expect_eq(admit(1, 0, 31), 30);
        cr_expect_eq(admit(2, 10 * SECOND, 5), 5);
        cr_expect_eq(admit(3, 20 * SECOND, 33), 30);

        cr_expect_not(refusals_expire(&refusals, 59 * SECOND, &summary));
        cr_assert(refusals_expire(&refusals, 60 * SECOND, &summary));
        cr_expect_eq(summary.uid, 1);
        cr_expect_eq(summary.omitted, 1);
        cr_expect_not(refusals_expire(&refusals, 79 * SECOND, &summary)); /* 2 had nothing to tell */
        cr_assert(refusals_expire(&refusals, 200 * SECOND, &summary));
        cr_expect_eq(summary.uid, 3);
        cr_expect_eq(summary.omitted, 3);
        cr_expect_not(refusals_expire(&refusals, 200 * SECOND, &summary));

        /* And everything starts afresh. */
        cr_expect_eq(admit(1, 300 * SECOND, 31), 30);
}

/* More uids than slots: the oldest gives way, and its summary is not lost. */
Test(refusals, the_oldest_gives_way) {
        uint64_t told = 0;

        for (uid_t uid = 0; uid < REFUSALS_UIDS; uid++)
                cr_expect_eq(admit(uid, uid * SECOND / 10, 32), 30);
        for (uid_t uid = 100; uid < 100 + REFUSALS_UIDS; uid++) {
                cr_expect(refusals_admit(&refusals, uid, 10 * SECOND + uid, &summary));
                cr_expect_eq(summary.uid, uid - 100);
                told += summary.omitted;
        }
        cr_expect_eq(told, 2 * REFUSALS_UIDS);
}

/* One slot evicted and taken again by its former owner: counted anew, nothing told twice. */
Test(refusals, uid_zero_is_a_uid) {
        cr_expect_eq(admit(0, 0, 31), 30);
        cr_expect(refusals_admit(&refusals, 0, 60 * SECOND, &summary));
        cr_expect_eq(summary.uid, 0);
        cr_expect_eq(summary.omitted, 1);
}
