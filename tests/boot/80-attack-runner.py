#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The code attacks its own runner, which shares its uid (and, on systemd 252, its PID namespace): nothing comes of it
but its own death. Through all of it a victim of another user runs on, the daemon stays the same process, the status is
the truth, and nothing is left behind.

The attackers are Python programs that report what they were answered, so that an attack that was not made is seen.
"""

import base64
import re

from harness import *

# With PrivatePIDs= the runner is process 1 of a namespace of its own: a signal from inside does not reach it at all.
OWN_PIDS = systemd_version() >= 257

# What every attacker starts with: system calls by number, and answers as the name of the errno.
TOOLS = '''
import ctypes, errno, glob, json, os, signal, socket, stat, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
runner = os.getppid()

def call(number, *arguments):
    ctypes.set_errno(0)
    value = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return "ok" if value >= 0 else errno.errorcode[ctypes.get_errno()]

def attempt(function, *arguments):
    try:
        function(*arguments)
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]

def tell(**facts):
    print(json.dumps(facts), flush=True)
'''


def attack(code, **spec):
    """Runs code with the tools as alice: (result, what it told)."""
    result = execute({"language": "python", "code": TOOLS + code, **spec})
    told = {}
    for line in result["stdout"].splitlines():
        if line.startswith("{"):
            told |= json.loads(line)
    return result, told


# --- the victim -----------------------------------------------------------------------------------------------------

# Counts until it is told to stop, and notices a signal, a stop longer than the machine's own pace, and a stranger.
VICTIM = '''
import os, signal, time
seen = []
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, lambda n, f: seen.append(n))
print("ready", flush=True)
while not os.path.exists("/tmp/stop"):
    time.sleep(0.05)
print("signals", seen, "files", sorted(os.listdir("/tmp")))
'''

_victim = {}


def victim():
    if not _victim:
        wait_ready()
        path = submit({"language": "python", "code": VICTIM, "timeout_ms": 300000}, user="bob")
        wait_running(path, "bob")
        unit = get_property(path, "Unit", "bob")
        _victim.update(path=path, cgroup=f"/sys/fs/cgroup/unitcell.slice/{slice_of(path)}/{unit}")
        _victim["processes"] = wait_until(lambda: len(processes()) == 2 and processes(), what="the victim's two processes")
    return _victim


def slice_of(path):
    return f"unitcell-u{get_property(path, 'Owner', 'bob')}.slice"


def processes():
    """{pid: start time} of the victim's unit."""
    found = {}
    with open(_victim["cgroup"] + "/cgroup.procs", encoding="utf-8") as file:
        for pid in file.read().split():
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                found[pid] = stat.read().rsplit(")", 1)[1].split()[19]
    return found


class Unharmed(Leftovers):
    """with Unharmed(): … what was attacked in it harmed nobody else and left nothing."""

    def __enter__(self):
        victim()
        return super().__enter__()

    def __exit__(self, kind, *rest):
        super().__exit__(kind, *rest)
        if not kind:
            equal(get_property(_victim["path"], "State", "bob"), "running", "state of the victim")
            equal(processes(), _victim["processes"], "processes of the victim")


def ended(result, status, exit_code=None, number=None):
    equal((result["status"], result["exit_code"], result["signal"]), (status, exit_code, number),
          f"status, exit code and signal ({result['message']} stderr: {result['stderr'][-600:]})")


# --- memory and descriptors -----------------------------------------------------------------------------------------

