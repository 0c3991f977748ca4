#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""unitcell doctor: all is well for alice, each probe is seen red where there is no wall, and what is wrong is named."""

import os
import shutil
import time

from harness import *

DROP_IN = "/etc/systemd/system/unitcell-x-.service.d/doctor.conf"
_examined = {}


def doctor(user="alice"):
    """unitcell doctor --json: (exit status, document, seconds)."""
    started = time.monotonic()
    done = run(["unitcell", "doctor", "--json"], user=user, timeout=30, cwd="/")
    check(done.text.startswith("{"), f"no document: {done}")
    return done.status, json.loads(done.text), time.monotonic() - started


def words(row):
    return f"{row['group']}/{row['name']}: {row['found']}"


def failed(document):
    return [row for row in document["checks"] if not row["passed"]]


@test("as alice every check passes")
def all_pass():
    wait_ready()
    _examined["since"] = time.time()
    with Leftovers():
        status, document, seconds = doctor()
    note(f"{seconds:.0f} s, {document['passed']} checks")
    _examined["document"] = document
    equal([words(row) for row in failed(document)], [], "what failed")
    equal(status, 0, "exit status")
    within(document["passed"], 60, 200, "number of checks")
    equal(document["failed"], 0, "failed")
    equal(document["passed"], len(document["checks"]), "passed")
    within(seconds, 0, 9 * SLOW, "seconds")


@test("the table says the same")
def table():
    done = run(["unitcell", "doctor"], user="bob", timeout=30, cwd="/")
    equal(done.status, 0, "exit status")
    lines = done.text.splitlines()
    equal(lines[0].split()[:4], ["GROUP", "CHECK", "RESULT", "PROVES"], "headings")
    names = [(row["group"], row["name"], "PASS") for row in _examined["document"]["checks"]]
    equal([tuple(line.split()[:3]) for line in lines[1:-2]], names, "rows")
    equal(lines[-1], f"{len(names)} passed, 0 failed", "last line")


# What a probe prints where nothing confines it. Each runs as carol, in a unit of hers that only bounds what could go
# wrong here; that they are harmless is seen by their ending.
RED = {
    "forks": ["forks 64", "refused none"],
    "memory": ["survived"],
    "reach": ["loopback open", "abstract open"],
    "kill-all": ["is not one for this execution alone: nothing is sent"],
    "visitor": ["process there", "abstract open", "loopback open", "file:/tmp there", "file:/dev/shm there"],
    "disk": ["fill:/tmp open", "fill:/var/tmp open", "fill:/dev/shm open"],
    "flood": ["x" * 1000],
    "inspect": ["exists:/etc/shadow yes", "exists:/run/dbus yes", "syscall:unshare-user EINVAL", "socket:vsock EINVAL",
                "exists:/home yes", "write:/ EACCES", "seccomp 0"],
}


def probe_codes():
    """{probe: (language, code, arguments)} from the audit records of the run as alice."""
    codes = {}
    for entry in journal("_SYSTEMD_UNIT=unitcelld.service", "_UID=0", "UNITCELL_EVENT=accepted",
                         since=_examined["since"]):
        task = entry.get("UNITCELL_TASK_ID", "")
        if task.startswith("doctor-"):
            spec = json.loads(entry["UNITCELL_SPEC"])
            codes[task[7:]] = (entry["UNITCELL_LANGUAGE"], entry.get("UNITCELL_CODE", ""), spec.get("args", []))
    return codes


def start_bare(code, arguments, language):
    """Runs a probe without a wall; its output is bounded by what it prints, its processes by TasksMax."""
    interpreter = {"python": ["python3", "-c"], "bash": ["bash", "-c"]}[language]
    argv = [*interpreter, code, *([] if language == "python" else ["probe"]), *arguments]
    return ["systemd-run", "--quiet", "--pipe", "--wait", "--collect", "--uid=carol", "--gid=carol",
            "-p", "TasksMax=200", "-p", "MemoryMax=512M", "-p", "RuntimeMaxSec=300", "-p", "LimitCORE=0", "--", *argv]


