/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bus/request.h"

/*
 * Asks polkit whether the caller may do action with this plan, then goes on; answers AccessDenied itself when not,
 * also when polkit does not answer. uid 0 passes, as everywhere. Takes the request over.
 */
void authorise(Request *request, const char *action, RequestStep step);
