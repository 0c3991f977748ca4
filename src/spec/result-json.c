/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The result as a document: keys in the order of DESIGN section 5, the whole below RESULT_SIZE_MAX. */

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "spec/result-output.h"
#include "spec/result.h"

/* Everything but the two streams is bounded by what made it; this is far more than it takes. */
#define REST_SIZE (1024U * 1024)
#define STREAMS_SIZE (RESULT_SIZE_MAX - REST_SIZE)

static int add_usage(json_object *object, const char *key, uint64_t value) {
        if (value == USAGE_UNKNOWN)
                return json_add_string(object, key, NULL);
        return json_add_u64(object, key, value);
}

/* An empty list or null: what parts that are not built yet will fill. */
static int add_array(json_object *object, const char *key) {
        return json_add_strings(object, key, NULL);
}

static int add_egress(json_object *object) {
        own(json_freep) json_object *egress = json_object_new_object();
        int r;

        if (!egress)
                return -ENOMEM;
        r = json_add_u64(egress, "allowed", 0);
        if (r < 0)
                return r;
        r = json_add_u64(egress, "blocked", 0);
        if (r < 0)
                return r;
        return json_add_object(object, "egress", hand_over(egress));
}

static int add_outcome(json_object *object, const Result *result) {
        const StatusRow *row =
                &status_table[result->status < STATUS_N ? result->status : STATUS_INTERNAL_ERROR];
        const char *signal = result->signal > 0 ? signal_name(result->signal) : NULL;
        int r;

        r = json_add_string(object, "id", result->id);
        if (r < 0)
                return r;
        r = json_add_string(object, "task_id", result->task_id);
        if (r < 0)
                return r;
        r = json_add_string(object, "status", row->name);
        if (r < 0)
                return r;
        r = json_add_bool(object, "retryable", row->retryable);
        if (r < 0)
                return r;
        r = json_add_bool(object, "counts_as_failure", row->counts_as_failure);
        if (r < 0)
                return r;
        r = json_add_string(object, "message", result->message);
        if (r < 0)
                return r;
        if (result->exit_code >= 0)
                r = json_add_u64(object, "exit_code", (uint64_t) result->exit_code);
        else
                r = json_add_string(object, "exit_code", NULL);
        if (r < 0)
                return r;
        return json_add_string(object, "signal", signal);
}

static int add_usages(json_object *object, const Result *result) {
        const struct {
                const char *key;
                uint64_t value;
                bool left_out;
        } rows[] = {
                {"duration_ms", result->duration_ms},
                {"queue_ms", result->queue_ms},
                {"start_ms", result->start_ms},
                {"compile_ms", result->compile_ms, .left_out = result->compile_ms == USAGE_UNKNOWN},
                {"cpu_ms", result->cpu_ms},
                {"memory_peak_bytes", result->memory_peak_bytes},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                int r = rows[i].left_out ? 0 : add_usage(object, rows[i].key, rows[i].value);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_flags(json_object *object, const Result *result) {
        const struct {
                const char *key;
                bool value;
        } rows[] = {
                {"memory_warned", result->memory_warned},
                {"oom_killed", result->oom_killed},
                {"tasks_limit_hit", result->tasks_limit_hit},
                {"file_limit_hit", result->file_limit_hit},
                {"disk_limit_hit", result->disk_limit_hit},
                {"suspected_runaway", result->suspected_runaway},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                int r = json_add_bool(object, rows[i].key, rows[i].value);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* The parts that later issues build carry their empty values: a reader finds every key from the start. */
/* Written by the code's own process: any bytes. */
static int add_text(json_object *object, const char *key, const char *text) {
        own(bytes_clear) Bytes repaired = {0};
        bool exact;
        int r;

        if (!text)
                return json_add_string(object, key, NULL);
        r = utf8_repair(text, strlen(text), &repaired, &exact);
        if (r < 0)
                return r;
        return json_add_bytes(object, key, repaired.data, repaired.size);
}

static int add_findings(json_object *object, const Result *result) {
        int r;

        r = result->denied_syscalls ?
                        json_add_object(object, "denied_syscalls", json_object_get(result->denied_syscalls)) :
                        add_array(object, "denied_syscalls");
        if (r < 0)
                return r;
        r = json_add_string(object, "report", NULL);
        if (r < 0)
                return r;
        r = json_add_bool(object, "report_truncated", false);
        if (r < 0)
                return r;
        r = add_text(object, "stopped_at", result->stopped_at);
        if (r < 0)
                return r;
        r = add_array(object, "artifacts");
        if (r < 0)
                return r;
        return add_egress(object);
}

static int add_origin(json_object *object, const Result *result) {
        const struct {
                const char *key, *text;
        } rows[] = {
                {"policy", result->policy},
                {"language", result->language},
                {"unit", result->unit},
                {"invocation_id", result->invocation_id},
        };
        json_object *enforced;

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                int r = json_add_string(object, rows[i].key, rows[i].text);

                if (r < 0)
                        return r;
        }
        enforced = result->enforced ? json_object_get(result->enforced) : json_object_new_object();
        return enforced ? json_add_object(object, "enforced", enforced) : -ENOMEM;
}

/* Both streams as they are where they fit together; else the smaller may have what it takes up to a half. */
static void share_out(OutputView *out, OutputView *err, size_t *ret_out, size_t *ret_err) {
        size_t half = STREAMS_SIZE / 2;
        size_t out_cost = output_cost(out, STREAMS_SIZE), err_cost = output_cost(err, STREAMS_SIZE);

        if (out_cost <= half)
                *ret_out = out_cost;
        else if (err_cost <= half)
                *ret_out = STREAMS_SIZE - err_cost;
        else
                *ret_out = half;
        *ret_err = STREAMS_SIZE - *ret_out;

        output_fit(out, *ret_out);
        output_fit(err, *ret_err);
}

static int add_streams(json_object *object, const Result *result, bool summary) {
        OutputView out = output_view(&result->out), err = output_view(&result->err);
        size_t out_budget, err_budget;
        int r;

        if (summary) {
                r = output_add_summary(object, "stdout", &out);
                return r < 0 ? r : output_add_summary(object, "stderr", &err);
        }
        share_out(&out, &err, &out_budget, &err_budget);
        r = output_add(object, "stdout", &out, out_budget);
        return r < 0 ? r : output_add(object, "stderr", &err, err_budget);
}

static int build(const Result *result, bool summary, json_object **ret) {
        own(json_freep) json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = add_outcome(object, result);
        if (r < 0)
                return r;
        r = add_streams(object, result, summary);
        if (r < 0)
                return r;
        r = add_usages(object, result);
        if (r < 0)
                return r;
        r = add_flags(object, result);
        if (r < 0)
                return r;
        r = add_findings(object, result);
        if (r < 0)
                return r;
        r = add_origin(object, result);
        if (r < 0)
                return r;

        *ret = hand_over(object);
        return 0;
}

int result_to_json(const Result *result, json_object **ret) {
        return build(result, /* summary= */ false, ret);
}

int result_summary(const Result *result, json_object **ret) {
        return build(result, /* summary= */ true, ret);
}