@test("without a wall each probe is harmless and says so")
def red_probes():
    codes = probe_codes()
    check(set(RED) - {"inspect"} <= set(codes), f"probes are {sorted(codes)}")
    inspect = run(as_user("carol", ["/usr/lib/unitcell/unitcell-runner", "inspect"])).text
    listener = subprocess.Popen(
        ["python3", "-c", "import socket, sys, time\n"
         "a = socket.socket(); a.bind(('127.0.0.1', 4712)); a.listen()\n"
         "b = socket.socket(socket.AF_UNIX); b.bind('\\0unitcell-doctor-host-' + sys.argv[1]); b.listen()\n"
         "print(flush=True); time.sleep(600)", codes["reach"][2][0]], stdout=subprocess.PIPE)
    language, code, arguments = codes["neighbour"]
    os.mkdir("/output", 0o777)
    os.mkdir("/workspace", 0o777)
    for place in ("/output", "/workspace"):
        os.chmod(place, 0o777)
    neighbour = subprocess.Popen(start_bare(code, arguments, language), stdout=subprocess.PIPE)
    try:
        listener.stdout.readline()
        while b"at-home" not in neighbour.stdout.readline():
            check(neighbour.poll() is None, "the neighbour ended")
        for probe, expected in RED.items():
            if probe == "inspect":
                text = inspect
            else:
                language, code, arguments = codes[probe]
                text = run(start_bare(code, [arguments[0], "4712"], language), timeout=60).text
            for line in expected:
                contains(text, line, f"output of {probe}")
    finally:
        listener.kill()
        neighbour.kill()
        run(["pkill", "-u", "carol"])
        for path in glob.glob("/tmp/unitcell-doctor-*") + glob.glob("/var/tmp/unitcell-doctor-*") + \
                glob.glob("/dev/shm/unitcell-doctor-*") + ["/tmp/full", "/var/tmp/full", "/dev/shm/full"]:
            if os.path.exists(path):
                os.unlink(path)
        shutil.rmtree("/output")
        shutil.rmtree("/workspace")


def with_drop_in(lines):
    os.makedirs(os.path.dirname(DROP_IN), exist_ok=True)
    with open(DROP_IN, "w", encoding="utf-8") as file:
        file.write("[Service]\n" + lines + "\n")
    systemd("Reload")


def without_drop_in():
    os.unlink(DROP_IN)
    systemd("Reload")
    wait_until(lambda: run(["unitcell", "run", "-q", "--", "/usr/bin/true"], user="alice").status == 0, 60,
               "executions run again", step=1)


def red_drop_in(lines, name):
    with_drop_in(lines)
    try:
        # The first may be accepted before the service has looked, and is then refused at its start.
        for found in ("does not enforce", "CannotEnforce"):
            status, document, _ = doctor()
            equal(status, 1, "exit status")
            rows = {f"{row['group']}/{row['name']}": row for row in failed(document)}
            equal(sorted(rows), ["host/execution", "wall/self-test"], "what failed")
            row = rows["host/execution"]
            check(found in row["found"] or "CannotEnforce" in row["found"], f"found {row['found']}")
            contains(row["found"], name, "what was found")
            check(row["advice"], "no advice")
    finally:
        without_drop_in()


@test("a drop-in that opens the network is named")
def red_network():
    red_drop_in("PrivateNetwork=no", "net")


@test("a drop-in that takes the task limit away is named")
def red_tasks():
    red_drop_in("TasksMax=infinity", "TasksMax")


@test("a user who may not run code is told so, and nothing is sent")
def not_permitted():
    before = len(journal("UNITCELL_EVENT=accepted"))
    status, document, _ = doctor("carol")
    equal(status, 1, "exit status")
    equal([f"{row['group']}/{row['name']}" for row in failed(document)], ["host/permission", "wall/self-test"],
          "what failed")
    row = failed(document)[0]
    contains(row["found"], "AccessDenied", "what was found")
    contains(row["advice"], "unitcell", "advice")
    equal(len(journal("UNITCELL_EVENT=accepted")), before, "executions")


@test("without the service the exit status is 125")
def no_service():
    run(["systemctl", "mask", "--runtime", "--now", "unitcelld.service"], check=True)
    try:
        done = run(["unitcell", "doctor"], user="alice", timeout=60, cwd="/")
        equal(done.status, 125, "exit status")
        equal(done.text, "", "stdout")
        contains(done.error, "unitcell: ", "stderr")
    finally:
        run(["systemctl", "unmask", "--runtime", "unitcelld.service"], check=True)
        wait_ready()


if __name__ == "__main__":
    main()
