/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The runner's whole way, with a test in the place of the daemon and harmless programs in the place of the
 * code. */

#include "surroundings.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "runner/namespaces.h"

#define LIST(...) ((char *[]){__VA_ARGS__, NULL})
#define SHELL(text) LIST((char *) "/bin/sh", (char *) "-c", (char *) (text))

static int memfd_with(const char *text) {
        int fd = memfd_create("test", MFD_CLOEXEC);

        cr_assert_geq(fd, 0);
        cr_assert_eq(write(fd, text, strlen(text)), (ssize_t) strlen(text));
        return fd;
}

static void send_prepare(Stage *stage) {
        Prepare prepare = {.cgroup_files = 1U << CGROUP_MEMORY_EVENTS | 1U << CGROUP_CPU_STAT};
        int fds[] = {memfd_with("low 0\nhigh 0\nmax 0\noom 0\noom_kill 2\n"),
                memfd_with("usage_usec 31\nuser_usec 1\n")};

        cr_assert_eq(
                message_send(stage->socket, MESSAGE_PREPARE, &prepare, sizeof prepare, NULL, fds, 2), 0);
        (void) close(fds[0]);
        (void) close(fds[1]);
}

static void prepare(Stage *stage) {
        Message message;
        struct stat info;

        stage_start(stage);
        message = stage_expect(stage, MESSAGE_HELLO);
        send_prepare(stage);
        message = stage_expect(stage, MESSAGE_PREPARED);
        cr_assert_eq(message.n_fds, 1);
        cr_assert_eq(fstatat(message.fds[0], "tmp", &info, 0), 0);
        cr_assert_eq(info.st_mode, S_IFDIR | 01777);
        message_clear(&message);
}

static void hand_over_order(Stage *stage, Order order) {
        int fd;

        order.directory = order.directory ?: stage->path;
        cr_assert_eq(order_write(&order, &fd), 0);
        cr_assert_eq(message_send(stage->socket, MESSAGE_HAND_OVER, NULL, 0, NULL, &fd, 1), 0);
        (void) close(fd);
}

static void done(Stage *stage) {
        cr_assert_eq(message_send(stage->socket, MESSAGE_DONE, NULL, 0, NULL, NULL, 0), 0);
}

Test(supervise, ends) {
        static const struct {
                const char *script;
                int wait_status, exit_without_done;
        } rows[] = {
                {"true", 0, 0},
                {"exit 3", 3 << 8, 3},
                {"exit 255", 255 << 8, 255},
                {"kill -TERM $$", SIGTERM, 128 + 15},
                {"kill -KILL $$", SIGKILL, 128 + 9},
                {"sleep 60 & exit 4", 4 << 8, 4},
                {"(sleep 60 & sleep 60) & exit 5", 5 << 8, 5},
                {"setsid sh -c 'sleep 60 & sleep 60' & exit 6", 6 << 8, 6},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++)
                for (int with_done = 0; with_done < 2; with_done++) {
                        uint64_t before = clock_monotonic_usec();
                        Message message;
                        Stage stage;
                        int status;

                        prepare(&stage);
                        hand_over_order(&stage, (Order){.argv = SHELL(rows[i].script)});
                        message = stage_expect(&stage, MESSAGE_STARTED);
                        cr_expect_geq(message.started.monotonic_usec, before);
                        message = stage_expect(&stage, MESSAGE_ENDED);
                        cr_expect_eq(message.ended.wait_status, rows[i].wait_status, "%s: %d",
                                rows[i].script, message.ended.wait_status);
                        cr_expect_eq(message.ended.deadline, 0);
                        cr_expect_leq(message.ended.monotonic_usec, clock_monotonic_usec());
                        cr_expect_eq(message.ended.oom_kills, 2);
                        cr_expect_eq(message.ended.cpu_usec, 31);
                        cr_expect_eq(message.ended.memory_peak, HANDOVER_UNKNOWN);
                        cr_expect_eq(message.ended.pids_refused, HANDOVER_UNKNOWN);
                        if (with_done)
                                done(&stage);
                        status = stage_end(&stage);
                        cr_expect(WIFEXITED(status));
                        cr_expect_eq(WEXITSTATUS(status), with_done ? 0 : rows[i].exit_without_done,
                                "%s: %d", rows[i].script, status);
                }
}

/* What the code finds: descriptors, signals, environment, directory, files, stdin, limits. */
static const struct sock_filter allow_all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

