/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* State files there and back, and what a daemon of another version or a bad disk may have left. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "../plan-fixture.h"
#include "base/file.h"
#include "base/text.h"
#include "execution/state-file.h"

#define ID "0123456789abcdef0123456789abcdef"

static char path[] = "/tmp/unitcell-test-XXXXXX";
static int directory;
static Spec *spec;
static Plan *plan;

static void set_up(void) {
        cr_assert_not_null(mkdtemp(path));
        directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fixture_plan(
                "{\"language\":\"cc\",\"code\":\"int main;\",\"args\":[\"ä\",\"\"],\"env\":{\"A\":\"b=c\"},"
                "\"task_id\":\"t\",\"allowed_paths\":[\"/tmp/"
                "output\"],\"limits\":{\"cpu_cpus\":0.5,\"memory_mb\":512}}",
                &spec, &plan);
}

static void tear_down(void) {
        char command[64];

        spec_free(spec);
        plan_free(plan);
        close(directory);
        (void) snprintf(command, sizeof command, "rm -rf %s", path);
        cr_assert_eq(system(command), 0);
}

TestSuite(state_file, .init = set_up, .fini = tear_down);

static State whole(StateStep step) {
        return (State){
                .id = ID,
                .step = step,
                .plan = plan,
                .slice = (char *) "unitcell-u1000.slice",
                .caller = {.uid = 1000, .unit = (char *) "user@1000.service"},
                .created_realtime_usec = 1700000000000000,
                .created_monotonic_usec = 5,
                .started_monotonic_usec = 6,
                .finished_realtime_usec = step == STATE_FINISHED ? 1700000000000001 : 0,
                .inode_control = 1,
                .inode_out = 2,
                .inode_err = INT64_MAX,
                .invocation_id = step == STATE_STARTING ? NULL : (char *) "fedcba9876543210fedcba9876543210",
                .status = step == STATE_FINISHED ? (char *) "success" : NULL,
        };
}

static void expect_text(const char *a, const char *b) {
        if (a && b)
                cr_expect_str_eq(a, b);
        else
                cr_expect(!a && !b);
}

Test(state_file, there_and_back) {
        for (StateStep step = 0; step < STATE_STEP_N; step++) {
                own(state_freep) State *read = NULL;
                own(json_freep) json_object *ours = NULL, *theirs = NULL;
                State state = whole(step);
                JsonError error = {};

                cr_assert_eq(state_save(directory, &state), 0);
                cr_assert_eq(state_load(directory, ID, &read, &error), 0, "%s %s", error.key, error.message);
                cr_expect_str_eq(read->id, ID);
                cr_expect_eq(read->step, step);
                cr_expect_eq(read->caller.uid, 1000);
                expect_text(read->caller.unit, state.caller.unit);
                expect_text(read->slice, state.slice);
                expect_text(read->invocation_id, state.invocation_id);
                expect_text(read->status, state.status);
                cr_expect_eq(read->created_realtime_usec, state.created_realtime_usec);
                cr_expect_eq(read->created_monotonic_usec, 5);
                cr_expect_eq(read->started_monotonic_usec, 6);
                cr_expect_eq(read->finished_realtime_usec, state.finished_realtime_usec);
                cr_expect_eq(read->inode_control, 1);
                cr_expect_eq(read->inode_out, 2);
                cr_expect_eq(read->inode_err, (uint64_t) INT64_MAX);

                cr_assert_eq(state_to_json(&state, &ours), 0);
                cr_assert_eq(state_to_json(read, &theirs), 0);
                cr_expect(json_object_equal(ours, theirs));
        }
}

/* Plans carry environments. */
Test(state_file, for_us_alone) {
        State state = whole(STATE_STARTING);
        struct stat info;

        cr_assert_eq(state_save(directory, &state), 0);
        cr_assert_eq(fstatat(directory, ID ".json", &info, AT_SYMLINK_NOFOLLOW), 0);
        cr_expect_eq(info.st_mode & 07777, 0600);

        state_remove(directory, ID);
        cr_expect_eq(fstatat(directory, ID ".json", &info, AT_SYMLINK_NOFOLLOW), -1);
        state_remove(directory, ID);
}

Test(state_file, not_there) {
        State *read;
        JsonError error;

        cr_expect_eq(state_load(directory, ID, &read, &error), -ENOENT);
        cr_expect_eq(state_save(-1, &(State){.plan = plan, .slice = (char *) "s"}), -EBADF);
}

/* One change to a good document, and the key that is blamed. */
static const struct {
        const char *key, *value, *blamed; /* value NULL: the key is taken out */
} damages[] = {
        {"version", "2", "version"},
        {"version", "0", "version"},
        {"version", NULL, "version"},
        {"id", "\"0123\"", "id"},
        {"id", "\"../../../../etc/passwd\"", "id"},
        {"id", NULL, "id"},
        {"step", "\"paused\"", "step"},
        {"step", "1", "step"},
        {"step", NULL, "step"},
        {"slice", NULL, "slice"},
        {"slice", "\"\"", "slice"},
        {"caller", NULL, "caller"},
        {"caller", "{}", "uid"},
        {"caller", "{\"uid\":-1}", "uid"},
        {"plan", NULL, "plan"},
        {"plan", "{}", ""},
        {"plan", "[]", "plan"},
        {"created_realtime_usec", "-1", "created_realtime_usec"},
        {"created_realtime_usec", "1.5", "created_realtime_usec"},
        {"created_monotonic_usec", "\"5\"", "created_monotonic_usec"},
        {"inode_control", "18446744073709551615", "inode_control"},
        {"inode_err", NULL, "inode_err"},
        {"status", "null", "status"},
        {"more", "1", "more"},
};

Test(state_file, damaged) {
        State state = whole(STATE_RUNNING);

        for (size_t i = 0; i < ELEMENTS(damages); i++) {
                own(json_freep) json_object *document = NULL;
                JsonError error = {};
                State *read = NULL;
                const char *text;

                cr_assert_eq(state_to_json(&state, &document), 0);
                if (damages[i].value)
                        json_object_object_add(
                                document, damages[i].key, json_tokener_parse(damages[i].value));
                else
                        json_object_object_del(document, damages[i].key);
                text = json_object_to_json_string(document);
                cr_expect_eq(state_read(text, strlen(text), &read, &error), -EINVAL, "%s %s", damages[i].key,
                        damages[i].value);
                cr_expect(strstr(error.key, damages[i].blamed), "%s %s: %s", damages[i].key,
                        damages[i].value, error.key);
        }
}

/* Every shorter file, as a crash in the middle of writing would leave one without the rename. */
Test(state_file, cut_anywhere) {
        own(json_freep) json_object *document = NULL;
        State state = whole(STATE_RUNNING);
        const char *text;

        cr_assert_eq(state_to_json(&state, &document), 0);
        text = json_object_to_json_string(document);
        for (size_t size = 0; size < strlen(text); size++) {
                JsonError error = {};
                State *read = NULL;

                cr_assert_eq(state_read(text, size, &read, &error), -EINVAL, "%zu", size);
        }
}
