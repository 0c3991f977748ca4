#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lists that must agree: vtables, bus policy and man page; polkit actions declared and used; settings and errors.

Usage: interface.py SOURCE_TREE. Prints what does not agree; exit status 1 then.
"""

import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

tree = Path(sys.argv[1])
problems = []


def text(path):
    return (tree / path).read_text(encoding="utf-8")


def man(name):
    """A man page as a reader sees the words: escapes undone. None while it is not written."""
    path = tree / "man" / name
    if not path.exists():
        return None
    return re.sub(r"\\f.|\\&", "", path.read_text(encoding="utf-8")).replace("\\-", "-").replace("\\e", "\\")


def same(what, a, a_name, b, b_name):
    for item in sorted(a - b):
        problems.append(f"{what} {item} is in {a_name}, not in {b_name}")
    for item in sorted(b - a):
        problems.append(f"{what} {item} is in {b_name}, not in {a_name}")


def mentioned(what, items, page):
    body = man(page)
    if body is None:
        return
    for item in sorted(items):
        if not re.search(rf"(?<!\w){re.escape(item)}(?!\w)", body):
            problems.append(f"{what} {item} is not in man/{page}")


def vtable(path):
    source = text(path)
    start = source.index("static const sd_bus_vtable")
    body = source[start:source.index("SD_BUS_VTABLE_END", start)]
    entries = re.split(r"(?=SD_BUS_(?:METHOD|SIGNAL|PROPERTY)\w*\()", body)[1:]
    found = {"METHOD": set(), "SIGNAL": set(), "PROPERTY": set()}
    for entry in entries:
        kind, name = re.match(r'SD_BUS_(METHOD|SIGNAL|PROPERTY)\w*\(\s*"(\w+)"', entry).groups()
        found[kind].add(name)
        if kind == "METHOD" and "SD_BUS_VTABLE_UNPRIVILEGED" not in entry:
            problems.append(f"{path}: {name} is not SD_BUS_VTABLE_UNPRIVILEGED: callers would be refused unseen")
    return found


def check_bus():
    interfaces = {
        "org.unitcell1.Manager": vtable("src/bus/manager-object.c"),
        "org.unitcell1.Execution": vtable("src/bus/execution-object.c"),
    }
    policy = xml.fromstring(text("units/org.unitcell1.conf"))
    default = [p for p in policy.findall("policy") if p.get("context") == "default"]
    allowed = [a for p in default for a in p.findall("allow")]
    for interface, found in interfaces.items():
        in_conf = {a.get("send_member") for a in allowed if a.get("send_interface") == interface}
        same(f"method {interface}.", found["METHOD"], "the vtable", in_conf, "units/org.unitcell1.conf")
        mentioned(f"member of {interface}", found["METHOD"] | found["SIGNAL"] | found["PROPERTY"], "org.unitcell1.5")

    for a in allowed:
        interface = a.get("send_interface")
        if a.get("send_destination") != "org.unitcell1":
            problems.append("units/org.unitcell1.conf allows sending to another destination")
        if not interface:
            problems.append("units/org.unitcell1.conf allows every interface")
        elif interface not in interfaces and not interface.startswith("org.freedesktop.DBus."):
            problems.append(f"units/org.unitcell1.conf allows {interface}, which nobody serves")


def check_properties():
    """The table that answers and the vtable that describes are two lists as well."""
    source = text("src/bus/execution-object.c")
    start = source.index("static const ExecutionProperty properties[]")
    rows = set(re.findall(r'\{"(\w+)", \'(\w)\'', source[start:source.index("};", start)]))
    described = set(re.findall(r'SD_BUS_PROPERTY\("(\w+)", "(\w)"', source))
    same("property", rows, "its table", described, "the vtable")


def check_polkit():
    declared = {a.get("id") for a in xml.fromstring(text("polkit/org.unitcell1.policy")).iter("action")}
    names = dict(re.findall(r'#define (ACTION_\w+) "([\w.-]+)"', text("src/bus/names.h")))
    same("action", declared, "polkit/org.unitcell1.policy", set(names.values()), "src/bus/names.h")
    code = "".join(path.read_text(encoding="utf-8") for path in (tree / "src/bus").glob("*.c"))
    for macro in names:
        if not re.search(rf"authorise\([^;]*\b{macro}\b", code):
            problems.append(f"action {names[macro]} is asked for nowhere")
    rules = set(re.findall(r'action\.id == "([\w.-]+)"', text("polkit/50-unitcell.rules")))
    for action in sorted(rules - declared):
        problems.append(f"polkit/50-unitcell.rules speaks of {action}, which is not declared")
    mentioned("action", declared, "unitcelld.8")


def check_errors():
    names = set(re.findall(r'UNITCELL_ERROR "(\w+)"', text("src/bus/names.h")))
    mentioned("error", names, "org.unitcell1.5")
    defined = set(re.findall(r"#define (ERROR_\w+)", text("src/bus/names.h")))
    code = "".join(path.read_text(encoding="utf-8") for path in (tree / "src/bus").glob("*.c"))
    for macro in sorted(defined):
        if not re.search(rf"\b{macro}\b", code):
            problems.append(f"{macro} of src/bus/names.h is answered nowhere")


def check_settings():
    keys = set(re.findall(r'^        \{"(\w+)", offsetof\(Settings', text("src/daemon/settings.c"), re.M)) | {"AllowMissing"}
    shown = set(re.findall(r"^#?(\w+)=", text("units/unitcell.conf"), re.M))
    same("setting", keys, "src/daemon/settings.c", shown, "units/unitcell.conf")
    mentioned("setting", keys, "unitcell.conf.5")


def check_limits():
    source = text("src/spec/limit.c")
    start = source.index("const Limit limits[LIMIT_N]")
    keys = set(re.findall(r'\[LIMIT_\w+\]\s*=\s*\{[^}]*?"(\w+)"', source[start:source.index("};", start)]))
    if not keys:
        problems.append("src/spec/limit.c: its table was not found")
    mentioned("limit", keys, "unitcell-spec.5")


for check in (check_bus, check_properties, check_polkit, check_errors, check_settings, check_limits):
    check()
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
