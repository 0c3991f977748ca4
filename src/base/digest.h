/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* SHA-256 as 64 lower-case hex digits and a NUL. */
#define SHA256_TEXT_SIZE 65
void sha256_text(const void *data, size_t size, char ret[static SHA256_TEXT_SIZE]);
