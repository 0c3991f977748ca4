/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* org.unitcell1.Manager at /org/unitcell1. Each handler makes a request, asks who it is, and goes on in steps. */

#include <errno.h>
#include <string.h>

#include "bus/authorise.h"
#include "bus/internal.h"
#include "unit/describe.h"
#include "unit/name.h"

/* Which error name each answer of the layers below has. */
static const char *const spec_errors[] = {
        [SPEC_INVALID] = ERROR_INVALID_SPEC,
        [SPEC_TOO_LARGE] = ERROR_TOO_LARGE,
        [SPEC_NOT_SUPPORTED] = ERROR_NOT_SUPPORTED,
};
static const char *const plan_errors[] = {
        [PLAN_INVALID] = ERROR_INVALID_SPEC,
        [PLAN_NO_SUCH_POLICY] = ERROR_NO_SUCH_POLICY,
        [PLAN_LANGUAGE_UNAVAILABLE] = ERROR_LANGUAGE_UNAVAILABLE,
};
static const char *const admission_errors[] = {
        [ADMISSION_BUSY] = ERROR_BUSY,
        [ADMISSION_INVALID] = ERROR_INVALID_SPEC,
        [ADMISSION_CANNOT_ENFORCE] = ERROR_CANNOT_ENFORCE,
};

static void fail_document(Request *request, const char *name, const JsonError *error) {
        if (error->line > 0)
                request_fail(request, name, "%s%sline %u: %s", error->key, error->key[0] ? ", " : "", error->line,
                        error->message);
        else
                request_fail(request, name, "%s%s%s", error->key, error->key[0] ? ": " : "", error->message);
}

/* The spec of the message, resolved into request->plan. False: the request has been answered. */
static bool resolve(Request *request) {
        JsonError error = {};
        const char *text;
        int r;

        r = sd_bus_message_read(request->message, "s", &text);
        if (r < 0) {
                request_fail_errno(request, r);
                return false;
        }
        r = spec_read(text, strlen(text), &request->spec, &error);
        if (r > 0)
                fail_document(request, spec_errors[r], &error);
        if (r == 0) {
                r = plan_resolve(request->spec, request->face->store, request->face->host.cpus, &request->plan, &error);
                if (r > 0)
                        fail_document(request, plan_errors[r], &error);
        }
        if (r < 0)
                request_fail_errno(request, r);
        return r == 0;
}

/* ---- Execute, Submit ---- */

/* Descriptors with a call come with a later version; until then a call that brings some is refused. */
static bool has_files(Request *request) {
        int r;

        if (streq(sd_bus_message_get_member(request->message), "Execute"))
                return false;
        r = sd_bus_message_enter_container(request->message, 'a', "{sh}");
        if (r >= 0)
                r = sd_bus_message_at_end(request->message, /* complete= */ 0);
        if (r == 0)
                request_fail(request, ERROR_NOT_SUPPORTED,
                        "files: input files by descriptor are not supported yet; send them in the spec's files");
        if (r < 0)
                request_fail_errno(request, r);
        return r <= 0;
}

static void submit_authorised(Request *request) {
        own(request_freep) Request *owned = request;
        own(freep) char *path = NULL, *message = NULL;
        bool wait = streq(sd_bus_message_get_member(request->message), "Execute");
        Face *face = request->face;
        Execution *execution;
        int r;

        if (request->lost)
                return;
        r = executions_submit(face->executions, &request->spec, &request->plan, &request->caller, &message, &execution);
        if (r > 0) {
                request_fail(request, admission_errors[r], "%s", message);
                face_record_refusal(face, request);
                return;
        }
        if (r < 0) {
                request_fail_errno(request, r);
                return;
        }

        face_add_interest(face, execution_id(execution), sd_bus_message_get_sender(request->message));
        if (wait) {
                /* The request stays in the list until the result is there or the caller is gone. */
                memcpy(request->waits_for, execution_id(execution), sizeof request->waits_for);
                request->cancel_when_lost = true;
                owned = NULL;
                return;
        }
        r = face_execution_path(execution_id(execution), &path);
        if (r < 0)
                request_fail_errno(request, r);
        else
                request_reply(request, "o", path);
}

static void submit_mounts(Request *request) {
        if (request->plan->mounts && request->plan->mounts[0])
                authorise(request, ACTION_MOUNT_HOST, submit_authorised);
        else
                submit_authorised(request);
}