@test("memory, descriptors and registers of the runner: each system call that reaches for them is refused")
def reach():
    with Unharmed():
        result, told = attack('''
buffer = ctypes.create_string_buffer(64)
local = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 64)
remote = (ctypes.c_size_t * 2)(0x400000, 64)
pidfd = libc.syscall(434, runner, 0)
tell(calls={
    "ptrace attach": call(101, 16, runner, 0, 0),
    "ptrace seize": call(101, 0x4206, runner, 0, 0),
    "ptrace traceme": call(101, 0, 0, 0, 0),
    "process_vm_readv": call(310, runner, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0),
    "process_vm_writev": call(311, runner, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0),
    "pidfd_getfd 0": call(438, pidfd, 0, 0),
    "pidfd_getfd 100": call(438, pidfd, 100, 0),
    "kcmp file": call(312, runner, os.getpid(), 0, 100, 1),
    "process_madvise": call(440, pidfd, ctypes.byref(remote), 1, 20, 0),
    "move_pages": call(279, runner, 1, ctypes.byref(remote), None, ctypes.byref(local), 0),
    "migrate_pages": call(256, runner, 8, ctypes.byref(remote), ctypes.byref(remote)),
    "get_robust_list": call(274, runner, ctypes.byref(local), ctypes.byref(remote)),
    "perf_event_open": call(298, ctypes.byref(buffer), runner, -1, -1, 0),
    "setns": call(308, pidfd, 0x40000000),
})
tell(pidfd=pidfd, runner=runner)
sys.exit(5)
''')
    ended(result, "failed", 5)
    check(told["pidfd"] > 2, f"pidfd_open answered {told['pidfd']}")
    calls = told["calls"]
    for name in ("ptrace attach", "ptrace seize", "ptrace traceme", "process_vm_readv", "process_vm_writev",
                 "pidfd_getfd 0", "pidfd_getfd 100", "kcmp file", "perf_event_open", "setns"):
        equal(calls.pop(name), "EPERM", name)
    # These ask for the right to ptrace(2), which a process that is not dumpable gives to nobody.
    for name, answer in calls.items():
        check(answer in ("EPERM", "EACCES", "ENOSYS"), f"{name} is answered with {answer}")


@test("files of the runner in /proc: none opens, for reading or for writing")
def proc_files():
    with Unharmed():
        result, told = attack('''
names = ["mem", "environ", "maps", "smaps", "auxv", "fd", "fd/0", "fd/100", "fdinfo", "root", "cwd", "exe", "ns/mnt",
         "ns/net", "map_files", "stack", "syscall", "pagemap", "cmdline", "oom_score_adj", "clear_refs", "comm", "task",
         "net/unix", "attr/current", "coredump_filter", "uid_map", "limits", "timerslack_ns"]
tell(read={name: attempt(lambda: os.close(os.open(f"/proc/{runner}/{name}", os.O_RDONLY | os.O_NONBLOCK)))
           for name in names})
tell(write={name: attempt(lambda: os.close(os.open(f"/proc/{runner}/{name}", os.O_WRONLY | os.O_NONBLOCK)))
            for name in names})
tell(links={name: attempt(os.readlink, f"/proc/{runner}/{name}") for name in ("exe", "cwd", "root", "fd/0", "ns/net")})
tell(list=attempt(os.listdir, f"/proc/{runner}/fd"), visible=sorted(int(n) for n in os.listdir("/proc") if n.isdigit()),
     runner=runner, me=os.getpid())
''')
    ended(result, "success", 0)
    opened = [f"{how} {name}" for how in ("read", "write", "links") for name, answer in told[how].items()
              if answer not in ("EACCES", "ENOENT", "EPERM")]
    equal(opened, [], "files of the runner that open")
    check(len(told["read"]) == 29 and told["list"] in ("EACCES", "ENOENT"), f"listing fd: {told['list']}")
    equal([pid for pid in told["visible"] if pid != told["me"]], [], "other processes that are visible")


