/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>

#include "cli/document.h"

Test(document, passes_over_what_it_does_not_know) {
        own(json_freep) json_object *object = NULL;

        cr_assert_eq(document_parse("{\"new\":{\"a\":[1]},\"text\":\"x\",\"n\":7,\"flag\":true,\"null\":"
                                    "null,\"list\":[]}",
                             &object),
                0);
        cr_expect_str_eq(document_text(object, "text"), "x");
        cr_expect_eq(document_number(object, "n", 0), 7);
        cr_expect(document_flag(object, "flag"));
        cr_expect_not_null(document_list(object, "list"));
        cr_expect_not_null(document_object(object, "new"));
}

Test(document, coerces_nothing) {
        own(json_freep) json_object *object = NULL;

        cr_assert_eq(document_parse(
                             "{\"text\":7,\"n\":\"7\",\"negative\":-7,\"flag\":1,\"null\":null,\"list\":{}}",
                             &object),
                0);
        cr_expect_null(document_text(object, "text"));
        cr_expect_null(document_text(object, "null"));
        cr_expect_null(document_text(object, "absent"));
        cr_expect_eq(document_number(object, "n", 42), 42);
        cr_expect_eq(document_number(object, "negative", 42), 42);
        cr_expect_not(document_flag(object, "flag"));
        cr_expect_null(document_list(object, "list"));
        cr_expect_null(document_text(NULL, "text"));
}

Test(document, top_level) {
        static const char *const bad[] = {"", "1", "[]", "{", "{} x", "null"};
        json_object *object;
        own(json_freep) json_object *list = NULL;

        for (size_t i = 0; i < ELEMENTS(bad); i++)
                cr_expect_eq(document_parse(bad[i], &object), -EINVAL, "%s", bad[i]);
        cr_expect_eq(document_parse_list("{}", &object), -EINVAL);
        cr_assert_eq(document_parse_list("[{\"name\":\"c\"},1]", &list), 0);
        cr_expect_eq(json_object_array_length(list), 2);
}
