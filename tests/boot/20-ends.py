#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How executions end: each way has its status, flags and message, comes soon after its limit, and leaves nothing."""

import base64

from harness import *

MIB = 1 << 20
# What the service may need from the moment a limit strikes until the code is dead, in the emulated machine. The
# runner's own deadline is 3 s behind ours and systemd's 30 s: neither may have been it.
SOON_MS = 2500


def expect(result, **wanted):
    for key, value in wanted.items():
        equal(result[key], value, key)


def end_of(spec, answer_seconds=60, **wanted):
    """Runs spec, looks for left-overs, compares the result's keys; every end keeps these promises."""
    with Leftovers():
        result = execute(spec, timeout=answer_seconds / SLOW)
    expect(result, **wanted)
    for words in ("systemd", "runner", "service"):
        check(words not in result["message"], f"the message talks of our inside: {result['message']}")
    check(result["message"].endswith("."), f"the message is no sentence: {result['message']}")
    return result


def timed_out(result, timeout_ms):
    expect(result, status="timeout", retryable=True, counts_as_failure=False, exit_code=None, signal=None,
           suspected_runaway=True, oom_killed=False)
    within(result["duration_ms"], timeout_ms, timeout_ms + SOON_MS, "duration_ms")
    contains(result["message"], f"Stopped after {timeout_ms // 1000} s, the time limit", "message")


@test("an endless loop is stopped at its time limit")
def endless():
    wait_ready()
    result = end_of({"language": "python", "code": "print('begun')\nwhile True: pass", "timeout_ms": 3000})
    timed_out(result, 3000)
    expect(result, stdout="begun\n", stderr="")
    contains(result["message"], "endless loop", "message")
    within(result["cpu_ms"], 1000, 20000, "cpu_ms")


@test("a wait for nothing is stopped at its time limit too, and the answer follows at once")
def waiting():
    begun = time.monotonic()
    result = end_of({"argv": ["/usr/bin/sleep", "1000"], "timeout_ms": 2000})
    timed_out(result, 2000)
    within(time.monotonic() - begun, 2, 15, "seconds until the answer and a clean machine")


@test("a program that stops itself and its runner is stopped at its time limit")
def stopped():
    timed_out(end_of({"language": "bash", "code": "kill -STOP -1; kill -STOP $$", "timeout_ms": 2000}), 2000)


@test("a memory hog is killed at its limit: memory_limit")
def memory_hog():
    code = "print('begun')\nkeep = []\nwhile True: keep.append(b'x' * (1 << 20))"
    result = end_of({"language": "python", "code": code, "limits": {"memory_mb": 64}, "timeout_ms": 120000},
                    status="memory_limit", retryable=True, counts_as_failure=False, oom_killed=True, exit_code=None,
                    signal=None, stdout="begun\n", tasks_limit_hit=False, disk_limit_hit=False)
    contains(result["message"], "memory limit of 64 MiB", "message")
    within(result["memory_peak_bytes"], 60 * MIB, 65 * MIB, "memory_peak_bytes")
    within(result["duration_ms"], 1, 60000, "duration_ms")


@test("files and shared memory count as memory, so filling them ends the same way")
def memory_in_files():
    code = "cat /dev/zero > /dev/shm/a & cat /dev/zero > /workspace/b & wait; sleep 1000"
    end_of({"language": "bash", "code": "exec > /dev/null 2>&1; " + code + "; exit 1",
            "limits": {"memory_mb": 24, "disk_mb": 64, "file_mb": 64}, "timeout_ms": 8000}, oom_killed=True)
    memfd = ("import os\nfd = os.memfd_create('x')\nos.ftruncate(fd, 1 << 30)\n"
             "import mmap\nm = mmap.mmap(fd, 1 << 30)\nfor i in range(0, 1 << 30, 4096): m[i] = 1\n")
    end_of({"language": "python", "code": memfd, "limits": {"memory_mb": 32, "file_mb": 2048}, "timeout_ms": 60000},
           status="memory_limit", oom_killed=True)


