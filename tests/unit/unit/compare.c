/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What systemd says against what we asked for: the same, another, or not to be compared. */

#include <criterion/criterion.h>
#include <string.h>

#include "base/json.h"
#include "unit/describe.h"

#define LIST(...) ((char *const[]){__VA_ARGS__, NULL})
#define S(text) ((char *) (text))

static Properties asked;

static void set_up(void) {
        (void) property_add_bool(&asked, "PrivateNetwork", true);
        (void) property_add_u64(&asked, "MemoryMax", 268435456);
        (void) property_add_u64(&asked, "MemoryHigh", UINT64_MAX);
        (void) property_add_i32(&asked, "SystemCallErrorNumber", 1);
        (void) property_add_string(&asked, "ProtectSystem", "strict");
        (void) property_add_list(
                &asked, "InaccessiblePaths", PROPERTY_STRINGS, false, LIST(S("/a"), S("/b")));
        (void) property_add_list(
                &asked, "RestrictAddressFamilies", PROPERTY_WORDS, true, LIST(S("AF_UNIX"), S("AF_INET")));
        (void) property_add_list(
                &asked, "IPAddressDeny", PROPERTY_ADDRESSES, false, LIST(S("0.0.0.0/0"), S("::/0")));
        (void) property_add_list(
                &asked, "SystemCallFilter", PROPERTY_WORDS, true, LIST(S("@system-service"), S("seccomp")));
        (void) property_add_list(
                &asked, "SystemCallFilter", PROPERTY_WORDS, false, LIST(S("@keyring"), S("ptrace")));
        (void) property_add_list(&asked, "ExecStart", PROPERTY_EXEC, false, LIST(S("/bin/x")));
        (void) property_add_fd(&asked, "StandardInputFileDescriptor", 0);
}

static void tear_down(void) {
        properties_clear(&asked);
}

TestSuite(compare, .init = set_up, .fini = tear_down);

#define ANY "[2,[0,0,0,0],0]"
#define ANY6 "[10,[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],0]"

