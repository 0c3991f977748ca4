/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The host, as far as an ordinary user can look at it, and sockets on it that nobody inside may reach. */

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "cli/doctor-report.h"

/* languages: what ListLanguages answered. */
int host_examine(sd_bus *bus, const char *languages, Report *report, bool *ret_has_python);

/* A listening TCP socket on 127.0.0.1 and an abstract one, "unitcell-doctor-host-<nonce>". */
typedef struct Listeners {
        int tcp, abstract;
        char nonce[33]; /* what our own probe sends there */
        unsigned port;  /* 0: not open */
} Listeners;

int listeners_open(const char *nonce, Listeners *ret);
void listeners_clear(Listeners *listeners);
/* Who came, in words, or NULL. */
const char *listeners_look(const Listeners *listeners);
