/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Judging: the table's rows, and those that compare several results. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/doctor-checks.h"
#include "cli/doctor-judge.h"
#include "cli/document.h"

#define DYNAMIC_UID_MIN 61184
#define DYNAMIC_UID_MAX 65519
#define WORD_SIZE 256

static const char usual_advice[] =
        "look for drop-ins (systemctl cat unitcell-x-.service) and at journalctl -u unitcelld";
static const char controller_advice[] =
        "boot with cgroup v2 alone (systemd.unified_cgroup_hierarchy=1) and all controllers; then no "
        "AllowMissing= is needed";

const char *const namespace_kinds[NAMESPACE_N] = {"ipc", "mnt", "net", "uts"};

void trial_clear(Trial *trial) {
        json_object_put(trial->result);
        free(trial->error);
        free(trial->path);
        *trial = (Trial){};
}

bool trial_succeeded(const Trial *trial) {
        const char *status = trial->result ? document_text(trial->result, "status") : NULL;

        return status && streq(status, "success");
}

const char *trial_fact(const Trial *trial, const char *name, char buffer[static WORD_SIZE]) {
        const char *text = trial->result ? document_text(trial->result, "stdout") : NULL, *found = NULL;
        size_t size = strlen(name);

        for (const char *line = text; line && *line;) {
                const char *end = strchrnul(line, '\n');

                if (strncmp(line, name, size) == 0 && line[size] == ' ' && end - line < WORD_SIZE) {
                        (void) snprintf(buffer, WORD_SIZE, "%.*s", (int) (end - line - (ptrdiff_t) size - 1),
                                line + size + 1);
                        found = buffer;
                }
                line = *end ? end + 1 : end;
        }
        return found;
}

/* ---- words ---- */

/* The next word of a list between separators; false: no more. */
static bool next_word(const char **at, const char *separators, char ret[static WORD_SIZE]) {
        size_t size;

        *at += strspn(*at, separators);
        size = strcspn(*at, separators);
        (void) snprintf(ret, WORD_SIZE, "%.*s", (int) size, *at);
        *at += size;
        return size > 0;
}

static bool is_one_of(const char *value, const char *words, const char *separators) {
        char word[WORD_SIZE];

        while (next_word(&words, separators, word))
                if (streq(word, value))
                        return true;
        return false;
}

static bool each_is_one_of(const char *value, const char *words) {
        char part[WORD_SIZE];

        if (!*value)
                return false;
        while (next_word(&value, ",", part))
                if (!is_one_of(part, words, " "))
                        return false;
        return true;
}

/* ---- one row ---- */

/* A scalar of the result in words. */
static const char *field_text(json_object *result, const char *key, char buffer[static WORD_SIZE]) {
        json_object *value = NULL;

        if (!json_object_object_get_ex(result, key, &value))
                return "missing";
        if (!value)
                return "null";
        (void) snprintf(buffer, WORD_SIZE, "%s", json_object_get_string(value));
        return buffer;
}

static bool list_names(json_object *result, const char *key, const char *name) {
        json_object *list = document_list(result, key);

        for (size_t i = 0; list && i < json_object_array_length(list); i++) {
                const char *text = document_text(json_object_array_get_idx(list, i), "name");

                if (text && streq(text, name))
                        return true;
        }
        return false;
}

/* One condition of Check.fields. What was found is added to found, when it is new or worth it. */
static bool field_holds(json_object *result, char *condition, FILE *found) {
        char *sign = condition + strcspn(condition, "=<~"), kind = *sign, buffer[WORD_SIZE];
        const char *text;
        uint64_t limit;

        *sign = 0;
        if (kind == '~') {
                bool is_there = list_names(result, condition, sign + 1);

                (void) fprintf(found, " %s %s %s", condition, is_there ? "has" : "lacks", sign + 1);
                return is_there;
        }
        text = field_text(result, condition, buffer);
        (void) fprintf(found, " %s=%s", condition, text);
        if (kind == '=')
                return is_one_of(text, sign + 1, "|");
        return parse_u64(sign + 1, &limit) >= 0 && document_number(result, condition, UINT64_MAX) < limit;
}

