/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The way of one execution, seen from inside the unit: say hello, prepare, wait (a slot stays here), take
 * the work order, start the code, reap, report how it ended, and leave last. The daemon may be dead at any
 * point after the hand-over: reports then wait in the socket, which PID 1 holds, and the waits here have an
 * end of their own.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/own.h"
#include "runner/child.h"
#include "runner/defence.h"
#include "runner/namespaces.h"
#include "runner/runner.h"
#include "runner/usage.h"
#include "runner/workspace.h"

#define DONE_WAIT_USEC (5U * 1000 * 1000)
#define CLEAR_WAIT_USEC (5U * 1000 * 1000)

/* Between two kills of what is left: a process that was being made during the first is caught by the second.
 */
#define CLEAR_STEP_USEC (100U * 1000)

/* systemd's own range for DynamicUser=; nobody else has these. */
#define DYNAMIC_UID_MIN 61184U
#define DYNAMIC_UID_MAX 65519U

#define EXIT_GAVE_UP 1

/* What a wait came back with. */
typedef enum Event {
        EVENT_MESSAGE = 1, /* the message that was waited for */
        EVENT_DONE,        /* the daemon wants us to leave */
        EVENT_ENDED,       /* the main process ended */
        EVENT_TIMEOUT,
        EVENT_PEER_GONE,
} Event;

int kill_everything_of_this_user(void) {
        uid_t real, effective, saved;

        if (getresuid(&real, &effective, &saved) < 0)
                return -errno;
        if (real < DYNAMIC_UID_MIN || real > DYNAMIC_UID_MAX || effective != real || saved != real)
                return -EPERM;

        return kill(-1, SIGKILL) < 0 && errno != ESRCH ? -errno : 0;
}

int runner_init(Runner *ret) {
        Runner runner = {
                .kill_everything = kill_everything_of_this_user,
                .narrow = defence_narrow,
                .done_wait_usec = DONE_WAIT_USEC,
                .clear_wait_usec = CLEAR_WAIT_USEC,
                .socket = -1,
                .null = -1,
                .signals = -1,
                .oom_score = -1,
                .scratch = -1,
                .stdin_fd = -1,
        };

        for (size_t i = 0; i < CGROUP_FILE_N; i++)
                runner.cgroup[i] = -1;
        runner.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (runner.root < 0)
                return -errno;

        *ret = runner;
        return 0;
}

void runner_clear(Runner *runner) {
        order_clear(&runner->order);
        for (size_t i = 0; i < CGROUP_FILE_N; i++)
                runner->cgroup[i] = close_fd(runner->cgroup[i]);
        runner->stdin_fd = close_fd(runner->stdin_fd);
        runner->scratch = close_fd(runner->scratch);
        runner->oom_score = close_fd(runner->oom_score);
        runner->signals = close_fd(runner->signals);
        runner->null = close_fd(runner->null);
        runner->socket = close_fd(runner->socket);
        runner->root = close_fd(runner->root);
}

/* A report that cannot be sent is lost with the peer: the exit status says the rest. */
static void report(Runner *runner, MessageType type, const void *body, size_t size) {
        (void) message_send(runner->socket, type, body, size, /* text= */ NULL, /* fds= */ NULL, 0);
}

static int report_failed(Runner *runner, FailedStage stage, int error, const char *text) {
        Failed failed = {.stage = stage, .errno_number = error < 0 ? -error : error};

        (void) message_send(
                runner->socket, MESSAGE_FAILED, &failed, sizeof failed, text, /* fds= */ NULL, 0);
        return error;
}

/* Reaps whoever is dead, orphans of the code too. False when there is no child left at all. */
static bool reap(Runner *runner) {
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
                if (pid != runner->main_pid)
                        continue;
                runner->main_pid = 0;
                runner->main_status = status;
                runner->main_ended_usec = clock_monotonic_usec();
        }

        return pid == 0;
}

static void signals_drain(Runner *runner) {
        char data[1024];

        while (read(runner->signals, data, sizeof data) > 0)
                ;
}

