/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The file system as the code sees it: mounts, what exists, what opens, where a file can be made. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "runner/inspect.h"

#define MOUNTINFO_MAX (1024U * 1024)

DEFINE_OWN(DIR, closedir);

static const char *const mount_points[] = {"/", "/usr", "/scratch", "/dev/shm", "/run", "/sys",
        "/sys/fs/cgroup", "/dev", "/proc", "/proc/sys", "/proc/kmsg", "/proc/kallsyms", "/proc/kcore",
        "/dev/mqueue", "/tmp", "/var/tmp"};

static const char *const exist_paths[] = {"/home", "/boot", "/srv", "/opt", "/mnt", "/media", "/lost+found",
        "/etc/shadow", "/etc/gshadow", "/etc/machine-id", "/etc/ssh", "/etc/unitcell", "/var/lib",
        "/var/log", "/var/spool", "/var/cache", "/run/dbus", "/run/systemd/journal", "/run/systemd/private",
        "/run/systemd/notify", "/run/systemd/userdb", "/run/unitcell", "/run/udev", "/run/user",
        "/sys/fs/cgroup/cgroup.procs", "/sys/fs/bpf", "/sys/kernel", "/sys/class", "/sys/firmware",
        "/sys/module", "/sys/block", "/sys/bus", "/proc/meminfo", "/dev/kmsg", "/dev/mem", "/dev/kvm",
        "/dev/fuse", "/dev/vsock", "/dev/net", "/dev/sda", "/dev/vda"};

static const char *const read_paths[] = {"/dev/null", "/dev/urandom", "/dev/pts", "/dev/ptmx",
        "/dev/hugepages", "/dev/mqueue", "/proc/kmsg", "/proc/kallsyms", "/proc/kcore", "/proc/1/root",
        "/proc/1/environ", "/usr/lib/modules"};

static const char *const write_opens[] = {"/proc/sysrq-trigger", "/proc/sys/kernel/hostname"};

static const char *const write_directories[] = {"/", "/usr", "/usr/lib/unitcell", "/etc", "/var", "/run",
        "/dev", "/data", "/opt", "/sys", "/proc/sys/kernel", "/scratch", "/workspace", "/tmp", "/var/tmp",
        "/output", "/dev/shm"};

static const char *const backed_paths[] = {"/workspace", "/tmp", "/var/tmp", "/output"};

static bool has_option(const char *options, const char *name) {
        size_t n = strlen(name);

        for (const char *at = options; (at = strstr(at, name)); at += n)
                if ((at == options || at[-1] == ',') && (at[n] == 0 || at[n] == ','))
                        return true;
        return false;
}

/* One line of mountinfo: id parent major:minor root POINT OPTIONS [tag…] - TYPE source SUPER-OPTIONS */
typedef struct Mount {
        char *point, *options, *type, *super_options;
} Mount;

static bool mount_split(char *line, Mount *ret) {
        char *fields[6], *rest = line, *tail;

        for (size_t i = 0; i < ELEMENTS(fields); i++) {
                fields[i] = strsep(&rest, " ");
                if (!fields[i] || !rest)
                        return false;
        }

        tail = starts_with(rest, "- ") ? rest + 2 : strstr(rest, " - ");
        if (!tail)
                return false;
        if (starts_with(tail, " - "))
                tail += 3;

        ret->point = fields[4];
        ret->options = fields[5];
        ret->type = strsep(&tail, " ");
        (void) strsep(&tail, " ");
        ret->super_options = tail ? tail : (char *) "";
        return true;
}

static void mount_fact(const char *point, const char *part, const char *value) {
        char name[128];

        (void) snprintf(name, sizeof name, "mount:%s:%s", point, part);
        fact(name, "%s", value);
}

static void mount_facts(const char *point, const Mount *mount) {
        const char *hidepid = strstr(mount->super_options, "hidepid=");
        bool read_only = has_option(mount->options, "ro") || has_option(mount->super_options, "ro");
        struct statvfs space;
        char value[128];

        mount_fact(point, "type", mount->type);
        mount_fact(point, "mode", read_only ? "ro" : "rw");
        (void) snprintf(value, sizeof value, "%s,%s,%s",
                has_option(mount->options, "nosuid") ? "nosuid" : "suid",
                has_option(mount->options, "nodev") ? "nodev" : "dev",
                has_option(mount->options, "noexec") ? "noexec" : "exec");
        mount_fact(point, "flags", value);

        if (streq(point, "/proc"))
                mount_fact(point, "hidepid",
                        hidepid ? strtok(strdupa(hidepid + strlen("hidepid=")), ",") : "none");
        if (streq(mount->type, "tmpfs") && statvfs(point, &space) == 0) {
                (void) snprintf(value, sizeof value, "%ju", (uintmax_t) space.f_blocks * space.f_frsize);
                mount_fact(point, "size", value);
                (void) snprintf(value, sizeof value, "%ju", (uintmax_t) space.f_files);
                mount_fact(point, "inodes", value);
        }
}

