/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a policy's words to a BPF program. */

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/file.h"
#include "base/own.h"
#include "unit/filter.h"
#include "unit/syscall-groups.h"

/* Numbers above any that a kernel of today has; each is looked at once when a filter is compiled. */
#define SYSCALL_NUMBERS 1024
#define PROGRAM_SIZE_MAX (4096 * 8) /* BPF_MAXINSNS of 8 bytes */
#define GROUP_DEPTH_MAX 4

const char *const filter_always_denied[] = {
        "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", NULL,
};

typedef struct Numbers {
        bool allowed[SYSCALL_NUMBERS];
} Numbers;

static const SyscallGroup *find_group(const char *name) {
        for (const SyscallGroup *group = syscall_groups; group->name; group++)
                if (streq(group->name, name))
                        return group;
        return NULL;
}

static void mark_name(Numbers *numbers, const char *name, bool allow) {
        int number = seccomp_syscall_resolve_name(name);

        /* Negative: not of this architecture, or newer than this libseccomp. */
        if (number >= 0 && number < SYSCALL_NUMBERS)
                numbers->allowed[number] = allow;
}

static int mark_word(Numbers *numbers, const char *word, bool allow, unsigned depth) {
        const SyscallGroup *group;
        own(freep) char *members = NULL;
        char *member, *rest;

        if (word[0] != '@') {
                mark_name(numbers, word, allow);
                return 0;
        }
        group = find_group(word);
        if (!group || depth == GROUP_DEPTH_MAX)
                return -EINVAL;

        members = strdup(group->members);
        if (!members)
                return -ENOMEM;
        for (member = strtok_r(members, " ", &rest); member; member = strtok_r(NULL, " ", &rest)) {
                int r = mark_word(numbers, member, allow, depth + 1);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int mark_words(Numbers *numbers, char *const *words, bool allow, const char **reterr_word) {
        for (size_t i = 0; words && words[i]; i++) {
                int r = mark_word(numbers, words[i], allow, 0);

                if (r == -EINVAL)
                        *reterr_word = words[i];
                if (r < 0)
                        return r;
        }
        return 0;
}

static void release_filter(scmp_filter_ctx *filter) {
        if (*filter)
                seccomp_release(*filter);
}

static bool is_known(int number) {
        own(freep) char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

        return name != NULL;
}

static int export(scmp_filter_ctx filter, Bytes *ret) {
        own(close_fdp) int fd = memfd_create("filter", MFD_CLOEXEC);
        int r;

        if (fd < 0)
                return -errno;
        r = seccomp_export_bpf(filter, fd);
        if (r < 0)
                return r;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        return fd_read_all(fd, PROGRAM_SIZE_MAX, ret);
}

int filter_compile(char *const *allow, char *const *deny, bool report, Bytes *ret, const char **reterr_word) {
        uint32_t refuse = report ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPERM);
        own(release_filter) scmp_filter_ctx filter = NULL;
        own(freep) Numbers *numbers = calloc(1, sizeof *numbers);
        int r;

        if (!numbers)
                return -ENOMEM;
        /* systemd adds that group to every allow-list, so a policy means the same with reporting and without. */
        r = mark_word(numbers, "@default", true, 0);
        if (r < 0)
                return r;
        r = mark_words(numbers, allow, true, reterr_word);
        if (r < 0)
                return r;
        r = mark_words(numbers, deny, false, reterr_word);
        if (r < 0)
                return r;
        for (size_t i = 0; filter_always_denied[i]; i++)
                mark_name(numbers, filter_always_denied[i], false);

        /* Level 5 has notifications. Said, not asked: the runner loads the program, and loading tells what the kernel can. */
        r = seccomp_api_set(5);
        if (r < 0)
                return r;
        filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
        if (!filter)
                return -ENOMEM;
        r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
        if (r < 0)
                return r;
        r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary tree: the list is long */
        if (r < 0)
                return r;
        for (int number = 0; number < SYSCALL_NUMBERS; number++) {
                if (!is_known(number))
                        continue;
                r = seccomp_rule_add(filter, numbers->allowed[number] ? SCMP_ACT_ALLOW : refuse, number, 0);
                if (r < 0)
                        return r;
        }
        return export(filter, ret);
}

int filter_syscall_name(int number, char **ret) {
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

        if (!name && asprintf(&name, "#%d", number) < 0)
                return -ENOMEM;
        *ret = name;
        return 0;
}
