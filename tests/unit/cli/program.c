/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The program as a whole, against a service that follows a script: a bus daemon of our own, on which this
 * process plays unitcelld. What the script cannot show (that the real daemon answers so) is for the boot
 * tests.
 */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "bus/names.h"
#include "cli/doctor-probes.h"

#define PATIENCE_USEC UINT64_C(20000000)

static const char bus_config[] =
        "<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth>"
        "<policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/><allow "
        "eavesdrop=\"true\"/>"
        "<allow own=\"*\"/></policy></busconfig>";

#define DONE                                                                                                \
        "{\"status\":\"success\",\"message\":\"Finished.\",\"exit_code\":0,\"stdout\":\"4950\\n\","         \
        "\"stderr\":\"note\"}"
#define CANCELED "{\"status\":\"canceled\",\"message\":\"Canceled.\",\"stdout\":\"\",\"stderr\":\"partly\"}"

/* What the service does, and what it saw. */
static struct Script {
        const char *result;    /* NULL: GetResult waits */
        const char *error;     /* name of the error that Submit answers with */
        unsigned lose_results; /* this many GetResult calls end with the service's connection */
        unsigned cancels, results, submits;
        char *spec;
        sd_bus_message *waiting;
} script;

static char address[256];
static pid_t bus_daemon;
static sd_bus *service;
static bool drop;

/* ---- the service ---- */

static int on_submit(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        const char *spec;

        script.submits++;
        cr_assert_geq(sd_bus_message_read(message, "s", &spec), 0);
        free(script.spec);
        script.spec = strdup(spec);
        if (script.error)
                return sd_bus_error_set(ret_error, script.error, "memory_mb: must be\033 smaller");
        return sd_bus_reply_method_return(message, "o", UNITCELL_EXECUTION_PATH "/0123");
}

static int on_explain(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        return sd_bus_reply_method_return(message, "s", "{\"plan\":{\"policy\":\"default\"}}");
}

static int on_languages(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        return sd_bus_reply_method_return(message, "s",
                "[{\"name\":\"python\",\"suffixes\":[\".py\"],\"available\":true,\"interpreter\":\"/usr/bin/"
                "python3\"},"
                "{\"name\":\"odd\",\"suffixes\":[\".odd.py\"],\"available\":false,\"reason\":\"none of it "
                "exists\"}]");
}

static int on_get_policy(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        return sd_bus_reply_method_return(message, "s", "{\"name\":\"small\"}");
}

static int on_reload(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        if (script.error)
                return sd_bus_error_set(ret_error, script.error, "no");
        return sd_bus_reply_method_return(message, NULL);
}

static int on_get_execution(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        return sd_bus_reply_method_return(message, "o", UNITCELL_EXECUTION_PATH "/0123");
}

static int on_get_result(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        script.results++;
        if (script.lose_results > 0) {
                script.lose_results--;
                drop = true;
                return 1;
        }
        if (script.result)
                return sd_bus_reply_method_return(message, "s", script.result);
        script.waiting = sd_bus_message_ref(message);
        return 1;
}

static int on_cancel(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        script.cancels++;
        cr_assert_geq(sd_bus_reply_method_return(message, NULL), 0);
        if (script.waiting) {
                cr_assert_geq(sd_bus_reply_method_return(script.waiting, "s", CANCELED), 0);
                script.waiting = sd_bus_message_unref(script.waiting);
        }
        return 1;
}

static const sd_bus_vtable manager[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("Submit", "sa{sh}", "o", on_submit, 0),
        SD_BUS_METHOD("Explain", "s", "s", on_explain, 0),
        SD_BUS_METHOD("ListLanguages", NULL, "s", on_languages, 0),
        SD_BUS_METHOD("GetPolicy", "s", "s", on_get_policy, 0),
        SD_BUS_METHOD("Reload", NULL, NULL, on_reload, 0),
        SD_BUS_METHOD("GetExecution", "s", "o", on_get_execution, 0),
        SD_BUS_VTABLE_END,
};

static const sd_bus_vtable execution[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("GetResult", NULL, "s", on_get_result, 0),
        SD_BUS_METHOD("Cancel", NULL, NULL, on_cancel, 0),
        SD_BUS_VTABLE_END,
};

