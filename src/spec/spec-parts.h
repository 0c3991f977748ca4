/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of the spec share among themselves. */

#include "spec/spec.h"

void spec_clear(Spec *spec);
void spec_file_clear(SpecFile *file);

/* What one key alone cannot tell: ways that exclude each other, sums, sizes. 0 or a SpecProblem. */
int spec_check(const Spec *spec, JsonError *reterr);
/* Keys that are understood but not built yet. 0 or SPEC_NOT_SUPPORTED. */
int spec_check_supported(const Spec *spec, JsonError *reterr);
