/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Environments, from and to documents. Nothing is inherited from anywhere: a list holds all there is. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "spec/environment.h"

static bool variable_name_is_valid(const char *name) {
        static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

        return *name && (*name < '0' || *name > '9') && strspn(name, letters) == strlen(name);
}

static int read_variable(
        const char *name, json_object *value, const char *key, char **ret, JsonError *reterr) {
        char path[sizeof reterr->key];
        char *assignment;

        (void) snprintf(path, sizeof path, "%s.%s", key, name);
        if (!variable_name_is_valid(name)) {
                json_error_set(
                        reterr, path, "must be named by letters, digits and \"_\", without a digit first");
                return -EINVAL;
        }
        if (!json_object_is_type(value, json_type_string)) {
                json_error_set(reterr, path, "must be a string");
                return -EINVAL;
        }
        if (asprintf(&assignment, "%s=%s", name, json_object_get_string(value)) < 0)
                return -ENOMEM;

        *ret = assignment;
        return 0;
}

int environment_read(
        json_object *object, const char *key, size_t max, size_t max_bytes, char ***ret, JsonError *reterr) {
        struct json_object_iterator at = json_object_iter_begin(object), end = json_object_iter_end(object);
        own(strv_freep) char **environment = NULL;
        size_t n = (size_t) json_object_object_length(object), bytes = 0;

        if (n > max) {
                json_error_set(reterr, key, "must have at most %zu variables, not %zu", max, n);
                return -EINVAL;
        }
        environment = calloc(n + 1, sizeof(char *));
        if (!environment)
                return -ENOMEM;

        for (char **entry = environment; !json_object_iter_equal(&at, &end);
                json_object_iter_next(&at), entry++) {
                int r = read_variable(json_object_iter_peek_name(&at), json_object_iter_peek_value(&at), key,
                        entry, reterr);

                if (r < 0)
                        return r;
                bytes += strlen(*entry) + 1;
        }
        if (bytes > max_bytes) {
                json_error_set(reterr, key, "must be at most %zu bytes in all, not %zu: use a file or stdin",
                        max_bytes, bytes);
                return -EINVAL;
        }

        *ret = hand_over(environment);
        return 0;
}

static int add_variable(json_object *object, const char *assignment) {
        const char *equals = strchr(assignment, '=');
        own(freep) char *name = NULL;

        if (!equals)
                return -EINVAL;
        name = strndup(assignment, (size_t) (equals - assignment));
        if (!name)
                return -ENOMEM;
        return json_add_string(object, name, equals + 1);
}

int environment_add_json(json_object *object, const char *key, char *const *environment) {
        own(json_freep) json_object *variables = json_object_new_object();

        if (!variables)
                return -ENOMEM;
        for (size_t i = 0; environment && environment[i]; i++) {
                int r = add_variable(variables, environment[i]);

                if (r < 0)
                        return r;
        }
        return json_add_object(object, key, hand_over(variables));
}

int environment_set(char ***environment, const char *assignment) {
        size_t size = strcspn(assignment, "=") + 1;

        for (size_t i = 0; *environment && (*environment)[i]; i++) {
                char *copy;

                if (strncmp((*environment)[i], assignment, size) != 0)
                        continue;
                copy = strdup(assignment);
                if (!copy)
                        return -ENOMEM;
                free((*environment)[i]);
                (*environment)[i] = copy;
                return 0;
        }
        return strv_append(environment, assignment);
}

int environment_merge(char ***environment, char *const *assignments) {
        for (size_t i = 0; assignments && assignments[i]; i++) {
                int r = environment_set(environment, assignments[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}