@test("the control socket is not to be found from inside, and nothing takes garbage")
def sockets():
    with Unharmed():
        result, told = attack('''
def kind(fd):
    mode = os.fstat(fd).st_mode
    return "socket" if stat.S_ISSOCK(mode) else "pipe" if stat.S_ISFIFO(mode) else "device" if stat.S_ISCHR(mode) else "other"

mine = []
for fd in range(4096):
    try:
        mine.append([fd, kind(fd)])
    except OSError:
        pass
everywhere, special = 0, []
for top, directories, files in os.walk("/"):
    directories[:] = [d for d in directories if os.path.join(top, d) not in ("/proc", "/sys", "/usr")]
    for name in files:
        everywhere += 1
        try:
            if stat.S_ISSOCK(os.lstat(os.path.join(top, name)).st_mode):
                special.append(os.path.join(top, name))
        except OSError:
            pass
unix = open("/proc/net/unix").read().splitlines()[1:]
abstract = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
answers = {}
for address in ("/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/notify", "/run/systemd/journal/socket",
                "/dev/log", "\\0/org/freedesktop/systemd1/notify", "\\0unitcell", "/run/systemd/journal/stdout"):
    for type in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        answers[f"{address} {int(type)}"] = attempt(socket.socket(socket.AF_UNIX, type).connect, address)
# Garbage, and what looks like the runner's own report, into every descriptor that there is; what is not stdout or
# stderr would be the way to the daemon.
for fd, _ in mine:
    if fd not in (1, 2):
        for garbage in (b"\\0" * 64, b"\\xff" * 4096, struct.pack("<IIQQQQQQ", 8, 0, 0, 0, 0, 0, 0, 0)):
            attempt(os.write, fd, garbage)
tell(mine=mine, searched=everywhere, special=special, unix=unix, answers=answers,
     notify=os.environ.get("NOTIFY_SOCKET"), listen=os.environ.get("LISTEN_FDS"))
sys.exit(9)
''')
    ended(result, "failed", 9)
    equal([fd for fd in told["mine"]], [[0, "device"], [1, "pipe"], [2, "pipe"]], "descriptors and what they are")
    check(told["searched"] > 10, f"only {told['searched']} files were looked at")
    equal(told["special"], [], "sockets in the file system")
    # The socket that the program itself has made is there, unnamed; the daemon's are in another network namespace.
    equal([line for line in told["unix"] if re.search(r"[/@]", line)], [], "named sockets in /proc/net/unix")
    equal(len(told["unix"]), 0, "sockets in /proc/net/unix before one was made")
    equal({answer for answer in told["answers"].values()} - {"ENOENT", "ECONNREFUSED", "ENOTDIR", "EACCES"}, set(),
          "answers to connect")
    equal((told["notify"], told["listen"]), (None, None), "NOTIFY_SOCKET and LISTEN_FDS")


# --- signals --------------------------------------------------------------------------------------------------------

@test("every signal but SIGKILL and SIGSTOP, in four ways and a thousand times, does nothing to the runner")
def signals():
    with Unharmed():
        result, told = attack('''
answers = {}
pidfd = libc.syscall(434, runner, 0)
info = (ctypes.c_int * 32)()
info[2] = -1                                # SI_QUEUE
for number in range(1, 65):
    if number in (signal.SIGKILL, signal.SIGSTOP):
        continue
    info[0] = number
    answers[number] = [call(62, runner, number), call(234, runner, runner, number),
                       call(424, pidfd, number, 0, 0), call(129, runner, number, ctypes.byref(info))]
# "Your child is dead", which it is not.
for _ in range(1000):
    call(62, runner, int(signal.SIGCHLD))
time.sleep(1)
tell(answers=answers, parent=os.getppid() == runner)
sys.exit(7)
''')
    ended(result, "failed", 7)
    equal(len(told["answers"]), 62, "signals")
    wrong = {number: answer for number, answer in told["answers"].items()
             if set(answer) - ({"ok", "EPERM"} if OWN_PIDS else {"ok", "EAGAIN"})}
    equal(wrong, {}, "signals with other answers")
    equal(told["parent"], True, "the runner is still the parent")


@test("SIGKILL for the runner: the code dies with it, and the result says signaled and by what")
def kill_runner():
    with Unharmed():
        started = time.monotonic()
        result, told = attack('tell(answer=call(62, runner, 9))\ntime.sleep(5 if runner == 1 else 250)\nsys.exit(8)\n',
                              timeout_ms=255000)
        seconds = time.monotonic() - started
    check(told.get("answer", "ok") == "ok", f"kill answered {told}")
    check(seconds < 6 * SLOW, f"it took {seconds:.0f} s to be noticed")
    if OWN_PIDS:
        ended(result, "failed", 8)
        return
    ended(result, "signaled", None, "SIGKILL")
    contains(result["message"], "its runner", "message")


