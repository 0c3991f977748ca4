/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <string.h>

#include "spec/result-output.h"

#define BAD "\xef\xbf\xbd"
#define BUDGET (1024U * 1024)

static Output output(const char *head, const char *tail, uint64_t produced, bool truncated) {
        Output made = {.produced = produced, .truncated = truncated};

        cr_assert_eq(bytes_copy(head, strlen(head), &made.head), 0);
        cr_assert_eq(bytes_copy(tail, strlen(tail), &made.tail), 0);
        return made;
}

static void output_free(Output *made) {
        bytes_clear(&made->head);
        bytes_clear(&made->tail);
}

static const char *get(json_object *object, const char *key) {
        json_object *value;

        return json_object_object_get_ex(object, key, &value) ? json_object_get_string(value) : NULL;
}

/* Bytes in, text and base64 out. base64 NULL: the text is the bytes. */
Test(result_output, text_and_base64) {
        static const struct {
                const char *head, *tail;
                uint64_t produced;
                bool truncated;
                const char *text, *base64;
        } rows[] = {
                {"", "", 0, false, "", NULL},
                {"4950\n", "", 5, false, "4950\n", NULL},
                {"\xc3\xa4", "", 2, false, "\xc3\xa4", NULL},
                {"a\xff", "", 2, false, "a" BAD, "Yf8="},
                {"a\xc3", "", 2, false, "a" BAD, "YcM="}, /* the code's own half character is shown as bad */
                {"abc", "xyz", 100, true, "abc\n[unitcell: 94 bytes left out]\nxyz", "YWJjeHl6"},
                {"", "", 5, true, "[unitcell: 5 bytes left out]\n", ""}, /* a limit of 0 */
                {"", "xyz", 5, true, "[unitcell: 2 bytes left out]\nxyz", "eHl6"},
                {"abc", "", 5, true, "abc\n[unitcell: 2 bytes left out]\n", "YWJj"},
                /* cut inside of characters: not shown, counted as left out, there in base64 */
                {"a\xe2\x82", "\xacz", 100, true, "a\n[unitcell: 98 bytes left out]\nz", "YeKCrHo="},
                {"a\xe2\x82\xac", "\xc3\xa4z", 100, true,
                        "a\xe2\x82\xac\n[unitcell: 93 bytes left out]\n\xc3\xa4z", "YeKCrMOkeg=="},
                {"a\xff", "\xffz", 100, true, "a\n[unitcell: 97 bytes left out]\n" BAD "z", "Yf//eg=="},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(output_free) Output made =
                        output(rows[i].head, rows[i].tail, rows[i].produced, rows[i].truncated);
                own(json_freep) json_object *object = json_object_new_object();
                OutputView view = output_view(&made);

                cr_assert_eq(output_add(object, "o", &view, BUDGET), 0);
                cr_expect_str_eq(get(object, "o"), rows[i].text, "row %zu: %s", i, get(object, "o"));
                cr_expect_eq(!get(object, "o_base64"), !rows[i].base64, "row %zu", i);
                if (rows[i].base64 && get(object, "o_base64"))
                        cr_expect_str_eq(get(object, "o_base64"), rows[i].base64, "row %zu: %s", i,
                                get(object, "o_base64"));
                cr_expect_str_eq(get(object, "o_truncated"), rows[i].truncated ? "true" : "false");
        }
}

Test(result_output, nul_is_text) {
        own(json_freep) json_object *object = json_object_new_object();
        own(output_free) Output made = {.produced = 3};
        own(freep) char *text = NULL;
        OutputView view;

        cr_assert_eq(bytes_copy("a\0b", 3, &made.head), 0);
        view = output_view(&made);
        cr_assert_eq(output_add(object, "o", &view, BUDGET), 0);
        cr_assert_eq(json_to_text(object, false, &text), 0);
        cr_expect_str_eq(text, "{\"o\":\"a\\u0000b\",\"o_bytes\":3,\"o_truncated\":false}");
}