@test("a child killed at the memory limit takes nothing from a program that goes on: success, flagged")
def memory_of_child():
    code = ("import subprocess, sys\n"
            "hog = 'keep = []\\nwhile True: keep.append(b\"x\" * (1 << 20))'\n"
            "print(subprocess.run([sys.executable, '-c', hog]).returncode)\n")
    result = end_of({"language": "python", "code": code, "limits": {"memory_mb": 64}, "timeout_ms": 120000},
                    status="success", exit_code=0, stdout="-9\n", oom_killed=True, counts_as_failure=False)
    contains(result["message"], "killed at the memory limit", "message")


@test("a fork bomb is held at its task limit and stopped at its time limit")
def fork_bomb():
    code = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
    result = end_of({"language": "python", "code": code, "limits": {"pids_max": 16, "memory_mb": 256},
                     "timeout_ms": 3000}, tasks_limit_hit=True, oom_killed=False)
    timed_out(result, 3000)


@test("a program that fails at the task limit is tasks_limit, with exactly pids_max tasks")
def tasks_limit():
    code = ("import os, time\nn = 0\n"
            "while True:\n"
            "    if os.fork() == 0:\n        time.sleep(1000)\n"
            "    n += 1\n    print(n)\n")
    result = end_of({"language": "python", "code": code, "limits": {"pids_max": 8}, "timeout_ms": 30000},
                    status="tasks_limit", retryable=True, counts_as_failure=False, tasks_limit_hit=True, exit_code=1)
    # The first process is one of the eight.
    equal(result["stdout"].splitlines()[-1], "7", "children that could be made")
    contains(result["stderr"], "BlockingIOError", "stderr")
    contains(result["message"], "limit of 8 processes", "message")


@test("a disk filler meets the end of its workspace: disk_limit when it fails of it, a flag when it copes")
def disk_filler():
    code = ("import sys\nwritten = 0\n"
            "try:\n"
            "    for i in range(1000):\n"
            "        with open(f'/tmp/{i}' if i % 2 else f'/workspace/{i}', 'wb', buffering=0) as file:\n"
            "            for _ in range(4): written += file.write(b'x' * (1 << 18))\n"
            "finally:\n    print(written)\n"
            "    if sys.argv[1:]: sys.exit(0)\n")
    spec = {"language": "python", "code": code, "limits": {"disk_mb": 6, "memory_mb": 256}, "timeout_ms": 60000}
    result = end_of(spec, status="disk_limit", retryable=True, counts_as_failure=False, disk_limit_hit=True,
                    exit_code=1, oom_killed=False)
    within(int(result["stdout"]), 5 * MIB, 6 * MIB, "bytes that could be written")
    contains(result["stderr"], "No space left on device", "stderr")
    contains(result["message"], "6 MiB (disk_mb)", "message")
    result = end_of(spec | {"args": ["cope"]}, status="success", disk_limit_hit=True, exit_code=0)


@test("a file at its limit: SIGXFSZ is signaled and flagged")
def file_limit():
    code = "exec head -c 3000000 /dev/zero > /workspace/big"
    result = end_of({"language": "bash", "code": code, "limits": {"file_mb": 1}}, status="signaled", signal="SIGXFSZ",
                    file_limit_hit=True, exit_code=None, counts_as_failure=True, disk_limit_hit=False)
    contains(result["message"], "SIGXFSZ", "message")


@test("100 MB of output: success, cut and flagged, every byte counted")
def printer():
    code = "yes 0123456789abcde | head -c 100000000; echo end >&2"
    result = end_of({"language": "bash", "code": code, "timeout_ms": 200000}, 300, status="success", exit_code=0,
                    stdout_bytes=100000000, stdout_truncated=True, stderr="end\n", stderr_bytes=4,
                    stderr_truncated=False)
    kept = base64.b64decode(result["stdout_base64"])
    equal(len(kept), 65536, "bytes that were kept")
    line = b"0123456789abcde\n"
    equal(kept[:32768], line * 2048, "the first half of what was kept")
    equal(kept[32768:], line * 2048, "the second half of what was kept")
    contains(result["stdout"], "\n[unitcell: 99934464 bytes left out]\n", "stdout")


@test("exit statuses are the program's own, those that systemd and shells give a meaning too")
def exit_statuses():
    for code in (3, 137, 203, 255):
        result = end_of({"argv": ["/usr/bin/bash", "-c", f"exit {code}"]}, status="failed", exit_code=code,
                        signal=None, counts_as_failure=True, retryable=False)
        contains(result["message"], f"exit status {code}", "message")