@test("kill -9 -1: nothing but its own death, told as signaled")
def kill_all():
    with Unharmed():
        result = execute({"language": "bash", "code": "echo before; kill -9 -1; echo after", "timeout_ms": 250000})
    if OWN_PIDS:
        ended(result, "success", 0)
        return
    ended(result, "signaled", None, "SIGKILL")
    check(result["stdout"] in ("before\n", "before\nafter\n"), f"stdout is {result['stdout']!r}")
    equal(result["unit"] != "", True, "unit is named")
    check(result["cpu_ms"] is not None, "CPU time is not known")
    record = records(result["id"])[-1]
    equal((record["UNITCELL_STATUS"], record["UNITCELL_SIGNAL"]), ("signaled", "SIGKILL"), "status and signal of the record")


@test("SIGSTOP for the runner: the daemon ends the code at its time limit, status timeout")
def stop_runner():
    with Unharmed():
        result, told = attack('tell(answer=call(62, runner, 19))\ntime.sleep(250)\n', timeout_ms=3000)
    equal(told["answer"], "ok", "answer to kill")
    ended(result, "timeout")
    within(result["duration_ms"], 3000, 3000 + 500 * SLOW, "duration_ms")


@test("a stopped runner cannot report that the code has ended: timeout at the limit, not a word of success")
def stop_and_leave():
    with Unharmed():
        result, told = attack('print("last words"); tell(answer=call(62, runner, 19))\nsys.exit(0)\n', timeout_ms=3000)
    contains(result["stdout"], "last words\n", "stdout")
    ended(result, "success", 0) if OWN_PIDS else ended(result, "timeout")
    if not OWN_PIDS:
        within(result["duration_ms"], 3000, 3000 + 500 * SLOW, "duration_ms")


@test("kill -STOP -1: timeout at the limit, and everything of it is ended")
def stop_all():
    with Unharmed():
        result = execute({"language": "bash", "timeout_ms": 3000,
                          "code": "for i in 1 2 3; do sleep 250 & done; kill -STOP -1; kill -STOP $$; echo went on"})
    equal(result["stdout"], "", "stdout")
    ended(result, "timeout")


# --- what else one may do to a process of the same uid --------------------------------------------------------------

@test("resource limits, priority and processors of the runner: the result is still the truth")
def starve():
    with Unharmed():
        result, told = attack('''
zero, one = (ctypes.c_ulong * 2)(0, 0), (ctypes.c_ulong * 2)(1 << 20, 1 << 20)
mask, parameter = ctypes.c_ulong(1), ctypes.c_int(0)
tell(answers={
    "prlimit nofile": call(302, runner, 7, ctypes.byref(zero), 0), "prlimit fsize": call(302, runner, 1, ctypes.byref(zero), 0),
    "prlimit as": call(302, runner, 9, ctypes.byref(one), 0), "prlimit nproc": call(302, runner, 6, ctypes.byref(zero), 0),
    "prlimit sigpending": call(302, runner, 11, ctypes.byref(zero), 0),
    "prlimit stack": call(302, runner, 3, ctypes.byref(zero), 0),
    "setpriority": call(141, 0, runner, 19), "sched_setscheduler idle": call(144, runner, 5, ctypes.byref(parameter)),
    "sched_setaffinity": call(203, runner, 8, ctypes.byref(mask)), "ioprio_set": call(251, 1, runner, 3 << 13),
})
for _ in range(3):
    if os.fork() == 0:
        while True:
            pass
time.sleep(0.5)
os._exit(11)
''', timeout_ms=120000)
    ended(result, "failed", 11)
    equal(len(told["answers"]), 10, "attempts")
    check("ok" in told["answers"].values() or OWN_PIDS, f"nothing was possible, which would be news: {told['answers']}")


