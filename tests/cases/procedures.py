# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cases that are more than one run and its result: many in a row, and what they leave."""

import collections
import glob
import os
import statistics
import time

from attempt import Attempt, attempt_all
from harness import *
from host import resident

MIB = 1 << 20


# --- many in a row leave nothing, and the last is as fast as the first ------------------------------------------

def _loaded_units():
    return {unit[0] for unit in systemd("ListUnits")[0]}


def _failed_units():
    return {unit[0] for unit in systemd("ListUnitsFiltered", "as", ["failed"])[0] if "unitcell" in unit[0]}


def _mount_count():
    with open("/proc/1/mountinfo", encoding="utf-8") as file:
        return sum(1 for _ in file)


def _cgroup_directories():
    return sum(1 for _ in os.walk("/sys/fs/cgroup"))


def _dying():
    # The kernel keeps a dead cgroup as long as a page is charged to it: the page cache of files that it read first.
    with open("/proc/sys/vm/drop_caches", "w", encoding="utf-8") as file:
        file.write("3")
    with open("/sys/fs/cgroup/cgroup.stat", encoding="utf-8") as file:
        return int(dict(line.split() for line in file)["nr_dying_descendants"])


def many_in_a_row(spec, pace, full):
    count = 3000 if full else 300
    part = count // 3 if not full else 100
    # The first ones of a caller make its slice, its connection, its kept results: that is no leak.
    for _ in range(70 if full else 20):
        execute(spec)
    pid = daemon_pid()
    units, mounts, cgroups, dying = _loaded_units(), _mount_count(), _cgroup_directories(), _dying()
    rss, rss_manager, descriptors = resident(pid), resident(1), len(os.listdir(f"/proc/{pid}/fd"))

    seconds, ends = [], collections.Counter()
    with Leftovers():
        for _ in range(count):
            begun = time.monotonic()
            result = execute(spec)
            seconds.append(time.monotonic() - begun)
            ends[(result["status"], result["exit_code"], result["signal"])] += 1
    note(f"{count} runs: " + ", ".join(f"{number} {end}" for end, number in sorted(ends.items(), key=str)))
    wanted = {("failed", 1, None), ("signaled", None, "SIGSEGV"), ("success", 0, None), ("signaled", None, "SIGKILL")}
    equal(set(ends), wanted, "ends")

    equal(_failed_units(), set(), "failed units")
    wait_until(lambda: not _loaded_units() - units, what=f"no more units are loaded: {_loaded_units() - units}")
    equal(_mount_count(), mounts, "mounts of the host")
    equal(_cgroup_directories(), cgroups, "directories of cgroups")
    wait_until(lambda: _dying() <= dying + 2, what=f"dying cgroups go ({dying} before)", step=1)
    equal(daemon_pid(), pid, "pid of the daemon")
    grown = {"descriptors": len(os.listdir(f"/proc/{pid}/fd")) - descriptors, "daemon": (resident(pid) - rss) / MIB,
             "PID 1": (resident(1) - rss_manager) / MIB}
    note(f"grown: {grown}")
    check(grown["descriptors"] <= 0, f"{grown['descriptors']} more descriptors in the daemon")
    within(grown["daemon"], -1000, 8, "growth of the daemon in MiB")
    within(grown["PID 1"], -1000, 8, "growth of PID 1 in MiB")
    # Times are no measure where every instruction is emulated and others share the machine: there they are only told.
    ratio = statistics.mean(seconds[-part:]) / statistics.mean(seconds[:part])
    note(f"the last {part} took {ratio:.2f} times as long as the first; {statistics.mean(seconds):.2f} s each")
    if not IN_GUEST:
        within(ratio, 0, 1.3, "time of the last runs by that of the first")


# --- ends of all kinds leave the disk as it was -----------------------------------------------------------------

