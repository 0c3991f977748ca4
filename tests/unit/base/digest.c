/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <string.h>

#include "base/digest.h"
#include "base/own.h"

/* The examples of FIPS 180-2. */
Test(digest, sha256) {
        static const struct {
                const char *data, *text;
        } rows[] = {
                {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        };
        char text[SHA256_TEXT_SIZE];

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                sha256_text(rows[i].data, strlen(rows[i].data), text);
                cr_expect_str_eq(text, rows[i].text);
        }
        sha256_text(NULL, 0, text);
        cr_expect_str_eq(text, rows[0].text);
}
