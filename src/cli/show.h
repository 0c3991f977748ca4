/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From a result document to what `unitcell run` does: bytes, an exit status, and words about it. */

#include "base/text.h"

typedef struct Shown {
        Bytes out, err; /* what is passed on, exactly */
        char **remarks; /* lines for stderr: how it ended when it did not end well, what was cut */
        int exit_status;
} Shown;

void shown_clear(Shown *shown);

/* -EINVAL: not a result document. */
int show_result(const char *document, Shown *ret);
