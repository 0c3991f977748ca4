/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "surroundings.h"

#include "base/file.h"
#include "runner/workspace.h"

static char root_path[64];
static int root = -1, scratch = -1;

static void set_up(void) {
        Complaint complaint;

        stage_root(root_path);
        root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        cr_assert_eq(workspace_make(root, &scratch, &complaint), 0, "%s", complaint.text);
}

static void tear_down(void) {
        scratch = close_fd(scratch);
        root = close_fd(root);
        stage_remove(root_path);
}

TestSuite(workspace, .init = set_up, .fini = tear_down);

static mode_t mode_of(int dir, const char *path) {
        struct stat info;

        return fstatat(dir, path, &info, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : info.st_mode;
}

Test(workspace, make) {
        Complaint complaint;
        int again;

        cr_expect_eq(mode_of(scratch, "work"), S_IFDIR | 0755);
        cr_expect_eq(mode_of(scratch, "tmp"), S_IFDIR | 01777);
        cr_expect_eq(mode_of(scratch, "output"), S_IFDIR | 0755);
        cr_expect_eq(mode_of(scratch, "code"), S_IFDIR | 0755);
        cr_expect_eq(fcntl(scratch, F_GETFD), FD_CLOEXEC);

        /* what is there already is not a fresh workspace */
        cr_expect_eq(workspace_make(root, &again, &complaint), -EEXIST);
        cr_expect_str_eq(complaint.text, "cannot make /scratch/work: File exists");
}

Test(workspace, files) {
        static const struct {
                const char *path;
                int result;
                const char *text;
        } rows[] = {
                {"work/a", 0, NULL},
                {"work/b/c/d", 0, NULL},
                {"work/b/c/e", 0, NULL},
                {"code/main.py", 0, NULL},
                {"work/a", -EEXIST, "cannot write a: File exists"},
                {"work/a/b", -ENOTDIR, "cannot write a/b: Not a directory"},
                {"work", -EEXIST, "cannot write work: File exists"},
                {"../evil", -EINVAL, "cannot write ../evil: Invalid argument"},
                {"work/../../evil", -EINVAL, "cannot write ../../evil: Invalid argument"},
                {"work/..", -EINVAL, "cannot write ..: Invalid argument"},
                {"work/./a", -EINVAL, "cannot write ./a: Invalid argument"},
                {"work/link/evil", -ENOTDIR, "cannot write link/evil: Not a directory"},
                {"work/dangling", -EEXIST, "cannot write dangling: File exists"},
                {"code/main.py", -EEXIST, "cannot write the code: File exists"},
        };

        cr_assert_eq(symlinkat("/tmp", scratch, "work/link"), 0);
        cr_assert_eq(symlinkat("nowhere", scratch, "work/dangling"), 0);
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                OrderFile file = {
                        .path = (char *) rows[i].path, .content = {(char *) "x\n", 2}, .mode = 0640};
                Complaint complaint = {};
                Bytes text = {};

                cr_expect_eq(workspace_write_files(scratch, &file, 1, &complaint), rows[i].result, "%s: %s",
                        rows[i].path, complaint.text);
                if (rows[i].text)
                        cr_expect_str_eq(complaint.text, rows[i].text);
                if (rows[i].result < 0)
                        continue;
                cr_expect_eq(mode_of(scratch, rows[i].path), S_IFREG | 0640);
                cr_assert_eq(file_read_at(scratch, rows[i].path, 10, &text), 0);
                cr_expect_str_eq(text.data, "x\n");
                bytes_clear(&text);
        }
        cr_expect_neq(access("/tmp/evil", F_OK), 0);
}

Test(workspace, directories) {
        static const struct {
                const char *path, *below_root;
                int result;
        } rows[] = {
                {"/tmp/output", "scratch/tmp/output", 0},
                {"/tmp/output", "scratch/tmp/output", 0},
                {"/var/tmp/a/b/c", "scratch/tmp/a/b/c", 0},
                {"/output", "scratch/output", 0},
                {"/workspace/x/", "scratch/work/x", 0},
                {"//workspace//y//z", "scratch/work/y/z", 0},
                {"/", "scratch", 0},
                {"/../../workspace/up", NULL, -EINVAL},
                {"/tmp/file/x", NULL, -ENOTDIR},
        };

        cr_assert_eq(mknodat(scratch, "tmp/file", S_IFREG | 0644, 0), 0);
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                Complaint complaint = {};

                cr_expect_eq(workspace_make_directory(root, rows[i].path, &complaint), rows[i].result,
                        "%s: %s", rows[i].path, complaint.text);
                if (rows[i].below_root)
                        cr_expect_eq(
                                mode_of(root, rows[i].below_root) & S_IFMT, S_IFDIR, "%s", rows[i].path);
                else
                        cr_expect(starts_with(complaint.text, "cannot make /"), "%s", complaint.text);
        }
}

Test(workspace, stdin_file) {
        Bytes data = {(char *) "one\0two", 7}, text = {};
        Complaint complaint;
        struct stat info;
        int fd;

        cr_assert_eq(workspace_stdin(scratch, &data, &fd, &complaint), 0);
        cr_expect_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
        cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
        cr_assert_eq(fstat(fd, &info), 0);
        cr_expect_eq(info.st_nlink, 0);
        cr_assert_eq(fd_read_all(fd, 100, &text), 0);
        cr_expect_eq(text.size, 7);
        cr_expect_eq(memcmp(text.data, "one\0two", 7), 0);
        bytes_clear(&text);
        (void) close(fd);
}

/* What is mounted must be what was looked at. */
Test(workspace, mounts_are_checked) {
        char path[64];
        OrderMount mount = {.target = (char *) "/scratch"};
        Complaint complaint;
        struct stat info;
        int place;

        stage_root(path);
        place = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        cr_assert_eq(fstatat(place, "scratch", &info, 0), 0);
        mount.device = info.st_dev;
        mount.inode = info.st_ino;
        cr_expect_eq(workspace_check_mounts(place, &mount, 1, &complaint), 0);
        mount.inode++;
        cr_expect_eq(workspace_check_mounts(place, &mount, 1, &complaint), -ESTALE);
        cr_expect(strstr(complaint.text, "/scratch"), "%s", complaint.text);
        mount.target = (char *) "/gone";
        cr_expect_eq(workspace_check_mounts(place, &mount, 1, &complaint), -ENOENT);
        (void) close(place);
        stage_remove(path);
}
