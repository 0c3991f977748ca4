#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each property of an execution's unit is switched off once, and the service must see that and say which one.

A wall test that was never seen failing proves nothing. So for every row of unit/describe.c an administrator's drop-in
(it beats what the API sets) switches that property off, systemd reloads, unitcelld lets its canary look, and its verdict
must name the property: what systemd says ("says": exactly these properties differ and no other), and, wherever a process
inside can tell, what the canary found ("inside": these facts), or what kept it from running ("canary").

In no drop-in's reach, and not shown by Explain, are AddRef and the descriptors for stdin, stdout and stderr: systemd
gives a StandardInputFileDescriptor precedence over any StandardInput=. Without the first a result would be lost in
90-recovery.py, without the others no test would see a single byte.
"""

import os
import pwd
import shutil
import subprocess

from harness import *

DROP_IN = "/etc/systemd/system/unitcell-x-.service.d/red.conf"
RED_ROOT = "/run/unitcell-red"
VERSION = systemd_version()


class Red:
    def __init__(self, lines, says=None, inside=(), canary=None, section="Service"):
        self.lines = lines.split("; ")
        self.says = says    # which properties differ for systemd; None: exactly the row's own
        self.inside = inside
        self.canary = canary
        self.section = section

    def text(self):
        return "\n".join([f"[{self.section}]", *self.lines, ""])


# DynamicUser= implies five others and cannot be without them; root without capabilities takes its place.
NO_DYNAMIC = "DynamicUser=no; "
CALLS_OF_NAMESPACES = [f"syscall:{how}-{kind}" for how in ("unshare", "clone")
                       for kind in ("cgroup", "ipc", "net", "mnt", "pid", "user", "uts")]
HOSTS_OWN = "the {} namespace is the host's own"

# property: one or more ways to switch it off. Where there is no "inside", no process can tell from inside, for the
# reason given.
TABLE = {
    "Description": [Red("Description=other", section="Unit")],          # only a name
    "Type": [Red("Type=simple")],                                       # only systemd's own view of the start
    "ExecStart": [
        Red("ExecStart=; ExecStart=/usr/bin/true", canary="did not start"),
        Red("ExecStart=; ExecStart=/usr/lib/unitcell/unitcell-runner inspect", canary="did not start"),
    ],
    "Slice": [Red("Slice=system.slice", canary="its cgroup is not where the plan puts it")],
    "CollectMode": [Red("CollectMode=inactive-or-failed", section="Unit")],     # what remains of a dead unit
    "LogLevelMax": [Red("LogLevelMax=debug")],                          # what PID 1 writes to the journal

    "DynamicUser": [Red("DynamicUser=no", inside=["uid", "gid", "processes_foreign"])],
    "CapabilityBoundingSet": [Red("CapabilityBoundingSet=CAP_NET_RAW", inside=["cap_bounding"])],
    "AmbientCapabilities": [Red("CapabilityBoundingSet=CAP_NET_RAW; AmbientCapabilities=CAP_NET_RAW",
                                says=["AmbientCapabilities", "CapabilityBoundingSet"],
                                inside=["cap_ambient", "cap_permitted", "cap_effective", "cap_inheritable"])],
    # The runner sets it for itself too, so inside it is always 1.
    "NoNewPrivileges": [Red(NO_DYNAMIC + "NoNewPrivileges=no", says=["NoNewPrivileges", "DynamicUser"])],
    "KeyringMode": [Red("KeyringMode=inherit")],                        # keyctl(2) is refused, so nobody can look

    "RootDirectory": [
        Red(f"RootDirectory={RED_ROOT}/root", inside=["exists:/home", "exists:/etc/shadow", "exists:/var/lib"]),
        # The host's own root: 252 gets as far as a working directory that is not there, 257 not even to exec.
        Red("RootDirectory=", canary="canary: start_failed"),
    ],
    "TemporaryFileSystem": [
        Red("TemporaryFileSystem=", canary="cannot make /scratch/work: Read-only file system"),
        Red("TemporaryFileSystem=; TemporaryFileSystem=/scratch:size=1G,mode=1777 /dev/shm:mode=1777 /run:size=64K",
            inside=["mount:/scratch:size", "mount:/scratch:inodes", "mount:/dev/shm:size", "mount:/dev/shm:inodes",
                    "mount:/run:mode", "write:/run"]),
    ],
    # BindPaths= keeps /tmp in the workspace whatever this says.
    "PrivateTmp": [Red(NO_DYNAMIC + "PrivateTmp=no", says=["PrivateTmp", "DynamicUser"])],
    # For systemd the two are one list, and an empty assignment to either empties both.
    "BindPaths": [
        Red("BindPaths=; BindReadOnlyPaths=/usr", says=["BindPaths", "BindReadOnlyPaths"],
            canary="cannot make /scratch/tmp: File exists"),            # the host's /tmp lies over the link
        Red(f"BindPaths={RED_ROOT}/open:/data", inside=["write:/data"]),
    ],
    "BindReadOnlyPaths": [
        Red("BindReadOnlyPaths=", says=["BindPaths", "BindReadOnlyPaths"], canary="could not be set up"),
        Red("BindReadOnlyPaths=; BindPaths=-/nonexistent:/tmp -/nonexistent:/var/tmp; "
            f"BindReadOnlyPaths=/usr {RED_ROOT}/sys:/sys", inside=["exists:/sys/kernel", "exists:/sys/class"]),
    ],
    "InaccessiblePaths": [Red("InaccessiblePaths=", inside=["open:/dev/pts", "open:/dev/ptmx", "open:/dev/hugepages", "open:/dev/mqueue"])],
    "ProtectSystem": [Red(NO_DYNAMIC + "ProtectSystem=no", says=["ProtectSystem", "DynamicUser"],
                          inside=["write:/", "write:/etc", "write:/var", "mount:/:mode"])],
    "ProtectHome": [Red("ProtectHome=no")],                             # the skeleton has no home at all
    "PrivateDevices": [Red("PrivateDevices=no", inside=["dev", "write:/dev", "exists:/dev/vda", "exists:/dev/kmsg"])],
    # It follows PrivateDevices= by itself; which devices a BPF program refuses shows only where a node is.
    "DevicePolicy": [Red("PrivateDevices=no; DevicePolicy=auto", says=["DevicePolicy", "PrivateDevices"])],
    "PrivateMounts": [Red("PrivateMounts=no")],                         # RootDirectory= makes the namespace too
    "PrivateIPC": [Red("PrivateIPC=no", canary=HOSTS_OWN.format("ipc"))],
    "ProtectProc": [Red("ProtectProc=default", inside=["processes_foreign", "mount:/proc:hidepid"])],
    "ProcSubset": [Red("ProcSubset=pid", inside=["exists:/proc/meminfo"])],
    "ProtectKernelTunables": [Red("ProtectKernelTunables=no", inside=["mount:/proc/sys:mode"])],
    # The filter refuses init_module as well, and the machine may have no modules to be seen.
    "ProtectKernelModules": [Red("ProtectKernelModules=no")],
    "ProtectKernelLogs": [Red("ProtectKernelLogs=no", inside=["mount:/proc/kmsg:type"])],
    "ProtectControlGroups": [Red("ProtectControlGroups=no", inside=["mount:/sys/fs/cgroup:mode"])],
    "ProtectClock": [Red("ProtectClock=no")],                           # the filter refuses the same calls
    "ProtectHostname": [Red("ProtectHostname=no", canary=HOSTS_OWN.format("uts"))],

    "PrivateNetwork": [Red("PrivateNetwork=no", canary=HOSTS_OWN.format("net"))],
    "RestrictAddressFamilies": [
        Red("RestrictAddressFamilies=", inside=[f"socket:{name}" for name in ("packet", "vsock", "alg", "key")]),
        Red("RestrictAddressFamilies=AF_VSOCK", inside=["socket:vsock"]),
    ],
    "IPAddressDeny": [Red("IPAddressDeny=")],                           # nothing is there to be reached
    "IPAddressAllow": [Red("IPAddressAllow=10.0.0.0/8")],

    # With reporting the exact list is the inner filter's, which no drop-in reaches: inside, the same calls are refused. The
    # test "a policy that lets too much through" turns that one red.
    "SystemCallFilter": [
        Red("SystemCallFilter="),
        Red("SystemCallFilter=; SystemCallFilter=~@clock @module"),     # what is left of the list is not the list
    ],
    "SystemCallErrorNumber": [
        Red("SystemCallErrorNumber=ENOSYS"),
        Red("SystemCallErrorNumber=", canary="ended by SIGSYS"),
    ],
    "SystemCallArchitectures": [Red("SystemCallArchitectures=", inside=["syscall:foreign-abi"])],
    "RestrictNamespaces": [Red("RestrictNamespaces=no", inside=CALLS_OF_NAMESPACES[:7])],
    "RestrictRealtime": [Red("RestrictRealtime=no", inside=["syscall:sched-fifo", "syscall:sched-rr"])],
    "RestrictSUIDSGID": [Red(NO_DYNAMIC + "RestrictSUIDSGID=no", says=["RestrictSUIDSGID", "DynamicUser"],
                             inside=["syscall:chmod-setuid", "syscall:chmod-setgid"])],
    "LockPersonality": [Red("LockPersonality=no")],                     # the filter refuses personality(2) too

    # "the kernel": the cgroup file itself was looked at.
    "MemoryMax": [Red("MemoryMax=infinity", canary="MemoryMax: the kernel holds another value"),
                  Red("MemoryMax=512M", canary="MemoryMax: the kernel holds another value")],
    "MemorySwapMax": [Red("MemorySwapMax=infinity"),
                      Red("MemorySwapMax=64M", canary="MemorySwapMax: the kernel holds another value")],
    "MemoryHigh": [Red("MemoryHigh=100M")],
    "OOMPolicy": [Red("OOMPolicy=stop")],                               # what PID 1 does after an OOM kill
    "CPUQuotaPerSecUSec": [Red("CPUQuota=200%", canary="CPUQuotaPerSecUSec: the kernel holds another value")],
    "TasksMax": [Red("TasksMax=infinity", canary="TasksMax: the kernel holds another value")],
    "LimitCORE": [Red("LimitCORE=infinity", inside=["rlimit_core"])],
    # What PID 1 does and when: nothing of it is seen from inside.
    "RuntimeMaxUSec": [Red("RuntimeMaxSec=infinity")],
    "TimeoutStartUSec": [Red("TimeoutStartSec=10")],
    "TimeoutStopUSec": [Red("TimeoutStopSec=90")],
    "KillSignal": [Red("KillSignal=SIGTERM")],
    "KillMode": [Red("KillMode=process")],
    "NotifyAccess": [Red("NotifyAccess=all")],
}
if VERSION >= 257:
    TABLE["BindLogSockets"] = [Red("BindLogSockets=yes", inside=["exists:/run/systemd/journal"])]
    TABLE["PrivatePIDs"] = [Red("PrivatePIDs=no", inside=["ppid"])]

# Doors that no row of ours names, opened beside the wall: only the look from inside can see them.
DOORS = {
    "SupplementaryGroups=": Red("SupplementaryGroups=disk", says=[], inside=["groups"]),
    "ReadWritePaths=": Red("ReadWritePaths=+/etc", says=[], inside=["write:/etc"]),
    "User=": Red("User=daemon", says=[], inside=["uid", "gid"]),
}


# --- the verdict on the wall ----------------------------------------------------------------------------------------

class Verdicts:
    """The records of the canary as they come: one process that follows the journal for the whole script."""

    def __init__(self):
        self.follower = subprocess.Popen(
            ["journalctl", "-q", "-f", "-o", "json", "--all", "-n", "1", "_SYSTEMD_UNIT=unitcelld.service", "_UID=0",
             "UNITCELL_EVENT=wall-checked", "UNITCELL_EVENT=wall-broken"], stdout=subprocess.PIPE)
        self.read()     # the last one before us: from here on it follows

    def read(self):
        line = self.follower.stdout.readline()
        check(line, "journalctl ended")
        return json.loads(line)

    def after(self, usec):
        """The next verdict that is younger than usec; the record of a look that began earlier is stepped over."""
        while True:
            record = self.read()
            if int(record["__REALTIME_TIMESTAMP"]) > usec:
                return record


_verdicts = []


def verdict_after_reload():
    if not _verdicts:
        _verdicts.append(Verdicts())
    run(["systemctl", "daemon-reload"], check=True)
    # One verdict for each reload; what a retry of the canary found before it is older than its end.
    return _verdicts[0].after(time.time_ns() // 1000)


def put(text):
    os.makedirs(os.path.dirname(DROP_IN), exist_ok=True)
    with open(DROP_IN, "w", encoding="utf-8") as file:
        file.write(text)


def mend():
    shutil.rmtree(os.path.dirname(DROP_IN), ignore_errors=True)
    return verdict_after_reload()


def failures_of(record):
    found = record.get("UNITCELL_FAILURE", [])
    return [found] if isinstance(found, str) else found


def look(name, red):
    put(red.text())
    record = verdict_after_reload()
    failures = failures_of(record)
    listing = "\n".join(failures)
    equal(record["UNITCELL_EVENT"], "wall-broken", f"verdict with {red.lines}")

    says = {line.split(":")[0] for line in failures if ": systemd says " in line}
    if len(failures) < 16:      # a record holds 16 failures, what was seen from inside first
        equal(says, set([name] if red.says is None else red.says), f"properties that differ for systemd with\n{listing}\n")
    for fact in red.inside:
        check(any(f": {fact} is " in line for line in failures), f"from inside, {fact} was not seen:\n{listing}")
    if red.canary:
        contains(listing, red.canary, "failures")
    named = {line.split(":")[0] for line in failures}
    check(name in named or name not in TABLE, f"{name} is not named:\n{listing}")


def add_row(name, number, red):
    @test(f"{name}: {', '.join(red.lines)}" + (f" (way {number + 1})" if number else ""))
    def row():
        look(name, red)


def add_hold(when):
    @test(f"the wall holds {when}")
    def hold():
        record = mend()
        equal((record["UNITCELL_EVENT"], failures_of(record)), ("wall-checked", []), "verdict")
        equal(execute({"argv": ["/usr/bin/true"]})["status"], "success", "status")


def prepare_places():
    """A second skeleton with too much in it, a /sys that shows the kernel, and a directory that anybody may write to."""
    shutil.rmtree(RED_ROOT, ignore_errors=True)
    shutil.copytree("/usr/lib/unitcell/root", f"{RED_ROOT}/root", symlinks=True)
    shutil.copytree("/usr/lib/unitcell/sys", f"{RED_ROOT}/sys")
    for path in ("root/home", "root/var/lib", "sys/kernel", "sys/class", "open"):
        os.makedirs(f"{RED_ROOT}/{path}")
    with open(f"{RED_ROOT}/root/etc/shadow", "w", encoding="utf-8") as file:
        file.write("root:*:1:0:99999:7:::\n")
    os.chmod(f"{RED_ROOT}/open", 0o1777)


# --- the tests ------------------------------------------------------------------------------------------------------

@test("the table has a way to switch off every property that Explain shows")
def complete():
    wait_ready()
    prepare_places()
    properties = json.loads(manager("Explain", "s", text_of({"argv": ["/usr/bin/true"]}))[0])["properties"]
    equal(set(TABLE), set(properties), "properties with a red test")


add_hold("before anything is switched off")

_rows = [(name, number, red) for name, reds in TABLE.items() for number, red in enumerate(reds)]
for _index, (_name, _number, _red) in enumerate(_rows):
    add_row(_name, _number, _red)
    if _index == len(_rows) // 2:
        add_hold("again after half of them")

for _name, _red in DOORS.items():
    add_row(_name, 0, _red)


@test("with a broken wall alice is refused with CannotEnforce, the property is named, nothing is started")
def refused():
    look("KillMode", TABLE["KillMode"][0])
    since = time.time()
    with Leftovers():
        name, message = execute_error({"language": "bash", "code": "echo ran"})
    equal(name, ERROR + "CannotEnforce", "error")
    contains(message, "KillMode: systemd says \"process\", the plan says \"control-group\"", "message")
    record = wait_until(lambda: journal("_SYSTEMD_UNIT=unitcelld.service", "UNITCELL_EVENT=refused", since=since),
                        what="the record of the refusal", step=0.3)[-1]
    equal(record["UNITCELL_CALLER_UID"], str(pwd.getpwnam("alice").pw_uid), "caller in the record")
    equal(journal("_SYSTEMD_UNIT=unitcelld.service", "UNITCELL_EVENT=accepted", since=since), [], "accepted executions")


@test("code that is asked for right after the reload waits for the verdict and never runs behind a broken wall")
def no_gap():
    mend()
    put(TABLE["OOMPolicy"][0].text())
    run(["systemctl", "daemon-reload"], check=True)
    with Leftovers():
        begun = begin_execute({"language": "bash", "code": "echo ran"})
        try:
            result = result_of(finish_execute(begun))
        except BusError as error:       # the verdict was there before the request
            equal(error.name, ERROR + "CannotEnforce", "error")
            contains(error.message, "OOMPolicy", "message")
            return
    equal((result["status"], result["stdout"]), ("start_failed", ""), "status and stdout")
    contains(result["message"], "OOMPolicy", "message")


POLICY = "/etc/unitcell/policies/default.json"


@test("a policy that lets too much through the inner filter is seen from inside, and nothing runs under it")
def inner_filter():
    mend()
    document = json.loads(manager("GetPolicy", "s", "default")[0])
    document["syscalls"]["allow"] += ["@mount", "@keyring"]
    document["syscalls"]["deny"] = ["@clock", "@module", "@obsolete", "@raw-io", "@reboot", "@swap"]
    os.makedirs(os.path.dirname(POLICY), exist_ok=True)
    try:
        with open(POLICY, "w", encoding="utf-8") as file:
            json.dump(document, file)
        since = time.time_ns() // 1000
        manager("Reload", user="root")
        record = _verdicts[0].after(since)
        listing = "\n".join(failures_of(record))
        equal(record["UNITCELL_EVENT"], "wall-broken", "verdict")
        for call in ("syscall:mount", "syscall:umount2"):     # a record holds 16 failures
            contains(listing, f"SystemCallFilter: {call} is", "failures")
        equal(execute_error({"language": "bash", "code": "echo ran"})[0], ERROR + "CannotEnforce", "error")
    finally:
        os.unlink(POLICY)
        since = time.time_ns() // 1000
        manager("Reload", user="root")
        _verdicts[0].after(since)


add_hold("at the end, with all drop-ins gone")


if __name__ == "__main__":
    try:
        main()
    finally:
        mend()
        shutil.rmtree(RED_ROOT, ignore_errors=True)
        if os.path.isdir("/scratch"):   # systemd makes mount points, and with RootDirectory= empty in our own root
            os.rmdir("/scratch")
