# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the boot and container tests share: tests that report in TAP, callers, and looking for left-overs.

    from harness import *

    @test("exit 3 is failed with exit code 3")
    def exit_code():
        result = execute({"language": "bash", "code": "exit 3"})
        equal(result["status"], "failed", "status")

    if __name__ == "__main__":
        main()

A script may be given words: only tests with one of them in their name run. Callers are the ordinary users alice and
bob (group unitcell) and carol (not in it).
"""

import glob
import hashlib
import itertools
import json
import os
import subprocess
import sys
import time
import traceback

from bus import BusError, BusTimeout, Connection

NAME, PATH = "org.unitcell1", "/org/unitcell1"
MANAGER, EXECUTION = "org.unitcell1.Manager", "org.unitcell1.Execution"
PROPERTIES = "org.freedesktop.DBus.Properties"
ERROR = "org.unitcell1.Error."
ACCESS_DENIED = "org.freedesktop.DBus.Error.AccessDenied"
SYSTEMD = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
DYNAMIC_UID_MIN, DYNAMIC_UID_MAX = 61184, 65519


def _is_emulated():
    done = subprocess.run(["systemd-detect-virt", "--vm"], capture_output=True, text=True)
    return done.stdout.strip() == "qemu"


# How many times slower than a quiet machine this place may be: bounds on waiting are multiplied by it, so they only
# ever end what hangs. In the virtual machine every instruction is emulated.
IN_GUEST = _is_emulated()
SLOW = float(os.environ.get("UNITCELL_SLOW", 20 if IN_GUEST else 4))

# --- tests ----------------------------------------------------------------------------------------------------------

_tests = []
_last = {}


def test(name):
    def register(function):
        _tests.append((name, function))
        return function
    return register


class Skip(Exception):
    """Raised by a test that cannot run here; its text says why."""


def note(text):
    for line in str(text).splitlines():
        print("# " + line, flush=True)


def fail(text):
    raise AssertionError(text)


def check(condition, text):
    if not condition:
        fail(text)


def equal(got, want, what="value"):
    if got != want:
        fail(f"{what} is {shorten(got)}, not {shorten(want)}")


def within(value, low, high, what="value"):
    if not low <= value <= high:
        fail(f"{what} is {value}, not within {low} and {high}")


def contains(text, part, what="text"):
    if part not in text:
        fail(f"{what} does not contain {part!r}: {shorten(text)}")


def shorten(value, size=600):
    text = repr(value)
    return text if len(text) <= size else f"{text[:size // 2]} … {text[-size // 2:]} ({len(text)} characters)"


def raises(function, *arguments, **named):
    """The BusError that the call ends with."""
    try:
        answer = function(*arguments, **named)
    except BusError as error:
        return error
    return fail(f"an error was expected, and the answer was {shorten(answer)}")


def main():
    words = sys.argv[1:]
    chosen = [(n, f) for n, f in _tests if not words or any(w in n for w in words)]
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, (name, function) in enumerate(chosen, 1):
        failed += not _run_one(number, name, function)
    sys.exit(1 if failed else 0)


def _run_one(number, name, function):
    _last.clear()
    started, wall = time.monotonic(), time.time()
    skipped = ""
    try:
        function()
        trouble = None
    except Skip as why:
        trouble, skipped = None, f" # SKIP {why}"
    except BaseException as error:
        trouble = traceback.format_exc()
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            note(trouble)
            raise
    seconds = time.monotonic() - started
    print(f"{'not ok' if trouble else 'ok'} {number} - {name}{skipped}", flush=True)
    note(f"{seconds:.1f} s")
    if trouble:
        note(trouble)
        for what, value in _last.items():
            note(f"{what}: {shorten(value, 1500)}")
        journal = subprocess.run(
            ["journalctl", "-q", "--no-pager", "-o", "short-precise", "-u", "unitcelld", f"--since=@{wall:.6f}",
             "-n", "25"], capture_output=True, text=True, errors="replace")
        note("journal of unitcelld during this test:\n" + journal.stdout[-6000:])
    return not trouble


def wait_until(predicate, timeout=10, what="condition", step=0.05):
    """Polls, for what nobody tells us of. timeout is that of a quiet machine. Returns predicate()'s true value."""
    deadline = time.monotonic() + timeout * SLOW
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            fail(f"{what}: not within {timeout * SLOW:.0f} s")
        time.sleep(step)


# --- programs -------------------------------------------------------------------------------------------------------