@test("death by a signal is signaled with its name, those that systemd takes for a clean end too")
def signals():
    for name in ("TERM", "HUP", "PIPE", "SEGV", "KILL"):
        result = end_of({"language": "bash", "code": f"echo begun; kill -{name} $$; echo survived"}, status="signaled",
                        signal="SIG" + name, exit_code=None, counts_as_failure=True, stdout="begun\n",
                        oom_killed=False)
        contains(result["message"], "SIG" + name, "message")


@test("a program that does not exist or cannot be executed is start_failed")
def not_there():
    for argv, reason in ((["/usr/bin/no-such-program", "x"], "No such file"), (["/etc/passwd"], "Permission denied"),
                         (["/usr"], "Permission denied")):
        with Leftovers():
            result = execute({"argv": argv})
        expect(result, status="start_failed", exit_code=None, signal=None, stdout="", stderr="", retryable=True,
               counts_as_failure=False)
        contains(result["message"], reason, "message")
        contains(result["message"], argv[0], "message")


HIDING = ("import os, signal, sys, time\n"
          "for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:\n"
          "    signal.signal(number, signal.SIG_IGN)\n"
          "if os.fork() == 0:\n"
          "    os.setsid()\n"
          "    if os.fork() == 0:\n"
          "        open('/tmp/ready', 'w').close()\n"
          "        while True: time.sleep(1)\n"
          "    os._exit(0)\n"
          "while not os.path.exists('/tmp/ready'): time.sleep(0.01)\n"
          "print('daemon made', flush=True)\n")


@test("a daemon that ignores every signal and holds stdout is killed with its program, and nobody waits for it")
def daemon_left():
    begun = time.monotonic()
    result = end_of({"language": "python", "code": HIDING, "timeout_ms": 120000}, status="success", exit_code=0,
                    stdout="daemon made\n", stderr="")
    within(time.monotonic() - begun, 0, 30, "seconds until the answer and a clean machine")
    within(result["duration_ms"], 1, 20000, "duration_ms")


@test("ignoring every signal does not help at the time limit")
def ignoring():
    result = end_of({"language": "python", "code": HIDING + "while True: time.sleep(1)\n", "timeout_ms": 5000})
    timed_out(result, 5000)
    expect(result, stdout="daemon made\n")


@test("cancel ends it as canceled; a second one, and one after the end, change nothing")
def canceled():
    with Leftovers():
        path = submit({"language": "bash", "code": "echo begun; sleep 1000; echo survived"})
        wait_running(path)
        begun = time.monotonic()
        cancel(path)
        cancel(path)
        result = get_result(path)
        within(time.monotonic() - begun, 0, 8, "seconds from cancel to the result")
        cancel(path)
        equal(get_result(path), result, "the result after another cancel")
    expect(result, status="canceled", exit_code=None, signal=None, retryable=True, counts_as_failure=False)
    contains(result["message"], "Canceled", "message")
    equal([entry["UNITCELL_EVENT"] for entry in records(path)], ["accepted", "finished"], "events")


@test("canceled before it was started: canceled as well")
def canceled_early():
    with Leftovers():
        # Two starts may be in flight: the last of these waits.
        paths = [submit({"argv": ["/usr/bin/sleep", "1000"]}) for _ in range(5)]
        for path in reversed(paths):
            cancel(path)
        for path in paths:
            expect(get_result(path), status="canceled", exit_code=None, signal=None)


@test("an Execute whose caller goes away is canceled, a Submit is not")
def lost_caller():
    with Leftovers():
        since = time.time()
        bus = Connection("alice")
        kept = manager("Submit", "sa{sh}", text_of({"language": "bash", "code": "sleep 4; echo done"}), {}, user=bus)[0]
        begin_execute({"argv": ["/usr/bin/sleep", "1000"], "task_id": "lost"}, bus)
        entry = wait_until(lambda: journal("UNITCELL_TASK_ID=lost", "UNITCELL_EVENT=accepted", since=since),
                           what="the Execute is accepted")[0]
        lost = entry["UNITCELL_EXECUTION"]
        wait_running(lost)
        bus.close()
        result = get_result(lost)
        expect(result, status="canceled")
        contains(result["message"], "connection", "message")
        expect(get_result(kept), status="success", stdout="done\n")


if __name__ == "__main__":
    main()
