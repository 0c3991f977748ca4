#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes syscall-groups.c from what `systemd-analyze syscall-filter` prints (stdin): run it by hand when a newer
systemd has newer groups, and read the difference before it is committed."""
import sys
import textwrap

groups, name = {}, None
for line in sys.stdin:
    word = line.strip()
    if line.startswith('@'):
        name = word
        groups[name] = []
    elif name and word and not word.startswith('#'):
        groups[name].append(word)
    elif not word:
        name = None

print(f'''/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Which system calls are in which group, as systemd {sys.argv[1]} names them (`systemd-analyze syscall-filter`, facts of
 * its src/shared/seccomp-util.c). Made by syscall-groups.py. Members may be groups themselves.
 */

#include "policy/syscall-groups.h"

const SyscallGroup syscall_groups[] = {{''')
for name in sorted(groups):
    if name == '@known':
        continue
    print(f'        {{"{name}",')
    for part in textwrap.wrap(' '.join(groups[name]), 90):
        print(f'                " {part}"')
    print('                " "},')
print('        {},\n};')