class Done:
    """How a program ended: status (negative: by that signal), out and err as bytes, text and error as str."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err
        self.text, self.error = out.decode(errors="replace"), err.decode(errors="replace")

    def __repr__(self):
        return f"status {self.status}, stdout {shorten(self.text)}, stderr {shorten(self.error)}"


def as_user(user, argv):
    """argv with the ids of user; no session and no PAM, as a service of that user would run."""
    if not user or user == "root":
        return list(argv)
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--reset-env", "--", *argv]


def run(argv, user=None, input=b"", timeout=30, check=False, **named):
    """Runs a program to its end. timeout is that of a quiet machine."""
    if isinstance(input, str):
        input = input.encode()
    try:
        done = subprocess.run(as_user(user, argv), input=input, capture_output=True, timeout=timeout * SLOW, **named)
    except subprocess.TimeoutExpired as error:
        fail(f"{argv} did not end within {timeout * SLOW:.0f} s; stdout {error.stdout!r}, stderr {error.stderr!r}")
    result = Done(done.returncode, done.stdout, done.stderr)
    _last["last program"] = (argv, result)
    if check and result.status != 0:
        fail(f"{argv}: {result}")
    return result


# --- callers --------------------------------------------------------------------------------------------------------

_connections = {}


def connection(user):
    """The connection of user that calls go over, kept between tests. For one that is to die, make a Connection."""
    if user not in _connections:
        _connections[user] = Connection(user)
    return _connections[user]


def text_of(spec):
    return spec if isinstance(spec, (str, bytes)) else json.dumps(spec)


def result_of(values):
    result = json.loads(values[0])
    _last["last result"] = {key: shorten(value, 300) for key, value in result.items() if key != "enforced"}
    return result


def execute(spec, user="alice", timeout=60):
    """Runs spec, a dict or the text itself: the result document."""
    return result_of(finish_execute(begin_execute(spec, user), timeout))


def begin_execute(spec, user="alice"):
    """Sends Execute and does not wait: (connection, serial) for finish_execute()."""
    bus = user if isinstance(user, Connection) else connection(user)
    return bus, bus.send(NAME, PATH, MANAGER, "Execute", "s", text_of(spec))


def finish_execute(begun, timeout=60):
    bus, serial = begun
    return bus.reply(serial, timeout * SLOW)


def execute_error(spec, user="alice", timeout=60):
    """(error name, message) of a spec that is refused."""
    error = raises(execute, spec, user, timeout)
    _last["last error"] = (error.name, error.message)
    return error.name, error.message


def manager(member, signature="", *arguments, user="alice", timeout=60):
    """A call to the manager object: the list of values it answers."""
    bus = user if isinstance(user, Connection) else connection(user)
    return bus.call(NAME, PATH, MANAGER, member, signature, *arguments, timeout=timeout * SLOW)


def path_of(execution):
    return execution if execution.startswith("/") else f"{PATH}/execution/{execution}"


def id_of(path):
    return path.rsplit("/", 1)[-1]


def submit(spec, user="alice"):
    """Starts spec and does not wait: the execution's object path."""
    return manager("Submit", "sa{sh}", text_of(spec), {}, user=user)[0]


def on_execution(execution, interface, member, signature="", *arguments, user="alice", timeout=60):
    bus = user if isinstance(user, Connection) else connection(user)
    return bus.call(NAME, path_of(execution), interface, member, signature, *arguments, timeout=timeout * SLOW)


def get_result(execution, user="alice", timeout=60):
    """Waits for the end: the result document."""
    return result_of(on_execution(execution, EXECUTION, "GetResult", user=user, timeout=timeout))


def cancel(execution, user="alice"):
    on_execution(execution, EXECUTION, "Cancel", user=user)


def get_property(execution, name, user="alice"):
    return on_execution(execution, PROPERTIES, "Get", "ss", EXECUTION, name, user=user)[0]


def wait_running(execution, user="alice"):
    wait_until(lambda: get_property(execution, "State", user) not in ("queued", "starting"),
               what=f"{execution} is started")


# --- the service and systemd ----------------------------------------------------------------------------------------

def systemd(member, signature="", *arguments):
    return connection("root").call(*SYSTEMD, member, signature, *arguments, timeout=60 * SLOW)


def systemd_version():
    """252 for "252.39-1~deb12u1"."""
    version = connection("root").call(*SYSTEMD[:2], PROPERTIES, "Get", "ss", SYSTEMD[2], "Version")[0]
    return int("".join(itertools.takewhile(str.isdigit, version)))


def unit_property(unit, interface, name):
    path = systemd("LoadUnit", "s", unit)[0]
    return connection("root").call("org.freedesktop.systemd1", path, PROPERTIES, "Get", "ss",
                                   f"org.freedesktop.systemd1.{interface}", name)[0]


def daemon_pid():
    return unit_property("unitcelld.service", "Service", "MainPID")


def wait_ready():
    """Until unitcelld answers and has checked its wall, so that the first test is not charged with that."""
    systemd("StartUnit", "ss", "unitcelld.service", "replace")
    wait_until(lambda: unit_property("unitcelld.service", "Unit", "ActiveState") == "active", 30, "unitcelld runs")
    result = execute({"argv": ["/usr/bin/true"]}, timeout=60)
    equal(result["status"], "success", "status of /usr/bin/true")