Test(supervise, child_state) {
        OrderFile files[] = {
                {.path = (char *) "work/data/in.csv", .content = {(char *) "a,b\n", 4}, .mode = 0644},
                {.path = (char *) "code/main.sh", .content = {(char *) "x", 1}, .mode = 0755},
        };
        OrderRlimit limit = {.resource = RLIMIT_NOFILE, .soft = 77, .hard = 78};
        char script[] =
                "ls /proc/self/fd | tr '\\n' ' '; grep -cE '^Sig(Blk|Ign):.0+$' /proc/self/status;"
                "env; pwd; cat; ulimit -Sn; ulimit -Hn; cat scratch/work/data/in.csv;"
                "stat -c %a scratch/code/main.sh; cat /proc/self/oom_score_adj; ls -d tmp/output/deep;"
                "cut -d' ' -f6 /proc/$$/stat; grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status; umask;"
                "grep -c . /proc/$PPID/oom_score_adj; cat /proc/$PPID/oom_score_adj; "
                "echo more 2>/dev/null >>/proc/self/fd/0; echo $?";
        Order order = {
                .argv = SHELL(script),
                .env = LIST((char *) "PATH=/usr/bin:/bin", (char *) "A=b c"),
                .make_directories =
                        LIST((char *) "/tmp/output/deep", (char *) "/var/tmp/x", (char *) "/output"),
                .files = files,
                .n_files = 2,
                .stdin_data = {(char *) "given\n", 6},
                .rlimits = &limit,
                .n_rlimits = 1,
                .filter = {(char *) &allow_all, sizeof allow_all},
        };
        char output[4096], expected[4096], own_score[16] = "";
        Message message;
        FILE *score;
        Stage stage;

        prepare(&stage);
        score = fopen("/proc/self/oom_score_adj", "re");
        cr_assert(score && fscanf(score, "%15s", own_score) == 1);
        (void) fclose(score);
        hand_over_order(&stage, order);
        message = stage_expect(&stage, MESSAGE_STARTED);
        message = stage_expect(&stage, MESSAGE_ENDED);
        cr_expect_eq(message.ended.wait_status, 0);
        (void) stage_output(&stage, output, sizeof output);
        (void) snprintf(expected, sizeof expected,
                "0 1 2 3 2\nPWD=%s\nA=b "
                "c\nPATH=/usr/bin:/bin\n%s\ngiven\n77\n78\na,b\n755\n1000\ntmp/output/deep\n",
                stage.path, stage.path);
        /* env's order is the shell's own affair */
        cr_expect(strstr(output, "0 1 2 3 2\n") == output, "%s", output);
        cr_expect(strstr(output, "A=b c\n"), "%s", output);
        cr_expect_not(strstr(output, "HOME="), "%s", output);
        cr_expect(strstr(output, strstr(expected, "given")), "%s", output);
        cr_expect(strstr(output, "NoNewPrivs:\t1\nSeccomp:\t2\n0022\n1\n"), "%s", output);
        (void) snprintf(expected, sizeof expected, "0022\n1\n%s\n", own_score);
        cr_expect(strstr(output, expected), "the runner's own score is as it was: %s", output);
        done(&stage);
        cr_expect_eq(stage_end(&stage), 0);
}

Test(supervise, stdin_is_empty) {
        char output[64];
        Message message;
        Stage stage;

        prepare(&stage);
        hand_over_order(&stage, (Order){.argv = SHELL("cat; echo end")});
        message = stage_expect(&stage, MESSAGE_STARTED);
        message = stage_expect(&stage, MESSAGE_ENDED);
        cr_expect_eq(message.ended.wait_status, 0);
        cr_expect_str_eq(stage_output(&stage, output, sizeof output), "end\n");
        done(&stage);
        cr_expect_eq(stage_end(&stage), 0);
}