static bool fields_hold(const Check *check, json_object *result, FILE *found) {
        const char *at = check->fields ? check->fields : "status=success";
        char condition[WORD_SIZE];
        bool all = true;

        while (next_word(&at, " ", condition))
                all = field_holds(result, condition, found) && all;
        return all;
}

/* With all as they ought to be, only the words; else each that is not. */
static bool facts_hold(const Check *check, const Trial *trial, FILE *found) {
        char seen[WORD_SIZE] = "", name[WORD_SIZE], buffer[WORD_SIZE];
        const char *at = check->facts;
        size_t n = 0, n_wrong = 0;

        while (at && next_word(&at, " ", name)) {
                const char *word = trial_fact(trial, name, buffer);
                size_t size = strlen(seen);

                n++;
                if (!word || !each_is_one_of(word, check->words)) {
                        if (n_wrong++ < 4)
                                (void) fprintf(found, " %s is %s,", name, word ? word : "not known");
                } else if (!is_one_of(word, seen, " "))
                        (void) snprintf(seen + size, sizeof seen - size, "%s%s", size > 0 ? " " : "", word);
        }
        if (n_wrong > 0)
                (void) fprintf(found, " expected %s", check->words);
        else if (n > 0)
                (void) fprintf(found, " %zu of %zu: %s", n, n, seen);
        return n_wrong == 0;
}

static int judge_result(const Check *check, const Trial *trial, bool *ret_passed, char **ret_found) {
        size_t size;
        char *text = NULL;
        FILE *found = open_memstream(&text, &size);
        bool fields, facts;

        if (!found)
                return -ENOMEM;
        /* What it printed says nothing when it did not end as it should. */
        fields = fields_hold(check, trial->result, found);
        facts = fields && facts_hold(check, trial, found);
        if (!fields) {
                const char *message = document_text(trial->result, "message");

                (void) fprintf(found, " (%s)", message ? message : "");
        }
        if (fclose(found) != 0) {
                free(text);
                return -ENOMEM;
        }
        /* without the first space; when all is well, the facts are enough */
        if (fields && !check->fields && starts_with(text, " status=success "))
                memmove(text, text + strlen(" status=success "),
                        strlen(text + strlen(" status=success ")) + 1);
        else
                memmove(text, text + 1, strlen(text));
        *ret_passed = fields && facts;
        *ret_found = text;
        return 0;
}

static const Trial *find_trial(const Trial *trials, const char *name) {
        for (size_t i = 0; i < doctor_n_probes; i++)
                if (streq(trials[i].probe->name, name))
                        return trials + i;
        return NULL;
}

static int judge_check(const Check *check, const Trial *trials, Report *report) {
        const Trial *trial = find_trial(trials, check->probe), *first = find_trial(trials, "first");
        ReportRow row = {.group = check->group, .name = check->name, .proves = check->proves};
        const char *needs = check->needs ? check->needs : trial->probe->needs;
        int r;

        row.advice = check->advice ? check->advice : usual_advice;
        if (needs && controller_is_missing(first, needs)) {
                row.advice = controller_advice;
                return report_say(report, &row, "not tried: there is no %s controller to bound it", needs);
        }
        if (!trial->result)
                return report_say(report, &row, "%s", trial->error ? trial->error : "not tried");
        r = judge_result(check, trial, &row.passed, &row.found);
        if (r < 0)
                return r;
        if (row.passed)
                row.advice = NULL;
        return report_add(report, &row);
}

/* ---- rows that compare ---- */

bool controller_is_missing(const Trial *first, const char *name) {
        json_object *enforced = first->result ? document_object(first->result, "enforced") : NULL;
        json_object *missing = document_list(enforced, "missing_controllers");

        for (size_t i = 0; missing && i < json_object_array_length(missing); i++)
                if (streq(json_object_get_string(json_object_array_get_idx(missing, i)), name))
                        return true;
        return !missing;
}

