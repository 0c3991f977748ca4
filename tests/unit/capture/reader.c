/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One stream: all of it to every sink, a flood that delays only itself, and a drain that ends. */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "capture/reader.h"

typedef struct Tally {
        Sink sink;
        uint64_t bytes;
        uint64_t sum;
} Tally;

static void tally_take(Sink *sink, const char *data, size_t size) {
        Tally *tally = (Tally *) sink;

        tally->bytes += size;
        for (size_t i = 0; i < size; i++)
                tally->sum = tally->sum * 31 + (unsigned char) data[i];
}

static sd_event *event;
static int out, in; /* what is read, what is written to */

static void set_up(void) {
        int fds[2];

        (void) signal(SIGPIPE, SIG_IGN);
        cr_assert_geq(sd_event_new(&event), 0);
        cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
        out = fds[0];
        in = fds[1];
}

static void tear_down(void) {
        sd_event_unref(event);
        close(in);
}

TestSuite(reader, .init = set_up, .fini = tear_down, .timeout = 60);

static void turn(void) {
        while (sd_event_run(event, 0) > 0)
                ;
}

Test(reader, to_every_sink) {
        own(reader_freep) Reader *reader = NULL;
        Tally tallies[READER_SINKS_MAX] = {}, spare = {.sink.take = tally_take};

        cr_assert_eq(reader_new(event, out, /* ceiling= */ UINT64_MAX, NULL, NULL, &reader), 0);
        for (size_t i = 0; i < READER_SINKS_MAX; i++) {
                tallies[i].sink.take = tally_take;
                cr_assert_eq(reader_add_sink(reader, &tallies[i].sink), 0);
        }
        cr_expect_eq(reader_add_sink(reader, &spare.sink), -ENOSPC);

        for (unsigned round = 0; round < 3; round++) {
                cr_assert_eq(write(in, "a\0b\n", 4), 4);
                turn();
        }
        cr_expect_eq(reader_produced(reader), 12);
        for (size_t i = 0; i < READER_SINKS_MAX; i++) {
                cr_expect_eq(tallies[i].bytes, 12);
                cr_expect_eq(tallies[i].sum, tallies[0].sum);
        }
}

/* What is in the pipe when the last writer is gone, whether or not somebody still holds the other end. */
static void drain(bool closed) {
        own(reader_freep) Reader *reader = NULL;
        Tally tally = {.sink.take = tally_take};
        static char block[60000];

        cr_assert_eq(reader_new(event, out, UINT64_MAX, NULL, NULL, &reader), 0);
        cr_assert_eq(reader_add_sink(reader, &tally.sink), 0);
        cr_assert_eq(write(in, block, sizeof block), (ssize_t) sizeof block);
        if (closed) {
                close(in);
                in = -1;
        }
        reader_drain(reader);
        cr_expect_eq(tally.bytes, sizeof block);
        reader_drain(reader);
        cr_expect_eq(reader_produced(reader), sizeof block);
        turn();
}

Test(reader, drained_with_a_writer_left) {
        drain(/* closed= */ false);
}

Test(reader, drained_at_end_of_file) {
        drain(/* closed= */ true);
}

/* End of file before the drain: no busy loop. */
Test(reader, end_of_file) {
        own(reader_freep) Reader *reader = NULL;

        cr_assert_eq(reader_new(event, out, UINT64_MAX, NULL, NULL, &reader), 0);
        close(in);
        in = -1;
        turn();
        cr_expect_eq(sd_event_run(event, 0), 0);
}

static bool flooding;

static void *flood(void *unused) {
        static char block[65536];

        while (__atomic_load_n(&flooding, __ATOMIC_RELAXED))
                if (write(in, block, sizeof block) < 0)
                        break;
        return NULL;
}

/* For each byte that is taken another is written: nobody should be there any more, but a drain must end. */
static void take_and_write(Sink *sink, const char *data, size_t size) {
        cr_assert_eq(write(in, data, size), (ssize_t) size);
}