Test(supervise, failures) {
        OrderFile outside = {.path = (char *) "../evil", .content = {}, .mode = 0644};
        OrderFile twice[] = {
                {.path = (char *) "work/a", .content = {}, .mode = 0644},
                {.path = (char *) "work/a", .content = {}, .mode = 0644},
        };
        OrderFile beneath_file[] = {
                {.path = (char *) "work/a", .content = {}, .mode = 0644},
                {.path = (char *) "work/a/b", .content = {}, .mode = 0644},
        };
        OrderRlimit bad = {.resource = 9999, .soft = 1, .hard = 1};
        char **argv = LIST((char *) "/bin/true");
        const struct {
                Order order;
                FailedStage stage;
                int errno_number;
                const char *text;
        } rows[] = {
                {{.argv = LIST((char *) "/nonexistent")}, FAILED_EXEC, ENOENT,
                        "/nonexistent: No such file or directory"},
                {{.argv = LIST((char *) "/etc/passwd")}, FAILED_EXEC, EACCES,
                        "/etc/passwd: Permission denied"},
                {{.argv = argv, .directory = (char *) "/nonexistent"}, FAILED_CHILD, ENOENT,
                        "the process could not enter the working directory: No such file or directory"},
                {{.argv = argv, .rlimits = &bad, .n_rlimits = 1}, FAILED_CHILD, EINVAL,
                        "the process could not set a resource limit: Invalid argument"},
                {{.argv = argv, .files = &outside, .n_files = 1}, FAILED_FILES, EINVAL,
                        "cannot write ../evil: Invalid argument"},
                {{.argv = argv, .files = twice, .n_files = 2}, FAILED_FILES, EEXIST,
                        "cannot write a: File exists"},
                {{.argv = argv, .files = beneath_file, .n_files = 2}, FAILED_FILES, ENOTDIR,
                        "cannot write a/b: Not a directory"},
                {{.argv = argv, .compile = LIST((char *) "/nonexistent/cc")}, FAILED_EXEC, ENOENT,
                        "/nonexistent/cc: No such file or directory"},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++)
                for (int with_done = 0; with_done < 2; with_done++) {
                        Message message;
                        Stage stage;

                        prepare(&stage);
                        hand_over_order(&stage, rows[i].order);
                        message = stage_expect(&stage, MESSAGE_FAILED);
                        cr_expect_eq(message.failed.stage, rows[i].stage, "row %zu", i);
                        cr_expect_eq(message.failed.errno_number, rows[i].errno_number, "row %zu", i);
                        cr_expect_str_eq(message.text, rows[i].text);
                        if (with_done)
                                done(&stage);
                        cr_expect_eq(stage_end(&stage), with_done ? 0 : 1 << 8);
                }
}

Test(supervise, compile) {
        static const struct {
                const char *script;
                int wait_status;
        } rows[] = {
                {"echo compiled > scratch/code/program", 0},
                {"exit 7", 7 << 8},
                {"kill -SEGV $$", SIGSEGV},
                {"sleep 61 & echo compiled > scratch/code/program", 0},
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                Order order = {
                        .compile = SHELL(rows[i].script),
                        .stdin_data = {(char *) "in\n", 3},
                        .argv = SHELL("cat scratch/code/program; cat; ps -e -o args "
                                      "| grep -c '^sleep 61'"),
                };
                char output[256];
                Message message;
                Stage stage;

                prepare(&stage);
                hand_over_order(&stage, order);
                message = stage_expect(&stage, MESSAGE_COMPILING);
                message = stage_expect(&stage, MESSAGE_COMPILED);
                cr_expect_eq(message.ended.wait_status & ~0x80, rows[i].wait_status, "%s", rows[i].script);
                cr_expect_eq(message.ended.oom_kills, 2);
                if (rows[i].wait_status == 0) {
                        message = stage_expect(&stage, MESSAGE_STARTED);
                        message = stage_expect(&stage, MESSAGE_ENDED);
                        cr_expect_str_eq(stage_output(&stage, output, sizeof output), "compiled\nin\n0\n");
                }
                done(&stage);
                cr_expect_eq(stage_end(&stage), 0);
        }
}

Test(supervise, compile_failure_without_daemon) {
        Message message;
        Stage stage;

        prepare(&stage);
        hand_over_order(&stage, (Order){.compile = SHELL("exit 7"), .argv = SHELL("true")});
        message = stage_expect(&stage, MESSAGE_COMPILING);
        message = stage_expect(&stage, MESSAGE_COMPILED);
        cr_expect_eq(message.ended.wait_status, 7 << 8);
        cr_expect_eq(stage_end(&stage), 7 << 8);
}

