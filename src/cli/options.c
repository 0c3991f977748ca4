/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reading and showing options by their table. */

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/options.h"

#define HELP_COLUMN 30

static const Option *find_long(const OptionList *const *lists, const char *name, size_t size) {
        for (; *lists; lists++)
                for (size_t i = 0; i < (*lists)->n; i++)
                        if (strlen((*lists)->options[i].name) == size &&
                                strncmp((*lists)->options[i].name, name, size) == 0)
                                return &(*lists)->options[i];
        return NULL;
}

static const Option *find_letter(const OptionList *const *lists, char letter) {
        for (; *lists; lists++)
                for (size_t i = 0; i < (*lists)->n; i++)
                        if ((*lists)->options[i].id < OPTION_LONG_ONLY && (*lists)->options[i].id == letter)
                                return &(*lists)->options[i];
        return NULL;
}

/* value: what was attached to the option, or NULL. */
static int take(OptionReader *reader, const Option *option, const char *value, const char **ret_value) {
        if (!option->argument && value) {
                (void) snprintf(
                        reader->problem, sizeof reader->problem, "--%s takes no value", option->name);
                return -EINVAL;
        }
        if (option->argument && !value) {
                if (reader->at >= reader->argc) {
                        (void) snprintf(reader->problem, sizeof reader->problem, "--%s needs a value: %s",
                                option->name, option->argument);
                        return -EINVAL;
                }
                value = reader->argv[reader->at++];
        }
        *ret_value = value;
        return option->id;
}

static int next_long(
        OptionReader *reader, const OptionList *const *lists, const char *word, const char **ret_value) {
        size_t size = strcspn(word, "=");
        const Option *option = find_long(lists, word, size);

        if (!option) {
                (void) snprintf(reader->problem, sizeof reader->problem, "there is no option --%.*s",
                        (int) (size < 64 ? size : 64), word);
                return -EINVAL;
        }
        return take(reader, option, word[size] == '=' ? word + size + 1 : NULL, ret_value);
}

/* Letters are not bundled: -q -lpython, -q -l python. */
static int next_letter(
        OptionReader *reader, const OptionList *const *lists, const char *word, const char **ret_value) {
        const Option *option = find_letter(lists, word[0]);

        if (!option) {
                (void) snprintf(reader->problem, sizeof reader->problem, "there is no option -%c", word[0]);
                return -EINVAL;
        }
        return take(reader, option, word[1] ? word + 1 : NULL, ret_value);
}

int option_next(OptionReader *reader, const OptionList *const *lists, const char **ret_value) {
        const char *word = reader->at < reader->argc ? reader->argv[reader->at] : NULL;

        if (reader->dashes || !word || word[0] != '-' || !word[1])
                return 0;

        reader->at++;
        if (streq(word, "--")) {
                reader->dashes = true;
                return 0;
        }
        if (word[1] == '-')
                return next_long(reader, lists, word + 2, ret_value);
        return next_letter(reader, lists, word + 1, ret_value);
}

static void print_one(const Option *option, FILE *stream) {
        char head[80];
        const char *at = option->help;
        int n;

        n = snprintf(head, sizeof head, "  %c%c%s --%s%s%s", option->id < OPTION_LONG_ONLY ? '-' : ' ',
                option->id < OPTION_LONG_ONLY ? option->id : ' ', option->id < OPTION_LONG_ONLY ? "," : " ",
                option->name, option->argument ? " " : "", option->argument ? option->argument : "");
        (void) fprintf(stream, "%-*s", HELP_COLUMN, head);
        if (n >= HELP_COLUMN)
                (void) fprintf(stream, "\n%*s", HELP_COLUMN, "");

        for (;;) {
                size_t size = strcspn(at, "\n");

                (void) fprintf(stream, "%.*s\n", (int) size, at);
                if (!at[size])
                        return;
                at += size + 1;
                (void) fprintf(stream, "%*s", HELP_COLUMN, "");
        }
}

void options_print(const OptionList *const *lists, FILE *stream) {
        for (; *lists; lists++)
                for (size_t i = 0; i < (*lists)->n; i++)
                        print_one(&(*lists)->options[i], stream);
}
