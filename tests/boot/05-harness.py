#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The harness itself: what the other tests trust to notice things does notice them."""

import subprocess

from harness import *


def left_by(make, take_away):
    """What Leftovers says of that which make() leaves."""
    try:
        with Leftovers(settle=0):
            make()
    except AssertionError as error:
        return str(error)
    finally:
        take_away()
    return ""


@test("Leftovers sees a unit, its cgroup, its process of a dynamic uid and its directories")
def unit():
    wait_ready()
    name = "unitcell-x-" + "0" * 32 + ".service"
    said = left_by(
        lambda: run(["systemd-run", "-q", f"--unit={name}", "-p", "DynamicUser=yes", "-p", "Slice=unitcell-u0.slice",
                     "-p", "Type=exec", "/usr/bin/sleep", "1000"], check=True),
        lambda: run(["systemctl", "stop", name], check=True))
    for part in (f"unit {name} active/running", f"cgroup /sys/fs/cgroup/unitcell.slice/unitcell-u0.slice/{name}",
                 "sleep;", "path /tmp/systemd-private-", "path /var/tmp/systemd-private-",
                 f"path /run/systemd/transient/{name}", "path /run/systemd/dynamic-uid/"):
        contains(said, part, "what it says")


@test("Leftovers sees a failed unit that nobody asks about")
def failed_unit():
    name = "unitcell-x-" + "1" * 32 + ".service"
    said = left_by(lambda: run(["systemd-run", "-q", "--wait", f"--unit={name}", "/usr/bin/false"]),
                   lambda: run(["systemctl", "reset-failed", name], check=True))
    contains(said, f"unit {name} failed/failed", "what it says")


@test("Leftovers sees a mount, shared memory, a process of a former dynamic user")
def others():
    os.makedirs("/run/leftover", exist_ok=True)
    contains(left_by(lambda: run(["mount", "-t", "tmpfs", "leftover", "/run/leftover"], check=True),
                     lambda: run(["umount", "/run/leftover"], check=True)), "mount ", "what it says")
    contains(left_by(lambda: open("/dev/shm/leftover", "w", encoding="ascii").close(),
                     lambda: os.unlink("/dev/shm/leftover")), "path /dev/shm/leftover", "what it says")
    ids = []

    def make_queue():
        ids.append(run(["ipcmk", "-Q"], check=True).text.split()[-1])

    contains(left_by(make_queue, lambda: run(["ipcrm", "-q", ids[0]], check=True)), "System V IPC object msg",
             "what it says")
    processes = []
    contains(left_by(lambda: processes.append(subprocess.Popen(["setpriv", "--reuid=62000", "--clear-groups",
                                                                "/usr/bin/sleep", "1000"]))
                     or wait_until(dynamic_processes, what="it runs"),
                     lambda: (processes[0].kill(), processes[0].wait())), "process ", "what it says")


@test("Leftovers sees another daemon, and descriptors that it keeps")
def daemon():
    contains(left_by(lambda: run(["systemctl", "restart", "unitcelld"], check=True), wait_ready), "daemon pid",
             "what it says")
    path = []
    said = left_by(lambda: path.append(submit({"argv": ["/usr/bin/sleep", "1000"]})) or wait_running(path[0]),
                   lambda: (cancel(path[0]), get_result(path[0])))
    for part in ("unit unitcell-x-", "cgroup ", "process ", " descriptors of the daemon", " stored descriptors"):
        contains(said, part, "what it says")


@test("Leftovers is content with a place in which nothing happened")
def nothing():
    with Leftovers():
        pass


@test("callers are who they say they are, for the bus and for polkit")
def callers():
    for user, uid in (("alice", 2001), ("bob", 2002), ("carol", 2003), ("root", 0)):
        with Connection(user) as bus:
            credentials = bus.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                   "GetConnectionCredentials", "s", bus.name)[0]
            equal((credentials["UnixUserID"], credentials["ProcessID"]), (uid, bus.pid), f"credentials of {user}")
            with open(f"/proc/{bus.pid}/status", encoding="utf-8") as file:
                contains(file.read(), f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n", "its status")
        pids = bus.pid
        check(not os.path.exists(f"/proc/{pids}"), "its process is still there")
        equal(run(["id", "-u"], user=user).text, f"{uid}\n", f"uid of what run() starts for {user}")
    equal("unitcell" in run(["id", "-Gn"], user="alice").text, True, "alice is in the group")
    equal("unitcell" in run(["id", "-Gn"], user="carol").text, False, "carol is in the group")


if __name__ == "__main__":
    main()