Test(reader, drained_while_it_is_filled) {
        own(reader_freep) Reader *reader = NULL;
        Sink sink = {.take = take_and_write};

        cr_assert_eq(reader_new(event, out, UINT64_MAX, NULL, NULL, &reader), 0);
        cr_assert_eq(reader_add_sink(reader, &sink), 0);
        cr_assert_eq(write(in, "0123456789", 10), 10);
        reader_drain(reader);
        cr_expect_geq(
                reader_produced(reader), (uint64_t) fcntl(out, F_GETPIPE_SZ)); /* all it can have held */
        cr_expect_leq(reader_produced(reader), (uint64_t) fcntl(out, F_GETPIPE_SZ) + 65536);
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        return sd_event_exit(event, 42);
}

/* A deadline strikes while output pours. */
Test(reader, a_flood_delays_only_itself) {
        Reader *reader;
        pthread_t thread;

        cr_assert_eq(reader_new(event, out, UINT64_MAX, NULL, NULL, &reader), 0);
        flooding = true;
        cr_assert_eq(pthread_create(&thread, NULL, flood, NULL), 0);
        cr_assert_geq(
                sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, 100000, 1000, on_time, NULL), 0);
        cr_expect_eq(sd_event_loop(event), 42);
        cr_expect_gt(reader_produced(reader), 0);
        __atomic_store_n(&flooding, false, __ATOMIC_RELAXED);
        reader_free(reader);
        cr_assert_eq(pthread_join(thread, NULL), 0);
}

typedef struct Ceiling {
        Reader *reader;
        unsigned struck;
        bool frees;
} Ceiling;

static void on_ceiling(void *userdata) {
        Ceiling *ceiling = userdata;

        ceiling->struck++;
        if (ceiling->frees)
                ceiling->reader = reader_free(ceiling->reader);
}

static void strike(bool frees) {
        Ceiling ceiling = {.frees = frees};

        cr_assert_eq(reader_new(event, out, /* ceiling= */ 5, on_ceiling, &ceiling, &ceiling.reader), 0);
        cr_assert_eq(write(in, "12345", 5), 5);
        turn();
        cr_expect_eq(ceiling.struck, 0); /* exactly the ceiling is not past it */
        cr_assert_eq(write(in, "6", 1), 1);
        turn();
        cr_expect_eq(ceiling.struck, 1);
        (void) !write(in, "7", 1);
        turn();
        cr_expect_eq(ceiling.struck, 1);
        reader_free(ceiling.reader);
}

Test(reader, ceiling_then_drain) {
        strike(/* frees= */ false);
}

/* The execution ends in there, and its readers with it. */
Test(reader, freed_by_its_own_ceiling) {
        strike(/* frees= */ true);
}

Test(reader, descriptor) {
        Reader *reader;
        int other;

        cr_assert_eq(reader_new(event, out, UINT64_MAX, NULL, NULL, &reader), 0);
        cr_expect(fcntl(out, F_GETFL) & O_NONBLOCK);
        reader_free(reader);
        cr_expect_eq(fcntl(out, F_GETFD), -1);
        cr_expect_null(reader_free(NULL));

        /* A descriptor that no loop can watch: refused, and closed. */
        other = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (reader_new(event, other, UINT64_MAX, NULL, NULL, &reader) >= 0)
                reader_free(reader);
        cr_expect_eq(fcntl(other, F_GETFD), -1);
        other = open("/proc/self/status", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cr_expect_eq(other, -1);
}

/* Recovery hands over whatever the store held; a socket is no pipe, and a drain of it ends too. */
Test(reader, drain_without_a_pipe) {
        own(reader_freep) Reader *reader = NULL;
        int sockets[2];

        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
        cr_assert_eq(write(sockets[1], "abc", 3), 3);
        cr_assert_eq(reader_new(event, sockets[0], UINT64_MAX, NULL, NULL, &reader), 0);
        reader_drain(reader);
        cr_expect_eq(reader_produced(reader), 3);
        close(sockets[1]);
        close(out);
}
