#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Large numbers at native speed, harmless programs only: nothing is mixed up, nothing is lost, nothing stays."""

import statistics

from harness import *


def pipeline(jobs, at_once=16):
    """Runs jobs, an iterable of (user, spec), so many at a time for each user: yields (user, spec, result)."""
    running = {}
    for user, spec in jobs:
        queue = running.setdefault(user, [])
        if len(queue) == at_once:
            yield finish(user, *queue.pop(0))
        queue.append((spec, begin_execute(spec, user)))
    for user, queue in running.items():
        for item in queue:
            yield finish(user, *item)


def finish(user, spec, begun):
    return user, spec, result_of(finish_execute(begun, 120))


@test("200 executions, 16 at a time: each succeeds with its own output, nothing is left")
def two_hundred():
    wait_ready()
    begun = time.monotonic()
    with Leftovers(settle=20):
        ids = set()
        for number, (_, _, result) in enumerate(pipeline(
                ("alice", {"argv": ["/usr/bin/printf", "%s", str(number)], "task_id": str(number)})
                for number in range(200))):
            equal((result["status"], result["stdout"], result["stderr"], result["task_id"]),
                  ("success", str(number), "", str(number)), f"end of number {number}")
            ids.add(result["id"])
        seconds = time.monotonic() - begun
    equal(len(ids), 200, "number of different ids")
    note(f"{200 / seconds:.0f} a second")


@test("two users at once, 16 at a time each: each gets his own")
def two_users():
    with Leftovers(settle=20):
        for user, spec, result in pipeline(
                (("alice", "bob")[number % 2], {"language": "bash", "code": "read word; echo $1 $word",
                                                "args": [str(number)], "stdin": f"word-{number}"})
                for number in range(100)):
            number = spec["args"][0]
            equal((result["status"], result["stdout"]), ("success", f"{number} word-{number}\n"), f"end of {number}")
            unit_path = f"{PATH}/execution/{result['id']}"
            other = "bob" if user == "alice" else "alice"
            if int(number) % 10 == 0:
                equal(get_property(unit_path, "Owner", user), {"alice": 2001, "bob": 2002}[user], "Owner")
                equal(raises(get_property, unit_path, "Owner", other).name, ERROR + "NoSuchExecution", f"for {other}")


@test("a run of time-outs, 16 at a time: each at its limit")
def timeouts():
    late = []
    with Leftovers(settle=20):
        for _, spec, result in pipeline(
                ("alice", {"argv": ["/usr/bin/sleep", "1000"], "timeout_ms": 100 + 20 * (number % 16)})
                for number in range(48)):
            equal((result["status"], result["retryable"], result["suspected_runaway"]), ("timeout", True, True), "end")
            late.append(result["duration_ms"] - spec["timeout_ms"])
            within(late[-1], 0, 1500, "milliseconds after the limit")
    note(f"after the limit: median {statistics.median(late):.0f} ms, most {max(late)} ms")


@test("all 256 exit statuses are told exactly")
def exit_statuses():
    with Leftovers(settle=20):
        for number, (_, _, result) in enumerate(pipeline(
                ("alice", {"argv": ["/usr/bin/bash", "-c", f"exit {number}"]}) for number in range(256))):
            equal((result["status"], result["exit_code"], result["signal"]),
                  ("failed" if number else "success", number, None), f"end with exit {number}")


@test("every deadly signal is told by its name")
def signals():
    names = ["HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
             "TERM", "STKFLT", "XCPU", "XFSZ", "VTALRM", "PROF", "IO", "PWR", "SYS"]
    with Leftovers(settle=20):
        for name, (_, _, result) in zip(names, pipeline(
                ("alice", {"language": "python", "code": "import os, signal, sys\n"
                           "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
                           "number = getattr(signal, 'SIG' + sys.argv[1])\n"
                           "if number != signal.SIGKILL: signal.signal(number, signal.SIG_DFL)\n"
                           "os.kill(os.getpid(), number)\nsys.exit(0)\n", "args": [name]}) for name in names)):
            equal((result["status"], result["signal"], result["exit_code"], result["stderr"]),
                  ("signaled", "SIG" + name, None, ""), f"end with SIG{name}")


