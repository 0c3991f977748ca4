/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Descriptors into the service manager's keeping and back. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "base/own.h"
#include "base/text.h"
#include "execution/fd-store.h"
#include "unit/name.h"

#define NAME_PREFIX "x-"

int fd_store_put(const char *id, const int *fds, size_t n_fds) {
        char state[96];
        int r;

        (void) snprintf(state, sizeof state, "FDSTORE=1\nFDPOLL=0\nFDNAME=" NAME_PREFIX "%s", id);
        r = sd_pid_notify_with_fds(0, /* unset_environment= */ 0, state, fds, (unsigned) n_fds);
        return r < 0 ? r : 0; /* 0: nobody there to keep them (started by hand) */
}

void fd_store_drop(const char *id) {
        (void) sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=" NAME_PREFIX "%s", id);
}

int fd_store_take(StoredFds *ret) {
        own(strv_freep) char **names = NULL;
        StoredFds fds = {};
        int n;

        n = sd_listen_fds_with_names(/* unset_environment= */ 1, &names);
        if (n < 0)
                return n;
        fds.items = calloc((size_t) n + 1, sizeof *fds.items);
        if (!fds.items)
                return -ENOMEM;

        for (int i = 0; i < n; i++) {
                int fd = SD_LISTEN_FDS_START + i;

                (void) fcntl(fd, F_SETFD, FD_CLOEXEC);
                if (!names[i] || !starts_with(names[i], NAME_PREFIX) ||
                        !unit_id_is_valid(names[i] + strlen(NAME_PREFIX))) {
                        close_fd(fd);
                        continue;
                }
                (void) snprintf(fds.items[fds.n].id, sizeof fds.items[fds.n].id, "%s",
                        names[i] + strlen(NAME_PREFIX));
                fds.items[fds.n++].fd = fd;
        }

        *ret = fds;
        return 0;
}

void stored_fds_clear(StoredFds *fds) {
        for (size_t i = 0; i < fds->n; i++)
                close_fd(fds->items[i].fd);
        free(fds->items);
        *fds = (StoredFds) {};
}
