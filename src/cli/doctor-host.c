/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Host checks of unitcell doctor. */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include "base/own.h"
#include "cli/doctor-host.h"
#include "cli/document.h"

#define SYSTEMD_MIN 252U
#define KERNEL_MAJOR_MIN 6U
#define KERNEL_MINOR_MIN 1U

static int check_systemd(sd_bus *bus, Report *report) {
        own(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        own(freep) char *version = NULL;
        unsigned number = 0;
        ReportRow row = {.group = "host", .name = "systemd"};

        if (sd_bus_get_property_string(bus, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                    "org.freedesktop.systemd1.Manager", "Version", &error, &version) >= 0)
                (void) sscanf(version, "%u", &number);
        row.passed = number >= SYSTEMD_MIN;
        if (!row.passed)
                row.advice = "systemd 252 or later is needed";
        return report_say(report, &row, "version %s", version ? version : "not known");
}

static int check_kernel(Report *report) {
        ReportRow row = {.group = "host", .name = "kernel"};
        unsigned major = 0, minor = 0;
        struct utsname name;

        if (uname(&name) < 0)
                return -errno;
        (void) sscanf(name.release, "%u.%u", &major, &minor);
        row.passed = major > KERNEL_MAJOR_MIN || (major == KERNEL_MAJOR_MIN && minor >= KERNEL_MINOR_MIN);
        if (!row.passed)
                row.advice = "Linux 6.1 or later is needed";
        return report_say(report, &row, "Linux %s", name.release);
}

static int check_cgroups(Report *report) {
        ReportRow row = {.group = "host", .name = "cgroups"};
        struct statfs info;

        row.passed = statfs("/sys/fs/cgroup", &info) == 0 && info.f_type == CGROUP2_SUPER_MAGIC;
        if (!row.passed)
                row.advice = "boot with systemd.unified_cgroup_hierarchy=1";
        return report_say(report, &row, "%s",
                row.passed ? "cgroup v2 alone" : "/sys/fs/cgroup is not cgroup v2 alone");
}

/* Told, not judged. */
static int check_journal(Report *report) {
        bool kept = access("/var/log/journal", F_OK) == 0;

        return report_say(report,
                &(ReportRow){.group = "host",
                        .name = "journal",
                        .passed = true,
                        .advice =
                                kept ? NULL : "mkdir /var/log/journal, if records are to survive a reboot"},
                "%s", kept ? "on disk" : "in memory: records are lost at a reboot");
}

/* Told too, but for bash, which the self-test needs. */
static int check_languages(const char *languages, Report *report, bool *ret_has_python) {
        ReportRow row = {.group = "host", .name = "languages"};
        own(json_freep) json_object *list = NULL;
        own(freep) char *text = NULL;
        bool has_bash = false;
        size_t size;
        FILE *found;
        int r;

        r = document_parse_list(languages, &list);
        if (r < 0)
                return r;
        found = open_memstream(&text, &size);
        if (!found)
                return -ENOMEM;
        *ret_has_python = false;
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *language = json_object_array_get_idx(list, i);
                const char *name = document_text(language, "name");
                bool available = document_flag(language, "available");

                if (!name)
                        continue;
                (void) fprintf(
                        found, "%s%s%s", i > 0 ? ", " : "", name, available ? "" : " (no interpreter)");
                has_bash = has_bash || (available && streq(name, "bash"));
                *ret_has_python = *ret_has_python || (available && streq(name, "python"));
        }
        if (fclose(found) != 0)
                return -ENOMEM;

        row.passed = has_bash;
        if (!has_bash)
                row.advice = "the self-test needs bash";
        else if (!*ret_has_python)
                row.advice = "without python3 some of the self-test cannot be done";
        row.found = hand_over(text);
        return report_add(report, &row);
}

int host_examine(sd_bus *bus, const char *languages, Report *report, bool *ret_has_python) {
        int r;

        r = report_say(report, &(ReportRow){.group = "host", .name = "service", .passed = true},
                "unitcelld answers");
        if (r >= 0)
                r = check_systemd(bus, report);
        if (r >= 0)
                r = check_kernel(report);
        if (r >= 0)
                r = check_cgroups(report);
        if (r >= 0)
                r = check_journal(report);
        return r < 0 ? r : check_languages(languages, report, ret_has_python);
}

/* ---- sockets ---- */

static int listen_tcp(int *ret_fd, unsigned *ret_port) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        own(close_fdp) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        socklen_t size = sizeof address;

        if (fd < 0 || bind(fd, (struct sockaddr *) &address, size) < 0 || listen(fd, 4) < 0 ||
                getsockname(fd, (struct sockaddr *) &address, &size) < 0)
                return -errno;
        *ret_port = ntohs(address.sin_port);
        *ret_fd = hand_over_fd(fd);
        return 0;
}

static int listen_abstract(const char *nonce, int *ret_fd) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        own(close_fdp) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int n;

        n = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "unitcell-doctor-host-%s", nonce);
        if (fd < 0 ||
                bind(fd, (struct sockaddr *) &address,
                        (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + (size_t) n)) < 0 ||
                listen(fd, 4) < 0)
                return -errno;
        *ret_fd = hand_over_fd(fd);
        return 0;
}

int listeners_open(const char *nonce, Listeners *ret) {
        own(close_fdp) int tcp = -1, abstract = -1;
        unsigned port = 0;
        int r;

        r = listen_tcp(&tcp, &port);
        if (r >= 0)
                r = listen_abstract(nonce, &abstract);
        if (r < 0)
                return r;
        *ret = (Listeners){.tcp = hand_over_fd(tcp), .abstract = hand_over_fd(abstract), .port = port};
        (void) snprintf(ret->nonce, sizeof ret->nonce, "%s", nonce);
        return 0;
}

void listeners_clear(Listeners *listeners) {
        if (listeners->port == 0)
                return;
        close_fd(listeners->tcp);
        close_fd(listeners->abstract);
        *listeners = (Listeners){};
}

/* Anybody on the host may knock; only our probe knows the nonce. */
static bool has_visitor(int listener, const char *nonce) {
        int fd;

        while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
                char said[32] = "";
                ssize_t n = recv(fd, said, sizeof said, 0);

                (void) close_fd(fd);
                if (n == (ssize_t) strlen(nonce) && strncmp(said, nonce, (size_t) n) == 0)
                        return true;
        }
        return false;
}

const char *listeners_look(const Listeners *listeners) {
        if (has_visitor(listeners->tcp, listeners->nonce))
                return "somebody came to a port of the host's loopback";
        if (has_visitor(listeners->abstract, listeners->nonce))
                return "somebody came to an abstract socket of the host";
        return NULL;
}
