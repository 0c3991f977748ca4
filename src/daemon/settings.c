/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Settings: one row a key; reading, refusing and the man page walk the same rows. */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "daemon/settings.h"
#include "execution/executions.h"

#define SETTINGS_FILE_MAX (256U * 1024)

static const char *const built_in_directories[] = {"/etc/unitcell", "/run/unitcell", "/usr/lib/unitcell", NULL};

typedef struct Row {
        const char *key;
        size_t offset;
        uint64_t min, max, fallback;
} Row;

static const Row rows[] = {
        {"ExecutionsAtOnce", offsetof(Settings, executions_at_once), 1, 4096, 16},
        {"StartsInFlight", offsetof(Settings, starts_in_flight), 1, 256, 2},
        {"ResultsKept", offsetof(Settings, results_kept), 1, 100000, 64},
        {"ResultsKeptSec", offsetof(Settings, results_kept_sec), 1, 30 * 86400, 900},
};

typedef struct Place {
        const char *file;
        unsigned line;
        SettingsProblem problem;
} Place;

static void complain(const Place *place, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void complain(const Place *place, const char *format, ...) {
        char message[320];
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        if (place->problem)
                place->problem(place->file, place->line, message);
}

/* An empty value resets, as in unit files; a later line adds. */
static void read_allow_missing(Settings *settings, char *value, const Place *place) {
        char *word, *rest;

        if (!*value) {
                settings->allow_missing = 0;
                return;
        }
        for (word = strtok_r(value, " \t,", &rest); word; word = strtok_r(NULL, " \t,", &rest)) {
                bool known = false;

                for (size_t i = 0; i < CONTROLLER_N; i++)
                        if (streq(word, controller_names[i])) {
                                settings->allow_missing |= 1U << i;
                                known = true;
                        }
                if (!known)
                        complain(place, "AllowMissing=: \"%.64s\" is none of memory, pids, cpu; left out", word);
        }
}

static void read_key(Settings *settings, const char *key, char *value, const Place *place) {
        if (streq(key, "AllowMissing")) {
                read_allow_missing(settings, value, place);
                return;
        }
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                uint64_t number;

                if (!streq(key, rows[i].key))
                        continue;
                if (parse_u64(value, &number) < 0 || number < rows[i].min || number > rows[i].max)
                        complain(place,
                                "%s=: must be a whole number from %" PRIu64 " to %" PRIu64 ", not \"%.64s\"; left out",
                                key, rows[i].min, rows[i].max, value);
                else
                        memcpy((char *) settings + rows[i].offset, &number, sizeof number);
                return;
        }
        complain(place, "there is no setting \"%.64s\" (unitcell.conf(5) lists them); left out", key);
}

static char *trim(char *text) {
        char *end = text + strlen(text);

        while (end > text && isspace((unsigned char) end[-1]))
                *--end = '\0';
        while (isspace((unsigned char) *text))
                text++;
        return text;
}

static void read_text(Settings *settings, const char *file, char *text, SettingsProblem problem) {
        Place place = {.file = file, .problem = problem};
        bool in_section = false, in_any = false;
        char *line = text, *next;

        for (; line; line = next) {
                char *equals;

                place.line++;
                next = strchr(line, '\n');
                if (next)
                        *next++ = '\0';
                line = trim(line);
                if (!*line || *line == '#' || *line == ';')
                        continue;
                if (*line == '[') {
                        in_any = true;
                        in_section = streq(line, "[Daemon]");
                        if (!in_section)
                                complain(&place, "section %.64s is not known, only [Daemon] is; left out", line);
                        continue;
                }
                equals = strchr(line, '=');
                if (!equals)
                        complain(&place, "not \"Key=value\"; left out");
                else if (in_section) {
                        *equals = '\0';
                        read_key(settings, trim(line), trim(equals + 1), &place);
                } else if (!in_any)
                        complain(&place, "stands before [Daemon], the only section; left out");
        }
}

/* -ENOENT when it is not there. One that cannot be read is told, like a line. */
static int read_file(Settings *settings, const char *directory, const char *name, SettingsProblem problem) {
        own(freep) char *path = NULL;
        own(bytes_clear) Bytes text = {};
        int r;

        if (asprintf(&path, "%s/%s", directory, name) < 0)
                return -ENOMEM;
        r = file_read(path, SETTINGS_FILE_MAX, &text);
        if (r == -ENOENT || r == -ENOMEM)
                return r;
        if (r < 0) {
                complain(&(Place) {.file = path, .problem = problem}, "cannot be read: %s; left out", strerror(-r));
                return 0;
        }
        if (text.data)
                read_text(settings, path, text.data, problem);
        return 0;
}

/* ---- drop-ins ---- */

static int compare_names(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

static int collect_names(const char *directory, char ***names) {
        own(freep) char *path = NULL;
        struct dirent *entry;
        DIR *dir;
        int r = 0;

        if (asprintf(&path, "%s/unitcell.conf.d", directory) < 0)
                return -ENOMEM;
        dir = opendir(path);
        if (!dir)
                return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
        while (r >= 0 && (entry = readdir(dir)))
                if (ends_with(entry->d_name, ".conf") && entry->d_name[0] != '.' && !strv_contains(*names, entry->d_name))
                        r = strv_append(names, entry->d_name);
        (void) closedir(dir);
        return r;
}

static int read_drop_in(Settings *settings, const char *const *directories, const char *name, SettingsProblem problem) {
        own(freep) char *relative = NULL;
        int r = -ENOENT;

        if (asprintf(&relative, "unitcell.conf.d/%s", name) < 0)
                return -ENOMEM;
        for (size_t i = 0; directories[i] && r == -ENOENT; i++)
                r = read_file(settings, directories[i], relative, problem);
        if (r == -ENOENT) { /* a link that leads nowhere */
                complain(&(Place) {.file = relative, .problem = problem}, "is not there; left out");
                return 0;
        }
        return r;
}

int settings_load(const char *const *directories, SettingsProblem problem, Settings *ret) {
        own(strv_freep) char **names = NULL;
        Settings settings = {};
        int r;

        if (!directories)
                directories = built_in_directories;
        for (size_t i = 0; i < ELEMENTS(rows); i++)
                memcpy((char *) &settings + rows[i].offset, &rows[i].fallback, sizeof rows[i].fallback);

        r = -ENOENT;
        for (size_t i = 0; directories[i] && r == -ENOENT; i++)
                r = read_file(&settings, directories[i], "unitcell.conf", problem);
        if (r < 0 && r != -ENOENT)
                return r;

        for (size_t i = 0; directories[i]; i++) {
                r = collect_names(directories[i], &names);
                if (r < 0)
                        return r;
        }
        if (names)
                qsort(names, strv_length(names), sizeof *names, compare_names);
        for (size_t i = 0; names && names[i]; i++) {
                r = read_drop_in(&settings, directories, names[i], problem);
                if (r < 0)
                        return r;
        }

        *ret = settings;
        return 0;
}
