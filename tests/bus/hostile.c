/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Something else in the runner's place. Whatever it says, in whatever order, with whatever descriptors, or
 * does not say: its own execution ends with one result, in time; the common one beside it succeeds; no
 * descriptor stays.
 */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "handover/message.h"
#include "world.h"

#define SPEC "{\"argv\":[\"/bin/a\"],\"timeout_ms\":60000}"
#define QUICK "{\"argv\":[\"/bin/a\"],\"timeout_ms\":800}"

/* ---- packets ---- */

typedef struct Packet {
        uint32_t magic, version, type, body_size, text_size, n_fds; /* as handover/message.c has them */
        char rest[2048];
} Packet;

#define HEADER 24

static void send_packet(FakeUnit *unit, const void *data, size_t size, const int *fds, size_t n_fds) {
        static union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int) * 250)];
        } control;
        struct iovec part = {(void *) data, size};
        struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};

        if (n_fds > 0) {
                packet.msg_control = &control;
                packet.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
                control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int) * n_fds),
                        .cmsg_level = SOL_SOCKET,
                        .cmsg_type = SCM_RIGHTS};
                memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * n_fds);
        }
        (void) sendmsg(unit->control, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void send_header(FakeUnit *unit, Packet packet, size_t rest) {
        send_packet(unit, &packet, HEADER + rest, NULL, 0);
}

#define HEAD(packet_type) .magic = HANDOVER_MAGIC, .version = HANDOVER_VERSION, .type = (packet_type)

static void garbage(FakeUnit *unit) {
        static const char text[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

        send_packet(unit, text, sizeof text, NULL, 0);
}

static void empty_packet(FakeUnit *unit) {
        send_packet(unit, "", 0, NULL, 0);
}

static void one_byte(FakeUnit *unit) {
        send_packet(unit, "u", 1, NULL, 0);
}

static void huge_packet(FakeUnit *unit) {
        static char data[100000];

        send_packet(unit, data, sizeof data, NULL, 0);
}

static void wrong_magic(FakeUnit *unit) {
        send_header(
                unit, (Packet){.magic = 0x12345678, .version = HANDOVER_VERSION, .type = MESSAGE_HELLO}, 0);
}

static void wrong_version(FakeUnit *unit) {
        send_header(unit,
                (Packet){.magic = HANDOVER_MAGIC, .version = HANDOVER_VERSION + 1, .type = MESSAGE_HELLO},
                0);
}

static void unknown_type(FakeUnit *unit) {
        send_header(unit, (Packet){HEAD(4711)}, 0);
}

static void type_zero(FakeUnit *unit) {
        send_header(unit, (Packet){HEAD(0)}, 0);
}

static void body_too_short(FakeUnit *unit) {
        send_header(unit, (Packet){HEAD(MESSAGE_STARTED), .body_size = 16}, 15);
}

static void body_too_long(FakeUnit *unit) {
        send_header(unit, (Packet){HEAD(MESSAGE_STARTED), .body_size = 17}, 17);
}

static void trailing_bytes(FakeUnit *unit) {
        send_header(unit, (Packet){HEAD(MESSAGE_HELLO)}, 100);
}

static void huge_sizes(FakeUnit *unit) {
        send_header(
                unit, (Packet){HEAD(MESSAGE_FAILED), .body_size = UINT32_MAX, .text_size = UINT32_MAX}, 50);
}

static void text_not_utf8(FakeUnit *unit) {
        send_header(unit,
                (Packet){HEAD(MESSAGE_FAILED), .body_size = 8, .text_size = 4,
                        .rest = "\0\0\0\0\0\0\0\0\xff\xfe\0x"},
                12);
}

static void claims_descriptors(FakeUnit *unit) {
        send_header(unit, (Packet){HEAD(MESSAGE_PREPARED), .n_fds = 1}, 0);
}

/* ---- descriptors ---- */

static void prepared_with(FakeUnit *unit, const int *fds, size_t n) {
        Packet packet = {HEAD(MESSAGE_PREPARED), .n_fds = (uint32_t) n};

        send_packet(unit, &packet, HEADER, fds, n);
}

static void prepared_without(FakeUnit *unit) {
        prepared_with(unit, NULL, 0);
}

static void prepared_with_two(FakeUnit *unit) {
        prepared_with(unit, (int[]){unit->scratch, unit->scratch}, 2);
}

static void prepared_with_a_file(FakeUnit *unit) {
        int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        prepared_with(unit, &fd, 1);
        close(fd);
}

static void prepared_with_a_socket(FakeUnit *unit) {
        prepared_with(unit, &unit->control, 1); /* its own: a reference to itself in flight */
}

static void many_descriptors(FakeUnit *unit) {
        Packet packet = {HEAD(MESSAGE_PREPARED), .n_fds = 1};
        int fds[250];

        for (size_t i = 0; i < ELEMENTS(fds); i++)
                fds[i] = unit->scratch;
        send_packet(unit, &packet, HEADER, fds, ELEMENTS(fds));
}

static void descriptors_with_started(FakeUnit *unit) {
        Packet packet = {HEAD(MESSAGE_STARTED), .body_size = 16};

        send_packet(unit, &packet, HEADER + 16, (int[]){unit->scratch, unit->out}, 2);
}

static void descriptors_alone(FakeUnit *unit) {
        send_packet(unit, "", 0, &unit->scratch, 1);
}

/* ---- order ---- */

static void say(FakeUnit *unit, MessageType type) {
        const Started started = {.monotonic_usec = clock_monotonic_usec()};
        const Ended ended = {.monotonic_usec = clock_monotonic_usec()};
        const Failed failed = {.stage = FAILED_EXEC, .errno_number = ENOENT};
        const Prepare prepare = {};

        switch (type) {
        case MESSAGE_HELLO:
        case MESSAGE_DONE:
        case MESSAGE_DUMP:
                runner_send(unit, type, NULL, 0, NULL, 0);
                return;
        case MESSAGE_PREPARE:
                runner_send(unit, type, &prepare, sizeof prepare, NULL, 0);
                return;
        case MESSAGE_PREPARED:
        case MESSAGE_HAND_OVER:
                runner_send(unit, type, NULL, 0, &unit->scratch, 1);
                return;
        case MESSAGE_COMPILING:
        case MESSAGE_STARTED:
                runner_send(unit, type, &started, sizeof started, NULL, 0);
                return;
        case MESSAGE_COMPILED:
        case MESSAGE_ENDED:
                runner_send(unit, type, &ended, sizeof ended, NULL, 0);
                return;
        case MESSAGE_FAILED:
                runner_send(unit, type, &failed, sizeof failed, NULL, 0);
                return;
        }
}

#define SAYS(name, ...)                                                                                     \
        static void name(FakeUnit *unit) {                                                                  \
                static const MessageType all[] = {__VA_ARGS__};                                             \
                for (size_t i = 0; i < ELEMENTS(all); i++)                                                  \
                        say(unit, all[i]);                                                                  \
        }

SAYS(hello_twice, MESSAGE_HELLO, MESSAGE_HELLO)
SAYS(prepared_first, MESSAGE_PREPARED)
SAYS(started_first, MESSAGE_STARTED)
SAYS(ended_first, MESSAGE_ENDED)
SAYS(prepared_twice, MESSAGE_PREPARED, MESSAGE_PREPARED)
SAYS(started_twice, MESSAGE_STARTED, MESSAGE_STARTED)
SAYS(ended_twice, MESSAGE_ENDED, MESSAGE_ENDED, MESSAGE_ENDED)
SAYS(everything_at_once, MESSAGE_HELLO, MESSAGE_PREPARED, MESSAGE_STARTED, MESSAGE_ENDED)
SAYS(prepare, MESSAGE_PREPARE)
SAYS(hand_over_back, MESSAGE_HAND_OVER)
SAYS(done, MESSAGE_DONE)
SAYS(compiling_unasked, MESSAGE_COMPILING)
SAYS(ended_without_started, MESSAGE_ENDED)
SAYS(failed_after_started, MESSAGE_STARTED, MESSAGE_FAILED)
SAYS(failed_and_more, MESSAGE_FAILED, MESSAGE_STARTED, MESSAGE_ENDED, MESSAGE_FAILED)
SAYS(hello_again, MESSAGE_HELLO)
SAYS(failed, MESSAGE_FAILED)
SAYS(ended_then_failed, MESSAGE_ENDED, MESSAGE_FAILED)

static void unknown_stage(FakeUnit *unit) {
        Failed what = {.stage = 4711, .errno_number = INT32_MIN};

        runner_send(unit, MESSAGE_FAILED, &what, sizeof what, NULL, 0);
}

static void long_failure(FakeUnit *unit) {
        Failed what = {.stage = FAILED_EXEC, .errno_number = ENOENT};
        char text[HANDOVER_TEXT_MAX + 1] = "x";

        for (size_t i = 1; i + 1 < HANDOVER_TEXT_MAX; i += 2)
                memcpy(text + i, "ü", 2); /* a cut falls into the middle of one */
        (void) message_send(unit->control, MESSAGE_FAILED, &what, sizeof what, text, NULL, 0);
}

/* ---- lies ---- */

static void started_at(FakeUnit *unit, uint64_t usec) {
        Started started = {.monotonic_usec = usec};

        runner_send(unit, MESSAGE_STARTED, &started, sizeof started, NULL, 0);
}

static void started_in_the_future(FakeUnit *unit) {
        started_at(unit, UINT64_MAX);
}

static void started_long_ago(FakeUnit *unit) {
        started_at(unit, 0);
}

static void ended_with(FakeUnit *unit, int wait_status, uint64_t usec) {
        Ended ended = {.wait_status = wait_status,
                .deadline = 0,
                .monotonic_usec = usec,
                .oom_kills = UINT64_MAX - 1,
                .memory_peak = UINT64_MAX - 1,
                .pids_refused = UINT64_MAX - 1,
                .cpu_usec = UINT64_MAX - 1};

        runner_send(unit, MESSAGE_ENDED, &ended, sizeof ended, NULL, 0);
}

static void ended_in_the_future(FakeUnit *unit) {
        ended_with(unit, 0, UINT64_MAX);
}

static void ended_long_ago(FakeUnit *unit) {
        ended_with(unit, 0, 0);
}

static void odd_wait_status(FakeUnit *unit) {
        ended_with(unit, -1, clock_monotonic_usec());
}

static void stopped_wait_status(FakeUnit *unit) {
        ended_with(unit, 0x137f, clock_monotonic_usec());
}

static void claims_deadline(FakeUnit *unit) {
        Ended ended = {.deadline = 1, .wait_status = SIGKILL, .monotonic_usec = clock_monotonic_usec()};

        runner_send(unit, MESSAGE_ENDED, &ended, sizeof ended, NULL, 0);
}

/* ---- too much ---- */

/* Both go on in a thread of their own until the daemon closes its end. */
static pthread_t thread;
static bool has_thread;
static int thread_fd;

static void *chatter(void *unused) {
        struct pollfd ready = {.fd = thread_fd, .events = POLLOUT};
        const Ended ended = {};
        int r;

        do {
                (void) poll(&ready, 1, -1);
                r = message_send(thread_fd, MESSAGE_ENDED, &ended, sizeof ended, NULL, NULL, 0);
        } while (r >= 0 || r == -EAGAIN);
        close(thread_fd);
        return NULL;
}

static void *flood(void *unused) {
        static char block[65536];

        memset(block, 'x', sizeof block);
        while (write(thread_fd, block, sizeof block) > 0)
                ;
        close(thread_fd);
        return NULL;
}

static void begin_thread(void *(*function)(void *), int fd) {
        thread_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        has_thread = true;
        cr_assert_eq(pthread_create(&thread, NULL, function, NULL), 0);
}

static void endless_chatter(FakeUnit *unit) {
        begin_thread(chatter, unit->control);
}

static void ended_and_chatters_on(FakeUnit *unit) {
        runner_say(unit, STEP_ENDED);
        endless_chatter(unit);
}

static void flood_out(FakeUnit *unit) {
        begin_thread(flood, unit->out);
        runner_say(unit, STEP_STARTED);
}

static void flood_err(FakeUnit *unit) {
        begin_thread(flood, unit->err);
        runner_say(unit, STEP_STARTED);
}

/* Before anything has started. */
static void flood_before_hello(FakeUnit *unit) {
        begin_thread(flood, unit->out);
}

/* ---- gone ---- */

static void hang_up(FakeUnit *unit) {
        unit->control_source = sd_event_source_disable_unref(unit->control_source);
        unit->control = close_fd(unit->control);
}

static void leave_at_once(FakeUnit *unit) {
        hang_up(unit);
        unit_ends(unit, CLD_EXITED, 1, "exit-code");
}

static void killed(FakeUnit *unit) {
        hang_up(unit);
        unit_ends(unit, CLD_KILLED, SIGKILL, "signal");
}

static void started_and_killed(FakeUnit *unit) {
        runner_say(unit, STEP_STARTED);
        killed(unit);
}

static void say_all_and_die(FakeUnit *unit) {
        runner_say(unit, STEP_STARTED);
        runner_say(unit, STEP_ENDED);
        killed(unit);
}

/* Dead for the kernel before a word of it was read. */
static void dead_first(FakeUnit *unit) {
        runner_say(unit, STEP_HELLO);
        killed(unit);
}

static const struct {
        const char *what;
        Step step;
        RunnerHook hook;
        Status status;
        const char *says;
} rows[] = {
        {"garbage", STEP_HELLO, garbage, STATUS_INTERNAL_ERROR, "not a message"},
        {"garbage later", STEP_PREPARED, garbage, STATUS_INTERNAL_ERROR, "not a message"},
        {"garbage once the work is there", STEP_STARTED, garbage, STATUS_INTERNAL_ERROR, "not a message"},
        {"garbage of running code", STEP_ENDED, garbage, STATUS_INTERNAL_ERROR, "not a message"},
        {"garbage in the end", STEP_LEAVE, garbage, STATUS_SUCCESS, "Finished"},
        {"an empty packet", STEP_HELLO, empty_packet, STATUS_START_FAILED, "not ready in time"},
        {"an empty packet of running code", STEP_ENDED, empty_packet, STATUS_TIMEOUT, "800 ms"},
        {"one byte", STEP_HELLO, one_byte, STATUS_INTERNAL_ERROR, "not a message"},
        {"a huge packet", STEP_STARTED, huge_packet, STATUS_INTERNAL_ERROR, "not a message"},
        {"wrong magic", STEP_HELLO, wrong_magic, STATUS_INTERNAL_ERROR, "not a message"},
        {"wrong version", STEP_HELLO, wrong_version, STATUS_INTERNAL_ERROR, "not a message"},
        {"unknown type", STEP_HELLO, unknown_type, STATUS_INTERNAL_ERROR, "not a message"},
        {"type 0", STEP_STARTED, type_zero, STATUS_INTERNAL_ERROR, "not a message"},
        {"body too short", STEP_STARTED, body_too_short, STATUS_INTERNAL_ERROR, "not a message"},
        {"body too long", STEP_STARTED, body_too_long, STATUS_INTERNAL_ERROR, "not a message"},
        {"trailing bytes", STEP_HELLO, trailing_bytes, STATUS_INTERNAL_ERROR, "not a message"},
        {"huge sizes", STEP_STARTED, huge_sizes, STATUS_INTERNAL_ERROR, "not a message"},
        {"text that is not UTF-8", STEP_STARTED, text_not_utf8, STATUS_INTERNAL_ERROR, "not a message"},
        {"descriptors only claimed", STEP_PREPARED, claims_descriptors, STATUS_INTERNAL_ERROR,
                "not a message"},

        {"no directory", STEP_PREPARED, prepared_without, STATUS_INTERNAL_ERROR, "not a message"},
        {"two directories", STEP_PREPARED, prepared_with_two, STATUS_INTERNAL_ERROR, "not a message"},
        {"a file for a directory", STEP_PREPARED, prepared_with_a_file, STATUS_INTERNAL_ERROR,
                "wrong contents"},
        {"a socket for a directory", STEP_PREPARED, prepared_with_a_socket, STATUS_INTERNAL_ERROR,
                "wrong contents"},
        {"250 descriptors", STEP_PREPARED, many_descriptors, STATUS_INTERNAL_ERROR, "not a message"},
        {"descriptors where none belong", STEP_STARTED, descriptors_with_started, STATUS_INTERNAL_ERROR,
                "not a message"},
        {"descriptors and nothing else", STEP_ENDED, descriptors_alone, STATUS_INTERNAL_ERROR,
                "not a message"},

        {"HELLO twice", STEP_HELLO, hello_twice, STATUS_INTERNAL_ERROR, "out of order"},
        {"HELLO again", STEP_STARTED, hello_again, STATUS_INTERNAL_ERROR, "out of order"},
        {"PREPARED first", STEP_HELLO, prepared_first, STATUS_INTERNAL_ERROR, "out of order"},
        {"STARTED first", STEP_HELLO, started_first, STATUS_INTERNAL_ERROR, "out of order"},
        {"ENDED first", STEP_HELLO, ended_first, STATUS_INTERNAL_ERROR, "out of order"},
        {"PREPARED twice", STEP_PREPARED, prepared_twice, STATUS_INTERNAL_ERROR, "out of order"},
        {"STARTED twice", STEP_STARTED, started_twice, STATUS_INTERNAL_ERROR, "out of order"},
        {"ENDED thrice", STEP_ENDED, ended_twice, STATUS_SUCCESS, "Finished"},
        {"ENDED without STARTED", STEP_STARTED, ended_without_started, STATUS_INTERNAL_ERROR,
                "out of order"},
        {"COMPILING without a compile step", STEP_STARTED, compiling_unasked, STATUS_INTERNAL_ERROR,
                "out of order"},
        {"FAILED after STARTED", STEP_STARTED, failed_after_started, STATUS_INTERNAL_ERROR, "out of order"},
        {"ENDED, then FAILED", STEP_ENDED, ended_then_failed, STATUS_SUCCESS, "Finished"},
        {"PREPARE back", STEP_HELLO, prepare, STATUS_INTERNAL_ERROR, "out of order"},
        {"HAND_OVER back", STEP_STARTED, hand_over_back, STATUS_INTERNAL_ERROR, "out of order"},
        {"DONE back", STEP_STARTED, done, STATUS_INTERNAL_ERROR, "out of order"},
        /* In order, and before it could know anything: harm to itself, no more. */
        {"everything at once", STEP_HELLO, everything_at_once, STATUS_SUCCESS, "Finished"},
        {"FAILED at once", STEP_HELLO, failed, STATUS_START_FAILED, "could not be started"},
        {"FAILED, then more", STEP_STARTED, failed_and_more, STATUS_START_FAILED, "could not be started"},
        {"FAILED at an unknown stage", STEP_STARTED, unknown_stage, STATUS_START_FAILED, ""},
        {"FAILED with a long text", STEP_STARTED, long_failure, STATUS_START_FAILED, "üü"},

        {"nothing at all", STEP_HELLO, runner_silent, STATUS_START_FAILED, "not ready in time"},
        {"no PREPARED", STEP_PREPARED, runner_silent, STATUS_START_FAILED, "not ready in time"},
        {"no STARTED, but ENDED", STEP_STARTED, runner_silent, STATUS_INTERNAL_ERROR, "out of order"},
        {"no ENDED", STEP_ENDED, runner_silent, STATUS_TIMEOUT, "800 ms"},
        {"does not leave", STEP_LEAVE, runner_silent, STATUS_SUCCESS, "Finished"},

        {"started in the future", STEP_STARTED, started_in_the_future, STATUS_SUCCESS, "Finished"},
        {"started long ago", STEP_STARTED, started_long_ago, STATUS_SUCCESS, "Finished"},
        {"ended in the future", STEP_ENDED, ended_in_the_future, STATUS_SUCCESS, "Finished"},
        {"ended long ago", STEP_ENDED, ended_long_ago, STATUS_SUCCESS, "Finished"},
        {"wait status -1", STEP_ENDED, odd_wait_status, STATUS_SIGNALED, "ended by"},
        {"a wait status of one that stopped", STEP_ENDED, stopped_wait_status, STATUS_SIGNALED, "ended by"},
        {"claims its deadline", STEP_ENDED, claims_deadline, STATUS_TIMEOUT, "by its runner"},

        {"endless chatter", STEP_HELLO, endless_chatter, STATUS_INTERNAL_ERROR, "out of order"},
        {"endless chatter of running code", STEP_STARTED, endless_chatter, STATUS_INTERNAL_ERROR,
                "out of order"},
        {"endless chatter after the end", STEP_ENDED, ended_and_chatters_on, STATUS_SUCCESS, "Finished"},
        {"endless chatter instead of leaving", STEP_LEAVE, endless_chatter, STATUS_SUCCESS, "Finished"},
        {"floods stdout", STEP_STARTED, flood_out, STATUS_OUTPUT_LIMIT, "256 MiB"},
        {"floods stderr", STEP_STARTED, flood_err, STATUS_OUTPUT_LIMIT, "256 MiB"},
        {"floods stdout and is silent", STEP_HELLO, flood_before_hello, STATUS_OUTPUT_LIMIT, "256 MiB"},

        {"hangs up", STEP_HELLO, hang_up, STATUS_START_FAILED, "not ready in time"},
        {"hangs up when the work comes", STEP_PREPARED, hang_up, STATUS_START_FAILED, "not ready in time"},
        {"hangs up while it runs", STEP_ENDED, hang_up, STATUS_TIMEOUT, "800 ms"},
        {"hangs up in the end", STEP_LEAVE, hang_up, STATUS_SUCCESS, "Finished"},
        {"leaves before a word", STEP_HELLO, leave_at_once, STATUS_START_FAILED, "did not start"},
        {"leaves with the work", STEP_STARTED, leave_at_once, STATUS_START_FAILED, "did not start"},
        {"is killed before a word", STEP_HELLO, dead_first, STATUS_START_FAILED, "signal"},
        {"is killed before it says STARTED", STEP_STARTED, killed, STATUS_SIGNALED, "from inside"},
        {"is killed while it runs", STEP_STARTED, started_and_killed, STATUS_SIGNALED, "from inside"},
        {"is killed with its report said", STEP_STARTED, say_all_and_die, STATUS_SUCCESS, "Finished"},
};

static World world;

static bool is_gone(const Execution *execution) {
        return execution_state(execution) == EXECUTION_FINISHED && !execution->unit;
}

static void expect_sane_numbers(Execution *execution, const char *what) {
        own(json_freep) json_object *result = NULL;
        own(freep) char *text = NULL;
        json_object *value;
        JsonError error;

        cr_assert_eq(execution_get_result(execution, &text), 0);
        cr_assert_eq(json_parse(text, strlen(text), &result, &error), 0);
        cr_assert(json_object_object_get_ex(result, "duration_ms", &value));
        cr_expect(!value || json_object_get_int64(value) < 20000, "%s: %s", what, text);
        cr_assert(json_object_object_get_ex(result, "cpu_ms", &value));
        cr_expect(!value || json_object_get_int64(value) == 31 || json_object_get_int64(value) == 5,
                "%s: %s", what, text);
}

static void run(size_t i) {
        Execution *hostile, *beside;
        unsigned descriptors;

        world_begin(&world);
        world_settle(&world);
        descriptors = world_count_descriptors();
        world_shorten_deadlines(&world);
        world.scripts[0].in_place_of[rows[i].step] = rows[i].hook;
        if (rows[i].step == STEP_STARTED && rows[i].hook != runner_silent &&
                rows[i].status != STATUS_SUCCESS)
                world.scripts[0].in_place_of[STEP_ENDED] = runner_silent;

        if (streq(rows[i].says, "not ready in time"))
                hostile = world_submit_to_miss(&world, SPEC);
        else
                hostile = world_submit(&world, 1000, streq(rows[i].says, "800 ms") ? QUICK : SPEC);
        beside = world_submit(&world, 1000, SPEC);
        expect_result(&world, beside, STATUS_SUCCESS, "Finished");
        expect_result(&world, hostile, rows[i].status, rows[i].says);
        if (rows[i].status != STATUS_START_FAILED)
                expect_sane_numbers(hostile, rows[i].what);
        UNTIL(&world, is_gone(hostile) && is_gone(beside));
        cr_expect_eq(world.finished, 2);
        cr_expect_eq(world_count_records(&world, "finished", NULL), 2);
        /* Nothing of the hostile one's is answered with the work of another. */
        cr_expect_leq(world.units[0]->n_hand_over, 1);
        cr_expect_leq(world.units[0]->n_prepare, 1);

        pid1_forget(&world);
        world_settle(&world);
        if (has_thread)
                cr_assert_eq(pthread_join(thread, NULL), 0);
        cr_expect_eq(world_count_descriptors(), descriptors, "%s: %u, %u before", rows[i].what,
                world_count_descriptors(), descriptors);
        world_close(&world);
}

ParameterizedTestParameters(hostile, row) {
        static size_t numbers[ELEMENTS(rows)];

        for (size_t i = 0; i < ELEMENTS(rows); i++)
                numbers[i] = i;
        return cr_make_param_array(size_t, numbers, ELEMENTS(numbers));
}

ParameterizedTest(size_t *i, hostile, row, .timeout = 120) {
        run(*i);
}
