/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The table of statuses (DESIGN section 5), and the end of a result. */

#include <errno.h>
#include <stdlib.h>

#include "base/own.h"
#include "spec/result.h"

#define OF_THE_PROGRAM (-1)

const StatusRow status_table[STATUS_N] = {
        [STATUS_SUCCESS] = {"success", false, false, OF_THE_PROGRAM},
        [STATUS_FAILED] = {"failed", false, true, OF_THE_PROGRAM},
        [STATUS_SIGNALED] = {"signaled", false, true, OF_THE_PROGRAM},
        [STATUS_TIMEOUT] = {"timeout", true, false, 124},
        [STATUS_CPU_LIMIT] = {"cpu_limit", true, false, 124},
        [STATUS_MEMORY_LIMIT] = {"memory_limit", true, false, 123},
        [STATUS_OUTPUT_LIMIT] = {"output_limit", true, false, 122},
        [STATUS_DISK_LIMIT] = {"disk_limit", true, false, 122},
        [STATUS_TASKS_LIMIT] = {"tasks_limit", true, false, 122},
        [STATUS_COMPILE_ERROR] = {"compile_error", false, true, 121},
        [STATUS_CANCELED] = {"canceled", true, false, 130},
        [STATUS_INTERRUPTED] = {"interrupted", true, false, 120},
        [STATUS_START_FAILED] = {"start_failed", true, false, 125},
        [STATUS_INTERNAL_ERROR] = {"internal_error", true, false, 125},
};

const char *status_name(Status status) {
        return status < STATUS_N ? status_table[status].name : "internal_error";
}

int status_from_name(const char *name, Status *ret) {
        for (Status status = 0; status < STATUS_N; status++)
                if (streq(status_table[status].name, name)) {
                        *ret = status;
                        return 0;
                }
        return -EINVAL;
}

static void output_clear(Output *output) {
        bytes_clear(&output->head);
        bytes_clear(&output->tail);
}

void result_clear(Result *result) {
        free(result->id);
        free(result->task_id);
        free(result->message);
        free(result->policy);
        free(result->language);
        free(result->unit);
        free(result->invocation_id);
        output_clear(&result->out);
        output_clear(&result->err);
        free(result->stopped_at);
        json_freep(&result->denied_syscalls);
        json_freep(&result->enforced);
        *result = (Result){0};
}