Test(supervise, deadline) {
        Message message;
        uint64_t started;
        Stage stage;

        prepare(&stage);
        hand_over_order(
                &stage, (Order){.argv = SHELL("trap '' TERM; sleep 60 & sleep 60"), .deadline_ms = 200});
        message = stage_expect(&stage, MESSAGE_STARTED);
        started = message.started.monotonic_usec;
        message = stage_expect(&stage, MESSAGE_ENDED);
        cr_expect_eq(message.ended.deadline, 1);
        cr_expect_eq(message.ended.wait_status, SIGKILL);
        cr_expect_geq(message.ended.monotonic_usec - started, 200 * 1000);
        cr_expect_lt(message.ended.monotonic_usec - started, 10 * 1000 * 1000);
        cr_expect_eq(stage_end(&stage), (128 + SIGKILL) << 8);
}

/* The daemon dies while the code runs: it runs on, and its own status is the unit's. */
Test(supervise, peer_vanishes) {
        Message message;
        Stage stage;

        prepare(&stage);
        hand_over_order(&stage, (Order){.argv = SHELL("sleep 0.3; exit 9")});
        message = stage_expect(&stage, MESSAGE_STARTED);
        cr_expect_eq(message.type, MESSAGE_STARTED);
        (void) close(stage.socket);
        stage.socket = -1;
        cr_expect_eq(stage_end(&stage), 9 << 8);
}

/* Reports wait in the socket when the reader is late, also when the runner left DONE unread. */
Test(supervise, reports_wait) {
        Message message;
        Stage stage;
        int status;

        prepare(&stage);
        hand_over_order(&stage, (Order){.argv = SHELL("exit 4")});
        cr_assert_eq(waitpid(stage.runner, &status, 0), stage.runner);
        cr_expect_eq(status, 4 << 8);
        message = stage_expect(&stage, MESSAGE_STARTED);
        message = stage_expect(&stage, MESSAGE_ENDED);
        cr_expect_eq(message.ended.wait_status, 4 << 8);
        cr_expect_eq(message_receive(stage.socket, &message), -ENODATA);
        (void) close(stage.socket);
        (void) close(stage.output);
        stage_remove(stage.path);
}

Test(supervise, done_at_any_time) {
        for (int when = 0; when < 3; when++) {
                Message message;
                Stage stage;

                if (when == 0) {
                        stage_start(&stage);
                        message = stage_expect(&stage, MESSAGE_HELLO);
                } else
                        prepare(&stage);
                if (when == 2) {
                        hand_over_order(&stage, (Order){.argv = SHELL("sleep 60 & sleep 60")});
                        message = stage_expect(&stage, MESSAGE_STARTED);
                }
                (void) message;
                done(&stage);
                cr_expect_eq(stage_end(&stage), 0);
        }
}

Test(supervise, vanished_before_hand_over) {
        Message message;
        Stage stage;

        prepare(&stage);
        (void) close(stage.socket);
        stage.socket = -1;
        cr_expect_eq(stage_end(&stage), 1 << 8);

        stage_start(&stage);
        message = stage_expect(&stage, MESSAGE_HELLO);
        (void) message;
        (void) close(stage.socket);
        stage.socket = -1;
        cr_expect_eq(stage_end(&stage), 1 << 8);
}

/* A namespace that is the host's: the unit is not confined, nothing goes on. */
Test(supervise, host_namespace) {
        uint64_t numbers[NAMESPACE_N];

        cr_assert_eq(namespaces_read("self", numbers), 0);
        for (size_t i = 0; i < NAMESPACE_N; i++) {
                Prepare other = {.host_namespace = {1, 1, 1, 1}};
                Message message;
                char name[32];
                Stage stage;

                other.host_namespace[i] = numbers[i];
                stage_start(&stage);
                message = stage_expect(&stage, MESSAGE_HELLO);
                cr_assert_eq(
                        message_send(stage.socket, MESSAGE_PREPARE, &other, sizeof other, NULL, NULL, 0), 0);
                message = stage_expect(&stage, MESSAGE_FAILED);
                cr_expect_eq(message.failed.stage, FAILED_PREPARE);
                (void) snprintf(name, sizeof name, "the %s namespace is", namespace_names[i]);
                cr_expect(strstr(message.text, name), "%s", message.text);
                cr_expect_eq(stage_end(&stage), 1 << 8);
        }
}

