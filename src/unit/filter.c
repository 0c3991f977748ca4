/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a policy's words to a BPF program. */

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/file.h"
#include "base/own.h"
#include "policy/syscall-groups.h"
#include "unit/filter.h"

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

static int mark_request(Numbers *numbers, const FilterRequest *request, const char **reterr_word) {
        static const char *const new_process[] = {"fork", "vfork", NULL};
        int r;

        /* systemd adds that group to every allow-list, so a policy means the same with reporting and without. */
        r = mark_word(numbers, "@default", true, 0);
        if (r < 0)
                return r;
        r = mark_words(numbers, request->allow, true, reterr_word);
        if (r < 0)
                return r;
        r = mark_words(numbers, request->deny, false, reterr_word);
        if (r < 0)
                return r;
        for (size_t i = 0; filter_always_denied[i]; i++)
                mark_name(numbers, filter_always_denied[i], false);
        for (size_t i = 0; request->threads_only && new_process[i]; i++)
                mark_name(numbers, new_process[i], false);
        if (request->read_only)
                mark_name(numbers, "truncate", false);
        return 0;
}

/* clone: threads yes, processes no, told apart by one bit of its first argument. */
static int add_clone(scmp_filter_ctx filter, int number, uint32_t refuse) {
        const struct scmp_arg_cmp thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
        const struct scmp_arg_cmp process = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0);
        int r;

        r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, 1, &thread);
        return r < 0 ? r : seccomp_rule_add_array(filter, refuse, number, 1, &process);
}

static int add_rules(scmp_filter_ctx filter, const Numbers *numbers, const FilterRequest *request) {
        uint32_t refuse = request->report ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPERM);

        for (int number = 0; number < SYSCALL_NUMBERS; number++) {
                int r;

                if (!is_known(number))
                        continue;
                /* The default answer is ENOSYS, and libc falls back on clone. */
                if (request->threads_only && number == SCMP_SYS(clone3))
                        continue;
                if (request->threads_only && number == SCMP_SYS(clone) && numbers->allowed[number])
                        r = add_clone(filter, number, refuse);
                else
                        r = seccomp_rule_add(filter, numbers->allowed[number] ? SCMP_ACT_ALLOW : refuse, number, 0);
                if (r < 0)
                        return r;
        }
        return 0;
}

int filter_compile(const FilterRequest *request, Bytes *ret, const char **reterr_word) {
        own(release_filter) scmp_filter_ctx filter = NULL;
        own(freep) Numbers *numbers = calloc(1, sizeof *numbers);
        int r;

        if (!numbers)
                return -ENOMEM;
        r = mark_request(numbers, request, reterr_word);
        if (r < 0)
                return r;

        /* Level 5 has notifications. Said, not asked: the runner loads the program, and loading tells what the kernel
         * can. */
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
        r = add_rules(filter, numbers, request);
        if (r < 0)
                return r;
        return export(filter, ret);
}

int filter_syscall_name(int number, char **ret) {
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

        if (!name && asprintf(&name, "#%d", number) < 0)
                return -ENOMEM;
        *ret = name;
        return 0;
}