def _places():
    """What lies where executions leave something, with sizes; results are kept by number and by age."""
    found = {}
    for place in ("/run/unitcell", "/var/lib/unitcell", "/dev/shm", "/tmp", "/var/tmp"):
        for base, _, files in os.walk(place):
            for name in files:
                path = os.path.join(base, name)
                if not path.startswith("/var/lib/unitcell/results/") and not path.startswith("/run/unitcell/executions/"):
                    found[path] = os.lstat(path).st_size
    return found


def _used(path):
    stat = os.statvfs(path)
    return (stat.f_blocks - stat.f_bfree) * stat.f_frsize


def _tmpfs_mounts():
    with open("/proc/1/mountinfo", encoding="utf-8") as file:
        return sorted(line for line in file)


def ends_leave_nothing(spec, pace, full):
    by_ten = 1 if full else 10
    plans = [(100 // by_ten, spec, {"status": "failed", "exit_code": 5}),
             (100 // by_ten, {**spec, "timeout_ms": 300, "code": spec["code"].replace("exit 5", "sleep 1000")},
              {"status": "timeout"}),
             (50 // by_ten, {"argv": ["/usr/bin/no-such-interpreter", "x"]}, {"status": "start_failed"}),
             (50 // by_ten, {**spec, "timeout_ms": -1}, "InvalidSpec")]
    execute(spec)
    wait_until(lambda: not execution_units(), what="the units of earlier cases are gone")
    mounts, places, run_used = _tmpfs_mounts(), _places(), _used("/run")
    with Leftovers():
        for count, one, wanted in plans:
            for number in range(count):
                if wanted == "InvalidSpec":
                    error, message = execute_error(one)
                    equal(error, ERROR + wanted, f"error ({message})")
                    continue
                result = execute(one)
                for key, value in wanted.items():
                    equal(result[key], value, f"{key} of run {number + 1} of {wanted}")
    equal(_tmpfs_mounts(), mounts, "mounts of the host")
    equal(_places(), places, "files of the service and of the host")
    results = len(glob.glob("/var/lib/unitcell/results/*"))
    check(results <= 64 * 4, f"{results} results are kept")
    # State files of kept results are small; what a run leaves would be a megabyte.
    grown = _used("/run") - run_used
    check(grown < MIB, f"/run grew by {grown} bytes")


# --- the records of many runs -----------------------------------------------------------------------------------

def one_start_one_end(spec, pace, full):
    count = 200 if full else 20
    since = time.time() - 1
    results = []
    while len(results) < count:
        attempts = [Attempt(spec, user) for user in ("alice", "bob") for _ in range(5)]
        attempt_all(attempts)
        for attempt in attempts:
            check(attempt.result is not None, attempt.summary())
            equal(attempt.result["status"], "success", "status")
            results.append(attempt)
    by_id = collections.defaultdict(list)

    def gather():
        by_id.clear()
        for entry in journal("_SYSTEMD_UNIT=unitcelld.service", "_UID=0", since=since):
            by_id[entry.get("UNITCELL_EXECUTION")].append(entry)
        return all(len(by_id[attempt.result["id"]]) >= 2 for attempt in results)

    wait_until(gather, what="a start and an end record of each run", step=0.5)
    time.sleep(1)
    gather()
    for attempt in results:
        entries = by_id[attempt.result["id"]]
        equal([entry["UNITCELL_EVENT"] for entry in entries], ["accepted", "finished"], "records of one run, in order")
        start, end = entries
        uid = run(["id", "-u", attempt.user], check=True).text.strip()
        for entry in entries:
            equal(entry["UNITCELL_CALLER_UID"], uid, "UNITCELL_CALLER_UID")
        equal(start["UNITCELL_CODE_SHA256"], sha256(spec["code"]), "UNITCELL_CODE_SHA256")
        equal(end["UNITCELL_STATUS"], "success", "UNITCELL_STATUS")
        for key, value in spec["limits"].items():
            contains(start["UNITCELL_SPEC"].replace(" ", ""), f'"{key}":{value}', "UNITCELL_SPEC")