/* Waits for SIGCHLD or, where with_socket, a packet. deadline 0: for ever. */
static void wait_for_something(Runner *runner, bool with_socket, uint64_t deadline_usec) {
        struct pollfd fds[] = {
                {.fd = runner->signals, .events = POLLIN},
                {.fd = with_socket && !runner->peer_gone ? runner->socket : -1, .events = POLLIN},
        };
        struct timespec left = {};

        if (deadline_usec > 0) {
                uint64_t now = clock_monotonic_usec(), usec = deadline_usec > now ? deadline_usec - now : 0;

                left.tv_sec = (time_t) (usec / 1000000);
                left.tv_nsec = (long) (usec % 1000000 * 1000);
        }

        (void) ppoll(fds, ELEMENTS(fds), deadline_usec > 0 ? &left : NULL, NULL);
        signals_drain(runner);
}

/*
 * Reads packets until one of the wanted type or DONE. Others are out of order and stepped over. 0: none for
 * now.
 */
static int next_message(Runner *runner, MessageType wanted, Message *ret) {
        while (!runner->peer_gone) {
                Message message = {};
                int r;

                r = message_receive(runner->socket, &message);
                if (r == 0)
                        return 0;
                if (r == -EBADMSG)
                        continue;
                if (r < 0) {
                        runner->peer_gone = true;
                        return EVENT_PEER_GONE;
                }
                if (message.type == MESSAGE_DONE) {
                        message_clear(&message);
                        return EVENT_DONE;
                }
                if (message.type == wanted) {
                        *ret = message;
                        return EVENT_MESSAGE;
                }
                message_clear(&message);
        }

        return 0;
}

/* Nothing of the caller runs yet: a peer that is gone will not come back. */
static Event wait_message(Runner *runner, MessageType wanted, Message *ret) {
        for (;;) {
                int r = next_message(runner, wanted, ret);

                if (r > 0)
                        return (Event) r;
                wait_for_something(runner, /* with_socket= */ true, /* deadline_usec= */ 0);
        }
}

/* Until the main process ends. A peer that is gone changes nothing: the code runs on, to its end or its
 * deadline. */
static Event wait_ended(Runner *runner, uint64_t deadline_usec) {
        for (;;) {
                Message message;
                int event;

                (void) reap(runner);
                if (runner->main_pid == 0)
                        return EVENT_ENDED;
                event = next_message(runner, /* wanted= */ MESSAGE_DUMP, &message);
                if (event == EVENT_DONE)
                        return EVENT_DONE;
                if (event == EVENT_MESSAGE) {
                        message_clear(&message);
                        (void) kill(runner->main_pid, HANDOVER_STACK_SIGNAL);
                        continue;
                }
                if (deadline_usec > 0 && clock_monotonic_usec() >= deadline_usec)
                        return EVENT_TIMEOUT;
                wait_for_something(runner, /* with_socket= */ true, deadline_usec);
        }
}

/* EVENT_DONE, EVENT_TIMEOUT or EVENT_PEER_GONE. */
static Event wait_done(Runner *runner) {
        uint64_t deadline = clock_monotonic_usec() + runner->done_wait_usec;

        for (;;) {
                Message none;

                (void) reap(runner);
                if (next_message(runner, /* wanted= */ MESSAGE_DONE, &none) == EVENT_DONE)
                        return EVENT_DONE;
                if (runner->peer_gone)
                        return EVENT_PEER_GONE;
                if (clock_monotonic_usec() >= deadline)
                        return EVENT_TIMEOUT;
                wait_for_something(runner, /* with_socket= */ true, deadline);
        }
}

/* Kills and reaps until nothing of the code is left. */
static int clear_processes(Runner *runner) {
        uint64_t deadline = clock_monotonic_usec() + runner->clear_wait_usec;

        for (;;) {
                uint64_t now;
                int r;

                r = runner->kill_everything();
                if (r < 0)
                        return r;
                if (!reap(runner))
                        return 0;

                now = clock_monotonic_usec();
                if (now >= deadline)
                        return -ETIMEDOUT;
                wait_for_something(runner, /* with_socket= */ false, now + CLEAR_STEP_USEC);
        }
}

