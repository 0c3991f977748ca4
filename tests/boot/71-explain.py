#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What Explain says is what runs: each property it shows equals what systemd says of the running unit, in busctl's own
JSON, and nothing was asked of systemd that Explain does not show."""

import ctypes
import subprocess

from harness import *

# No limit at its default, so that each value must have come from this spec.
SPEC = {"argv": ["/usr/bin/sleep", "250"], "timeout_ms": 222000,
        "limits": {"cpu_cpus": 0.25, "memory_mb": 77, "pids_max": 7, "disk_mb": 11}}
MIB = 1 << 20

# How a property is called in a unit file, where that is another name.
FILE_NAMES = {"CPUQuota": "CPUQuotaPerSecUSec", "RuntimeMaxSec": "RuntimeMaxUSec", "TimeoutStartSec": "TimeoutStartUSec",
              "TimeoutStopSec": "TimeoutStopUSec"}
# What systemd writes into the file of a transient unit besides: not shown, since a caller cannot see them back.
NOT_SHOWN = {"StandardInput", "StandardOutput", "StandardError"}

_running = {}


def running():
    """One long execution of alice for all tests here: what Explain says of it, its unit, and what systemd says."""
    if not _running:
        wait_ready()
        _running["properties"] = json.loads(manager("Explain", "s", text_of(SPEC))[0])["properties"]
        path = submit(SPEC)
        wait_running(path)
        _running["path"] = path
        _running["unit"] = unit = get_property(path, "Unit")
        _running["said"] = ask(unit, list(_running["properties"]))
    return _running


def ask(unit, names):
    """{name: {"type", "data"}} as `busctl --json=short get-property` prints it, each from the interface that has it."""
    path = systemd("GetUnit", "s", unit)[0]
    of_unit = connection("root").call("org.freedesktop.systemd1", path, PROPERTIES, "GetAll", "s",
                                      "org.freedesktop.systemd1.Unit")[0]
    said = {}
    for interface, chosen in (("Unit", [name for name in names if name in of_unit]),
                              ("Service", [name for name in names if name not in of_unit])):
        done = run(["busctl", "--json=short", "get-property", "org.freedesktop.systemd1", path,
                    f"org.freedesktop.systemd1.{interface}", *chosen])
        equal(done.status, 0, f"busctl's status, asked for {chosen} ({done.error.strip()})")
        lines = done.text.splitlines()
        equal(len(lines), len(chosen), "lines of busctl")
        said |= {name: json.loads(line) for name, line in zip(chosen, lines)}
    return said


def sorted_data(data):
    """Lists as sets: systemd keeps some of them sorted or hashed."""
    if isinstance(data, list):
        return sorted((sorted_data(item) if isinstance(item, list) and item and isinstance(item[0], list) else item
                       for item in data), key=json.dumps)
    return data


def words_as_set(data):
    return [data[0], sorted(data[1])]


# --- SystemCallFilter -----------------------------------------------------------------------------------------------

def groups():
    """{"@clock": {"adjtimex", …}, …} from `systemd-analyze syscall-filter`, groups in groups resolved."""
    found, name = {}, None
    for line in run(["systemd-analyze", "--no-pager", "syscall-filter"], check=True).text.splitlines():
        if line.startswith("@"):
            name = line.strip()
            found[name] = set()
        elif name and line.startswith("    ") and not line.strip().startswith("#"):
            found[name].add(line.strip())

    def resolved(word):
        return set().union(*(resolved(w) for w in found[word])) if word.startswith("@") else {word}
    return {word: resolved(word) for word in found}


def known_here(names):
    """Without the names that this libseccomp does not know: systemd drops them from a list."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_syscall_resolve_num_arch.restype = ctypes.c_void_p
    known = set()
    for name in names:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number == -1:
            continue
        text = library.seccomp_syscall_resolve_num_arch(0, number)
        if text:
            known.add(ctypes.string_at(text).decode())
            libc.free(ctypes.c_void_p(text))
    return known


libc = ctypes.CDLL(None)


def filter_names(entry):
    """What the outer filter of a policy that reports comes to: a list of what no policy could allow."""
    table = groups()
    equal(entry["type"], "(bas)", "type of SystemCallFilter")
    allow, words = entry["data"]
    equal(allow, False, "allow-list")
    return known_here(set().union(*(table[word] if word.startswith("@") else {word} for word in words)))