def journal(*matches, since=None):
    """The journal's entries that match, as dicts of str (or bytes, where a field is not text)."""
    argv = ["journalctl", "-q", "--no-pager", "--all", "-o", "json", *matches]
    if since is not None:
        argv.append(f"--since=@{since:.6f}")
    entries = []
    for line in run(argv, check=True).out.splitlines():
        entry = json.loads(line)
        for key, value in entry.items():
            if isinstance(value, list) and all(isinstance(part, int) for part in value):
                entry[key] = bytes(value)
        entries.append(entry)
    return entries


def records(execution, count=2):
    """The records of an execution's request and end, oldest first; waits until there are count of them."""
    match = ["_SYSTEMD_UNIT=unitcelld.service", "_UID=0", "UNITCELL_EVENT=accepted", "UNITCELL_EVENT=finished",
             f"UNITCELL_EXECUTION={id_of(execution)}"]
    wait_until(lambda: len(journal(*match)) >= count, 10, f"{count} audit records of {execution}", step=0.2)
    return journal(*match)


def sha256(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


# --- left-overs -----------------------------------------------------------------------------------------------------

def dynamic_processes():
    """Processes with a uid that systemd gives to dynamic users: {"pid name", …}."""
    found = set()
    for path in glob.glob("/proc/[0-9]*"):
        try:
            if DYNAMIC_UID_MIN <= os.stat(path).st_uid <= DYNAMIC_UID_MAX or _has_dynamic_uid(path):
                with open(path + "/comm", encoding="utf-8", errors="replace") as file:
                    found.add(f"{path[6:]} {file.read().strip()}")
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def _has_dynamic_uid(path):
    # The owner of /proc/<pid> is root for a process that is not dumpable, as the runner is.
    with open(path + "/status", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("Uid:"):
                return any(DYNAMIC_UID_MIN <= int(uid) <= DYNAMIC_UID_MAX for uid in line.split()[1:])
    return False


def execution_units():
    units = systemd("ListUnitsByPatterns", "asas", [], ["unitcell-x-*"])[0]
    return {f"{unit[0]} {unit[3]}/{unit[4]}" for unit in units}


def execution_cgroups():
    """Directories under unitcell.slice but the slices of callers, which may stay."""
    top = "/sys/fs/cgroup/unitcell.slice"
    return {path for path, _, _ in os.walk(top) if path != top and not path.endswith(".slice")}


def _mounts():
    with open("/proc/1/mountinfo", encoding="utf-8") as file:
        return {line.strip() for line in file}


def _sysvipc():
    lines = set()
    for kind in ("msg", "sem", "shm"):
        with open(f"/proc/sysvipc/{kind}", encoding="utf-8") as file:
            lines |= {f"{kind} {line.strip()}" for line in list(file)[1:]}
    return lines


PLACES = ["/tmp/systemd-private-*unitcell-x*", "/var/tmp/systemd-private-*unitcell-x*", "/var/lib/private/*",
          "/run/private/*", "/run/credentials/*unitcell-x*", "/run/systemd/transient/unitcell-x*",
          "/run/systemd/system/unitcell-x*", "/run/systemd/units/*unitcell-x*", "/run/systemd/propagate/*unitcell-x*",
          "/run/systemd/dynamic-uid/*", "/dev/shm/*", "/dev/mqueue/*"]


def _directories():
    return {path for place in PLACES for path in glob.glob(place)}


def _daemon():
    pid = daemon_pid()
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        start = file.read().rsplit(")", 1)[1].split()[19]
    return {f"pid {pid} started {start}"}


def _daemon_descriptors():
    pid = daemon_pid()
    return len(os.listdir(f"/proc/{pid}/fd"))


def _stored():
    return unit_property("unitcelld.service", "Service", "NFileDescriptorStore")


class Leftovers:
    """with Leftovers(): … fails when what ran in it left anything behind that was not there before."""

    # Sets in which nothing may be new, and numbers that may not grow.
    PARTS = {"process": dynamic_processes, "unit": execution_units, "cgroup": execution_cgroups, "mount": _mounts,
             "path": _directories, "System V IPC object": _sysvipc, "daemon": _daemon}
    NUMBERS = {"descriptors of the daemon": _daemon_descriptors, "stored descriptors": _stored}

    def __init__(self, settle=10):
        self.settle = settle

    def __enter__(self):
        self.before = {part: look() for part, look in (self.PARTS | self.NUMBERS).items()}
        return self

    def new(self):
        """What is there now and was not before, in words; empty when nothing is."""
        words = [f"{part} {thing}" for part, look in self.PARTS.items() for thing in sorted(look() - self.before[part])]
        for part, look in self.NUMBERS.items():
            now = look()
            if now > self.before[part]:
                words.append(f"{now} {part}, {self.before[part]} before")
        return words

    def __exit__(self, kind, *_):
        if kind:
            return
        # PID 1 cleans up after the answer; its time is bounded, not none.
        deadline = time.monotonic() + self.settle * SLOW
        while True:
            new = self.new()
            if not new:
                return
            if time.monotonic() > deadline:
                fail("left behind: " + "; ".join(new))
            time.sleep(0.1)
