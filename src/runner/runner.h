/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The supervising runner as a value, so that tests give it other surroundings: a directory in the place of
 * "/", shorter waits, and a kill_everything that cannot reach past the test's own processes.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "handover/message.h"
#include "handover/order.h"

typedef struct Runner {
        /* the surroundings */
        int root; /* directory descriptor of "/" as the code sees it; scratch/ lies in it */
        int (*kill_everything)(void);
        int (*narrow)(void); /* gives up what is not needed any more, once the code runs */
        uint64_t done_wait_usec;  /* how long a finished runner waits for DONE */
        uint64_t clear_wait_usec; /* how long killed processes may take to go */

        /* what is held; -1: not yet */
        int socket;  /* the control socket, close on exec */
        int null;    /* /dev/null */
        int signals; /* a signalfd for SIGCHLD */
        int oom_score;
        int scratch;
        int cgroup[CGROUP_FILE_N];
        int stdin_fd; /* the code's, read-only */
        Order order;

        /* the process that is waited for: the code's first, or the compile step */
        pid_t main_pid; /* 0: none is running */
        int main_status;
        uint64_t main_ended_usec;
        bool peer_gone;
} Runner;

/* The real surroundings. */
int runner_init(Runner *ret);
void runner_clear(Runner *runner);

/*
 * The whole way from HELLO to DONE. The result is the exit status: 0 after DONE, 1 when the runner gave up,
 * else what the code left with, for nobody was there to take the report.
 */
int runner_supervise(Runner *runner);

/* Only of a dynamic user (-EPERM otherwise), since for root this would be the end of the machine. */
int kill_everything_of_this_user(void);
