/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Settings: each key and its range, where files lie and which wins, and that a mistake never makes anything
 * weaker. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "daemon/settings.h"
#include "execution/executions.h"

#define MEMORY (1U << CONTROLLER_MEMORY)
#define PIDS (1U << CONTROLLER_PIDS)
#define CPU (1U << CONTROLLER_CPU)

static char root[] = "/tmp/unitcell-test-XXXXXX";
static char directory[3][64];
static const char *directories[4];
static unsigned problems, last_line;
static char last_message[320], last_file[256];

static void on_problem(const char *file, unsigned line, const char *message) {
        problems++;
        last_line = line;
        (void) snprintf(last_message, sizeof last_message, "%s", message);
        (void) snprintf(last_file, sizeof last_file, "%s", file);
}

static void set_up(void) {
        cr_assert_not_null(mkdtemp(root));
        for (size_t i = 0; i < 3; i++) {
                (void) snprintf(directory[i], sizeof directory[i], "%s/%zu", root, i);
                directories[i] = directory[i];
                cr_assert_eq(mkdir(directory[i], 0700), 0);
        }
}

static void tear_down(void) {
        char command[64];

        (void) snprintf(command, sizeof command, "rm -rf %s", root);
        cr_assert_eq(system(command), 0);
}

TestSuite(settings, .init = set_up, .fini = tear_down);

static void put(size_t where, const char *name, const char *text) {
        char path[256];
        FILE *file;

        (void) snprintf(path, sizeof path, "%s/unitcell.conf.d", directory[where]);
        (void) mkdir(path, 0700);
        (void) snprintf(path, sizeof path, "%s/%s", directory[where], name);
        file = fopen(path, "we");
        cr_assert_not_null(file);
        (void) fputs(text, file);
        (void) fclose(file);
}

static Settings load(void) {
        Settings settings;

        problems = last_line = 0;
        last_message[0] = last_file[0] = '\0';
        cr_assert_eq(settings_load(directories, on_problem, &settings), 0);
        return settings;
}

Test(settings, defaults) {
        Settings settings = load();

        cr_expect_eq(settings.allow_missing, 0);
        cr_expect_eq(settings.executions_at_once, 16);
        cr_expect_eq(settings.starts_in_flight, 2);
        cr_expect_eq(settings.results_kept, 64);
        cr_expect_eq(settings.results_kept_sec, 900);
        cr_expect_eq(problems, 0);
}