Test(supervise, order_that_is_none) {
        Message message;
        Stage stage;
        int fd = memfd_with("nothing of ours");

        prepare(&stage);
        cr_assert_eq(message_send(stage.socket, MESSAGE_HAND_OVER, NULL, 0, NULL, &fd, 1), 0);
        (void) close(fd);
        message = stage_expect(&stage, MESSAGE_FAILED);
        cr_expect_eq(message.failed.stage, FAILED_ORDER);
        cr_expect_eq(message.failed.errno_number, EBADMSG);
        done(&stage);
        cr_expect_eq(stage_end(&stage), 0);
}

/* Garbage, and messages out of order, are stepped over. */
Test(supervise, noise) {
        Failed failed = {.stage = FAILED_EXEC};
        Message message;
        Stage stage;

        stage_start(&stage);
        message = stage_expect(&stage, MESSAGE_HELLO);
        cr_assert_eq(send(stage.socket, "garbage", 7, 0), 7);
        cr_assert_eq(message_send(stage.socket, MESSAGE_FAILED, &failed, sizeof failed, "x", NULL, 0), 0);
        cr_assert_eq(message_send(stage.socket, MESSAGE_HELLO, NULL, 0, NULL, NULL, 0), 0);
        send_prepare(&stage);
        message = stage_expect(&stage, MESSAGE_PREPARED);
        message_clear(&message);
        send_prepare(&stage);
        hand_over_order(&stage, (Order){.argv = SHELL("exit 2")});
        message = stage_expect(&stage, MESSAGE_STARTED);
        hand_over_order(&stage, (Order){.argv = SHELL("exit 1")});
        message = stage_expect(&stage, MESSAGE_ENDED);
        cr_expect_eq(message.ended.wait_status, 2 << 8);
        done(&stage);
        cr_expect_eq(stage_end(&stage), 0);
}

/* Nobody but a dynamic user may send a signal to everything; here that would be the end of the machine. */
Test(supervise, kill_everything_is_guarded) {
        if (getuid() >= 61184 && getuid() <= 65519)
                cr_skip_test("runs as a dynamic user");
        cr_expect_eq(kill_everything_of_this_user(), -EPERM);
}

/* The listener comes with STARTED, and whoever holds it answers: here with EPERM, as the daemon does. */
Test(supervise, refusals_are_told) {
        static const struct sock_filter program[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fchownat, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        char *argv[] = {"/bin/sh", "-c", "chown 0 . 2>/dev/null; echo $?", NULL};
        Order order = {
                .argv = argv,
                .directory = "/",
                .filter = {(char *) program, sizeof program},
                .filter_reports = true,
        };
        union {
                struct seccomp_notif notification;
                char room[512];
        } asked;
        union {
                struct seccomp_notif_resp response;
                char room[512];
        } answer;
        char output[64] = "";
        Message message;
        Stage stage;

        prepare(&stage);
        hand_over_order(&stage, order);
        message = stage_expect(&stage, MESSAGE_STARTED);
        cr_assert_eq(message.n_fds, 1U);
        memset(&asked, 0, sizeof asked);
        memset(&answer, 0, sizeof answer);
        cr_assert_eq(ioctl(message.fds[0], SECCOMP_IOCTL_NOTIF_RECV, &asked), 0);
        cr_expect_eq(asked.notification.data.nr, __NR_fchownat);
        answer.response.id = asked.notification.id;
        answer.response.error = -EPERM;
        cr_assert_eq(ioctl(message.fds[0], SECCOMP_IOCTL_NOTIF_SEND, &answer), 0);
        message_clear(&message);
        message = stage_expect(&stage, MESSAGE_ENDED);
        cr_expect_eq(message.ended.wait_status, 0);
        (void) stage_output(&stage, output, sizeof output);
        cr_expect_str_eq(output, "1\n");
        done(&stage);
        cr_expect_eq(stage_end(&stage), 0);
}

/* A filter that the kernel does not take: the code does not start. */
Test(supervise, bad_filter) {
        static const struct sock_filter broken = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0xffff);
        char *argv[] = {"/bin/true", NULL};
        Order order = {.argv = argv, .directory = "/", .filter = {(char *) &broken, sizeof broken}};
        Message message;
        Stage stage;

        prepare(&stage);
        hand_over_order(&stage, order);
        message = stage_expect(&stage, MESSAGE_FAILED);
        cr_expect_eq(message.failed.stage, (uint32_t) FAILED_CHILD);
        cr_expect(strstr(message.text, "filter"), "%s", message.text);
        done(&stage);
        cr_expect_eq(stage_end(&stage), 0);
}
