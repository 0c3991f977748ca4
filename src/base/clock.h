/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* Microseconds of CLOCK_MONOTONIC and CLOCK_REALTIME. */
uint64_t clock_monotonic_usec(void);
uint64_t clock_realtime_usec(void);

/* ISO 8601 in UTC with milliseconds, "2026-11-29T17:30:52.123Z", for documents. */
#define CLOCK_TEXT_SIZE 32
void clock_format(uint64_t realtime_usec, char ret[static CLOCK_TEXT_SIZE]);
