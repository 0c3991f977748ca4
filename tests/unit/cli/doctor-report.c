/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "cli/doctor-report.h"

static void fill(Report *report) {
        cr_assert_eq(report_say(report,
                             &(ReportRow){.group = "host", .name = "kernel", .passed = true, .proves = NULL},
                             "Linux %d", 6),
                0);
        cr_assert_eq(report_say(report,
                             &(ReportRow){.group = "limits",
                                     .name = "memory",
                                     .proves = "MemoryMax=",
                                     .advice = "mend it"},
                             "status=%s", "succ\033ess"),
                0);
}

Test(doctor_report, document) {
        own(report_clear) Report report = {};
        own(json_freep) json_object *document = NULL;
        own(freep) char *text = NULL;

        fill(&report);
        cr_assert_eq(report_to_json(&report, &document), 0);
        cr_assert_eq(json_to_text(document, false, &text), 0);
        cr_expect_str_eq(text,
                "{\"checks\":[{\"group\":\"host\",\"name\":\"kernel\",\"proves\":null,\"passed\":true,"
                "\"found\":\"Linux 6\",\"advice\":null},{\"group\":\"limits\",\"name\":\"memory\","
                "\"proves\":\"MemoryMax=\",\"passed\":false,\"found\":\"status=succ\\u001bess\","
                "\"advice\":\"mend it\"}],\"passed\":1,\"failed\":1}");
}

static char *print(const Report *report, bool colour) {
        char *text = NULL;
        size_t size;
        FILE *stream = open_memstream(&text, &size);

        cr_assert_eq(report_print(report, colour, stream), 0);
        cr_assert_eq(fclose(stream), 0);
        return text;
}

Test(doctor_report, table) {
        own(report_clear) Report report = {};
        own(freep) char *plain = NULL, *red = NULL;

        fill(&report);
        plain = print(&report, false);
        cr_expect_str_eq(plain, "GROUP   CHECK   RESULT  PROVES      FOUND            WHAT TO DO\n"
                                "host    kernel  PASS                Linux 6\n"
                                "limits  memory  FAIL    MemoryMax=  status=succ?ess  mend it\n"
                                "\n1 passed, 1 failed\n");
        red = print(&report, true);
        cr_expect(strstr(red, "\n\033[31mlimits"), "%s", red);
        cr_expect(strstr(red, "mend it\033[0m\n"), "%s", red);
        cr_expect(strstr(red, "\nhost"), "%s", red);
}

Test(doctor_report, nothing_found_is_no_memory) {
        own(report_clear) Report report = {};

        cr_expect_eq(report_add(&report, &(ReportRow){.group = "a", .name = "b"}), -ENOMEM);
        cr_expect_eq(report.n, 0);
}