@test("output beyond 256 MiB is stopped: output_limit, with what was kept")
def ceiling():
    with Leftovers():
        result = execute({"argv": ["/usr/bin/cat", "/dev/zero"], "timeout_ms": 120000}, timeout=120)
    equal((result["status"], result["retryable"], result["counts_as_failure"], result["stdout_truncated"]),
          ("output_limit", True, False, True), "end")
    within(result["stdout_bytes"], 256 << 20, 257 << 20, "stdout_bytes")
    contains(result["message"], "printed too much", "message")


@test("the largest outputs that may be asked for come back whole, text and bytes")
def largest():
    size = 16 << 20
    result = execute({"language": "python", "code": f"import sys; sys.stdout.write('x' * {size})",
                      "limits": {"stdout_bytes": size}})
    equal((result["status"], result["stdout_bytes"], result["stdout_truncated"]), ("success", size, False), "end")
    equal(sha256(result["stdout"]), sha256("x" * size), "sha256 of stdout")
    result = execute({"language": "python", "code": f"import sys; sys.stdout.buffer.write(b'\\xff' * {size});"
                                                    f"sys.stderr.buffer.write(b'\\xfe' * {size})",
                      "limits": {"stdout_bytes": size, "stderr_bytes": size}, "timeout_ms": 60000})
    equal((result["status"], result["stdout_bytes"], result["stderr_bytes"]), ("success", size, size), "end")
    within(len(json.dumps(result)), 1 << 20, 24 << 20, "size of the result")
    check(result["stdout_truncated"] or result["stderr_truncated"], "two times 16 MiB of bytes cannot be whole")


@test("the largest input arrives whole")
def largest_input():
    text = "".join(f"{number:07d}\n" for number in range((16 << 20) // 8))
    result = execute({"argv": ["/usr/bin/sha256sum"], "stdin": text, "limits": {"disk_mb": 20}}, timeout=60)
    equal((result["status"], result["stdout"]), ("success", sha256(text) + "  -\n"), "end")
    code = "#" * ((4 << 20) - 9) + "\nprint(7)"
    result = execute({"language": "python", "code": code}, timeout=60)
    equal((result["status"], result["stdout"]), ("success", "7\n"), "end of 4 MiB of code")


@test("what this place cannot enforce is said in the result")
def enforced():
    with open("/sys/fs/cgroup/cgroup.controllers", encoding="ascii") as file:
        here = file.read().split()
    result = execute({"argv": ["/usr/bin/true"]})
    equal(sorted(result["enforced"]["missing_controllers"]),
          sorted(name for name in ("memory", "pids", "cpu") if name not in here), "missing_controllers")
    equal(result["enforced"]["network"], "private", "network")


@test("start-up times against an unconfined start (diagnostics, never a verdict)")
def timings():
    def median(function, times=15):
        taken = []
        for _ in range(times):
            begun = time.monotonic()
            function()
            taken.append((time.monotonic() - begun) * 1000)
        return statistics.median(taken)

    bare = {"true": median(lambda: run(["/usr/bin/true"])), "python": median(lambda: run(["python3", "-c", "pass"])),
            "systemd-run": median(lambda: run(["systemd-run", "-q", "--wait", "--pipe", "/usr/bin/true"]), 7)}
    cells = {"true": median(lambda: execute({"argv": ["/usr/bin/true"]})),
             "python": median(lambda: execute({"language": "python", "code": "pass"})),
             "javascript": median(lambda: execute({"language": "javascript", "code": ""}), 7),
             "c": median(lambda: execute({"language": "c", "code": "int main(void) { return 0; }"}), 7)}
    note(f"unconfined, ms: {', '.join(f'{name} {value:.1f}' for name, value in bare.items())}")
    note(f"unitcell, ms: {', '.join(f'{name} {value:.1f}' for name, value in cells.items())}")
    note(f"unitcell's true is {cells['true'] / bare['systemd-run']:.2f} of systemd-run's;"
         f" python {cells['python'] / bare['python']:.2f} of unconfined")


if __name__ == "__main__":
    main()
