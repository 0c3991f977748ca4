#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every option and verb that `unitcell --help` and the help of each verb name is in man/unitcell.1, and the other way.

Usage: options.py SOURCE_TREE UNITCELL_PROGRAM. Exit status 77 while there is no man page.
"""

import re
import subprocess
import sys
from pathlib import Path

tree, program = Path(sys.argv[1]), sys.argv[2]
page = tree / "man/unitcell.1"
option = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def help_of(*arguments):
    ran = subprocess.run([program, *arguments, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    if ran.returncode != 0 or not ran.stdout:
        sys.exit(f"unitcell {' '.join(arguments)} --help: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


if not page.exists():
    print("man/unitcell.1 is not written yet")
    sys.exit(77)
man = re.sub(r"\\f.|\\&", "", page.read_text(encoding="utf-8")).replace("\\-", "-")
main = help_of()
verbs = re.findall(r"^  (?:unitcell )?([a-z]+)\s", main, re.M)
problems = [] if verbs else ["unitcell --help names no verb"]
shown = set(option.findall(main))
for verb in verbs:
    shown |= set(option.findall(help_of(verb)))
    if not re.search(rf"\b{verb}\b", man):
        problems.append(f"verb {verb} is not in man/unitcell.1")

documented = set(option.findall(man))
problems += [f"{name} is in --help, not in man/unitcell.1" for name in sorted(shown - documented)]
# The man page shows other programs' options in its examples as well: only what stands at a paragraph's head counts.
heads = set()
for tag in re.findall(r"^\.TP.*\n(.+)$|^\.(?:It|OP|SY) (.+)$", man, re.M):
    heads |= set(option.findall(" ".join(tag)))
problems += [f"{name} is in man/unitcell.1, not in --help" for name in sorted(heads - shown)]
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