static int prepare(Runner *runner, Message *message) {
        uint64_t numbers[NAMESPACE_N];
        Complaint complaint;
        int r;

        for (size_t i = 0, next = 0; i < CGROUP_FILE_N; i++)
                if (message->prepare.cgroup_files & 1U << i) {
                        runner->cgroup[i] = message->fds[next];
                        message->fds[next++] = -1;
                }

        r = namespaces_read("self", numbers);
        if (r < 0)
                return report_failed(
                        runner, FAILED_PREPARE, r, "cannot read the numbers of our own namespaces");
        r = namespaces_compare(numbers, message->prepare.host_namespace);
        if (r > 0) {
                (void) snprintf(complaint.text, sizeof complaint.text,
                        "the %s namespace is the host's own: the unit is not confined",
                        namespace_names[r - 1]);
                return report_failed(runner, FAILED_PREPARE, -EXDEV, complaint.text);
        }

        r = workspace_make(runner->root, &runner->scratch, &complaint);
        if (r < 0)
                return report_failed(runner, FAILED_PREPARE, r, complaint.text);

        return message_send(runner->socket, MESSAGE_PREPARED, /* body= */ NULL, 0, /* text= */ NULL,
                &runner->scratch, 1);
}

/* Input files, directories and stdin; then the bulk is let go. */
static int take_order(Runner *runner, const Message *message) {
        Order *order = &runner->order;
        Complaint complaint;
        int r;

        r = order_read(message->fds[0], order);
        if (r < 0)
                return report_failed(runner, FAILED_ORDER, r, "cannot read the work order");

        r = workspace_check_mounts(runner->root, order->mounts, order->n_mounts, &complaint);
        if (r == 0)
                r = workspace_write_files(runner->scratch, order->files, order->n_files, &complaint);
        for (char **path = order->make_directories; r == 0 && path && *path; path++)
                r = workspace_make_directory(runner->root, *path, &complaint);
        if (r == 0 && order->stdin_data.size > 0)
                r = workspace_stdin(runner->scratch, &order->stdin_data, &runner->stdin_fd, &complaint);
        if (r < 0)
                return report_failed(runner, FAILED_FILES, r, complaint.text);

        order_release_bulk(order);
        return 0;
}

static int start(
        Runner *runner, char *const *argv, int stdin_fd, MessageType started_type, uint64_t *ret_usec) {
        ChildRequest request = {
                .argv = argv,
                .env = runner->order.env,
                .directory = runner->order.directory,
                .rlimits = runner->order.rlimits,
                .n_rlimits = runner->order.n_rlimits,
                .filter = &runner->order.filter,
                .filter_reports = runner->order.filter_reports,
                .read_only = runner->order.read_only && started_type == MESSAGE_STARTED,
                .stdin_fd = stdin_fd,
                .null = runner->null,
                .oom_score = runner->oom_score,
        };
        ChildProblem problem;
        Started started = {};
        own(close_fdp) int listener = -1;
        Complaint complaint;
        int r;

        started.cpu_usec = usage_read_cpu(runner->cgroup);
        r = child_start(&request, &runner->main_pid, &started.monotonic_usec, &listener, &problem);
        if (r < 0) {
                if (problem.stage == FAILED_EXEC)
                        (void) snprintf(
                                complaint.text, sizeof complaint.text, "%s: %s", argv[0], strerror(-r));
                else
                        (void) snprintf(complaint.text, sizeof complaint.text,
                                "the process could not %s: %s", problem.what, strerror(-r));
                return report_failed(runner, problem.stage, r, complaint.text);
        }

        /* Our copy goes: without a daemon that holds it, refused calls answer ENOSYS instead of waiting for ever. */
        (void) message_send(runner->socket, started_type, &started, sizeof started, /* text= */ NULL, &listener,
                listener >= 0 ? 1 : 0);
        *ret_usec = started.monotonic_usec;
        return 0;
}

static void report_ended(Runner *runner, MessageType type, bool deadline) {
        Ended ended = {
                .wait_status = runner->main_status,
                .deadline = deadline,
                .monotonic_usec = runner->main_ended_usec,
        };

        usage_read(runner->cgroup, &ended);
        report(runner, type, &ended, sizeof ended);
}