static void service_start(void) {
        cr_assert_geq(sd_bus_new(&service), 0);
        cr_assert_geq(sd_bus_set_address(service, address), 0);
        cr_assert_geq(sd_bus_set_bus_client(service, 1), 0);
        cr_assert_geq(sd_bus_start(service), 0);
        cr_assert_geq(
                sd_bus_add_object_vtable(service, NULL, UNITCELL_PATH, UNITCELL_MANAGER, manager, NULL), 0);
        cr_assert_geq(sd_bus_add_object_vtable(service, NULL, UNITCELL_EXECUTION_PATH "/0123",
                              UNITCELL_EXECUTION, execution, NULL),
                0);
        cr_assert_geq(sd_bus_request_name(service, UNITCELL_NAME, 0), 0);
}

static void service_stop(void) {
        script.waiting = sd_bus_message_unref(script.waiting);
        service = sd_bus_flush_close_unref(service);
}

static void service_turn(void) {
        int r;

        do
                r = sd_bus_process(service, NULL);
        while (r > 0 && !drop);
        cr_assert(r >= 0 || drop, "%s", strerror(-r));
        if (!drop) {
                (void) sd_bus_wait(service, 20000);
                return;
        }
        /* dead for a while, then back: what a restart looks like from outside */
        drop = false;
        service_stop();
        (void) poll(NULL, 0, 300);
        service_start();
}

/* ---- the bus ---- */

static void start(void) {
        char path[] = "/tmp/unitcell-test-bus-XXXXXX";
        int fd = mkstemp(path), out[2];
        ssize_t n;

        cr_assert_geq(fd, 0);
        cr_assert_eq(fd_write_all(fd, bus_config, sizeof bus_config - 1), 0);
        (void) close_fd(fd);
        cr_assert_eq(pipe(out), 0);
        bus_daemon = fork();
        cr_assert_geq(bus_daemon, 0);
        if (bus_daemon == 0) {
                char option[64];

                (void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that crashes leaves nothing running */
                (void) snprintf(option, sizeof option, "--config-file=%s", path);
                (void) dup2(out[1], 3);
                (void) execlp("dbus-daemon", "dbus-daemon", option, "--nofork", "--nopidfile",
                        "--print-address=3", NULL);
                _exit(127);
        }
        (void) close_fd(out[1]);
        n = read(out[0], address, sizeof address - 1);
        (void) close_fd(out[0]);
        (void) unlink(path);
        cr_assert_gt(n, 0, "dbus-daemon did not start");
        address[strcspn(address, "\n")] = 0;
        service_start();
}

static void stop(void) {
        service_stop();
        free(script.spec);
        script.spec = NULL;
        (void) kill(bus_daemon, SIGKILL);
        (void) waitpid(bus_daemon, NULL, 0);
}

TestSuite(program, .init = start, .fini = stop, .timeout = 60);

/* ---- the program ---- */

typedef struct Program {
        pid_t pid;
        int in, out, err;
        Bytes stdout_bytes, stderr_bytes;
        int status;
} Program;

static int temporary(const char *content) {
        int fd = memfd_create("stream", 0);

        cr_assert_geq(fd, 0);
        cr_assert_eq(fd_write_all(fd, content, strlen(content)), 0);
        cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
        return fd;
}

static void program_start(Program *program, const char *input, char *const *words) {
        *program = (Program){.in = temporary(input), .out = temporary(""), .err = temporary("")};
        program->pid = fork();
        cr_assert_geq(program->pid, 0);
        if (program->pid > 0)
                return;
        (void) setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1);
        (void) dup2(program->in, 0);
        (void) dup2(program->out, 1);
        (void) dup2(program->err, 2);
        (void) execv(UNITCELL_PROGRAM, words);
        _exit(127);
}

static void program_end(Program *program) {
        uint64_t start_usec = clock_monotonic_usec();
        int status;

        while (waitpid(program->pid, &status, WNOHANG) == 0) {
                cr_assert_lt(clock_monotonic_usec() - start_usec, PATIENCE_USEC, "the program hangs");
                service_turn();
        }
        program->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        cr_assert_eq(fd_pread_text(program->out, 65536, &program->stdout_bytes), 0);
        cr_assert_eq(fd_pread_text(program->err, 65536, &program->stderr_bytes), 0);
}

