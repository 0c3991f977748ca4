/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Every kind of property: into a message, read back from it, and as a document, which must all say the same.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/json.h"
#include "message-fixture.h"
#include "unit/property.h"

#define LIST(...) ((char *const[]){__VA_ARGS__, NULL})
#define S(text) ((char *) (text))

static const struct {
        PropertyKind kind;
        bool flag;
        uint64_t number;
        const char *text;
        char *const *list;
        const char *document;
} rows[] = {
        {PROPERTY_BOOL, .flag = true, .document = "{\"type\":\"b\",\"data\":true}"},
        {PROPERTY_BOOL, .flag = false, .document = "{\"type\":\"b\",\"data\":false}"},
        {PROPERTY_U64, .number = 0, .document = "{\"type\":\"t\",\"data\":0}"},
        {PROPERTY_U64, .number = UINT64_MAX, .document = "{\"type\":\"t\",\"data\":18446744073709551615}"},
        {PROPERTY_I32, .number = 9, .document = "{\"type\":\"i\",\"data\":9}"},
        {PROPERTY_I32, .number = (uint64_t) -1, .document = "{\"type\":\"i\",\"data\":-1}"},
        {PROPERTY_STRING, .text = "größe $x %n", .document = "{\"type\":\"s\",\"data\":\"größe $x %n\"}"},
        {PROPERTY_STRING, .text = "", .document = "{\"type\":\"s\",\"data\":\"\"}"},
        {PROPERTY_STRINGS, .list = LIST(S("a"), S(""), S("-+/b")),
                .document = "{\"type\":\"as\",\"data\":[\"a\",\"\",\"-+/b\"]}"},
        {PROPERTY_STRINGS, .list = NULL, .document = "{\"type\":\"as\",\"data\":[]}"},
        {PROPERTY_PAIRS, .list = LIST(S("/a"), S("size=1"), S("/b"), S("")),
                .document = "{\"type\":\"a(ss)\",\"data\":[[\"/a\",\"size=1\"],[\"/b\",\"\"]]}"},
        {PROPERTY_BINDS, .list = LIST(S("/usr"), S("/usr"), S("-/gone"), S("/tmp"), S("=/alone"), S("/a")),
                .document = "{\"type\":\"a(ssbt)\",\"data\":[[\"/usr\",\"/usr\",false,16384],"
                            "[\"/gone\",\"/tmp\",true,16384],[\"/alone\",\"/a\",false,0]]}"},
        {PROPERTY_WORDS, .flag = true, .list = LIST(S("read"), S("@io")),
                .document = "{\"type\":\"(bas)\",\"data\":[true,[\"read\",\"@io\"]]}"},
        {PROPERTY_WORDS, .flag = false, .list = NULL,
                .document = "{\"type\":\"(bas)\",\"data\":[false,[]]}"},
        {PROPERTY_ADDRESSES, .list = LIST(S("127.0.0.0/8"), S("::1/128")),
                .document = "{\"type\":\"a(iayu)\",\"data\":[[2,[127,0,0,0],8],"
                            "[10,[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1],128]]}"},
        {PROPERTY_EXEC, .list = LIST(S("/bin/x"), S("y")),
                .document = "{\"type\":\"a(sasb)\",\"data\":[[\"/bin/x\",[\"/bin/x\",\"y\"],false]]}"},
};

static void add(Properties *properties, size_t i) {
        switch (rows[i].kind) {
        case PROPERTY_BOOL:
                cr_assert_eq(property_add_bool(properties, "Name", rows[i].flag), 0);
                break;
        case PROPERTY_U64:
                cr_assert_eq(property_add_u64(properties, "Name", rows[i].number), 0);
                break;
        case PROPERTY_I32:
                cr_assert_eq(property_add_i32(properties, "Name", (int32_t) rows[i].number), 0);
                break;
        case PROPERTY_STRING:
                cr_assert_eq(property_add_string(properties, "Name", rows[i].text), 0);
                break;
        case PROPERTY_STRINGS:
        case PROPERTY_PAIRS:
        case PROPERTY_BINDS:
        case PROPERTY_WORDS:
        case PROPERTY_ADDRESSES:
        case PROPERTY_EXEC:
                cr_assert_eq(
                        property_add_list(properties, "Name", rows[i].kind, rows[i].flag, rows[i].list), 0);
                break;
        case PROPERTY_FD:
                cr_assert_fail("no row has one");
        }
}

static void expect_text(json_object *found, const char *expected, size_t row) {
        cr_expect_str_eq(json_object_to_json_string_ext(
                                 found, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
                expected, "row %zu", row);
}

Test(property, document) {
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(properties_clear) Properties properties = {};
                own(json_freep) json_object *document = NULL;

                add(&properties, i);
                cr_assert_eq(properties.n, 1);
                cr_assert_eq(property_to_json(properties.items, &document), 0);
                expect_text(document, rows[i].document, i);
        }
}

