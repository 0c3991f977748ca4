/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * unitcell-runner: main process of every execution's unit. It is static because it runs in a root directory
 * where no library need exist, and small because it is charged to the execution.
 */

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "handover/inspect.h"
#include "runner/inspect.h"
#include "runner/namespaces.h"
#include "runner/runner.h"

static int supervise(void) {
        Runner runner;
        int r;

        r = runner_init(&runner);
        if (r < 0) {
                fprintf(stderr, "unitcell-runner: cannot open /: %s\n", strerror(-r));
                return 1;
        }

        r = runner_supervise(&runner);
        runner_clear(&runner);
        return r;
}

static int record_namespaces(const char *path) {
        int r;

        r = namespaces_record("1", path);
        if (r < 0) {
                fprintf(stderr, "unitcell-runner: cannot record the host's namespaces in %s: %s\n", path,
                        strerror(-r));
                return 1;
        }

        return 0;
}

static int usage(void) {
        fputs("usage: unitcell-runner\n"
              "       unitcell-runner " INSPECT_COMMAND "\n"
              "       unitcell-runner record-namespaces FILE\n"
              "Started by unitcelld; without an argument, standard input is its control socket.\n",
                stderr);
        return 2;
}

int main(int argc, char *argv[]) {
        if (argc == 1)
                return supervise();
        if (argc == 2 && streq(argv[1], INSPECT_COMMAND))
                return inspect();
        if (argc == 3 && streq(argv[1], "record-namespaces"))
                return record_namespaces(argv[2]);

        return usage();
}