Test(compare, rows) {
        static const struct {
                const char *name, *said;
                PropertyMatch match;
        } rows[] = {
                {"PrivateNetwork", "true", PROPERTY_MATCHES},
                {"PrivateNetwork", "false", PROPERTY_DIFFERS},
                {"PrivateNetwork", "1", PROPERTY_DIFFERS},
                {"MemoryMax", "268435456", PROPERTY_MATCHES},
                {"MemoryMax", "268435457", PROPERTY_DIFFERS},
                {"MemoryMax", "18446744073709551615", PROPERTY_DIFFERS},
                {"MemoryMax", "\"268435456\"", PROPERTY_DIFFERS},
                {"MemoryHigh", "18446744073709551615", PROPERTY_MATCHES},
                {"MemoryHigh", "-1", PROPERTY_DIFFERS},
                {"SystemCallErrorNumber", "1", PROPERTY_MATCHES},
                {"SystemCallErrorNumber", "38", PROPERTY_DIFFERS},
                {"ProtectSystem", "\"strict\"", PROPERTY_MATCHES},
                {"ProtectSystem", "\"full\"", PROPERTY_DIFFERS},
                {"ProtectSystem", "null", PROPERTY_DIFFERS},

                /* lists are sets, counting how often */
                {"InaccessiblePaths", "[\"/a\",\"/b\"]", PROPERTY_MATCHES},
                {"InaccessiblePaths", "[\"/b\",\"/a\"]", PROPERTY_MATCHES},
                {"InaccessiblePaths", "[\"/a\"]", PROPERTY_DIFFERS},
                {"InaccessiblePaths", "[\"/a\",\"/a\"]", PROPERTY_DIFFERS},
                {"InaccessiblePaths", "[\"/a\",\"/b\",\"/c\"]", PROPERTY_DIFFERS},
                {"InaccessiblePaths", "[]", PROPERTY_DIFFERS},
                {"InaccessiblePaths", "\"/a /b\"", PROPERTY_DIFFERS},
                {"IPAddressDeny", "[" ANY "," ANY6 "]", PROPERTY_MATCHES},
                {"IPAddressDeny", "[" ANY6 "," ANY "]", PROPERTY_MATCHES},
                {"IPAddressDeny", "[" ANY "]", PROPERTY_DIFFERS},
                {"RestrictAddressFamilies", "[true,[\"AF_INET\",\"AF_UNIX\"]]", PROPERTY_MATCHES},
                {"RestrictAddressFamilies", "[false,[\"AF_INET\",\"AF_UNIX\"]]", PROPERTY_DIFFERS},
                {"RestrictAddressFamilies", "[true,[\"AF_INET\",\"AF_UNIX\",\"AF_VSOCK\"]]",
                        PROPERTY_DIFFERS},
                {"RestrictAddressFamilies", "[true]", PROPERTY_DIFFERS},
                {"RestrictAddressFamilies", "[true,\"AF_INET\"]", PROPERTY_DIFFERS},
                {"RestrictAddressFamilies", "{}", PROPERTY_DIFFERS},

                /* groups come back resolved */
                {"SystemCallFilter", "[true,[\"read\",\"write\"]]", PROPERTY_MATCHES},
                {"SystemCallFilter", "[false,[\"read\"]]", PROPERTY_DIFFERS},
                {"SystemCallFilter", "[true,[]]", PROPERTY_DIFFERS},
                {"SystemCallFilter", "[true,[\"read\",\"ptrace\"]]", PROPERTY_DIFFERS},
                {"SystemCallFilter", "[false,[]]", PROPERTY_DIFFERS},
                {"SystemCallFilter", "true", PROPERTY_DIFFERS},

                /* times, a pid and how it ended follow */
                {"ExecStart", "[[\"/bin/x\",[\"/bin/x\"],false,1,2,3,4,5,0,0]]", PROPERTY_MATCHES},
                {"ExecStart", "[[\"/bin/y\",[\"/bin/x\"],false,1,2,3,4,5,0,0]]", PROPERTY_DIFFERS},
                {"ExecStart", "[[\"/bin/x\",[\"/bin/x\",\"more\"],false,1,2,3,4,5,0,0]]", PROPERTY_DIFFERS},
                {"ExecStart", "[[\"/bin/x\",[\"/bin/x\"],true,1,2,3,4,5,0,0]]", PROPERTY_DIFFERS},
                {"ExecStart", "[[\"/bin/x\"]]", PROPERTY_DIFFERS},
                {"ExecStart", "[]", PROPERTY_DIFFERS},
                {"ExecStart", "[1]", PROPERTY_DIFFERS},
                {"ExecStart", "\"/bin/x\"", PROPERTY_DIFFERS},

                {"StandardInputFileDescriptor", "0", PROPERTY_NOT_COMPARED},
                {"Unasked", "1", PROPERTY_NOT_COMPARED},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(json_freep) json_object *said = json_object_new_object();

                json_object_object_add(said, "data", json_tokener_parse(rows[i].said));
                cr_expect_eq(unit_property_compare(&asked, rows[i].name, said), rows[i].match, "%s %s",
                        rows[i].name, rows[i].said);
        }
}

Test(compare, something_without_data) {
        own(json_freep) json_object *said = json_object_new_object();

        cr_expect_eq(unit_property_compare(&asked, "PrivateNetwork", said), PROPERTY_DIFFERS);
        cr_expect_eq(unit_property_compare(&asked, "SystemCallFilter", said), PROPERTY_DIFFERS);
}

/* Our own document is what a perfect systemd would say. */
Test(compare, with_itself) {
        for (size_t i = 0; i < asked.n; i++) {
                own(json_freep) json_object *said = NULL;

                if (streq(asked.items[i].name, "SystemCallFilter") || asked.items[i].kind == PROPERTY_EXEC ||
                        asked.items[i].write_only)
                        continue;
                cr_assert_eq(property_to_json(asked.items + i, &said), 0);
                cr_expect_eq(unit_property_compare(&asked, asked.items[i].name, said), PROPERTY_MATCHES,
                        "%s", asked.items[i].name);
        }
}
