/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The other end of the daemon's connection: the bus driver, systemd and polkit, as well as their scripts
 * say. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "world.h"

#define SYSTEMD "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_UNIQUE ":1.2"

/* ---- answers ---- */

void wire_answer(sd_bus_message *call, const char *types, ...) {
        own(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        va_list arguments;

        if (!sd_bus_message_get_expect_reply(call))
                return;
        cr_assert_geq(sd_bus_message_new_method_return(call, &reply), 0);
        if (types) {
                va_start(arguments, types);
                cr_assert_geq(sd_bus_message_appendv(reply, types, arguments), 0);
                va_end(arguments);
        }
        cr_assert_geq(sd_bus_send(NULL, reply, NULL), 0);
}

void wire_answer_error(sd_bus_message *call, const char *name) {
        if (sd_bus_message_get_expect_reply(call))
                cr_assert_geq(sd_bus_reply_method_errorf(call, name, "as the script says"), 0);
}

static sd_bus_message *signal_new(
        World *world, const char *path, const char *interface, const char *member) {
        sd_bus_message *message;

        cr_assert_geq(sd_bus_message_new_signal(world->wire, &message, path, interface, member), 0);
        cr_assert_geq(sd_bus_message_set_sender(message, SYSTEMD_UNIQUE), 0);
        return message;
}

/* ---- news of a unit ---- */

static void append_properties(FakeUnit *unit, sd_bus_message *message, bool service) {
        static const uint8_t invocation[16] = {1, 2, 3};

        cr_assert_geq(sd_bus_message_open_container(message, 'a', "{sv}"), 0);
        if (service)
                cr_assert_geq(sd_bus_message_append(message, "{sv}{sv}{sv}{sv}", "Result", "s", unit->result,
                                      "ExecMainCode", "i", unit->main_code, "ExecMainStatus", "i",
                                      unit->main_status, "CPUUsageNSec", "t", UINT64_C(5000000)),
                        0);
        else {
                cr_assert_geq(sd_bus_message_append(message, "{sv}{sv}{sv}{sv}", "LoadState", "s", "loaded",
                                      "ActiveState", "s", unit->active, "Job", "(uo)",
                                      unit->job_waits ? unit->job : 0,
                                      unit->job_waits ? unit->job_path : "/", "Following", "s", ""),
                        0);
                cr_assert_geq(sd_bus_message_open_container(message, 'e', "sv"), 0);
                cr_assert_geq(sd_bus_message_append(message, "s", "InvocationID"), 0);
                cr_assert_geq(sd_bus_message_open_container(message, 'v', "ay"), 0);
                cr_assert_geq(sd_bus_message_append_array(message, 'y', invocation, sizeof invocation), 0);
                cr_assert_geq(sd_bus_message_close_container(message), 0);
                cr_assert_geq(sd_bus_message_close_container(message), 0);
        }
        cr_assert_geq(sd_bus_message_close_container(message), 0);
}

static void tell_half(FakeUnit *unit, bool service) {
        own(sd_bus_message_unrefp) sd_bus_message *news =
                signal_new(unit->world, unit->path, "org.freedesktop.DBus.Properties", "PropertiesChanged");

        cr_assert_geq(sd_bus_message_append(news, "s", service ? SYSTEMD ".Service" : SYSTEMD ".Unit"), 0);
        append_properties(unit, news, service);
        cr_assert_geq(sd_bus_message_append(news, "as", 0), 0);
        cr_assert_geq(sd_bus_send(unit->world->wire, news, NULL), 0);
}

/* News that are of others, of no unit at all, or not what they should be. */
static void tell_nonsense(FakeUnit *unit) {
        static const char *const paths[] = {SYSTEMD_PATH
                "/unit/unitcell_2dx_2d00000000000000000000000000000000_2eservice",
                SYSTEMD_PATH "/unit/a_2eservice", "/", NULL};
        World *world = unit->world;

        for (size_t i = 0; i < ELEMENTS(paths); i++) {
                own(sd_bus_message_unrefp) sd_bus_message *wrong =
                        signal_new(world, paths[i] ? paths[i] : unit->path,
                                "org.freedesktop.DBus.Properties", "PropertiesChanged");
                own(sd_bus_message_unrefp) sd_bus_message *other =
                        signal_new(world, paths[i] ? paths[i] : unit->path,
                                "org.freedesktop.DBus.Properties", "PropertiesChanged");

                cr_assert_geq(sd_bus_message_append(wrong, "u", 5U), 0);
                cr_assert_geq(sd_bus_send(world->wire, wrong, NULL), 0);
                cr_assert_geq(sd_bus_message_append(
                                      other, "sa{sv}as", SYSTEMD ".Unit", 1, "ActiveState", "u", 7U, 0),
                        0);
                cr_assert_geq(sd_bus_send(world->wire, other, NULL), 0);
        }
        {
                own(sd_bus_message_unrefp) sd_bus_message *job =
                        signal_new(world, SYSTEMD_PATH, SYSTEMD ".Manager", "JobRemoved");
                own(sd_bus_message_unrefp) sd_bus_message *empty =
                        signal_new(world, SYSTEMD_PATH, SYSTEMD ".Manager", "JobRemoved");

                cr_assert_geq(sd_bus_message_append(job, "uoss", 4711U, SYSTEMD_PATH "/job/4711",
                                      "unitcell-x-.service", "done"),
                        0);
                cr_assert_geq(sd_bus_send(world->wire, job, NULL), 0);
                cr_assert_geq(sd_bus_send(world->wire, empty, NULL), 0);
        }
}

void unit_tell(FakeUnit *unit) {
        for (unsigned i = 0; i < (unit->script.twice ? 2U : 1U) && !unit->script.silent; i++) {
                tell_half(unit, /* service= */ true);
                tell_half(unit, /* service= */ false);
        }
        if (unit->script.nonsense)
                tell_nonsense(unit);
}

void unit_job_removed(FakeUnit *unit, uint32_t job, const char *result) {
        unit->job_waits = unit->job_waits && job != unit->job;
        for (unsigned i = 0; i < (unit->script.twice ? 2U : 1U) && !unit->script.job_never; i++) {
                own(sd_bus_message_unrefp) sd_bus_message *news =
                        signal_new(unit->world, SYSTEMD_PATH, SYSTEMD ".Manager", "JobRemoved");
                char path[64];

                (void) snprintf(path, sizeof path, SYSTEMD_PATH "/job/%u", job);
                cr_assert_geq(sd_bus_message_append(news, "uoss", job, path, unit->name, result), 0);
                cr_assert_geq(sd_bus_send(unit->world->wire, news, NULL), 0);
        }
}

/* ---- its cgroup ---- */

static void put(const FakeUnit *unit, const char *name, const char *text) {
        char path[320];
        int fd;

        (void) snprintf(path, sizeof path, "%s/%s", unit->cgroup, name);
        if (unit->script.limit_file && streq(unit->script.limit_file, name)) {
                text = unit->script.limit_text;
                if (!text)
                        return;
        }
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        cr_assert_geq(fd, 0);
        cr_assert_eq(write(fd, text, strlen(text)), (ssize_t) strlen(text));
        close(fd);
}

static int on_killed(sd_event_source *source, const struct inotify_event *event, void *userdata) {
        FakeUnit *unit = userdata;

        if (!unit->script.immortal)
                unit_ends(unit, CLD_KILLED, SIGKILL, "signal");
        return 0;
}

static void make_cgroup(FakeUnit *unit) {
        char text[64];

        (void) snprintf(unit->cgroup, sizeof unit->cgroup, "%s/%s", unit->world->cgroup_root,
                unit->script.elsewhere ? "elsewhere" : "unitcell.slice");
        (void) mkdir(unit->cgroup, 0700);
        (void) snprintf(unit->cgroup + strlen(unit->cgroup), 128, "/%s", unit->slice);
        (void) mkdir(unit->cgroup, 0700);
        (void) snprintf(unit->cgroup + strlen(unit->cgroup), 128, "/%s", unit->name);
        cr_assert_eq(mkdir(unit->cgroup, 0700), 0);
        put(unit, "cgroup.events", "populated 1\nfrozen 0\n");
        put(unit, "cgroup.kill", "");
        put(unit, "memory.events", "max 0\noom 0\noom_kill 0\n");
        put(unit, "memory.peak", "4096\n");
        put(unit, "memory.swap.max", "0\n");
        put(unit, "pids.events", "max 0\n");
        put(unit, "cpu.stat", "usage_usec 31000\n");
        (void) snprintf(text, sizeof text, "%llu\n", (unsigned long long) unit->memory_max);
        put(unit, "memory.max", text);
        (void) snprintf(text, sizeof text, "%llu\n", (unsigned long long) unit->tasks_max);
        put(unit, "pids.max", text);
        (void) snprintf(text, sizeof text, "%llu 100000\n", (unsigned long long) unit->cpu_quota / 10);
        put(unit, "cpu.max", text);

        (void) snprintf(text, sizeof text, "cgroup.kill");
        {
                char path[320];

                (void) snprintf(path, sizeof path, "%s/cgroup.kill", unit->cgroup);
                cr_assert_geq(sd_event_add_inotify(unit->world->event, &unit->kill_source, path, IN_MODIFY,
                                      on_killed, unit),
                        0);
        }
}

void unit_ends(FakeUnit *unit, int main_code, int main_status, const char *result) {
        if (unit->ended)
                return;
        unit->ended = true;
        unit->main_code = main_code;
        unit->main_status = main_status;
        unit->result = result;
        unit->active = streq(result, "success") ? "inactive" : "failed";
        if (unit->cgroup[0])
                put(unit, "cgroup.events", "populated 0\nfrozen 0\n");
        unit_tell(unit);
}

/* ---- systemd's methods ---- */

static FakeUnit *find_unit(World *world, const char *name, const char *path) {
        for (size_t i = 0; i < world->n_units; i++)
                if (streq(name ? world->units[i]->name : world->units[i]->path, name ? name : path))
                        return world->units[i];
        return NULL;
}

static int take_descriptor(sd_bus_message *call) {
        int fd;

        cr_assert_gt(sd_bus_message_read(call, "v", "h", &fd), 0);
        return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static void read_properties(sd_bus_message *call, FakeUnit *unit) {
        const char *name, *text;

        cr_assert_gt(sd_bus_message_enter_container(call, 'a', "(sv)"), 0);
        while (sd_bus_message_enter_container(call, 'r', "sv") > 0) {
                cr_assert_gt(sd_bus_message_read(call, "s", &name), 0);
                if (streq(name, "StandardInputFileDescriptor"))
                        unit->control = take_descriptor(call);
                else if (streq(name, "StandardOutputFileDescriptor"))
                        unit->out = take_descriptor(call);
                else if (streq(name, "StandardErrorFileDescriptor"))
                        unit->err = take_descriptor(call);
                else if (streq(name, "MemoryMax"))
                        (void) sd_bus_message_read(call, "v", "t", &unit->memory_max);
                else if (streq(name, "TasksMax"))
                        (void) sd_bus_message_read(call, "v", "t", &unit->tasks_max);
                else if (streq(name, "CPUQuotaPerSecUSec"))
                        (void) sd_bus_message_read(call, "v", "t", &unit->cpu_quota);
                else if (streq(name, "Slice")) {
                        (void) sd_bus_message_read(call, "v", "s", &text);
                        unit->slice = strdup(text);
                } else
                        cr_assert_geq(sd_bus_message_skip(call, "v"), 0);
                cr_assert_geq(sd_bus_message_exit_container(call), 0);
        }
        cr_assert_geq(sd_bus_message_exit_container(call), 0);
        cr_assert(unit->control >= 0 && unit->out >= 0 && unit->err >= 0 && unit->slice);
}

static void reply_with_job(FakeUnit *unit, sd_bus_message *call) {
        switch (unit->script.reply) {
        case REPLY_LATE:
                unit->late = sd_bus_message_ref(call);
                return;
        case REPLY_NEVER:
        case REPLY_LOST:
                return;
        case REPLY_ERROR:
                wire_answer_error(call, SYSTEMD ".UnitExists");
                return;
        case REPLY_GARBAGE:
                wire_answer(call, "u", 5U);
                return;
        case REPLY_TWICE:
                wire_answer(call, "o", unit->job_path);
                wire_answer(call, "o", SYSTEMD_PATH "/job/99999");
                return;
        case REPLY_AS_IT_SHOULD:
                break;
        }
        wire_answer(call, "o", unit->job_path);
}

void unit_reply_late(FakeUnit *unit) {
        cr_assert_not_null(unit->late);
        wire_answer(unit->late, "o", unit->job_path);
        unit->late = sd_bus_message_unref(unit->late);
}

static void run_unit(FakeUnit *unit) {
        char scratch[320];

        make_cgroup(unit);
        (void) snprintf(scratch, sizeof scratch, "%s/scratch-%s", unit->world->root, unit->id);
        cr_assert_eq(mkdir(scratch, 0700), 0);
        unit->scratch = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        unit->active = "active";
        unit_tell(unit);
}

static void start_transient(World *world, sd_bus_message *call) {
        FakeUnit *unit = calloc(1, sizeof *unit);
        const char *name, *mode;

        cr_assert_lt(world->n_units, WORLD_UNITS);
        *unit = (FakeUnit){.world = world,
                .script = world->scripts[world->n_units],
                .control = -1,
                .out = -1,
                .err = -1,
                .scratch = -1,
                .active = "inactive",
                .result = "success",
                .job = ++world->next_job,
                .job_waits = true};
        world->units[world->n_units++] = unit;
        if (world->on_start)
                world->on_start(world);
        cr_assert_gt(sd_bus_message_read(call, "ss", &name, &mode), 0);
        cr_assert_str_eq(mode, "fail");
        (void) snprintf(unit->name, sizeof unit->name, "%s", name);
        cr_assert_eq(unit_name_to_id(name, unit->id), 0);
        (void) snprintf(
                unit->path, sizeof unit->path, SYSTEMD_PATH "/unit/unitcell_2dx_2d%s_2eservice", unit->id);
        (void) snprintf(unit->job_path, sizeof unit->job_path, SYSTEMD_PATH "/job/%u", unit->job);
        read_properties(call, unit);

        if (unit->script.job_first) {
                run_unit(unit);
                unit_job_removed(unit, unit->job, "done");
                reply_with_job(unit, call);
                runner_begin(unit);
                return;
        }
        reply_with_job(unit, call);
        if (unit->script.reply == REPLY_ERROR || unit->script.reply == REPLY_NEVER)
                return;
        if (unit->script.inactive_first)
                unit_tell(unit);
        if (unit->script.job_stays)
                return;
        unit->active = "activating";
        unit_tell(unit);
        if (unit->script.job_fails) {
                unit->result = "resources";
                unit->active = "failed";
                unit->ended = true;
                unit_tell(unit);
                unit_job_removed(unit, unit->job, "failed");
                return;
        }
        run_unit(unit);
        unit_job_removed(unit, unit->job, "done");
        runner_begin(unit);
}

static void stop_unit(World *world, const char *name) {
        FakeUnit *unit = find_unit(world, name, NULL);

        if (!unit)
                return;
        unit->stops++;
        if (unit->script.immortal)
                return;
        if (unit->job_waits)
                unit_job_removed(unit, unit->job, "canceled");
        if (streq(unit->active, "active"))
                unit_ends(unit, CLD_KILLED, SIGKILL, "signal");
        unit_job_removed(unit, ++world->next_job, "done"); /* the stop job */
}

static void get_all(World *world, sd_bus_message *call) {
        own(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        FakeUnit *unit = find_unit(world, NULL, sd_bus_message_get_path(call));

        if (!unit) {
                wire_answer(call, "a{sv}", 2, "LoadState", "s", "not-found", "ActiveState", "s", "inactive");
                return;
        }
        unit->queries++;
        if (unit->script.query_never)
                return;
        cr_assert_geq(sd_bus_message_new_method_return(call, &reply), 0);
        cr_assert_geq(sd_bus_message_open_container(reply, 'a', "{sv}"), 0);
        cr_assert_geq(sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}{sv}", "LoadState", "s", "loaded",
                              "ActiveState", "s", unit->active, "Result", "s", unit->result, "ExecMainCode",
                              "i", unit->main_code, "ExecMainStatus", "i", unit->main_status, "Job", "(uo)",
                              unit->job_waits ? unit->job : 0U, unit->job_waits ? unit->job_path : "/"),
                0);
        cr_assert_geq(sd_bus_message_close_container(reply), 0);
        cr_assert_geq(sd_bus_send(NULL, reply, NULL), 0);
}

static void list_units(World *world, sd_bus_message *call) {
        own(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

        cr_assert_geq(sd_bus_message_new_method_return(call, &reply), 0);
        cr_assert_geq(sd_bus_message_open_container(reply, 'a', "(ssssssouso)"), 0);
        for (size_t i = 0; i < world->n_units + ELEMENTS(world->listed); i++) {
                const char *name =
                        i < world->n_units ? world->units[i]->name : world->listed[i - world->n_units];

                if (name)
                        cr_assert_geq(sd_bus_message_append(reply, "(ssssssouso)", name, "d", "loaded",
                                              "active", "running", "", "/a", 0U, "", "/"),
                                0);
        }
        cr_assert_geq(sd_bus_message_close_container(reply), 0);
        cr_assert_geq(sd_bus_send(NULL, reply, NULL), 0);
}

static void systemd_manager(World *world, sd_bus_message *call, const char *member) {
        FakeUnit *unit;
        const char *name;

        if (streq(member, "Subscribe")) {
                if (!world->never_subscribed)
                        wire_answer(call, NULL);
                return;
        }
        if (streq(member, "StartTransientUnit")) {
                start_transient(world, call);
                return;
        }
        if (streq(member, "ListUnitsByPatterns")) {
                list_units(world, call);
                return;
        }
        cr_assert_gt(sd_bus_message_read(call, "s", &name), 0);
        unit = find_unit(world, name, NULL);
        if (streq(member, "StopUnit"))
                stop_unit(world, name);
        else if (unit && streq(member, "RefUnit"))
                unit->refs++;
        else if (unit && streq(member, "UnrefUnit"))
                unit->unrefs++;
        else if (unit && streq(member, "ResetFailedUnit"))
                unit->resets++;
        if (unit)
                wire_answer(call, NULL);
        else
                wire_answer_error(call, SYSTEMD ".NoSuchUnit");
}

void pid1_reloaded(World *world) {
        for (int active = 1; active >= 0; active--) {
                own(sd_bus_message_unrefp) sd_bus_message *news =
                        signal_new(world, SYSTEMD_PATH, SYSTEMD ".Manager", "Reloading");

                cr_assert_geq(sd_bus_message_append(news, "b", active), 0);
                cr_assert_geq(sd_bus_send(world->wire, news, NULL), 0);
        }
}

/* ---- the connection ---- */

static int on_call(sd_bus_message *call, void *userdata, sd_bus_error *ret_error) {
        const char *interface = sd_bus_message_get_interface(call),
                   *member = sd_bus_message_get_member(call);
        World *world = userdata;

        if (!interface || !sd_bus_message_is_method_call(call, NULL, NULL))
                return 0;
        if (streq(interface, "org.freedesktop.DBus"))
                driver_call(world, call, member);
        else if (streq(interface, SYSTEMD ".Manager"))
                systemd_manager(world, call, member);
        else if (streq(interface, "org.freedesktop.DBus.Properties") && streq(member, "GetAll"))
                get_all(world, call);
        else if (streq(interface, "org.freedesktop.DBus.Properties")) {
                const char *of, *name;

                cr_assert_gt(sd_bus_message_read(call, "ss", &of, &name), 0);
                if (!world->version)
                        wire_answer_error(call, "org.freedesktop.DBus.Error.AccessDenied");
                else
                        wire_answer(call, "v", "s",
                                streq(name, "Version") ? world->version : "+SECCOMP -BPF_FRAMEWORK");
        } else if (streq(interface, "org.freedesktop.PolicyKit1.Authority"))
                polkit_call(world, call);
        else
                cr_assert_fail("nobody here knows %s.%s", interface, member);
        return 1;
}

void pid1_open(World *world) {
        const sd_id128_t id = {.bytes = {1}};
        int fds[2];

        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        cr_assert_geq(sd_bus_new(&world->wire), 0);
        cr_assert_geq(sd_bus_set_fd(world->wire, fds[0], fds[0]), 0);
        cr_assert_geq(sd_bus_set_server(world->wire, 1, id), 0);
        cr_assert_geq(sd_bus_negotiate_fds(world->wire, 1), 0);
        cr_assert_geq(sd_bus_add_filter(world->wire, NULL, on_call, world), 0);
        cr_assert_geq(sd_bus_new(&world->daemon), 0);
        cr_assert_geq(sd_bus_set_fd(world->daemon, fds[1], fds[1]), 0);
        cr_assert_geq(sd_bus_set_bus_client(world->daemon, 1), 0);
        cr_assert_geq(sd_bus_negotiate_fds(world->daemon, 1), 0);
        cr_assert_geq(sd_bus_attach_event(world->wire, world->event, 0), 0);
        cr_assert_geq(sd_bus_attach_event(world->daemon, world->event, 0), 0);
        cr_assert_geq(sd_bus_start(world->wire), 0);
        cr_assert_geq(sd_bus_start(world->daemon), 0);
}

void pid1_forget(World *world) {
        for (size_t i = 0; i < world->n_units; i++) {
                FakeUnit *unit = world->units[i];

                runner_close(unit);
                sd_event_source_disable_unref(unit->kill_source);
                sd_bus_message_unref(unit->late);
                free(unit->slice);
                free(unit);
        }
        world->n_units = 0;
        sd_bus_message_unref(world->late_answer);
}