/* The code has ended and is reported. */
static int leave(Runner *runner) {
        Event event = wait_done(runner);

        (void) clear_processes(runner); /* what does not go in time is ended with the unit */
        if (event == EVENT_DONE)
                return 0;

        if (WIFEXITED(runner->main_status))
                return WEXITSTATUS(runner->main_status);
        return 128 + WTERMSIG(runner->main_status);
}

/* Nothing of the caller runs any more. DONE makes it an ordinary end for systemd. */
static int leave_failed(Runner *runner) {
        return wait_done(runner) == EVENT_DONE ? 0 : EXIT_GAVE_UP;
}

static int leave_at_once(Runner *runner) {
        (void) clear_processes(runner);
        return 0;
}

/* 0: go on. Positive: leave with *ret_status. */
static int compile(Runner *runner, int *ret_status) {
        uint64_t started_usec;
        int r;

        if (start(runner, runner->order.compile, runner->null, MESSAGE_COMPILING, &started_usec) < 0) {
                *ret_status = leave_failed(runner);
                return 1;
        }
        if (wait_ended(runner, /* deadline_usec= */ 0) == EVENT_DONE) {
                *ret_status = leave_at_once(runner);
                return 1;
        }

        /* Before COMPILED: what the compiler left behind must not meet the program. */
        r = clear_processes(runner);
        report_ended(runner, MESSAGE_COMPILED, /* deadline= */ false);
        if (runner->main_status != 0) {
                *ret_status = leave(runner);
                return 1;
        }
        if (r < 0) {
                (void) report_failed(
                        runner, FAILED_CHILD, r, "processes of the compile step could not be ended");
                *ret_status = leave_failed(runner);
                return 1;
        }

        return 0;
}

static int run(Runner *runner) {
        uint64_t started_usec, deadline_usec = 0;
        bool at_deadline;
        Event event;

        if (start(runner, runner->order.argv, runner->stdin_fd >= 0 ? runner->stdin_fd : runner->null,
                    MESSAGE_STARTED, &started_usec) < 0)
                return leave_failed(runner);
        runner->stdin_fd = close_fd(runner->stdin_fd);
        /* The last process has been started: from here on we only wait, kill and report. */
        (void) runner->narrow();

        if (runner->order.deadline_ms > 0)
                deadline_usec = started_usec + runner->order.deadline_ms * 1000;
        event = wait_ended(runner, deadline_usec);
        if (event == EVENT_DONE)
                return leave_at_once(runner);

        at_deadline = event == EVENT_TIMEOUT;
        if (at_deadline) {
                /* Nobody else did it: the daemon is dead. */
                (void) clear_processes(runner);
                if (runner->main_pid > 0)
                        return EXIT_GAVE_UP;
        }
        report_ended(runner, MESSAGE_ENDED, at_deadline);

        return leave(runner);
}

int runner_supervise(Runner *runner) {
        Message message = {};
        Event event;
        int r, status;

        r = defence_raise(runner);
        if (r < 0) {
                if (runner->socket >= 0)
                        (void) report_failed(runner, FAILED_PREPARE, r, "the runner cannot defend itself");
                return EXIT_GAVE_UP;
        }

        report(runner, MESSAGE_HELLO, /* body= */ NULL, 0);
        event = wait_message(runner, MESSAGE_PREPARE, &message);
        if (event != EVENT_MESSAGE)
                return event == EVENT_DONE ? 0 : EXIT_GAVE_UP;
        r = prepare(runner, &message);
        message_clear(&message);
        if (r < 0)
                return EXIT_GAVE_UP;

        event = wait_message(runner, MESSAGE_HAND_OVER, &message);
        if (event != EVENT_MESSAGE)
                return event == EVENT_DONE ? 0 : EXIT_GAVE_UP;
        r = take_order(runner, &message);
        message_clear(&message);
        if (r < 0)
                return leave_failed(runner);

        if (runner->order.compile && compile(runner, &status) > 0)
                return status;

        return run(runner);
}