static void program_clear(Program *program) {
        bytes_clear(&program->stdout_bytes);
        bytes_clear(&program->stderr_bytes);
        close_fdp(&program->in);
        close_fdp(&program->out);
        close_fdp(&program->err);
}

#define WORDS(...) ((char *const[]){"unitcell", __VA_ARGS__, NULL})

static void expect_run(const char *input, char *const *words, int status, const char *out, const char *err) {
        own(program_clear) Program program;

        program_start(&program, input, words);
        program_end(&program);
        cr_expect_eq(program.status, status, "status %d: %s", program.status, program.stderr_bytes.data);
        cr_expect_str_eq(program.stdout_bytes.data, out, "stdout \"%s\"", program.stdout_bytes.data);
        cr_expect_str_eq(program.stderr_bytes.data, err, "stderr \"%s\"", program.stderr_bytes.data);
}

Test(program, result_passes_through) {
        script.result = DONE;
        expect_run("", WORDS("run", "--language", "python", "print(1)", "--n", "3"), 0, "4950\n", "note");
        cr_expect_str_eq(
                script.spec, "{\"language\":\"python\",\"code\":\"print(1)\",\"args\":[\"--n\",\"3\"]}");
}

Test(program, result_as_a_document) {
        script.result = DONE;
        expect_run("", WORDS("run", "--json", "--", "/bin/true"), 0, DONE "\n", "");
        cr_expect_str_eq(script.spec, "{\"argv\":[\"/bin/true\"]}");
}

Test(program, says_how_it_ended) {
        script.result = CANCELED;
        expect_run("", WORDS("run", "-lpython", "x"), 130, "", "partly\nunitcell: canceled: Canceled.\n");
        expect_run("", WORDS("run", "-lpython", "-q", "x"), 130, "", "partly");
}

Test(program, ways_to_say_what_runs) {
        char path[] = "/tmp/unitcell-test-XXXXXX.odd.py";
        int fd = mkstemps(path, 7);

        cr_assert_geq(fd, 0);
        cr_assert_eq(fd_write_all(fd, "caf\xe9", 4), 0);
        close_fdp(&fd);
        script.result = DONE;

        expect_run("", WORDS("run", path, "a"), 0, "4950\n", "note");
        cr_expect_str_eq(script.spec, "{\"language\":\"odd\",\"code_base64\":\"Y2Fm6Q==\",\"args\":[\"a\"]}",
                "%s", script.spec);
        expect_run("", WORDS("run", "--language", "python", path), 0, "4950\n", "note");
        cr_expect_str_eq(
                script.spec, "{\"language\":\"python\",\"code_base64\":\"Y2Fm6Q==\"}", "%s", script.spec);
        expect_run("", WORDS("run", "--language", "bash", path), 0, "4950\n", "note");
        cr_expect(strstr(script.spec, "\"code\":\"/tmp/"), "not a suffix of that language: %s", script.spec);
        expect_run("", WORDS("run", "--language", "bash", "--code-file", path, "a"), 0, "4950\n", "note");
        cr_expect_str_eq(script.spec,
                "{\"language\":\"bash\",\"code_base64\":\"Y2Fm6Q==\",\"args\":[\"a\"]}", "%s", script.spec);
        expect_run("import os", WORDS("run", "--language", "python", "-", "a"), 0, "4950\n", "note");
        cr_expect_str_eq(script.spec, "{\"language\":\"python\",\"code\":\"import os\",\"args\":[\"a\"]}",
                "%s", script.spec);
        expect_run("data",
                WORDS("run", "--stdin", "-", "--limit", "cpu_cpus=0.5", "-t", "500ms", "--", "/bin/cat"), 0,
                "4950\n", "note");
        cr_expect_str_eq(script.spec,
                "{\"argv\":[\"/bin/"
                "cat\"],\"stdin\":\"data\",\"timeout_ms\":500,\"limits\":{\"cpu_cpus\":0.5}}",
                "%s", script.spec);
        (void) unlink(path);
}

