/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who the code is, what it holds, and whom it sees. */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "runner/inspect.h"
#include "runner/landlock.h"

#define PROC_TEXT_MAX (256U * 1024)

DEFINE_OWN(DIR, closedir);

/* A list in one value, "none" when it stays empty. */
typedef struct Words {
        char text[1024];
        size_t used;
} Words;

static void words_add(Words *words, const char *word) {
        int n = snprintf(words->text + words->used, sizeof words->text - words->used, "%s%s",
                words->used > 0 ? "," : "", word);

        if (n > 0 && (size_t) n < sizeof words->text - words->used)
                words->used += (size_t) n;
        else
                words->text[words->used] = 0;
}

static const char *words_value(const Words *words) {
        return words->used > 0 ? words->text : "none";
}

static void ids(void) {
        gid_t groups[64], gid, effective_gid, saved_gid;
        uid_t uid, effective_uid, saved_uid;
        Words words = {};
        int n;

        if (getresuid(&uid, &effective_uid, &saved_uid) < 0 ||
                getresgid(&gid, &effective_gid, &saved_gid) < 0)
                return;
        if (uid == effective_uid && uid == saved_uid)
                fact("uid", "%u", uid);
        else
                fact("uid", "%u,%u,%u", uid, effective_uid, saved_uid);
        if (gid == effective_gid && gid == saved_gid)
                fact("gid", "%u", gid);
        else
                fact("gid", "%u,%u,%u", gid, effective_gid, saved_gid);

        n = getgroups((int) ELEMENTS(groups), groups);
        for (int i = 0; i < n; i++) {
                char word[16];

                if (groups[i] == gid)
                        continue;
                (void) snprintf(word, sizeof word, "%u", groups[i]);
                words_add(&words, word);
        }
        fact("groups", "%s", n < 0 ? "too-many" : words_value(&words)); /* besides gid */
}

static void status(void) {
        static const struct {
                const char *key, *fact;
        } lines[] = {
                {"CapInh:", "cap_inheritable"},
                {"CapPrm:", "cap_permitted"},
                {"CapEff:", "cap_effective"},
                {"CapBnd:", "cap_bounding"},
                {"CapAmb:", "cap_ambient"},
                {"NoNewPrivs:", "no_new_privs"},
                {"Seccomp:", "seccomp"},
                {"Seccomp_filters:", "seccomp_filters"},
        };
        Bytes text = {};
        char *rest, *line;

        if (file_read("/proc/self/status", PROC_TEXT_MAX, &text) < 0)
                return;

        rest = text.data;
        while ((line = strsep(&rest, "\n")))
                for (size_t i = 0; i < ELEMENTS(lines); i++)
                        if (starts_with(line, lines[i].key)) {
                                line += strlen(lines[i].key);
                                fact(lines[i].fact, "%s", line + strspn(line, " \t"));
                                break;
                        }
        bytes_clear(&text);
}

static void namespaces(void) {
        static const char *const names[] = {"net", "ipc", "uts", "mnt", "pid", "user", "cgroup"};

        for (size_t i = 0; i < ELEMENTS(names); i++) {
                char path[64], name[32];
                struct stat info;

                (void) snprintf(path, sizeof path, "/proc/self/ns/%s", names[i]);
                (void) snprintf(name, sizeof name, "ns_%s", names[i]);
                if (stat(path, &info) == 0)
                        fact(name, "%ju", (uintmax_t) info.st_ino);
        }
}

/* /proc/self/net/dev: two lines of heading, then "  name: numbers". */
static void interfaces(void) {
        Words words = {};
        Bytes text = {};
        char *rest, *line;

        if (file_read("/proc/self/net/dev", PROC_TEXT_MAX, &text) < 0)
                return;

        rest = text.data;
        while ((line = strsep(&rest, "\n"))) {
                char *colon = strchr(line, ':');

                if (!colon)
                        continue;
                *colon = 0;
                words_add(&words, line + strspn(line, " "));
        }
        fact("interfaces", "%s", words_value(&words));
        bytes_clear(&text);
}

static void descriptors(void) {
        own(closedirp) DIR *dir = opendir("/proc/self/fd");
        struct dirent *entry;
        Words words = {};

        if (!dir)
                return;
        while ((entry = readdir(dir))) {
                char own_number[16];

                (void) snprintf(own_number, sizeof own_number, "%d", dirfd(dir));
                if (entry->d_name[0] != '.' && !streq(entry->d_name, own_number))
                        words_add(&words, entry->d_name);
        }
        fact("fds", "%s", words_value(&words));
}

/* The session of a process, from its stat line: the name in brackets may hold anything, so count from its
 * end. */
static pid_t session_of(const char *pid) {
        Bytes text = {};
        char path[300], *end;
        int session = -1;

        (void) snprintf(path, sizeof path, "/proc/%s/stat", pid);
        if (file_read(path, PROC_TEXT_MAX, &text) < 0)
                return -1;
        end = strrchr(text.data, ')');
        if (end && sscanf(end + 1, " %*c %*d %*d %d", &session) != 1)
                session = -1;
        bytes_clear(&text);
        return session;
}

/* Processes outside our own session that can be seen; ours are what the code itself started. */
static void processes(void) {
        own(closedirp) DIR *dir = opendir("/proc");
        struct dirent *entry;
        pid_t own_session = getsid(0);
        unsigned foreign = 0;

        if (!dir)
                return;
        while ((entry = readdir(dir)))
                if (isdigit((unsigned char) entry->d_name[0]) && session_of(entry->d_name) != own_session)
                        foreign++;
        fact("processes_foreign", "%u", foreign);
        fact("ppid", "%d", getppid()); /* 1 in a PID namespace of our own: the runner is its first process */
}

/* What follows start on the first line that begins with it. */
static void line_of(const char *name, const char *path, const char *start) {
        Bytes text = {};
        char *rest, *line;

        if (file_read(path, PROC_TEXT_MAX, &text) < 0)
                return;

        rest = text.data;
        while ((line = strsep(&rest, "\n")))
                if (starts_with(line, start)) {
                        fact(name, "%s", line + strlen(start));
                        break;
                }
        bytes_clear(&text);
}

void inspect_process(void) {
        struct rlimit core;
        char host[256] = "";

        ids();
        status();
        namespaces();
        interfaces();
        descriptors();
        processes();

        if (getrlimit(RLIMIT_CORE, &core) == 0)
                fact("rlimit_core", "%ju,%ju", (uintmax_t) core.rlim_cur, (uintmax_t) core.rlim_max);
        fact("landlock", "%d", landlock_version() > 0 ? landlock_version() : 0);
        line_of("cgroup", "/proc/self/cgroup", "0::");
        line_of("oom_score_adj", "/proc/self/oom_score_adj", "");
        if (gethostname(host, sizeof host - 1) == 0)
                fact("hostname", "%s", host);
}