static void submit_restricted(Request *request) {
        if (request->plan->restricted)
                authorise(request, ACTION_USE_RESTRICTED_POLICY, submit_mounts);
        else
                submit_mounts(request);
}

static void submit_identified(Request *request) {
        own(request_freep) Request *owned = request;

        if (!resolve(request) || has_files(request)) {
                face_record_refusal(request->face, request);
                return;
        }
        authorise(hand_over(owned), ACTION_EXECUTE, submit_restricted);
}

/* ---- questions ---- */

static void get_execution(Request *request) {
        own(request_freep) Request *owned = request;
        own(freep) char *path = NULL;
        const char *id;
        int r;

        r = sd_bus_message_read(request->message, "s", &id);
        if (r < 0) {
                request_fail_errno(request, r);
                return;
        }
        if (!face_find_visible(request->face, id, &request->caller)) {
                request_fail(request, ERROR_NO_SUCH_EXECUTION, "There is no execution %.64s of this caller", id);
                return;
        }
        face_add_interest(request->face, id, sd_bus_message_get_sender(request->message));
        r = face_execution_path(id, &path);
        if (r < 0)
                request_fail_errno(request, r);
        else
                request_reply(request, "o", path);
}

/* The document as the answer, or what went wrong with it. */
static void reply_document(Request *request, int error, json_object *document) {
        own(freep) char *text = NULL;
        int r = error;

        if (r >= 0)
                r = json_to_text(document, /* pretty= */ false, &text);
        if (r < 0)
                request_fail_errno(request, r);
        else
                request_reply(request, "s", text);
}

/* {"plan": …, "unit": {"properties": …}}: a unit's name and slice would be made at the start. */
static int explain_document(Request *request, json_object **ret) {
        own(json_freep) json_object *document = json_object_new_object(), *plan = NULL, *shown = NULL;
        own(properties_clear) Properties properties = {};
        own(freep) char *slice = NULL;
        UnitDescription description;
        int r;

        if (!document)
                return -ENOMEM;
        r = unit_slice_from_uid(request->caller.uid, &slice);
        if (r < 0)
                return r;
        description = (UnitDescription) {
                .id = "<id>",
                .slice = slice,
                .manager_version = manager_version(request->face->manager),
                .control = -1,
        };
        r = unit_describe(request->plan, &description, &properties);
        if (r < 0)
                return r;
        r = plan_to_json(request->plan, &plan);
        if (r < 0)
                return r;
        r = properties_to_json(&properties, &shown);
        if (r < 0)
                return r;
        r = json_add_object(document, "plan", hand_over(plan));
        if (r < 0)
                return r;
        r = json_add_object(document, "properties", hand_over(shown));
        if (r < 0)
                return r;
        *ret = hand_over(document);
        return 0;
}

static void explain(Request *request) {
        own(request_freep) Request *owned = request;
        own(json_freep) json_object *document = NULL;
        int r;

        if (!resolve(request))
                return;
        r = explain_document(request, &document);
        reply_document(request, r, document);
}

static int language_document(const Language *language, json_object **ret) {
        own(json_freep) json_object *object = json_object_new_object();
        own(freep) char *reason = NULL;
        const char *interpreter = NULL;
        int r;

        if (!object)
                return -ENOMEM;
        r = json_add_string(object, "name", language->name);
        if (r >= 0)
                r = json_add_string(object, "description", language->description);
        if (r >= 0)
                r = json_add_strings(object, "suffixes", language->suffixes);
        if (r < 0)
                return r;

        /* Looked at now: an interpreter may have come or gone since the start. */
        r = language_find_interpreter(language, &interpreter, &reason);
        if (r < 0 && r != -ENOENT)
                return r;
        r = json_add_bool(object, "available", r >= 0);
        if (r >= 0)
                r = json_add_string(object, "interpreter", interpreter);
        if (r >= 0)
                r = json_add_string(object, "reason", reason);
        if (r >= 0)
                r = json_add_bool(object, "compiled", language->compile != NULL);
        if (r < 0)
                return r;
        *ret = hand_over(object);
        return 0;
}