Test(settings, rows) {
        static const struct {
                const char *text;
                Settings settings;
                unsigned problems, line;
                const char *says;
        } rows[] = {
                {"", {0, 16, 2, 64, 900}, 0, 0, ""},
                {"[Daemon]\nExecutionsAtOnce=1\nStartsInFlight=256\nResultsKept=100000\nResultsKeptSec=1\n",
                        {0, 1, 256, 100000, 1}, 0, 0, ""},
                {"# c\n; c\n\n [Daemon] \r\n\t ExecutionsAtOnce \t=  7  \r\n", {0, 7, 2, 64, 900}, 0, 0, ""},
                {"[Daemon]\nExecutionsAtOnce=3\nExecutionsAtOnce=4", {0, 4, 2, 64, 900}, 0, 0, ""},
                {"[Daemon]\nAllowMissing=memory pids,cpu\n", {MEMORY | PIDS | CPU, 16, 2, 64, 900}, 0, 0,
                        ""},
                {"[Daemon]\nAllowMissing=memory\nAllowMissing=cpu\n", {MEMORY | CPU, 16, 2, 64, 900}, 0, 0,
                        ""},
                {"[Daemon]\nAllowMissing=memory\nAllowMissing=\n", {0, 16, 2, 64, 900}, 0, 0, ""},

                /* mistakes: told with their line, and left out */
                {"[Daemon]\nAllowMissing=all\n", {0, 16, 2, 64, 900}, 1, 2, "memory, pids, cpu"},
                {"[Daemon]\nAllowMissing=Memory\n", {0, 16, 2, 64, 900}, 1, 2, "Memory"},
                {"[Daemon]\n\nExecutionsAtOnce=0\n", {0, 16, 2, 64, 900}, 1, 3, "from 1 to 4096"},
                {"[Daemon]\nExecutionsAtOnce=4097\n", {0, 16, 2, 64, 900}, 1, 2, "4097"},
                {"[Daemon]\nExecutionsAtOnce=-1\n", {0, 16, 2, 64, 900}, 1, 2, "-1"},
                {"[Daemon]\nExecutionsAtOnce=99999999999999999999\n", {0, 16, 2, 64, 900}, 1, 2,
                        "whole number"},
                {"[Daemon]\nExecutionsAtOnce=\n", {0, 16, 2, 64, 900}, 1, 2, "whole number"},
                {"[Daemon]\nResultsKeptSec=15min\n", {0, 16, 2, 64, 900}, 1, 2, "15min"},
                {"[Daemon]\nexecutionsAtOnce=5\n", {0, 16, 2, 64, 900}, 1, 2, "no setting"},
                {"[Daemon]\nExecutionsAtOnce 5\n", {0, 16, 2, 64, 900}, 1, 2, "Key=value"},
                {"[Other]\nExecutionsAtOnce=5\n", {0, 16, 2, 64, 900}, 1, 1, "[Other]"},
                {"[Other]\nx=1\n[Daemon]\nExecutionsAtOnce=5\n", {0, 5, 2, 64, 900}, 1, 1, "[Other]"},
                {"ExecutionsAtOnce=5\n", {0, 16, 2, 64, 900}, 1, 1, "section"},
                {"[Daemon\nExecutionsAtOnce=5\n", {0, 16, 2, 64, 900}, 1, 1, "[Daemon"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                Settings settings;

                put(0, "unitcell.conf", rows[i].text);
                settings = load();
                cr_expect_eq(settings.allow_missing, rows[i].settings.allow_missing, "%s", rows[i].text);
                cr_expect_eq(settings.executions_at_once, rows[i].settings.executions_at_once, "%s",
                        rows[i].text);
                cr_expect_eq(
                        settings.starts_in_flight, rows[i].settings.starts_in_flight, "%s", rows[i].text);
                cr_expect_eq(settings.results_kept, rows[i].settings.results_kept, "%s", rows[i].text);
                cr_expect_eq(
                        settings.results_kept_sec, rows[i].settings.results_kept_sec, "%s", rows[i].text);
                cr_expect_eq(problems, rows[i].problems, "%s: %s", rows[i].text, last_message);
                cr_expect_eq(last_line, rows[i].line, "%s", rows[i].text);
                cr_expect(strstr(last_message, rows[i].says), "%s: %s", rows[i].text, last_message);
        }
}

Test(settings, which_file_wins) {
        put(2, "unitcell.conf", "[Daemon]\nExecutionsAtOnce=2\nResultsKept=2\n");
        cr_expect_eq(load().executions_at_once, 2);
        put(1, "unitcell.conf", "[Daemon]\nExecutionsAtOnce=1\n");
        cr_expect_eq(load().executions_at_once, 1);
        cr_expect_eq(load().results_kept, 64, "the first main file stands alone");
        put(0, "unitcell.conf", "");
        cr_expect_eq(load().executions_at_once, 16, "an empty file masks");

        /* drop-ins come after it, by name, whatever their directory */
        put(2, "unitcell.conf.d/10-a.conf", "[Daemon]\nExecutionsAtOnce=10\nStartsInFlight=10\n");
        cr_expect_eq(load().executions_at_once, 10);
        put(0, "unitcell.conf.d/05-b.conf", "[Daemon]\nExecutionsAtOnce=5\nResultsKept=5\n");
        cr_expect_eq(load().executions_at_once, 10);
        cr_expect_eq(load().results_kept, 5);
        /* the same name in an earlier directory replaces the later one */
        put(1, "unitcell.conf.d/10-a.conf", "[Daemon]\nResultsKept=11\n");
        cr_expect_eq(load().executions_at_once, 5);
        cr_expect_eq(load().starts_in_flight, 2);
        cr_expect_eq(load().results_kept, 11);
        /* and these are none */
        put(0, "unitcell.conf.d/.20-hidden.conf", "[Daemon]\nResultsKept=20\n");
        put(0, "unitcell.conf.d/20-a.conf.bak", "[Daemon]\nResultsKept=20\n");
        cr_expect_eq(load().results_kept, 11);
        cr_expect_eq(problems, 0);
}

/* Files that cannot be read are told, and keep the service from nothing. */
Test(settings, unreadable_files) {
        char path[256];

        put(0, "unitcell.conf.d/30-good.conf", "[Daemon]\nExecutionsAtOnce=3\n");
        (void) snprintf(path, sizeof path, "%s/unitcell.conf.d/20-directory.conf", directory[0]);
        cr_assert_eq(mkdir(path, 0700), 0);
        cr_expect_eq(load().executions_at_once, 3);
        cr_expect_eq(problems, 1);
        cr_expect(strstr(last_file, "20-directory.conf"), "%s", last_file);

        (void) snprintf(path, sizeof path, "%s/unitcell.conf.d/10-dangling.conf", directory[0]);
        cr_assert_eq(symlink("/nonexistent/x", path), 0);
        cr_expect_eq(load().executions_at_once, 3);
        cr_expect_eq(problems, 2);

        (void) snprintf(path, sizeof path, "%s/unitcell.conf.d/40-masked.conf", directory[0]);
        cr_assert_eq(symlink("/dev/null", path), 0);
        put(1, "unitcell.conf.d/40-masked.conf", "[Daemon]\nExecutionsAtOnce=4\n");
        cr_expect_eq(load().executions_at_once, 3);
        cr_expect_eq(problems, 2);

        (void) snprintf(path, sizeof path, "%s/unitcell.conf", directory[0]);
        cr_assert_eq(mkdir(path, 0700), 0);
        cr_expect_eq(load().executions_at_once, 3);
        cr_expect_eq(problems, 3);
}

Test(settings, nobody_listens) {
        Settings settings;

        put(0, "unitcell.conf", "[Daemon]\nNothing=1\n");
        cr_expect_eq(settings_load(directories, /* problem= */ NULL, &settings), 0);
}