Test(property, through_a_message) {
        own(nowhere_clear) Nowhere nowhere = nowhere_new();

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(sd_bus_message_unrefp) sd_bus_message *message = nowhere_message(&nowhere);
                own(properties_clear) Properties properties = {};
                own(json_freep) json_object *document = NULL;
                const char *name;

                add(&properties, i);
                cr_assert_geq(sd_bus_message_open_container(message, 'a', "(sv)"), 0);
                cr_assert_geq(properties_append(&properties, message), 0, "row %zu", i);
                cr_assert_geq(sd_bus_message_close_container(message), 0);
                message_turn(message);

                cr_assert_gt(sd_bus_message_enter_container(message, 'a', "(sv)"), 0);
                cr_assert_gt(sd_bus_message_enter_container(message, 'r', "sv"), 0);
                cr_assert_gt(sd_bus_message_read(message, "s", &name), 0);
                cr_expect_str_eq(name, "Name");
                cr_assert_eq(property_read_json(message, &document), 0, "row %zu", i);
                expect_text(document, rows[i].document, i);
                cr_assert_geq(sd_bus_message_exit_container(message), 0);
                cr_expect_gt(sd_bus_message_at_end(message, /* complete= */ 0), 0);
        }
}

Test(property, descriptor) {
        own(nowhere_clear) Nowhere nowhere = nowhere_new();
        own(sd_bus_message_unrefp) sd_bus_message *message = nowhere_message(&nowhere);
        own(properties_clear) Properties properties = {};
        own(json_freep) json_object *document = NULL;
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), got;
        const char *name;

        cr_assert_eq(property_add_fd(&properties, "StandardInputFileDescriptor", fd), 0);
        cr_assert_geq(sd_bus_message_open_container(message, 'a', "(sv)"), 0);
        cr_assert_geq(properties_append(&properties, message), 0);
        cr_assert_geq(sd_bus_message_close_container(message), 0);
        close(fd); /* the message has its own */
        message_turn(message);
        cr_assert_gt(sd_bus_message_read(message, "a(sv)", 1, &name, "h", &got), 0);
        cr_expect_geq(fcntl(got, F_GETFD), 0);

        /* Not shown, and not compared: systemd does not tell it back. */
        cr_assert_eq(properties_to_json(&properties, &document), 0);
        expect_text(document, "{}", 0);
}

Test(property, unreadable_addresses) {
        static const char *const bad[] = {
                "",
                "127.0.0.1",
                "127.0.0.1/",
                "127.0.0.1/129",
                "127.0.0/8",
                "::g/8",
                "/8",
                "127.0.0.1/-1",
                "1111:1111:1111:1111:1111:1111:1111:1111:1111:1111/8",
        };
        own(nowhere_clear) Nowhere nowhere = nowhere_new();

        for (size_t i = 0; i < ELEMENTS(bad); i++) {
                own(sd_bus_message_unrefp) sd_bus_message *message = nowhere_message(&nowhere);
                own(properties_clear) Properties properties = {};

                cr_assert_eq(
                        property_add_list(&properties, "A", PROPERTY_ADDRESSES, false, LIST(S(bad[i]))), 0);
                cr_assert_geq(sd_bus_message_open_container(message, 'a', "(sv)"), 0);
                cr_expect_lt(properties_append(&properties, message), 0, "%s", bad[i]);
        }
}

Test(property, a_name_that_occurs_again) {
        own(properties_clear) Properties properties = {};
        own(json_freep) json_object *document = NULL;

        cr_assert_eq(property_add_u64(&properties, "A", 1), 0);
        cr_assert_eq(property_add_u64(&properties, "B", 2), 0);
        cr_assert_eq(property_add_u64(&properties, "A", 3), 0);
        cr_assert_eq(property_add_u64(&properties, "A", 4), 0);
        cr_assert_eq(properties_to_json(&properties, &document), 0);
        expect_text(document,
                "{\"A\":[{\"type\":\"t\",\"data\":1},{\"type\":\"t\",\"data\":3},{\"type\":\"t\","
                "\"data\":4}],\"B\":{\"type\":\"t\",\"data\":2}}",
                0);
}

/* Types that systemd uses and we do not. */
Test(property, reading_any_value) {
        own(nowhere_clear) Nowhere nowhere = nowhere_new();
        own(sd_bus_message_unrefp) sd_bus_message *message = nowhere_message(&nowhere);
        static const char *const expected[] = {
                "{\"type\":\"y\",\"data\":255}",
                "{\"type\":\"n\",\"data\":-2}",
                "{\"type\":\"q\",\"data\":65535}",
                "{\"type\":\"u\",\"data\":4294967295}",
                "{\"type\":\"x\",\"data\":-9223372036854775808}",
                "{\"type\":\"o\",\"data\":\"/a\"}",
                "{\"type\":\"ay\",\"data\":[1,2]}",
                "{\"type\":\"a{sv}\",\"data\":[[\"k\",[\"in\"]]]}",
                "{\"type\":\"a(sa(sv))\",\"data\":[]}",
        };

        cr_assert_geq(sd_bus_message_append(message, "vvvvvvvvv", "y", 255, "n", -2, "q", 65535, "u",
                              UINT32_MAX, "x", INT64_MIN, "o", "/a", "ay", 2, 1, 2, "a{sv}", 1, "k", "s",
                              "in", "a(sa(sv))", 0),
                0);
        cr_assert_geq(sd_bus_message_append(message, "s", "no variant"), 0);
        message_turn(message);

        for (size_t i = 0; i < ELEMENTS(expected); i++) {
                own(json_freep) json_object *document = NULL;

                cr_assert_eq(property_read_json(message, &document), 0, "row %zu", i);
                expect_text(document, expected[i], i);
        }

        json_object *left;
        cr_expect_eq(property_read_json(message, &left), -EBADMSG);
        cr_assert_gt(sd_bus_message_skip(message, "s"), 0);
        cr_expect_eq(property_read_json(message, &left), -EBADMSG);
}