static void mounts(void) {
        Mount found[ELEMENTS(mount_points)] = {};
        Bytes text = {};
        char *rest, *line;

        if (file_read("/proc/self/mountinfo", MOUNTINFO_MAX, &text) < 0)
                return;

        rest = text.data;
        while ((line = strsep(&rest, "\n"))) {
                Mount mount;

                if (!mount_split(line, &mount))
                        continue;
                for (size_t i = 0; i < ELEMENTS(mount_points); i++)
                        if (streq(mount.point, mount_points[i]))
                                found[i] = mount; /* the last one lies on top */
        }

        for (size_t i = 0; i < ELEMENTS(mount_points); i++)
                if (found[i].point)
                        mount_facts(mount_points[i], &found[i]);
                else
                        mount_fact(mount_points[i], "type", "none");
        bytes_clear(&text);
}

static void exists(const char *path) {
        char name[128], buffer[16];
        struct stat info;
        /* A link to nowhere is nothing: the skeleton has one where systemd would make a directory. */
        int error = stat(path, &info) < 0 ? errno : 0;

        (void) snprintf(name, sizeof name, "exists:%s", path);
        fact(name, "%s",
                error == 0                            ? "yes"
                : error == ENOENT || error == ENOTDIR ? "no"
                                                      : errno_word(error, buffer));
}

/*
 * systemd puts a /root into any root directory that has none; ProtectHome= lies over it with an empty one of
 * mode 000, and nothing else tells the two apart.
 */
static void root_home(void) {
        struct stat info;

        if (stat("/root", &info) < 0)
                fact("mode:/root", "missing");
        else
                fact("mode:/root", "%03o", info.st_mode & 07777);
}

/* Opening alone does nothing: neither a terminal nor a FIFO can hold us, and nothing is read or written. */
static void open_probe(const char *kind, const char *path, int flags) {
        int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

        fact_errno(kind, path, fd < 0 ? errno : 0);
        (void) close_fd(fd);
}

/* Makes a file and takes it away again. */
static void write_probe(const char *directory) {
        char path[128];
        int fd;

        (void) snprintf(path, sizeof path, "%s/.unitcell-inspect-%d", streq(directory, "/") ? "" : directory,
                getpid());
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        fact_errno("write", directory, fd < 0 ? errno : 0);
        if (fd >= 0)
                (void) unlink(path);
        (void) close_fd(fd);
}

/* Whether a writable path lies in the workspace, and so within its limit. */
static void backing(const char *path) {
        struct stat scratch, info;
        char name[64];

        (void) snprintf(name, sizeof name, "backing:%s", path);
        if (stat("/scratch", &scratch) < 0 || stat(path, &info) < 0)
                fact(name, "missing");
        else
                fact(name, "%s", scratch.st_dev == info.st_dev ? "scratch" : "other");
}

static void devices(void) {
        own(closedirp) DIR *dir = opendir("/dev");
        struct dirent *entry;
        char names[1000] = "";
        size_t used = 0;

        if (!dir)
                return;
        while ((entry = readdir(dir))) {
                int n;

                if (entry->d_name[0] == '.')
                        continue;
                n = snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? "," : "", entry->d_name);
                if (n < 0 || (size_t) n >= sizeof names - used) {
                        (void) snprintf(names, sizeof names, "too-many");
                        break;
                }
                used += (size_t) n;
        }
        fact("dev", "%s", names);
}

void inspect_places(void) {
        mounts();
        devices();
        root_home();
        for (size_t i = 0; i < ELEMENTS(exist_paths); i++)
                exists(exist_paths[i]);
        for (size_t i = 0; i < ELEMENTS(read_paths); i++)
                open_probe("open", read_paths[i], O_RDONLY);
        for (size_t i = 0; i < ELEMENTS(write_opens); i++)
                open_probe("open-write", write_opens[i], O_WRONLY);
        for (size_t i = 0; i < ELEMENTS(write_directories); i++)
                write_probe(write_directories[i]);
        for (size_t i = 0; i < ELEMENTS(backed_paths); i++)
                backing(backed_paths[i]);
}