/* Bad bytes, not cut: all of them in base64, and a text of at most 64 KiB with a mark. */
Test(result_output, long_bytes) {
        own(json_freep) json_object *object = json_object_new_object();
        own(output_free) Output made = {.produced = 200000};
        own(bytes_clear) Bytes decoded = {0};
        own(freep) char *data = malloc(200000);
        OutputView view;
        const char *text, *base64;

        memset(data, 'a', 200000);
        data[100] = '\xff';
        cr_assert_eq(bytes_copy(data, 200000, &made.head), 0);
        view = output_view(&made);
        cr_assert_eq(output_add(object, "o", &view, BUDGET), 0);
        text = get(object, "o");
        base64 = get(object, "o_base64");
        cr_assert_not_null(base64);
        cr_expect(strlen(text) <= OUTPUT_TEXT_MAX + 64, "%zu", strlen(text));
        /* 32766 bytes are shown at the head, since the bad one takes three; 32768 at the tail */
        cr_expect_not_null(strstr(text, "\n[unitcell: 134466 bytes left out]\n"), "%s", strstr(text, "["));
        cr_expect_str_eq(get(object, "o_truncated"), "false");
        cr_assert_eq(base64_decode(base64, strlen(base64), &decoded), 0);
        cr_expect_eq(decoded.size, 200000U);
        cr_expect_eq(memcmp(decoded.data, data, 200000), 0);
}

/* Unequal head and tail that fit together are shown whole. */
Test(result_output, text_is_not_cut_without_need) {
        own(freep) char *head = calloc(1, 60001);
        own(json_freep) json_object *object = json_object_new_object();
        OutputView view;

        memset(head, 'h', 60000);
        own(output_free) Output made = output(head, "ttt", 100003, true);

        view = output_view(&made);
        cr_assert_eq(output_add(object, "o", &view, BUDGET), 0);
        cr_expect_not_null(strstr(get(object, "o"), "h\n[unitcell: 40000 bytes left out]\nttt"));
        cr_expect_eq(strlen(get(object, "o")), 60003 + strlen("\n[unitcell: 40000 bytes left out]\n"));
}

/* Cutting to a budget keeps the start of the head and the end of the tail; the cost is what was said. */
Test(result_output, fits_its_budget) {
        static const struct {
                size_t head, tail;
        } rows[] = {{3000000, 0}, {1500000, 1500000}, {2900000, 100000}, {100000, 2900000}, {3000000, 1}};

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(output_free) Output made = {.truncated = rows[i].tail > 0, .produced = 9000000};
                own(freep) char *data = malloc(rows[i].head + rows[i].tail);
                OutputView view;
                size_t kept;

                memset(data, '\x01', rows[i].head + rows[i].tail);
                data[0] = 'F';
                data[rows[i].head + rows[i].tail - 1] = 'L';
                cr_assert_eq(bytes_copy(data, rows[i].head, &made.head), 0);
                cr_assert_eq(bytes_copy(data + rows[i].head, rows[i].tail, &made.tail), 0);
                view = output_view(&made);
                output_fit(&view, BUDGET);
                kept = view.head_size + view.tail_size;
                cr_expect(view.truncated);
                cr_expect(output_cost(&view, BUDGET) <= BUDGET);
                cr_expect(kept > BUDGET / 4, "%zu", kept);
                cr_expect(view.head[0] == 'F' && view.tail[view.tail_size - 1] == 'L', "row %zu", i);
        }
}

Test(result_output, summary) {
        own(json_freep) json_object *object = json_object_new_object();
        own(freep) char *head = calloc(1, 5001);
        OutputView view;

        for (size_t i = 0; i < 5000; i++)
                head[i] = i % 2 ? '\xa4' : '\xc3';
        own(output_free) Output made = output(head, "", 5000, false);

        view = output_view(&made);
        cr_assert_eq(output_add_summary(object, "o", &view), 0);
        cr_expect(strlen(get(object, "o")) <= OUTPUT_SUMMARY_MAX + 64);
        cr_expect_not_null(strstr(get(object, "o"), "\xa4\n[unitcell: 3976 bytes left out]\n\xc3\xa4"));
        cr_expect_null(get(object, "o_base64"));
        cr_expect_str_eq(get(object, "o_truncated"), "false");
}
