#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon is killed while executions run, at many instants and for a while: each accepted execution gets exactly one
end record with the true status, its owner gets the result, and nothing is left behind, not even in the FD store.

Executions wait for a file, so that what happens before and what after the daemon's death is no matter of timing.
"""

import os
import secrets
import shutil
import signal

from harness import *

STATE = "/run/unitcell/executions"
DROP_IN = "/run/systemd/system/unitcelld.service.d/recovery.conf"
GATE = "until [ -e /tmp/go ]; do sleep 0.2; done\n"
MIB = 1 << 20


# --- the daemon's life ----------------------------------------------------------------------------------------------

def service(name, interface="Service"):
    return unit_property("unitcelld.service", interface, name)


def kill_daemon():
    pid = daemon_pid()
    check(pid > 0, "there is no daemon to be killed")
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: daemon_pid() != pid, what="systemd has noticed that the daemon is dead")


def wait_active(timeout=30):
    wait_until(lambda: service("ActiveState", "Unit") == "active", timeout, "the next daemon is ready", step=0.1)


def restart_daemon():
    run(["systemctl", "restart", "unitcelld.service"], timeout=60, check=True)
    wait_active()


def set_restart_delay(seconds):
    """None: as shipped. systemd reloads, and the daemon looks at its wall; the answer to an execution says it has."""
    if seconds is None:
        shutil.rmtree(os.path.dirname(DROP_IN), ignore_errors=True)
    else:
        os.makedirs(os.path.dirname(DROP_IN), exist_ok=True)
        with open(DROP_IN, "w", encoding="utf-8") as file:
            file.write(f"[Service]\nRestartSec={seconds}\n")
    run(["systemctl", "daemon-reload"], check=True)
    wait_ready()


class Recovered(Leftovers):
    """As Leftovers, but the daemon may be another one; and its store must be empty, since nothing ran before."""

    PARTS = {part: look for part, look in Leftovers.PARTS.items() if part != "daemon"}

    def __exit__(self, kind, *rest):
        super().__exit__(kind, *rest)
        if not kind:
            equal(service("NFileDescriptorStore"), 0, "stored descriptors")


# --- executions -----------------------------------------------------------------------------------------------------

class Run:
    def __init__(self, spec, user="alice"):
        self.user = user
        self.path = submit(spec, user)
        self.unit = f"unitcell-x-{id_of(self.path)}.service"
        self.cgroup = f"/sys/fs/cgroup/unitcell.slice/unitcell-u{pwd_uid(user)}.slice/{self.unit}"

    def wait_running(self):
        wait_running(self.path, self.user)
        equal(self.state(), "running", f"state of {self.unit}")

    def state(self):
        return get_property(self.path, "State", self.user)

    def processes(self):
        try:
            with open(self.cgroup + "/cgroup.procs", encoding="utf-8") as file:
                return file.read().split()
        except OSError:
            return []

    def commands(self):
        names = []
        for pid in self.processes():
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    names.append(file.read().strip())
            except OSError:
                pass
        return names

    def is_over(self):
        return not os.path.exists(self.cgroup)

    def open_gate(self):
        """From outside, while no daemon is there: the file that the code waits for."""
        pid = self.processes()[0]
        with open(f"/proc/{pid}/root/scratch/tmp/go", "w", encoding="utf-8"):
            pass

    def result(self):
        return get_result(self.path, self.user)

    def end_record(self):
        """The one end record; there must be one accepted record before it and nothing else."""
        found = records(self.path)
        equal([record["UNITCELL_EVENT"] for record in found], ["accepted", "finished"], f"records of {self.path}")
        return found[1]


def pwd_uid(user):
    return run(["id", "-u", user], check=True).text.strip()


def bash(code, user="alice", **spec):
    return Run({"language": "bash", "code": code, "timeout_ms": 250000, **spec}, user)


def python(code, user="alice", **spec):
    gate = "import os, time\nwhile not os.path.exists('/tmp/go'):\n    time.sleep(0.1)\n"
    return Run({"language": "python", "code": gate + code, "timeout_ms": 250000, **spec}, user)


def agrees(run_, result, status, exit_code=None, number=None):
    """Result and end record tell the same story."""
    equal((result["status"], result["exit_code"], result["signal"]), (status, exit_code, number),
          f"status, exit code and signal ({result['message']})")
    record = run_.end_record()
    equal((record["UNITCELL_STATUS"], record.get("UNITCELL_EXIT_CODE"), record.get("UNITCELL_SIGNAL")),
          (status, None if exit_code is None else str(exit_code), number), "status, exit code and signal of the record")
    equal(record["UNITCELL_CALLER_UID"], pwd_uid(run_.user), "caller of the record")
    for key, field in (("cpu_ms", "UNITCELL_CPU_MS"), ("memory_peak_bytes", "UNITCELL_MEMORY_PEAK_BYTES"),
                       ("duration_ms", "UNITCELL_DURATION_MS")):
        equal(record.get(field), None if result[key] is None else str(result[key]), field)
    return record


def usage_is_known(result, most_memory=256 * MIB):
    check(result["cpu_ms"] is not None and result["cpu_ms"] > 0, f"cpu_ms is {result['cpu_ms']}")
    check(result["memory_peak_bytes"] is not None, "memory_peak_bytes is not known")
    within(result["memory_peak_bytes"], 64 << 10, most_memory, "memory_peak_bytes")


# --- dead for a while -----------------------------------------------------------------------------------------------

SLOW_C = "".join(f"int f{i}(int x) {{ return x * {i} + (x ^ {i + 1}) % {i + 7}; }}\n" for i in range(400)) + \
    "#include <stdio.h>\nint main(void) { puts(\"compiled\"); return f3(1) ? 9 : 9; }\n"
DEAD_SECONDS = 40

_dead = {}


def dead_daemon():
    """Once for the tests below: eight executions, the daemon dies in the middle of all of them and is kept dead until
    seven have ended."""
    if _dead:
        check("results" in _dead, "the daemon did not recover; see the first test that needed it")
        return _dead
    _dead["begun"] = True
    wait_ready()
    set_restart_delay(DEAD_SECONDS)
    with Recovered():
        # Time limits that pass while nobody is there: what ended before in its own way must not be called timeout.
        passing = {"timeout_ms": (DEAD_SECONDS - 5) * 1000}
        runs = _dead["runs"] = {
            "exit": bash("echo early\n" + GATE + "echo late; exit 7", **passing),
            "signal": bash(GATE + "kill -TERM $$", "bob", **passing),
            "oom": python("data = []\nwhile True:\n    data.append(bytearray(1 << 20))\n", limits={"memory_mb": 32},
                          **passing),
            "success": python("print('all is well')\n", "bob"),
            "runner": bash(GATE + "kill -9 -1; exit 13", **passing),
            "still": bash("echo early\n" + GATE + "echo done", "bob"),
        }
        for one in runs.values():
            one.wait_running()
        runs["limit"] = bash("echo begin; sleep 250", timeout_ms=15000)
        runs["limit"].wait_running()
        runs["compile"] = Run({"language": "c", "code": SLOW_C}, "bob")
        wait_until(lambda: "cc1" in runs["compile"].commands(), what="the compiler works", step=0.02)
        check("cc1" in runs["compile"].commands(), "the compiler was done before the daemon could be killed")
        _dead["stored"] = service("NFileDescriptorStore")
        restarts = service("NRestarts")
        kill_daemon()

        for name in ("exit", "signal", "oom", "success", "runner"):
            runs[name].open_gate()
        ended = [one for name, one in runs.items() if name != "still"]
        wait_until(lambda: all(one.is_over() for one in ended), 10, "seven executions have ended", step=0.2)
        equal((daemon_pid(), service("ActiveState", "Unit")), (0, "activating"),
              f"the daemon, {DEAD_SECONDS} s after its death at most, and before it came back")
        check(runs["still"].processes(), "the eighth execution went with the daemon")
        equal([one for one in ended if journal("_SYSTEMD_UNIT=unitcelld.service", "UNITCELL_EVENT=finished",
                                               f"UNITCELL_EXECUTION={id_of(one.path)}")], [], "end records so far")

        wait_active(DEAD_SECONDS + 60)
        equal(service("NRestarts"), restarts + 1, "restarts of the daemon")
        results = {name: one.result() for name, one in runs.items() if name != "still"}
        equal(runs["still"].state(), "running", "state of the eighth")
        runs["still"].open_gate()
        results["still"] = runs["still"].result()
    _dead["results"] = results
    return _dead


def of(name):
    here = dead_daemon()
    return here["runs"][name], here["results"][name]


@test("kept dead until all had ended: exit 7 is failed with 7, with usage and what it printed afterwards")
def dead_exit():
    one, result = of("exit")
    agrees(one, result, "failed", 7)
    usage_is_known(result)
    check(result["stdout"].endswith("late\n"), f"stdout is {result['stdout']!r}")
    equal(result["stdout_truncated"], True, "that output may be missing")
    contains(result["message"], "restarted meanwhile", "message")
    equal(one.end_record()["UNITCELL_RESULT"] != "", True, "the record has a result")


@test("… exit 0 is success, with usage")
def dead_success():
    one, result = of("success")
    agrees(one, result, "success", 0)
    usage_is_known(result)
    equal(result["stdout"], "all is well\n", "stdout")


@test("… death by SIGTERM is signaled")
def dead_signal():
    one, result = of("signal")
    agrees(one, result, "signaled", None, "SIGTERM")
    usage_is_known(result)


@test("… an OOM kill is memory_limit, with the peak at the limit")
def dead_oom():
    one, result = of("oom")
    agrees(one, result, "memory_limit")
    equal(result["oom_killed"], True, "oom_killed")
    usage_is_known(result, 32 * MIB)
    within(result["memory_peak_bytes"], 31 * MIB, 32 * MIB, "memory_peak_bytes")


@test("… the time limit is timeout: the runner ended it three seconds later, before any backstop of systemd")
def dead_limit():
    one, result = of("limit")
    agrees(one, result, "timeout")
    usage_is_known(result)
    within(result["duration_ms"], 15000 + 3000, 15000 + 3000 + 500 * SLOW, "duration_ms")


@test("… kill -9 -1, which takes the runner along, is signaled: systemd knows")
def dead_runner():
    one, result = of("runner")
    if systemd_version() >= 257:    # a PID namespace of its own: it reaches nobody
        agrees(one, result, "failed", 13)
        return
    agrees(one, result, "signaled", None, "SIGKILL")
    check(result["cpu_ms"], f"cpu_ms is {result['cpu_ms']}")
    # It did not last until somebody looked.
    within(result["duration_ms"], 1, DEAD_SECONDS * 1000 - 10000, "duration_ms")


@test("… a program that was being compiled ran to its end: failed with 9")
def dead_compile():
    one, result = of("compile")
    agrees(one, result, "failed", 9)
    usage_is_known(result)
    equal(result["stdout"], "compiled\n", "stdout")


@test("… what still ran goes on under the next daemon, to its own end")
def dead_still():
    one, result = of("still")
    agrees(one, result, "success", 0)
    usage_is_known(result)
    check(result["stdout"].endswith("done\n"), f"stdout is {result['stdout']!r}")


@test("… the store held descriptors of all of them while the daemon was dead, and each owner sees only his own")
def dead_owners():
    here = dead_daemon()
    # Socket, two pipes, workspace and listener of each; those of the one that compiled were there too.
    equal(here["stored"], 5 * 8, "stored descriptors before the daemon's death")
    for one in here["runs"].values():
        other = "bob" if one.user == "alice" else "alice"
        equal(raises(get_result, one.path, other).name, ERROR + "NoSuchExecution", f"answer to {other}")
        equal(one.result()["id"], id_of(one.path), "id of the result, asked for again")
    record = journal("_SYSTEMD_UNIT=unitcelld.service", "UNITCELL_EVENT=recovered")[-1]
    contains(record["MESSAGE"], "8 executions adopted", "record of the recovery")


# --- back at once ---------------------------------------------------------------------------------------------------

def goes_on(replace_daemon, with_limit):
    """Executions that run while the daemon is replaced, at once, end as if nothing had been. with_limit: and one of them
    runs into its time limit under the next daemon."""
    set_restart_delay(None)
    before = daemon_pid()
    with Recovered():
        done = bash("echo early; " + GATE + "echo late; exit 3")
        well = python("print('fine')\n", "bob")
        runs = [done, well]
        for one in runs:
            one.wait_running()
        # Execute waits for the answer, and the daemon that would give it is going away.
        since = time.time()
        waiting = begin_execute({"language": "bash", "code": GATE, "task_id": "waiting", "timeout_ms": 250000}, "bob")
        called = wait_until(lambda: journal("_SYSTEMD_UNIT=unitcelld.service", "UNITCELL_EVENT=accepted",
                                            "UNITCELL_TASK_ID=waiting", since=since),
                            what="the waiting call is accepted", step=0.2)[-1]["UNITCELL_EXECUTION"]
        wait_running(called, "bob")
        limited = bash("sleep 250", timeout_ms=20000) if with_limit else None
        if limited:
            limited.wait_running()

        replace_daemon()
        check(daemon_pid() not in (0, before), "it is the same daemon")
        equal(raises(finish_execute, waiting).name, "org.freedesktop.DBus.Error.NoReply", "answer to the waiting call")
        equal([one.state() for one in runs], ["running", "running"], "states under the next daemon")
        for one in runs:
            one.open_gate()
        result = done.result()
        agrees(done, result, "failed", 3)
        usage_is_known(result)
        check(result["stdout"].endswith("late\n"), f"stdout is {result['stdout']!r}")
        result = well.result()
        agrees(well, result, "success", 0)
        usage_is_known(result)
        equal(result["stdout"], "fine\n", "stdout")
        cancel(called, "bob")
        equal(get_result(called, "bob")["status"], "canceled", "status of the execution that nobody waits for")
        if limited:
            result = limited.result()
            agrees(limited, result, "timeout")
            # By the daemon, at the limit; the runner would have come three seconds later.
            within(result["duration_ms"], 20000, 22900, "duration_ms")


@test("killed and back at once: what ran goes on, its limits hold, its owners get their results")
def killed():
    goes_on(lambda: (kill_daemon(), wait_active()), with_limit=True)


@test("systemctl restart: the same")
def restarted():
    goes_on(restart_daemon, with_limit=False)


@test("killed right after seven executions were accepted: each has one end, and what was not started says interrupted")
def killed_in_queue():
    with Recovered():
        runs = [bash("echo ran", "alice" if i < 4 else "bob") for i in range(7)]
        kill_daemon()
        wait_active()
        results = [one.result() for one in runs]
        statuses = [result["status"] for result in results]
        note(statuses)
        for one, result in zip(runs, results):
            agrees(one, result, result["status"], result["exit_code"])
            if result["status"] == "interrupted":
                equal((result["stdout"], result["stdout_truncated"], result["retryable"]), ("", False, True),
                      "stdout, whether it was cut, and retryable")
        equal(set(statuses) - {"success", "interrupted"}, set(), "statuses")
        # Two starts in flight for each caller: three of alice's four and one of bob's three were not even asked for.
        check(statuses.count("interrupted") >= 3, f"statuses {statuses}: it was not killed in time")


@test("killed at four instants of its work: each execution has exactly one end, success or interrupted")
def killed_anywhere():
    seen = []
    with Recovered():
        for delay in (0.15, 0.8, 1.8, 3.5):
            runs = [bash("echo ran"), bash("echo ran", "bob"), bash("echo ran", "bob")]
            time.sleep(delay * SLOW / 20)
            kill_daemon()
            wait_active()
            for one in runs:
                result = one.result()
                agrees(one, result, result["status"], result["exit_code"])
                if result["status"] == "success":
                    # What the former daemon had read of it is gone with it, and said to be.
                    check(result["stdout"] == "ran\n" or result["stdout_truncated"], f"stdout {result['stdout']!r}")
                seen.append(result["status"])
    note(seen)
    equal(set(seen) - {"success", "interrupted"}, set(), "statuses")
    check("success" in seen, f"none of {len(seen)} came through")


@test("killed while its canary runs: the next daemon stops that, and looks again")
def killed_in_canary():
    with Recovered():
        run(["systemctl", "daemon-reload"], check=True)
        units = wait_until(lambda: [unit for unit in execution_units() if "/running" in unit or "/start" in unit],
                           what="a canary is running", step=0.02)
        kill_daemon()
        wait_active()
        wait_ready()
        check(not execution_units() & set(units), f"the canary of the dead daemon is still there: {units}")


# --- what is not ours, and what is broken ---------------------------------------------------------------------------

def write_state(name, data):
    with open(f"{STATE}/{name}", "wb") as file:
        file.write(data)
    os.chmod(f"{STATE}/{name}", 0o600)


@test("corrupt state files are put aside as .broken and harm nothing; results that were there are still there")
def broken_state():
    finished = execute({"language": "bash", "code": "exit 4"})
    with open(f"{STATE}/{finished['id']}.json", "rb") as file:
        good = file.read()
    document = json.loads(good)
    files = {}
    for text in (b"", b"{", b"\0" * 100, b"[]", b"\xff\xfe garbage", b"9" * (5 << 20), good[:-10], good,
                 json.dumps({**document, "version": 99}).encode(), json.dumps({**document, "extra": 1}).encode(),
                 json.dumps({**document, "caller": 0}).encode(),
                 json.dumps({**document, "step": "dancing"}).encode()):
        files[secrets.token_hex(16) + ".json"] = text
    wrong_name = "x" * 32 + ".json"
    files[wrong_name] = good
    directory = secrets.token_hex(16) + ".json"
    link = secrets.token_hex(16) + ".json"

    one = bash("echo early; " + GATE + "exit 6")
    one.wait_running()
    for name, data in files.items():
        write_state(name, data)
    os.mkdir(f"{STATE}/{directory}")
    os.symlink("/etc/shadow", f"{STATE}/{link}")
    since = time.time()
    try:
        restart_daemon()
        equal(one.state(), "running", "state of the one that runs")
        one.open_gate()
        agrees(one, one.result(), "failed", 6)
        equal(execute({"language": "bash", "code": "exit 5"})["exit_code"], 5, "exit code of a new one")
        equal(get_result(finished["id"])["exit_code"], 4, "exit code of the one that had finished")
        for name in [*files, directory, link]:
            check(os.path.lexists(f"{STATE}/{name}.broken") and not os.path.lexists(f"{STATE}/{name}"),
                  f"{name} ({files.get(name, b'')[:40]!r}) was not put aside: {sorted(os.listdir(STATE))}")
            if name != wrong_name:
                equal(raises(get_result, name[:-5]).name, ERROR + "NoSuchExecution", "answer for a broken one")
        said = [entry["MESSAGE"] for entry in journal("_SYSTEMD_UNIT=unitcelld.service", "PRIORITY=3", since=since)]
        for name in [*files, directory, link]:
            check(any(name in line for line in said), f"nothing was said of {name}")
        check("root:" not in "".join(said), "the file behind the link was read out")
        restart_daemon()    # once more, with what was put aside lying there
        equal([name for name in os.listdir(STATE) if name.endswith(".broken.broken")], [], "put aside twice")
    finally:
        for name in os.listdir(STATE):
            if name.endswith(".broken") or name in (*files, directory, link):
                path = f"{STATE}/{name}"
                os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    equal(service("NFileDescriptorStore"), 0, "stored descriptors")


@test("the state of an execution whose unit is nowhere: interrupted, one record, its owner is told")
def lost_unit():
    finished = execute({"language": "bash", "code": "exit 4"})
    with open(f"{STATE}/{finished['id']}.json", encoding="utf-8") as file:
        document = json.load(file)
    lost = {}
    for step in ("starting", "handed-over", "running"):
        lost[step] = secrets.token_hex(16)
        state = {**document, "id": lost[step], "step": step}
        state.pop("status", None)
        write_state(f"{lost[step]}.json", json.dumps(state).encode())
    with Recovered():
        restart_daemon()
        for step, execution in lost.items():
            result = get_result(execution)
            equal((result["status"], result["exit_code"], result["retryable"]), ("interrupted", None, True),
                  f"status, exit code, retryable of {step} ({result['message']})")
            found = records(execution, 1)
            equal([record["UNITCELL_EVENT"] for record in found], ["finished"], "records")


@test("a foreign unit with a name of ours is stopped at the daemon's start; one that only looks alike is left alone")
def foreign_unit():
    wait_ready()
    foreign = f"unitcell-x-{secrets.token_hex(16)}.service"
    alike = f"unitcell-x-{secrets.token_hex(8)}.service"
    since = time.time()
    try:
        for unit in (foreign, alike):
            run(["systemd-run", "--quiet", f"--unit={unit}", "/usr/bin/sleep", "300"], check=True)
        # While it runs, the daemon leaves it alone: it may be on its way to be adopted by the one that started it.
        equal([unit_property(unit, "Unit", "ActiveState") for unit in (foreign, alike)], ["active", "active"], "states")
        restart_daemon()
        wait_until(lambda: unit_property(foreign, "Unit", "ActiveState") in ("inactive", "failed"), what="it is stopped")
        equal(unit_property(alike, "Unit", "ActiveState"), "active", "state of the other")
        said = [entry["MESSAGE"] for entry in journal("_SYSTEMD_UNIT=unitcelld.service", since=since)]
        contains(said, f"Stopping {foreign}: nobody owns it", "journal")
    finally:
        for unit in (foreign, alike):
            run(["systemctl", "stop", unit])
    wait_until(lambda: not execution_units(), what="both are gone")


if __name__ == "__main__":
    try:
        main()
    finally:
        set_restart_delay(None)
