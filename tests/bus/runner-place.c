/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What sits on the control socket of a unit, where the runner should. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "handover/order.h"
#include "world.h"

void runner_silent(FakeUnit *unit) {
}

void runner_send(
        FakeUnit *unit, MessageType type, const void *body, size_t size, const int *fds, size_t n_fds) {
        /* The other end may be closed by now: then nobody hears it. */
        (void) message_send(unit->control, type, body, size, /* text= */ NULL, fds, n_fds);
}

static void write_output(int fd, const char *text) {
        if (text)
                cr_assert_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static void say_started(FakeUnit *unit) {
        Started started = {.monotonic_usec = clock_monotonic_usec()};

        write_output(unit->out, unit->script.out);
        write_output(unit->err, unit->script.err);
        runner_send(unit, MESSAGE_STARTED, &started, sizeof started, NULL, 0);
}

static void say_ended(FakeUnit *unit) {
        Ended ended = {
                .wait_status = unit->script.wait_status,
                .monotonic_usec = clock_monotonic_usec(),
                .oom_kills = 77,
                .memory_peak = 77,
                .pids_refused = 77,
                .cpu_usec = 77, /* the cgroup's own word counts */
        };

        runner_send(unit, MESSAGE_ENDED, &ended, sizeof ended, NULL, 0);
}

void runner_say(FakeUnit *unit, Step step) {
        switch (step) {
        case STEP_HELLO:
                runner_send(unit, MESSAGE_HELLO, NULL, 0, NULL, 0);
                return;
        case STEP_PREPARED:
                runner_send(unit, MESSAGE_PREPARED, NULL, 0, &unit->scratch, 1);
                return;
        case STEP_STARTED:
                say_started(unit);
                return;
        case STEP_ENDED:
                if (!unit->script.stays)
                        say_ended(unit);
                return;
        case STEP_LEAVE:
                unit_ends(unit, CLD_EXITED, 0, "success");
                return;
        case STEP_N:
                break;
        }
        cr_assert_fail("no such step");
}

static void come_to(FakeUnit *unit, Step step) {
        if (unit->script.in_place_of[step])
                unit->script.in_place_of[step](unit);
        else
                runner_say(unit, step);
}

static void take_order(const Message *message) {
        Order order = {};

        cr_assert_eq(message->n_fds, 1);
        cr_assert_eq(order_read(message->fds[0], &order), 0);
        cr_expect_not_null(order.argv);
        order_clear(&order);
}

static int on_control(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        FakeUnit *unit = userdata;
        Message message;
        int r = message_receive(unit->control, &message);

        if (r < 0) {
                unit->control_source = sd_event_source_disable_unref(unit->control_source);
                return 0;
        }
        if (r == 0)
                return 0;
        if (message.type == MESSAGE_PREPARE) {
                unit->n_prepare++;
                come_to(unit, STEP_PREPARED);
        } else if (message.type == MESSAGE_HAND_OVER) {
                unit->n_hand_over++;
                take_order(&message);
                come_to(unit, STEP_STARTED);
                come_to(unit, STEP_ENDED);
        } else if (message.type == MESSAGE_DONE) {
                unit->n_done++;
                come_to(unit, STEP_LEAVE);
        } else
                cr_assert_fail("the daemon sent %d", message.type);
        message_clear(&message);
        return 0;
}

void runner_begin(FakeUnit *unit) {
        cr_assert_eq(fd_set_nonblock(unit->control, true), 0);
        cr_assert_geq(sd_event_add_io(unit->world->event, &unit->control_source, unit->control, EPOLLIN,
                              on_control, unit),
                0);
        come_to(unit, STEP_HELLO);
}

void runner_close(FakeUnit *unit) {
        unit->control_source = sd_event_source_disable_unref(unit->control_source);
        unit->control = close_fd(unit->control);
        unit->out = close_fd(unit->out);
        unit->err = close_fd(unit->err);
        unit->scratch = close_fd(unit->scratch);
}