@test("a CPU limit of zero seconds for the runner kills it: signaled, at once, and nobody else")
def cpu_limit():
    with Unharmed():
        result, told = attack('''
zero = (ctypes.c_ulong * 2)(0, 0)
tell(answer=call(302, runner, 0, ctypes.byref(zero), 0))
end = time.monotonic() + 2
while time.monotonic() < end:           # the runner must run to be charged
    call(62, runner, int(signal.SIGCHLD))
sys.exit(12)
''', timeout_ms=60000)
    equal(told["answer"], "ok", "answer to prlimit")
    check((result["status"], result["exit_code"], result["signal"]) in
          (("signaled", None, "SIGKILL"), ("failed", 12, None)), f"{result['status']} {result['message']}")


@test("oom_score_adj of the runner cannot be written; the code that lowers its own and eats all memory is memory_limit")
def oom():
    with Unharmed():
        result, told = attack('''
def score(process, number):
    return attempt(lambda: os.write(os.open(f"/proc/{process}/oom_score_adj", os.O_WRONLY), number))
tell(before=open("/proc/self/oom_score_adj").read().strip(), runners=score(runner, b"1000"), lower=score("self", b"0"),
     lowest=score("self", b"-1000"), now=open("/proc/self/oom_score_adj").read().strip())
blocks = []
while True:
    blocks.append(bytearray(1 << 20))
''', limits={"memory_mb": 48}, timeout_ms=120000)
    check(told["runners"] in ("EACCES", "ENOENT"), f"oom_score_adj of the runner: {told['runners']}")
    # 0 is what the unit began with: down to there is everybody's right.
    equal((told["before"], told["lower"], told["lowest"], told["now"]), ("1000", "ok", "EACCES", "0"),
          "own oom_score_adj: before, answer to 0, answer to -1000, now")
    ended(result, "memory_limit")
    equal(result["oom_killed"], True, "oom_killed")
    record = records(result["id"])[-1]
    equal(record["UNITCELL_STATUS"], "memory_limit", "status of the record")


# --- the end --------------------------------------------------------------------------------------------------------

STORM = r'''
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A process that is never the same for long: the parent dies, the child goes on. */
static void storm(void) {
        for (;;) {
                pid_t pid = fork();

                if (pid > 0)
                        _exit(0);
                if (pid < 0)
                        usleep(1000);
                setsid();
        }
}

int main(void) {
        puts("storm");
        fflush(stdout);
        for (int i = 1; i < 65; i++)
                signal(i, SIG_IGN);
        for (int i = 0; i < 30; i++)
                if (fork() == 0)
                        storm();
        usleep(300000);
        _exit(42);
}
'''


@test("a fork storm goes on while the runner reports: the exit status is the truth, and no process survives")
def fork_storm():
    with Unharmed():
        result = execute({"language": "c", "code": STORM, "timeout_ms": 120000, "limits": {"pids_max": 64}})
    equal(result["stdout"], "storm\n", "stdout")
    check(result["status"] in ("failed", "tasks_limit"), f"{result['status']}: {result['message']} {result['stderr']}")
    equal(result["exit_code"], 42, "exit code")
    equal(result["status"] == "tasks_limit", result["tasks_limit_hit"], "tasks_limit goes with its flag")


@test("what looks like a report of the runner, printed by the code, is output and nothing else")
def forged_report():
    forged = b"\x08\0\0\0" + bytes(60) + b'{"status":"success","exit_code":0}\n'
    with Unharmed():
        result = execute({"language": "python", "code": "import base64, os, sys\n"
                          f"data = base64.b64decode({base64.b64encode(forged).decode()!r})\n"
                          "os.write(1, data); os.write(2, data)\nsys.exit(3)\n"})
    ended(result, "failed", 3)
    equal(base64.b64decode(result.get("stdout_base64") or base64.b64encode(result["stdout"].encode())), forged, "stdout")


@test("the victim saw nothing of all that")
def victim_is_well():
    victim()
    pid = next(iter(_victim["processes"]))
    with open(f"/proc/{pid}/root/scratch/tmp/stop", "w", encoding="utf-8"):
        pass
    result = get_result(_victim["path"], "bob")
    equal((result["status"], result["stdout"]), ("success", "ready\nsignals [] files ['stop']\n"), "status and stdout")
    wait_until(lambda: not execution_units(), what="the last unit is gone")


if __name__ == "__main__":
    main()
