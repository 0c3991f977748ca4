/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One reader for one output stream, with sinks: it takes bytes from the pipe as they come and gives them to each
 * sink. End of file means nothing here (PID 1 keeps copies of the pipes), so the reader goes on until it is told to
 * drain: then everything that is in the pipe is read and the reading ends.
 */

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "base/own.h"

typedef struct Sink Sink;
struct Sink {
        /* Takes all of it; a sink that cannot any more drops and remembers that itself. */
        void (*take)(Sink *sink, const char *data, size_t size);
};

typedef struct Reader Reader;

/* More was produced than anybody should produce. The reader has stopped and can only be drained or freed. */
typedef void (*ReaderCeilingHandler)(void *userdata);

#define READER_SINKS_MAX 4

/* Takes over fd (non-blocking from then on). ceiling: bytes that may come; UINT64_MAX: any number. */
int reader_new(sd_event *event, int fd, uint64_t ceiling, ReaderCeilingHandler on_ceiling, void *userdata,
        Reader **ret);
Reader *reader_free(Reader *reader);
DEFINE_OWN(Reader, reader_free);

int reader_add_sink(Reader *reader, Sink *sink); /* borrowed; -ENOSPC */
/* From now on the bytes go to this sink instead of that one; what is in the pipe by now still goes to that one. */
void reader_turn(Reader *reader, Sink *from, Sink *to);
uint64_t reader_produced(const Reader *reader);
/* Reads what is left, when nobody can write any more, and stops. Bounded by what a pipe holds. */
void reader_drain(Reader *reader);
