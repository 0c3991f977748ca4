/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A small cache of compiled filters. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "execution/filters.h"
#include "unit/filter.h"

void filters_clear(Filters *filters) {
        for (size_t i = 0; i < FILTERS_KEPT; i++) {
                free(filters->kept[i].key);
                bytes_clear(&filters->kept[i].program);
        }
        *filters = (Filters) {};
}

static int make_key(const Plan *plan, char **ret) {
        size_t size;
        char *key = NULL;
        FILE *out = open_memstream(&key, &size);
        bool failed;

        if (!out)
                return -ENOMEM;
        (void) fprintf(out, "%d%d%d", plan->syscalls_report, plan->threads_only, plan->read_only);
        for (size_t i = 0; plan->syscalls_allow && plan->syscalls_allow[i]; i++)
                (void) fprintf(out, " %s", plan->syscalls_allow[i]);
        (void) fputs(" ~", out);
        for (size_t i = 0; plan->syscalls_deny && plan->syscalls_deny[i]; i++)
                (void) fprintf(out, " %s", plan->syscalls_deny[i]);
        failed = ferror(out);
        if (fclose(out) != 0 || failed) {
                free(key);
                return -ENOMEM;
        }
        *ret = key;
        return 0;
}

int filters_get(Filters *filters, const Plan *plan, const Bytes **ret) {
        own(freep) char *key = NULL;
        own(bytes_clear) Bytes program = {};
        FilterRequest request;
        const char *word;
        size_t slot;
        int r;

        r = make_key(plan, &key);
        if (r < 0)
                return r;
        for (size_t i = 0; i < FILTERS_KEPT; i++)
                if (filters->kept[i].key && streq(filters->kept[i].key, key)) {
                        *ret = &filters->kept[i].program;
                        return 0;
                }

        request = (FilterRequest) {
                .allow = plan->syscalls_allow,
                .deny = plan->syscalls_deny,
                .report = plan->syscalls_report,
                .threads_only = plan->threads_only,
                .read_only = plan->read_only,
        };
        r = filter_compile(&request, &program, &word);
        if (r < 0)
                return r;
        slot = filters->next;
        filters->next = (slot + 1) % FILTERS_KEPT;
        free(filters->kept[slot].key);
        bytes_clear(&filters->kept[slot].program);
        filters->kept[slot].key = hand_over(key);
        filters->kept[slot].program = program;
        program = (Bytes) {};
        *ret = &filters->kept[slot].program;
        return 0;
}