# --- the tests ------------------------------------------------------------------------------------------------------

@test("each property that Explain shows equals busctl get-property of the running unit, and none is missing")
def equal_to_busctl():
    here = running()
    properties, said, unit = here["properties"], here["said"], here["unit"]
    check(len(properties) >= 55, f"only {len(properties)} properties are shown")
    equal(set(said), set(properties), "properties that systemd tells")
    wrong = []
    for name, ours in properties.items():
        theirs = said[name]
        if name == "SystemCallFilter":
            continue        # below
        if name == "ExecStart":     # comes back with times, pid and status of each command: path, argv, flag are ours
            ours, theirs = ours["data"], [command[:3] for command in theirs["data"]]
        elif ours["type"] == "(bas)":
            ours, theirs = words_as_set(ours["data"]), words_as_set(theirs["data"])
        elif name == "Description":     # the id is given at the start
            ours = {"type": ours["type"], "data": ours["data"].replace("<id>", unit[len("unitcell-x-"):-len(".service")])}
        else:
            ours = {"type": ours["type"], "data": sorted_data(ours["data"])}
            theirs = {"type": theirs["type"], "data": sorted_data(theirs["data"])}
        if ours != theirs:
            wrong.append(f"{name}: Explain {ours}, systemd {theirs}")
    equal(wrong, [], "properties that differ")


@test("SystemCallFilter's groups, expanded by systemd-analyze, are the filter of the running unit")
def filter_equal():
    here = running()
    allow, words = here["said"]["SystemCallFilter"]["data"]
    equal(allow, False, "allow-list")
    names = filter_names(here["properties"]["SystemCallFilter"])
    check(len(names) > 20, f"only {len(names)} system calls are expected")
    equal((sorted(names - set(words)), sorted(set(words) - names)), ([], []),
          "system calls that only Explain or only systemd refuses")


@test("the values that come from the spec are the spec's own")
def from_spec():
    data = {name: value["data"] for name, value in running()["said"].items()}
    equal(data["MemoryMax"], 77 * MIB, "MemoryMax")
    equal(data["MemorySwapMax"], 0, "MemorySwapMax")
    equal(data["TasksMax"], 7 + 1, "TasksMax")
    equal(data["CPUQuotaPerSecUSec"], 250000, "CPUQuotaPerSecUSec")
    equal(data["RuntimeMaxUSec"], (222 + 30) * 1000000, "RuntimeMaxUSec: the time limit and the grace of the backstop")
    scratch = dict(data["TemporaryFileSystem"])["/scratch"]
    contains(scratch.split(","), "size=11M", "options of /scratch")
    equal(data["Slice"], f"unitcell-u{running_uid()}.slice", "Slice")


def running_uid():
    return get_property(running()["path"], "Owner")


@test("nothing is set in the unit's own file that Explain does not show")
def nothing_hidden():
    here = running()
    keys = set()
    with open(f"/run/systemd/transient/{here['unit']}", encoding="utf-8") as file:
        for line in file:
            if "=" in line and not line.startswith(("#", "[", " ")):
                keys.add(line.split("=", 1)[0].strip())
    check(len(keys) > 40, f"the file has only {sorted(keys)}")
    hidden = {FILE_NAMES.get(key, key) for key in keys} - NOT_SHOWN - set(here["properties"])
    equal(hidden, set(), "settings of the file that Explain does not show")


@test("Explain for bob and for another spec differs where it must, and starts nothing")
def differs():
    with Leftovers():
        for_bob = json.loads(manager("Explain", "s", text_of({"argv": ["/usr/bin/true"]}), user="bob")[0])["properties"]
    ours = running()["properties"]
    changed = {name for name in ours if ours[name] != for_bob[name]}
    equal(changed, {"CPUQuotaPerSecUSec", "MemoryMax", "RuntimeMaxUSec", "Slice", "TasksMax", "TemporaryFileSystem"},
          "properties that follow from caller and spec")


@test("the long execution ends when it is cancelled, and leaves nothing")
def end():
    here = running()
    cancel(here["path"])
    equal(get_result(here["path"])["status"], "canceled", "status")
    wait_until(lambda: not [unit for unit in execution_units() if here["unit"] in unit], what="the unit is gone")


if __name__ == "__main__":
    main()
