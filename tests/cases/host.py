# SPDX-License-Identifier: LGPL-2.1-or-later
"""The machine around the cases: NEEDS are made before a run and undone after it, CHECKS look at the machine from
outside while it lasts and after. Both are context managers. What a case needs is made, and shown to work by a control:
where that fails the case fails, since it would pass for the wrong reason.
"""

import glob
import os
import select
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager, suppress

from attempt import Attempt
from harness import *

MIB = 1 << 20
SCRATCH = "/run/unitcell-cases"


def _status_kib(pid, key):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    return 0


def _meminfo_kib(key):
    with open("/proc/meminfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    return fail(f"/proc/meminfo has no {key}")


def resident(pid):
    return _status_kib(pid, "VmRSS") * 1024


# --- needs ------------------------------------------------------------------------------------------------------

@contextmanager
def swap():
    """1 GiB of swap, in use by the kernel."""
    path = "/var/unitcell-cases-swap"
    run(["fallocate", "-l", "1G", path], check=True)
    os.chmod(path, 0o600)
    try:
        run(["mkswap", path], check=True)
        run(["swapon", path], check=True)
        try:
            check(_meminfo_kib("SwapFree") >= 1000 << 10, "no gibibyte of swap is free")
            yield
        finally:
            run(["swapoff", path], timeout=60, check=True)
    finally:
        os.unlink(path)


@contextmanager
def many_processors():
    """A host with 64 processors, as far as /sys tells: that is where libc, and so Python, counts them."""
    real, made = "/sys/devices/system/cpu", tempfile.mkdtemp(dir="/run")
    os.chmod(made, 0o755)
    for name in os.listdir(real):
        if os.path.isfile(f"{real}/{name}"):
            with suppress(OSError), open(f"{real}/{name}", encoding="utf-8") as file, \
                    open(f"{made}/{name}", "w", encoding="utf-8") as copy:
                copy.write("0-63\n" if name in ("online", "possible", "present") else file.read())
    for number in range(64):
        os.mkdir(f"{made}/cpu{number}")
    run(["mount", "--bind", made, real], check=True)
    try:
        # The control: the code itself counts 64.
        seen = execute({"language": "python", "code": "import os; print(os.cpu_count())"})
        equal(seen["stdout"], "64\n", "processors that the code counts")
        yield
    finally:
        run(["umount", real], check=True)
        shutil.rmtree(made)


@contextmanager
def zone(name):
    """The host is in another time zone."""
    path = "/etc/localtime"
    before = os.readlink(path) if os.path.islink(path) else None
    check(os.path.exists(f"/usr/share/zoneinfo/{name}"), f"no zone data of {name}")
    _relink(path, f"/usr/share/zoneinfo/{name}")
    try:
        if name != "UTC":
            outside = run(["date", "+%Z"], "alice", check=True).text.strip()
            check(outside != "UTC", f"the host's own zone is still {outside}")
        yield
    finally:
        if before is not None:
            _relink(path, before)
        else:
            os.unlink(path)


def _relink(path, target):
    with suppress(FileNotFoundError):
        os.unlink(path)
    os.symlink(target, path)


@contextmanager
def package(path, what):
    check(os.path.exists(path), f"{what} is not installed ({path} is missing); the image of ./dev guest --full has it")
    yield


@contextmanager
def old_entry():
    """A kernel with the 32-bit entry: a program outside makes a Unix socket through it."""
    source = r"""
#include <stdio.h>
#include <sys/mman.h>
int main(void)
{
        unsigned *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        long answer;
        words[0] = 1, words[1] = 1, words[2] = 0;
        __asm__ volatile("int $0x80" : "=a"(answer) : "a"(102), "b"(1), "c"(words) : "memory", "r8", "r9", "r10", "r11");
        printf("%d\n", (int) answer >= 0);
        return 0;
}
"""
    os.makedirs(SCRATCH, exist_ok=True)
    run(["gcc", "-x", "c", "-o", f"{SCRATCH}/old-entry", "-"], input=source, check=True)
    equal(run([f"{SCRATCH}/old-entry"], "alice", check=True).text, "1\n", "a socket through the 32-bit entry outside")
    yield


@contextmanager
def service_secret():
    """A secret in the environment of the service, and one on the command line of another process."""
    drop_in = "/run/systemd/system/unitcelld.service.d/90-secret.conf"
    os.makedirs(os.path.dirname(drop_in), exist_ok=True)
    with open(drop_in, "w", encoding="utf-8") as file:
        file.write("[Service]\nEnvironment=SERVICE_SECRET=abc\n")
    _restart()
    other = subprocess.Popen(["python3", "-c", "import time; time.sleep(3600)", "SERVICE_SECRET=def"])
    try:
        with open(f"/proc/{daemon_pid()}/environ", "rb") as file:
            contains(file.read(), b"SERVICE_SECRET=abc", "environment of the service")
        yield
    finally:
        other.kill()
        other.wait()
        os.unlink(drop_in)
        _restart()


def _restart():
    run(["systemctl", "daemon-reload"], timeout=60, check=True)
    run(["systemctl", "restart", "unitcelld.service"], timeout=60, check=True)
    wait_ready()


@contextmanager
def busy():
    """32 other executions under way, of two other callers, so that the service holds many descriptors."""
    spec = {"argv": ["/usr/bin/sleep", "290"], "timeout_ms": 300000, "limits": {"memory_mb": 16, "disk_mb": 1}}
    paths = [(submit(spec, user), user) for user in ("bob", "root") for _ in range(16)]
    try:
        for path, user in paths:
            wait_running(path, user)
        yield
        # The control: they were there all the time.
        over = [path for path, user in paths if get_property(path, "State", user) != "running"]
        check(not over, f"{len(over)} of the 32 others had ended")
    finally:
        for path, user in paths:
            cancel(path, user)
        for path, user in paths:
            get_result(path, user)


@contextmanager
def listener():
    """Something listens on port 47113 of all the host's addresses."""
    server = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind(("::", 47113))
    server.listen()
    try:
        for address in ("127.0.0.1", "::1"):
            socket.create_connection((address, 47113), timeout=10 * SLOW).close()
            server.accept()[0].close()
        yield
        ready = select.select([server], [], [], 0)[0]
        check(not ready, "somebody connected to the host's port 47113")
    finally:
        server.close()


NEEDS = {"swap": swap, "many-processors": many_processors, "zone-utc": lambda: zone("UTC"),
         "zone-tokyo": lambda: zone("Asia/Tokyo"), "old-entry": old_entry, "service-secret": service_secret,
         "busy": busy, "listener": listener,
         "numpy": lambda: package("/usr/lib/python3/dist-packages/numpy", "numpy"),
         "java": lambda: package("/usr/bin/java", "Java"), "gcc": lambda: package("/usr/bin/gcc", "gcc")}


# --- checks -----------------------------------------------------------------------------------------------------

@contextmanager
def daemon_memory(most_mib, pace):
    """The daemon grows by less than that, at any moment."""
    pid, stop = daemon_pid(), threading.Event()
    before = most = resident(pid)

    def watch():
        nonlocal most
        while not stop.wait(0.05):
            with suppress(OSError):
                most = max(most, resident(pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    check(most - before < int(most_mib) * MIB, f"the daemon grew by {(most - before) / MIB:.1f} MiB")


@contextmanager
def daemon_answers(pace):
    """A call of another caller is answered within a second all the time."""
    stop, slowest, calls, trouble = threading.Event(), 0, 0, []
    bus = Connection("bob")

    def watch():
        nonlocal slowest, calls
        while not stop.is_set():
            begun = time.monotonic()
            try:
                bus.call(NAME, PATH, MANAGER, "ListLanguages", timeout=60)
            except Exception as error:
                trouble.append(error)
                return
            slowest, calls = max(slowest, time.monotonic() - begun), calls + 1
            stop.wait(0.1)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        bus.close()
    check(not trouble, f"the daemon did not answer: {trouble}")
    check(calls >= 3, f"the daemon was asked {calls} times only")
    check(slowest <= pace.factor, f"one answer took {slowest:.1f} s")


# Fields of our own records that hold what the caller sent, or a summary of what came back, both bounded.
OF_THE_CALLER = ("UNITCELL_CODE", "UNITCELL_SPEC", "UNITCELL_RESULT")


@contextmanager
def not_in_journal(text, pace):
    """No entry holds the text, but for the bounded fields of our own records."""
    since = time.time()
    time.sleep(0.01)
    yield
    run(["journalctl", "--sync"])
    for entry in journal(since=since):
        ours = entry.get("_SYSTEMD_UNIT") == "unitcelld.service"
        for key, value in entry.items():
            value = value if isinstance(value, bytes) else str(value).encode()
            if ours and key in OF_THE_CALLER:
                check(len(value) < 100 << 10, f"{key} has {len(value)} bytes")
                # A summary of an output is 1 KiB, twice: stdout and stderr, and JSON may write a byte as six.
                check(key != "UNITCELL_RESULT" or len(value) < 20 << 10, f"{key} has {len(value)} bytes")
            else:
                check(text.encode() not in value, f"an entry of {entry.get('_SYSTEMD_UNIT')} holds {text!r} in {key}: {shorten(value)}")


@contextmanager
def no_core(pace):
    """A crash leaves no core file and starts no handler of the host; the control crash outside does."""
    os.makedirs(f"{SCRATCH}/cores", exist_ok=True)
    with open(f"{SCRATCH}/handler", "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nhead -c 100 >{SCRATCH}/cores/$1\n")
    os.chmod(f"{SCRATCH}/handler", 0o755)
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
        before = file.read()
    _write("/proc/sys/kernel/core_pattern", f"|{SCRATCH}/handler %p")
    try:
        run(["bash", "-c", "ulimit -c unlimited; kill -SEGV $$"], "alice")
        wait_until(lambda: os.listdir(f"{SCRATCH}/cores"), what="the handler of the host takes a core of alice's")
        shutil.rmtree(f"{SCRATCH}/cores")
        os.makedirs(f"{SCRATCH}/cores")
        stored = set(glob.glob("/var/lib/systemd/coredump/*"))
        yield
        time.sleep(1)
        equal(os.listdir(f"{SCRATCH}/cores"), [], "cores that the handler of the host got")
        equal(set(glob.glob("/var/lib/systemd/coredump/*")) - stored, set(), "new core dumps of the host")
        for place in ("/", "/run/unitcell", "/var/lib/unitcell", "/tmp", "/var/tmp", "/usr/lib/unitcell"):
            for base, names, files in os.walk(place):
                if place == "/":
                    names.clear()
                found = [name for name in files if name == "core" or name.startswith("core.")]
                check(not found, f"{found} in {base}")
    finally:
        _write("/proc/sys/kernel/core_pattern", before)
        shutil.rmtree(SCRATCH, ignore_errors=True)


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def swap_unused(pace):
    """Used swap grows by less than 16 MiB, at any moment."""
    def used():
        return _meminfo_kib("SwapTotal") - _meminfo_kib("SwapFree")

    stop, before, most = threading.Event(), used(), 0

    def watch():
        nonlocal most
        while not stop.wait(0.05):
            most = max(most, used())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    check(most - before < 16 << 10, f"used swap grew by {(most - before) >> 10} MiB")


@contextmanager
def memory_free_again(pace):
    """/dev/shm is as it was and the memory is back."""
    def shm():
        return sorted((entry.name, entry.stat(follow_symlinks=False).st_size) for entry in os.scandir("/dev/shm"))

    files, before = shm(), _meminfo_kib("Shmem")
    yield
    equal(shm(), files, "files in /dev/shm")
    wait_until(lambda: _meminfo_kib("Shmem") - before < 4 << 10, what="shared memory is free again")


@contextmanager
def nothing_asked(text, pace):
    """A live resolver on the host that every query of the host reaches sees none of the code's, nor does any interface."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    with open("/etc/resolv.conf", encoding="utf-8") if os.path.exists("/etc/resolv.conf") else open(os.devnull, encoding="utf-8") as file:
        before = file.read()
    run(["ip", "link", "set", "lo", "up"], check=True)
    run(["ip", "address", "add", "8.8.8.8/32", "dev", "lo"], check=True)
    try:
        _write("/etc/resolv.conf", "nameserver 8.8.8.8\noptions timeout:1 attempts:1\n")
        server.bind(("0.0.0.0", 53))
        # The control: a question of alice's, outside, is seen by both.
        run(["python3", "-c", "import socket\ntry: socket.getaddrinfo('control.acceptance.invalid', 80)\nexcept OSError: pass"],
            "alice")
        check(any(b"control" in packet for packet in _packets(server)), "the resolver did not see a query of the host")
        check(any(b"control" in packet for packet in _packets(tap)), "no query of the host was seen on its interfaces")
        yield
        for packet in _packets(server) + _packets(tap):
            check(text.encode() not in packet, f"{text} was asked for outside: {packet!r}")
        check(not _packets(server), "something was sent to the resolver of the host")
    finally:
        _write("/etc/resolv.conf", before)
        run(["ip", "address", "del", "8.8.8.8/32", "dev", "lo"])
        server.close()
        tap.close()


def _packets(sock):
    packets = []
    while select.select([sock], [], [], 0.3)[0]:
        packets.append(sock.recv(65536))
    return packets


CHECKS = {"daemon-memory": daemon_memory, "daemon-answers": daemon_answers, "not-in-journal": not_in_journal,
          "no-core": no_core, "swap-unused": swap_unused, "memory-free-again": memory_free_again,
          "nothing-asked": nothing_asked}
