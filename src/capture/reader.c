/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One output stream, read as it comes. A busy stream gives way to others: a bounded amount a turn of the loop. */

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "base/file.h"
#include "capture/reader.h"

#define CHUNK 65536
#define CHUNKS_A_TURN 4
#define DRAIN_WITHOUT_PIPE (1024U * 1024)

struct Reader {
        int fd;
        sd_event_source *source;
        uint64_t produced;
        uint64_t ceiling;
        ReaderCeilingHandler on_ceiling;
        void *userdata;
        Sink *sinks[READER_SINKS_MAX];
        size_t n_sinks;
};

Reader *reader_free(Reader *reader) {
        if (!reader)
                return NULL;

        sd_event_source_disable_unref(reader->source);
        close_fd(reader->fd);
        free(reader);
        return NULL;
}

static void stop(Reader *reader) {
        reader->source = sd_event_source_disable_unref(reader->source);
}

/* 1: took something; 0: nothing there (now, or ever again). */
static int take_chunk(Reader *reader) {
        static char buffer[CHUNK]; /* one thread, one loop: nobody else is in here */
        ssize_t n = read(reader->fd, buffer, sizeof buffer);

        if (n < 0)
                return errno == EINTR ? 1 : 0;
        if (n == 0) {
                stop(reader);
                return 0;
        }

        reader->produced += (uint64_t) n;
        for (size_t i = 0; i < reader->n_sinks; i++)
                reader->sinks[i]->take(reader->sinks[i], buffer, (size_t) n);
        return 1;
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Reader *reader = userdata;

        for (unsigned i = 0; i < CHUNKS_A_TURN && take_chunk(reader) > 0; i++)
                ;

        if (reader->produced > reader->ceiling) {
                stop(reader);
                if (reader->on_ceiling)
                        reader->on_ceiling(reader->userdata);
        }
        return 0;
}

int reader_new(sd_event *event, int fd, uint64_t ceiling, ReaderCeilingHandler on_ceiling, void *userdata,
        Reader **ret) {
        own(reader_freep) Reader *reader = calloc(1, sizeof *reader);
        int r;

        if (!reader) {
                close_fd(fd);
                return -ENOMEM;
        }
        *reader = (Reader) {.fd = fd, .ceiling = ceiling, .on_ceiling = on_ceiling, .userdata = userdata};

        r = fd_set_nonblock(fd, true);
        if (r < 0)
                return r;
        r = sd_event_add_io(event, &reader->source, fd, EPOLLIN, on_readable, reader);
        if (r < 0)
                return r;
        /* Control messages, deadlines and the bus come first: a flood of output delays only itself. */
        r = sd_event_source_set_priority(reader->source, SD_EVENT_PRIORITY_IDLE);
        if (r < 0)
                return r;

        *ret = hand_over(reader);
        return 0;
}

int reader_add_sink(Reader *reader, Sink *sink) {
        if (reader->n_sinks == READER_SINKS_MAX)
                return -ENOSPC;

        reader->sinks[reader->n_sinks++] = sink;
        return 0;
}

void reader_turn(Reader *reader, Sink *from, Sink *to) {
        for (unsigned i = 0; i < CHUNKS_A_TURN && take_chunk(reader) > 0; i++)
                ;
        for (size_t i = 0; i < reader->n_sinks; i++)
                if (reader->sinks[i] == from)
                        reader->sinks[i] = to;
}

uint64_t reader_produced(const Reader *reader) {
        return reader->produced;
}

void reader_drain(Reader *reader) {
        int room = fcntl(reader->fd, F_GETPIPE_SZ);
        uint64_t end = reader->produced + (room > 0 ? (uint64_t) room : DRAIN_WITHOUT_PIPE);

        stop(reader);
        while (reader->produced < end && take_chunk(reader) > 0)
                ;
}