Test(program, whole_specs) {
        script.result = DONE;
        expect_run(
                "{ \"argv\": [\"/x\"],\n\"bad\": 1.0 }", WORDS("run", "--spec", "-"), 0, "4950\n", "note");
        cr_expect_str_eq(script.spec, "{ \"argv\": [\"/x\"],\n\"bad\": 1.0 }", "as it is: %s", script.spec);
        expect_run(
                "{ \"argv\": [\"/x\"] }", WORDS("run", "--spec", "-", "--policy", "p"), 0, "4950\n", "note");
        cr_expect_str_eq(script.spec, "{\"argv\":[\"/x\"],\"policy\":\"p\"}", "%s", script.spec);
        expect_run("{ \"argv\": [\"/x\"], \"argv\": [] }", WORDS("run", "--spec", "-", "--policy", "p"), 125,
                "",
                "unitcell: InvalidSpec: -: line 1: argv stands twice in the same object (first on line "
                "1)\n");
}

Test(program, wrong_words) {
        static const struct {
                char *words[8];
        } rows[] = {
                {{"run"}},
                {{"run", "--language"}},
                {{"run", "--", "ls"}},
                {{"run", "--"}},
                {{"run", "-"}},
                {{"run", "x.unknown"}},
                {{"run", "--code-file", "x"}},
                {{"run", "-lpython", "--stdin", "-", "-"}},
                {{"run", "--limit", "x=1", "a.py"}},
                {{"run", "--env", "A", "a.py"}},
                {{"cancel"}},
                {{"languages", "x"}},
                {{"policies", "a"}},
                {{"policy"}},
                {{"policy", "check"}},
                {{"policy", "show", "a", "b"}},
                {{"policy", "look", "a"}},
                {{"policy", "check", "--as", "x", "a"}},
                {{"reload", "x"}},
                {{"doctor", "x"}},
                {{"nothing"}},
                {{"explain", "--quiet", "a.py"}},
                {{"run", "-lpython", "\xff", "\xff"}},
        };

        script.result = DONE;
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                own(program_clear) Program program;
                char *words[10] = {"unitcell"};

                memcpy(words + 1, rows[i].words, sizeof rows[i].words);
                program_start(&program, "", words);
                program_end(&program);
                cr_expect_eq(program.status, 2, "row %zu: %d", i, program.status);
                cr_expect_eq(program.stdout_bytes.size, 0, "row %zu", i);
                cr_expect_eq(strncmp(program.stderr_bytes.data, "unitcell: ", 10), 0, "row %zu: %s", i,
                        program.stderr_bytes.data);
        }
        cr_expect_eq(script.submits, 0);
}

Test(program, refusals) {
        script.error = ERROR_INVALID_SPEC;
        expect_run("", WORDS("run", "--limit", "memory_mb=1", "-lpython", "1"), 125, "",
                "unitcell: InvalidSpec: memory_mb: must be? smaller\n");
        cr_expect_eq(script.submits, 1, "asked once");
        cr_expect_eq(script.results, 0);
}

Test(program, files_that_are_not_there) {
        script.result = DONE;
        expect_run("", WORDS("run", "/nonexistent/a.py"), 125, "",
                "unitcell: /nonexistent/a.py: No such file or directory\n");
        expect_run("", WORDS("run", "--file", "/tmp", "-lpython", "1"), 125, "",
                "unitcell: /tmp: Is a directory\n");
        cr_expect_eq(script.submits, 0);
}

Test(program, explains_and_lists) {
        expect_run("", WORDS("explain", "-lpython", "1"), 0, "Plan\n  policy  default\n\n", "");
        expect_run("", WORDS("explain", "--json", "-lpython", "1"), 0,
                "{\"plan\":{\"policy\":\"default\"}}\n", "");
        expect_run("", WORDS("languages"), 0,
                "NAME    SUFFIXES  AVAILABLE  DESCRIPTION  INTERPRETER OR REASON\n"
                "python  .py       yes                     /usr/bin/python3\n"
                "odd     .odd.py   no                      none of it exists\n",
                "");
        cr_expect_eq(script.submits, 0);
}

Test(program, policies) {
        expect_run("", WORDS("policy", "show", "small"), 0, "{\n  \"name\": \"small\"\n}\n", "");
        expect_run("", WORDS("policy", "show", "--json", "small"), 0, "{\"name\":\"small\"}\n", "");
        expect_run("", WORDS("policy", "--json", "show", "small"), 0, "{\"name\":\"small\"}\n", "");
        expect_run("", WORDS("policy", "check", "/nonexistent"), 1,
                "/nonexistent: cannot be read: No such file or directory\n", "");
}

