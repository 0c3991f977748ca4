/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A connection that goes nowhere: messages can be made on it, sealed and read back (STYLE E3). */

#include <criterion/criterion.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

typedef struct Nowhere {
        sd_bus *bus;
        int peer;
} Nowhere;

static inline void nowhere_clear(Nowhere *nowhere) {
        sd_bus_close_unref(nowhere->bus);
        close(nowhere->peer);
}

static inline Nowhere nowhere_new(void) {
        Nowhere nowhere = {};
        int fds[2];

        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        cr_assert_geq(sd_bus_new(&nowhere.bus), 0);
        cr_assert_geq(sd_bus_set_fd(nowhere.bus, fds[0], fds[0]), 0);
        cr_assert_geq(sd_bus_start(nowhere.bus), 0);
        nowhere.peer = fds[1];
        return nowhere;
}

static inline sd_bus_message *nowhere_message(Nowhere *nowhere) {
        sd_bus_message *message;

        cr_assert_geq(sd_bus_message_new_signal(nowhere->bus, &message, "/a", "a.b", "C"), 0);
        return message;
}

static inline void message_turn(sd_bus_message *message) {
        cr_assert_geq(sd_bus_message_seal(message, /* cookie= */ 1, /* timeout_usec= */ 0), 0);
        cr_assert_geq(sd_bus_message_rewind(message, /* complete= */ 1), 0);
}
