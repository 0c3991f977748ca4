/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Plans for people. What the daemon put into the plan is shown in its order; nothing is left out. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/document.h"
#include "cli/explain-text.h"
#include "cli/table.h"
#include "spec/limit.h"

static void print_heading(const char *heading, bool bold, FILE *stream) {
        (void) fprintf(stream, "%s%s%s\n", bold ? "\033[1m" : "", heading, bold ? "\033[0m" : "");
}

/* A word as a shell would read it back, when it has anything but plain characters in it. */
static int print_word(FILE *stream, const char *word) {
        static const char plain[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=:,+@%";

        if (*word && strspn(word, plain) == strlen(word))
                return fputs(word, stream);
        (void) fputc('\'', stream);
        for (; *word; word++) {
                if (*word == '\'')
                        (void) fputs("'\\''", stream);
                else
                        (void) fputc(*word, stream);
        }
        return fputc('\'', stream);
}

/* A value in one line: strings bare, lists of strings as words, anything else as JSON. */
static int value_text(json_object *value, char **ret) {
        own(freep) char *text = NULL;
        size_t size = 0, n;
        FILE *stream;

        if (json_object_is_type(value, json_type_string)) {
                *ret = strdup(json_object_get_string(value));
                return *ret ? 0 : -ENOMEM;
        }
        n = json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
        if (n == 0 || !json_object_is_type(json_object_array_get_idx(value, 0), json_type_string))
                return json_to_text(value, /* pretty= */ false, ret);

        stream = open_memstream(&text, &size);
        if (!stream)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                const char *word = json_object_get_string(json_object_array_get_idx(value, i));

                if (i > 0)
                        (void) fputc(' ', stream);
                (void) print_word(stream, word ? word : "");
        }
        if (fclose(stream) != 0)
                return -ENOMEM;
        *ret = hand_over(text);
        return 0;
}

static int add_row(Table *table, const char *name, json_object *value, const char *unit) {
        own(freep) char *text = NULL, *whole = NULL;
        int r;

        r = value_text(value, &text);
        if (r < 0)
                return r;
        if (unit && asprintf(&whole, "%s %s", text, unit) < 0) {
                whole = NULL;
                return -ENOMEM;
        }
        r = table_add(table, name);
        return r < 0 ? r : table_add(table, whole ? whole : text);
}

static const char *unit_of(const char *key) {
        LimitId id;

        return limit_find(key, &id) ? limit_unit(id) : streq(key, "compile_timeout_ms") ? "ms" : NULL;
}

static bool is_empty(json_object *value) {
        return !value ||
               (json_object_is_type(value, json_type_array) && json_object_array_length(value) == 0) ||
               (json_object_is_type(value, json_type_object) && json_object_object_length(value) == 0);
}

/* Scalars and lists of an object; objects in it and the keys of skip are for others. */
static int print_section(
        json_object *object, const char *heading, const char *const *skip, bool bold, FILE *stream) {
        own(table_freep) Table *table = NULL;
        int r;

        if (is_empty(object))
                return 0;
        r = table_new(/* headings= */ NULL, 2, &table);
        if (r < 0)
                return r;
        json_object_object_foreach(object, key, value) {
                if (json_object_is_type(value, json_type_object) || is_empty(value) ||
                        strv_contains((char *const *) skip, key))
                        continue;
                r = add_row(table, key, value, unit_of(key));
                if (r < 0)
                        return r;
        }
        print_heading(heading, bold, stream);
        table_print(table, /* indent= */ 2, /* bold= */ false, stream);
        (void) fputc('\n', stream);
        return 0;
}

/* Sentences, one a line. */
static int print_list(json_object *list, const char *heading, bool bold, FILE *stream) {
        if (is_empty(list))
                return 0;
        print_heading(heading, bold, stream);
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                own(freep) char *line = NULL;
                const char *text = json_object_get_string(json_object_array_get_idx(list, i));
                int r;

                r = text_printable(text ? text : "", &line);
                if (r < 0)
                        return r;
                (void) fprintf(stream, "  %s\n", line);
        }
        (void) fputc('\n', stream);
        return 0;
}

/* Each property is {"type": …, "data": …}, or a list of such where it is set more than once. */
static int add_property(Table *table, const char *name, json_object *property) {
        json_object *data;
        int r = 0;

        if (!json_object_is_type(property, json_type_array)) {
                bool typed = json_object_is_type(property, json_type_object) &&
                             json_object_object_get_ex(property, "data", &data);

                return add_row(table, name, typed ? data : property, /* unit= */ NULL);
        }
        for (size_t i = 0; i < json_object_array_length(property) && r >= 0; i++)
                r = add_property(table, name, json_object_array_get_idx(property, i));
        return r;
}

static int print_properties(json_object *properties, bool bold, FILE *stream) {
        own(table_freep) Table *table = NULL;
        int r;

        if (is_empty(properties))
                return 0;
        r = table_new(/* headings= */ NULL, 2, &table);
        if (r < 0)
                return r;
        json_object_object_foreach(properties, name, property) {
                r = add_property(table, name, property);
                if (r < 0)
                        return r;
        }
        print_heading("Unit properties", bold, stream);
        table_print(table, /* indent= */ 2, /* bold= */ false, stream);
        return 0;
}

int explain_print(json_object *document, bool bold, FILE *stream) {
        static const char *const apart[] = {"widened", "warnings", NULL};
        json_object *plan = document_object(document, "plan");
        int r;

        r = print_list(document_list(plan, "warnings"), "Warnings", bold, stream);
        if (r >= 0)
                r = print_list(
                        document_list(plan, "widened"), "Wider than the policy's default", bold, stream);
        if (r >= 0)
                r = print_section(plan, "Plan", apart, bold, stream);
        if (r >= 0)
                r = print_section(document_object(plan, "limits"), "Limits", NULL, bold, stream);
        if (r >= 0)
                r = print_section(document_object(plan, "env"), "Environment", NULL, bold, stream);
        if (r >= 0)
                r = print_section(document_object(plan, "syscalls"), "System calls", NULL, bold, stream);
        return r < 0 ? r : print_properties(document_object(document, "properties"), bold, stream);
}
