/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/own.h"
#include "cli/doctor-host.h"

#define NONCE "0123456789abcdef0123456789abcdef"

static void say(int fd, const char *text) {
        cr_assert_geq(fd, 0);
        if (*text)
                cr_assert_eq(send(fd, text, strlen(text), 0), (ssize_t) strlen(text));
}

static void knock_tcp(const Listeners *listeners, const char *text) {
        struct sockaddr_in address = {.sin_family = AF_INET,
                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                .sin_port = htons((uint16_t) listeners->port)};
        own(close_fdp) int fd = socket(AF_INET, SOCK_STREAM, 0);

        cr_assert_eq(connect(fd, (struct sockaddr *) &address, sizeof address), 0);
        say(fd, text);
}

static void knock_abstract(const char *text) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        own(close_fdp) int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        static const char name[] = "unitcell-doctor-host-" NONCE;

        memcpy(address.sun_path + 1, name, strlen(name));
        cr_assert_eq(connect(fd, (struct sockaddr *) &address,
                             (socklen_t) (sizeof(sa_family_t) + 1 + strlen(name))),
                0);
        say(fd, text);
}

Test(doctor_host, only_the_nonce_is_a_visitor) {
        own(listeners_clear) Listeners listeners = {};

        cr_assert_eq(listeners_open(NONCE, &listeners), 0);
        cr_expect_neq(listeners.port, 0);
        cr_expect_null(listeners_look(&listeners));
        knock_tcp(&listeners, "");
        knock_tcp(&listeners, "GET / HTTP/1.0\r\n\r\n");
        knock_abstract("0123");
        cr_expect_null(listeners_look(&listeners));
        knock_tcp(&listeners, "something else");
        knock_tcp(&listeners, NONCE "\n");
        cr_expect_str_eq(listeners_look(&listeners), "somebody came to a port of the host's loopback");
        knock_abstract(NONCE);
        cr_expect_str_eq(listeners_look(&listeners), "somebody came to an abstract socket of the host");
}
