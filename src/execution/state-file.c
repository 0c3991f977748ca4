/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* State files: one row a key, read as strictly as a spec. */

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "execution/state-file.h"

#define STATE_FILE_MAX (4U * 1024 * 1024)

static const char *const step_names[STATE_STEP_N] = {
        [STATE_STARTING] = "starting",
        [STATE_HANDED_OVER] = "handed-over",
        [STATE_RUNNING] = "running",
        [STATE_FINISHED] = "finished",
};

State *state_free(State *state) {
        if (!state)
                return NULL;

        caller_clear(&state->caller);
        plan_free(state->plan);
        free(state->slice);
        free(state->invocation_id);
        free(state->status);
        free(state);
        return NULL;
}

int state_to_json(const State *state, json_object **ret) {
        own(json_freep) json_object *object = json_object_new_object(), *caller = NULL, *plan = NULL;
        const struct {
                const char *key;
                uint64_t value;
        } numbers[] = {
                {"version", STATE_VERSION},
                {"created_realtime_usec", state->created_realtime_usec},
                {"created_monotonic_usec", state->created_monotonic_usec},
                {"started_monotonic_usec", state->started_monotonic_usec},
                {"finished_realtime_usec", state->finished_realtime_usec},
                {"inode_control", state->inode_control},
                {"inode_out", state->inode_out},
                {"inode_err", state->inode_err},
        };
        const struct {
                const char *key, *value;
        } texts[] = {
                {"id", state->id},
                {"step", step_names[state->step]},
                {"slice", state->slice},
                {"invocation_id", state->invocation_id},
                {"status", state->status},
        };
        int r;

        if (!object)
                return -ENOMEM;

        for (size_t i = 0; i < ELEMENTS(numbers); i++) {
                r = json_add_u64(object, numbers[i].key, numbers[i].value);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < ELEMENTS(texts); i++) {
                if (!texts[i].value)
                        continue;
                r = json_add_string(object, texts[i].key, texts[i].value);
                if (r < 0)
                        return r;
        }

        r = caller_to_json(&state->caller, &caller);
        if (r < 0)
                return r;
        r = json_add_object(object, "caller", hand_over(caller));
        if (r < 0)
                return r;
        r = plan_to_json(state->plan, &plan);
        if (r < 0)
                return r;
        r = json_add_object(object, "plan", hand_over(plan));
        if (r < 0)
                return r;

        *ret = hand_over(object);
        return 0;
}

typedef struct Raw {
        uint64_t version;
        char *id, *step, *slice, *invocation_id, *status;
        json_object *caller, *plan;
        uint64_t created_realtime_usec, created_monotonic_usec, started_monotonic_usec, finished_realtime_usec;
        uint64_t inode_control, inode_out, inode_err;
} Raw;

static void raw_clear(Raw *raw) {
        free(raw->id);
        free(raw->step);
        free(raw->slice);
        free(raw->invocation_id);
        free(raw->status);
        json_object_put(raw->caller);
        json_object_put(raw->plan);
}

#define NUMBER(member) {#member, JSON_U64, offsetof(Raw, member), 0, INT64_MAX, .mandatory = true}
#define TEXT(member, is_mandatory) {#member, JSON_STRING, offsetof(Raw, member), 1, 256, .mandatory = is_mandatory}

static const JsonField fields[] = {
        {"version", JSON_U64, offsetof(Raw, version), STATE_VERSION, STATE_VERSION, .mandatory = true},
        TEXT(id, true),
        TEXT(step, true),
        TEXT(slice, true),
        TEXT(invocation_id, false),
        TEXT(status, false),
        {"caller", JSON_OBJECT, offsetof(Raw, caller), .mandatory = true},
        {"plan", JSON_OBJECT, offsetof(Raw, plan), .mandatory = true},
        NUMBER(created_realtime_usec),
        NUMBER(created_monotonic_usec),
        NUMBER(started_monotonic_usec),
        NUMBER(finished_realtime_usec),
        NUMBER(inode_control),
        NUMBER(inode_out),
        NUMBER(inode_err),
};

static int step_from_name(const char *name, StateStep *ret, JsonError *reterr) {
        for (size_t i = 0; i < STATE_STEP_N; i++)
                if (streq(step_names[i], name)) {
                        *ret = (StateStep) i;
                        return 0;
                }

        json_error_set(reterr, "step", "is not a step this version knows: %s", name);
        return -EINVAL;
}

int state_read(const char *text, size_t size, State **ret, JsonError *reterr) {
        own(state_freep) State *state = calloc(1, sizeof *state);
        own(json_freep) json_object *object = NULL;
        own(raw_clear) Raw raw = {};
        int r;

        if (!state)
                return -ENOMEM;

        r = json_parse(text, size, &object, reterr);
        if (r < 0)
                return r;
        r = json_read_object(object, "", fields, ELEMENTS(fields), &raw, reterr);
        if (r < 0)
                return r;
        if (!unit_id_is_valid(raw.id)) {
                json_error_set(reterr, "id", "must be 32 hex digits");
                return -EINVAL;
        }
        r = step_from_name(raw.step, &state->step, reterr);
        if (r < 0)
                return r;
        r = caller_from_json(raw.caller, &state->caller, reterr);
        if (r < 0)
                return r;
        r = plan_from_json(raw.plan, &state->plan, reterr);
        if (r < 0)
                return r;

        memcpy(state->id, raw.id, sizeof state->id);
        state->slice = hand_over(raw.slice);
        state->invocation_id = hand_over(raw.invocation_id);
        state->status = hand_over(raw.status);
        state->created_realtime_usec = raw.created_realtime_usec;
        state->created_monotonic_usec = raw.created_monotonic_usec;
        state->started_monotonic_usec = raw.started_monotonic_usec;
        state->finished_realtime_usec = raw.finished_realtime_usec;
        state->inode_control = raw.inode_control;
        state->inode_out = raw.inode_out;
        state->inode_err = raw.inode_err;

        *ret = hand_over(state);
        return 0;
}

static void file_name(const char *id, char ret[static 48]) {
        (void) snprintf(ret, 48, "%.32s.json", id);
}

int state_save(int directory, const State *state) {
        own(json_freep) json_object *object = NULL;
        own(freep) char *text = NULL;
        char name[48];
        int r;

        r = state_to_json(state, &object);
        if (r < 0)
                return r;
        r = json_to_text(object, /* pretty= */ false, &text);
        if (r < 0)
                return r;

        file_name(state->id, name);
        return file_replace_at(directory, name, text, strlen(text), 0600);
}

int state_load(int directory, const char *id, State **ret, JsonError *reterr) {
        own(bytes_clear) Bytes text = {};
        char name[48];
        int r;

        file_name(id, name);
        r = file_read_at(directory, name, STATE_FILE_MAX, &text);
        if (r < 0)
                return r;

        return state_read(text.data, text.size, ret, reterr);
}

void state_remove(int directory, const char *id) {
        char name[48];

        file_name(id, name);
        (void) unlinkat(directory, name, 0);
}