int judge_controllers(const Trial *first, Report *report) {
        static const struct {
                const char *name, *proves;
        } controllers[] = {{"memory", "MemoryMax="}, {"pids", "TasksMax="}, {"cpu", "CPUQuotaPerSecUSec="}};
        int r = 0;

        for (size_t i = 0; i < ELEMENTS(controllers) && r >= 0; i++) {
                bool missing = controller_is_missing(first, controllers[i].name);

                r = report_say(report,
                        &(ReportRow){.group = "host",
                                .name = controllers[i].name,
                                .proves = controllers[i].proves,
                                .passed = !missing,
                                .advice = missing ? controller_advice : NULL},
                        "the %s controller is %s", controllers[i].name,
                        missing ? "missing: its limits are not enforced" : "there");
        }
        return r;
}

static uint64_t fact_number(const Trial *trial, const char *name) {
        char buffer[WORD_SIZE];
        const char *word = trial_fact(trial, name, buffer);
        uint64_t number;

        return word && parse_u64(word, &number) >= 0 ? number : 0;
}

static bool is_dynamic(uint64_t uid) {
        return uid >= DYNAMIC_UID_MIN && uid <= DYNAMIC_UID_MAX;
}

static int judge_uids(const Trial *trials, Report *report) {
        uint64_t one = fact_number(find_trial(trials, "inspect"), "uid"),
                 other = fact_number(find_trial(trials, "neighbour"), "uid");
        ReportRow row = {.group = "user", .name = "uid", .proves = "DynamicUser="};

        row.passed = is_dynamic(one) && is_dynamic(other) && one != other;
        row.advice = row.passed ? NULL : usual_advice;
        return report_say(report, &row, "two at once are uid %" PRIu64 " and %" PRIu64, one, other);
}

static int judge_namespaces(const Trial *trials, const Surroundings *surroundings, Report *report) {
        static const char *const properties[NAMESPACE_N] = {
                "PrivateIPC=", "PrivateMounts=", "PrivateNetwork=", "ProtectHostname="};
        const Trial *inspect = find_trial(trials, "inspect"), *neighbour = find_trial(trials, "neighbour");
        static const char *const names[NAMESPACE_N] = {
                "ipc-namespace", "mount-namespace", "network-namespace", "uts-namespace"};
        int r = 0;

        for (size_t i = 0; i < NAMESPACE_N && r >= 0; i++) {
                char fact[16];
                uint64_t host = surroundings->host_namespaces[i], one, other;
                ReportRow row = {.group = "neighbours", .name = names[i], .proves = properties[i]};

                (void) snprintf(fact, sizeof fact, "ns_%s", namespace_kinds[i]);
                one = fact_number(inspect, fact);
                other = fact_number(neighbour, fact);
                row.passed = host && one && other && one != other && one != host && other != host;
                row.advice = row.passed ? NULL : usual_advice;
                r = report_say(report, &row,
                        "two at once have %" PRIu64 " and %" PRIu64 ", the host %" PRIu64, one, other, host);
        }
        return r;
}

static int judge_listeners(const Surroundings *surroundings, Report *report) {
        const char *visitor = surroundings->visitor;

        return report_say(report,
                &(ReportRow){.group = "network",
                        .name = "nobody-came",
                        .proves = "PrivateNetwork=",
                        .passed = !visitor,
                        .advice = visitor ? usual_advice : NULL},
                "%s", visitor ? visitor : "nothing came to our own listeners on the host");
}

static int judge_left_units(const Trial *trials, Report *report) {
        ReportRow row = {.group = "ends", .name = "nothing-left", .proves = "KillMode=", .passed = true};
        size_t n = 0;

        for (size_t i = 0; i < doctor_n_probes; i++) {
                n += trials[i].result != NULL;
                if (!trials[i].left_unit)
                        continue;
                row.passed = false;
                row.advice = "see what runs there: systemctl status 'unitcell-x-*'";
                return report_say(report, &row, "the unit of %s is still there", trials[i].probe->name);
        }
        return report_say(report, &row, "%zu units, all gone", n);
}

int judge_trials(const Trial *trials, const Surroundings *surroundings, Report *report) {
        int r;

        r = judge_uids(trials, report);
        for (size_t i = 0; i < doctor_n_checks && r >= 0; i++)
                r = judge_check(doctor_checks + i, trials, report);
        if (r >= 0)
                r = judge_namespaces(trials, surroundings, report);
        if (r >= 0)
                r = judge_listeners(surroundings, report);
        return r < 0 ? r : judge_left_units(trials, report);
}
