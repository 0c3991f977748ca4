/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Words about system calls that mean something. A misspelt one would take nothing away where a policy says deny, so it
 * is refused when the policy is read. Newer names than this libseccomp's are taken when the table of groups has them.
 */

#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "policy/syscall-groups.h"

static bool is_member(const SyscallGroup *group, const char *word) {
        size_t size = strlen(word);

        for (const char *at = strstr(group->members, word); at; at = strstr(at + 1, word))
                if (at > group->members && at[-1] == ' ' && at[size] == ' ')
                        return true;
        return false;
}

bool syscall_word_is_known(const char *word) {
        if (word[0] != '@' && seccomp_syscall_resolve_name(word) != __NR_SCMP_ERROR)
                return true;
        for (const SyscallGroup *group = syscall_groups; group->name; group++)
                if (streq(group->name, word) || is_member(group, word))
                        return true;
        return false;
}
