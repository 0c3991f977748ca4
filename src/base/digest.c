/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Digests for records and artifacts. nettle: small, and without global state that wants initialising. */

#include <nettle/sha2.h>

#include "base/digest.h"
#include "base/text.h"

void sha256_text(const void *data, size_t size, char ret[static SHA256_TEXT_SIZE]) {
        struct sha256_ctx context;
        uint8_t digest[SHA256_DIGEST_SIZE];

        sha256_init(&context);
        if (size > 0)
                sha256_update(&context, size, data);
        sha256_digest(&context, sizeof digest, digest);
        hex_encode(digest, sizeof digest, ret);
}