static int policy_summary(const Policy *policy, json_object **ret) {
        own(json_freep) json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = json_add_string(object, "name", policy->name);
        if (r >= 0)
                r = json_add_string(object, "description", policy->description);
        if (r >= 0)
                r = json_add_bool(object, "restricted", policy->restricted);
        if (r >= 0)
                r = json_add_strings(object, "languages", policy->languages);
        if (r >= 0)
                r = json_add_string(object, "source", policy->source_path);
        if (r < 0)
                return r;
        *ret = hand_over(object);
        return 0;
}

static void list_languages(Request *request) {
        own(request_freep) Request *owned = request;
        own(json_freep) json_object *array = json_object_new_array();
        const Store *store = request->face->store;
        int r = array ? 0 : -ENOMEM;

        for (size_t i = 0; i < store->n_languages && r >= 0; i++) {
                json_object *item;

                r = language_document(store->languages[i], &item);
                if (r >= 0 && json_object_array_add(array, item) < 0)
                        r = -ENOMEM;
        }
        reply_document(request, r, array);
}

static void list_policies(Request *request) {
        own(request_freep) Request *owned = request;
        own(json_freep) json_object *array = json_object_new_array();
        const Store *store = request->face->store;
        int r = array ? 0 : -ENOMEM;

        for (size_t i = 0; i < store->n_policies && r >= 0; i++) {
                json_object *item;

                r = policy_summary(store->policies[i], &item);
                if (r >= 0 && json_object_array_add(array, item) < 0)
                        r = -ENOMEM;
        }
        reply_document(request, r, array);
}

static void get_policy(Request *request) {
        own(request_freep) Request *owned = request;
        own(json_freep) json_object *document = NULL;
        const Policy *policy;
        const char *name;
        int r;

        r = sd_bus_message_read(request->message, "s", &name);
        if (r < 0) {
                request_fail_errno(request, r);
                return;
        }
        policy = store_find_policy(request->face->store, name);
        if (!policy) {
                request_fail(request, ERROR_NO_SUCH_POLICY, "There is no policy %.64s; ListPolicies names them", name);
                return;
        }
        r = policy_to_json(policy, &document);
        reply_document(request, r, document);
}

/* ---- Reload ---- */

static void reload_authorised(Request *request) {
        own(request_freep) Request *owned = request;
        Face *face = request->face;
        int r;

        r = face->reload ? face->reload(face->reload_userdata) : -EOPNOTSUPP;
        if (r < 0)
                request_fail_errno(request, r);
        else
                request_reply(request, NULL);
}

static void reload(Request *request) {
        authorise(request, ACTION_RELOAD, reload_authorised);
}

/* ---- the object ---- */

#define HANDLER(name, step)                                                                   \
        static int name(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {   \
                return request_begin(userdata, message, step);                                        \
        }

HANDLER(on_execute, submit_identified)
HANDLER(on_submit, submit_identified)
HANDLER(on_get_execution, get_execution)
HANDLER(on_explain, explain)
HANDLER(on_list_languages, list_languages)
HANDLER(on_list_policies, list_policies)
HANDLER(on_get_policy, get_policy)
HANDLER(on_reload, reload)

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("Execute", SD_BUS_ARGS("s", spec), SD_BUS_RESULT("s", result), on_execute,
                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Submit", SD_BUS_ARGS("s", spec, "a{sh}", files), SD_BUS_RESULT("o", execution),
                on_submit, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetExecution", SD_BUS_ARGS("s", id), SD_BUS_RESULT("o", execution),
                on_get_execution, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Explain", SD_BUS_ARGS("s", spec), SD_BUS_RESULT("s", plan), on_explain,
                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ListLanguages", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", languages), on_list_languages,
                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ListPolicies", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", policies), on_list_policies,
                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetPolicy", SD_BUS_ARGS("s", name), SD_BUS_RESULT("s", policy), on_get_policy,
                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, on_reload, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL_WITH_ARGS("ExecutionWarning", SD_BUS_ARGS("s", id, "s", kind, "s", details), 0),
        SD_BUS_SIGNAL_WITH_ARGS("ExecutionFinished", SD_BUS_ARGS("s", id, "o", path, "s", status), 0),
        SD_BUS_VTABLE_END,
};

int face_add_manager(Face *face) {
        int r;

        r = sd_bus_add_object_vtable(
                face->bus, &face->slots[face->n_slots], UNITCELL_PATH, UNITCELL_MANAGER, vtable, face);
        if (r < 0)
                return r;
        face->n_slots++;
        return 0;
}
