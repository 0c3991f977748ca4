/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Talking to unitcelld. What fails is told on stderr here, so callers only return the exit status. */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

/* polkit may ask a person for a password first. */
#define BUS_PATIENCE_USEC UINT64_C(150000000)

/* 0, or an exit status. */
int bus_open(sd_bus **ret);

/* A method of the Manager that takes texts and answers one; 0 with a new string, or an exit status. */
int bus_ask(sd_bus *bus, const char *member, const char *types, const char *argument, char **ret);

/* One without arguments, whose answer says nothing but that it is done; an exit status. */
int bus_tell(sd_bus *bus, const char *member);

/* "unitcell: NoSuchPolicy: There is no policy …"; returns EXIT_OURS. */
int bus_complain(const sd_bus_error *error);

/* The daemon, or the bus, is away and may come back. */
bool bus_error_is_temporary(const sd_bus_error *error);