Test(program, reload) {
        expect_run("", WORDS("reload"), 0, "", "");
        script.error = ERROR_ACCESS_DENIED;
        expect_run("", WORDS("reload"), 125, "", "unitcell: AccessDenied: no\n");
}

/* It says so in one row, and sends nothing hostile. */
Test(program, doctor_of_a_user_who_may_not) {
        own(program_clear) Program program;

        script.error = ERROR_ACCESS_DENIED;
        program_start(&program, "", WORDS("doctor"));
        program_end(&program);
        cr_expect_eq(program.status, 1);
        cr_expect_eq(script.submits, 1);
        cr_expect(strstr(program.stdout_bytes.data, "AccessDenied: memory_mb"), "%s", program.stdout_bytes.data);
        cr_expect(strstr(program.stdout_bytes.data, "not tried: nothing runs"));
}

/* All that is hostile is sent, and the neighbour is canceled at the end; what is told is judged. */
Test(program, doctor_takes_the_whole_course) {
        own(program_clear) Program program;

        script.result = "{\"status\":\"success\",\"stdout\":\"\",\"enforced\":{\"missing_controllers\":"
                        "[\"pids\"]}}";
        program_start(&program, "", WORDS("doctor", "--json"));
        program_end(&program);
        cr_expect_eq(program.status, 1);
        cr_expect_eq(script.submits, doctor_n_probes - 1, "%u: no fork bomb without the pids controller",
                script.submits);
        cr_expect_eq(script.cancels, 1);
        cr_expect(strstr(program.stdout_bytes.data,
                          "\"name\":\"fork-bomb\",\"proves\":\"TasksMax=\",\"passed\":false,"
                          "\"found\":\"not tried: there is no pids controller to bound it\""),
                "%s", program.stdout_bytes.data);
        cr_expect(strstr(program.stdout_bytes.data, "\"name\":\"left-over-daemon\""));
}

Test(program, doctor_without_a_service) {
        cr_assert_geq(sd_bus_release_name(service, UNITCELL_NAME), 0);
        expect_run("", WORDS("doctor"), 125, "",
                "unitcell: ServiceUnknown: The name org.unitcell1 was not provided by any .service files: is "
                "unitcelld.service running?\n");
}

Test(program, cancel) {
        expect_run("", WORDS("cancel", "0123"), 0, "", "");
        cr_expect_eq(script.cancels, 1);
}

static void await(const unsigned *counter, unsigned value) {
        uint64_t start_usec = clock_monotonic_usec();

        while (*counter < value) {
                cr_assert_lt(clock_monotonic_usec() - start_usec, PATIENCE_USEC);
                service_turn();
        }
}

Test(program, interrupt_cancels_and_waits) {
        own(program_clear) Program program;

        program_start(&program, "", WORDS("run", "-lpython", "1"));
        await(&script.results, 1);
        cr_assert_eq(kill(program.pid, SIGINT), 0);
        program_end(&program);
        cr_expect_eq(program.status, 130);
        cr_expect_eq(script.cancels, 1);
        cr_expect_str_eq(program.stderr_bytes.data, "partly\nunitcell: canceled: Canceled.\n");
}

Test(program, second_interrupt_leaves) {
        own(program_clear) Program program;
        int status;

        program_start(&program, "", WORDS("run", "-lpython", "1"));
        await(&script.results, 1);
        /* the service is deaf from here on */
        cr_assert_eq(kill(program.pid, SIGINT), 0);
        (void) poll(NULL, 0, 200);
        cr_assert_eq(kill(program.pid, SIGTERM), 0);
        cr_assert_eq(waitpid(program.pid, &status, 0), program.pid);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 130);
}

Test(program, the_service_restarts_meanwhile) {
        script.result = DONE;
        script.lose_results = 2;
        expect_run("", WORDS("run", "-lpython", "1"), 0, "4950\n", "note");
        cr_expect_geq(script.results, 3);
        cr_expect_eq(script.submits, 1, "never submitted twice");
}

Test(program, version_and_help_need_no_service) {
        own(program_clear) Program program;

        expect_run("", WORDS("--version"), 0, "unitcell " UNITCELL_VERSION "\n", "");
        program_start(&program, "", WORDS("--help"));
        program_end(&program);
        cr_expect_eq(program.status, 0);
        cr_expect(strstr(program.stdout_bytes.data, "--limit KEY=VALUE"), "each verb's options are there");
}
