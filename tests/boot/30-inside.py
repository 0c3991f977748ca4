#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the code finds inside: nobody's uid, no capability, no network, a small read-only world, nobody else."""

from harness import *

MIB = 1 << 20
_looked = {}

# The code in the sandbox: looks at everything once and prints it; the tests below each judge a part.
LOOK = r"""
import errno, json, os, resource, signal, socket, stat, sys
seen = {}

with open('/proc/self/status') as file:
    seen['status'] = dict(line.rstrip('\n').split(':\t', 1) for line in file if ':\t' in line)
seen['ids'] = [*os.getresuid(), *os.getresgid()]
seen['groups'] = os.getgroups()
seen['fds'] = {}
for fd in range(4096):
    try:
        seen['fds'][fd] = stat.S_IFMT(os.fstat(fd).st_mode)
    except OSError:
        pass
seen['session'] = [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()]
seen['rlimits'] = {name: resource.getrlimit(getattr(resource, 'RLIMIT_' + name))
                   for name in ('FSIZE', 'NOFILE', 'CORE')}
umask = os.umask(0o22)
seen['umask'] = umask
seen['stdin'] = os.read(0, 10).decode()
seen['signals'] = [seen['status'][key] for key in ('SigBlk', 'SigIgn')]

seen['interfaces'] = [name for _, name in socket.if_nameindex()]
def connects(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(5)
        try:
            sock.connect(address)
            return 'connected'
        except OSError as error:
            return errno.errorcode.get(error.errno, str(error))
with socket.socket() as server:
    server.bind(('127.0.0.1', 0))
    server.listen()
    seen['loopback'] = connects(socket.AF_INET, server.getsockname())
seen['outside'] = [connects(socket.AF_INET, ('1.1.1.1', 53)), connects(socket.AF_INET, ('169.254.169.254', 80)),
                   connects(socket.AF_INET6, ('2606:4700:4700::1111', 53))]
with open('/proc/net/unix') as file:
    seen['unix sockets'] = [line.split()[7:] for line in file][1:]

seen['lists'] = {}
for path in ('/', '/etc', '/dev', '/run', '/sys', '/sys/fs', '/sys/fs/cgroup', '/sys/devices', '/sys/devices/system',
             '/var', '/data', '/scratch', '/dev/shm', '/dev/mqueue', '/workspace', '/etc/ssl', '/dev/char',
             '/run/systemd', '/run/systemd/incoming'):
    try:
        seen['lists'][path] = sorted(os.listdir(path))
    except OSError as error:
        seen['lists'][path] = errno.errorcode[error.errno]
seen['exist'] = [path for path in sys.argv[1:] if os.path.exists(path)]
def readable(path):
    try:
        with open(path, 'rb') as file:
            file.read(1)
        return True
    except OSError:
        return False
seen['readable'] = [path for path in ('/etc/shadow', '/proc/1/environ', '/proc/kcore', '/proc/kmsg', '/proc/kallsyms',
                                      '/proc/sysrq-trigger', '/dev/mem', '/dev/kmsg', '/dev/vda', '/dev/ttyS0',
                                      '/proc/sys/kernel/random/boot_id') if readable(path)]

seen['processes'] = {}
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        with open(f'/proc/{pid}/status') as file:
            seen['processes'][pid] = [line.split()[1:] for line in file if line.startswith('Uid:')][0]
    except OSError as error:
        seen['processes'][pid] = errno.errorcode[error.errno]
seen['me'] = os.getpid()

# Every directory that can be found, and whether something can be made in it.
def new_file(path):
    # A message queue can be made in /dev/mqueue, which is the execution's own, but holds no bytes of a file.
    with open(path, 'wb', buffering=0) as file:
        try:
            file.write(b'x')
        except OSError:
            os.unlink(path)
            raise
made, walked = [], 0
for top, depth in (('/', 1), ('/usr', 2), ('/etc', 3), ('/dev', 2), ('/run', 2), ('/sys', 4), ('/var', 3), ('/data', 2),
                   ('/proc', 1), ('/proc/self', 1), ('/proc/sys', 2), ('/usr/lib/unitcell', 5)):
    for path, names, _ in os.walk(top):
        if top == '/' and path != '/':
            break
        if path.rstrip('/').count('/') - top.rstrip('/').count('/') >= depth:
            names.clear()
        if path.startswith(('/dev/shm', '/proc/self/task', '/proc/self/cwd', '/proc/self/root')):
            names.clear()
            continue
        walked += 1
        for name, make in (('file', new_file), ('dir', os.mkdir), ('link', lambda p: os.symlink('x', p)),
                           ('fifo', os.mkfifo)):
            try:
                make(os.path.join(path, 'made-' + name))
                made.append(os.path.join(path, 'made-' + name))
            except OSError:
                pass
seen['made'], seen['walked'] = made, walked

# Every file of these that opens for writing.
def is_harmless(info):
    # null, zero, full, random, urandom, tty; its own stdout and stderr under one of their names
    return (stat.S_ISCHR(info.st_mode) and (os.major(info.st_rdev), os.minor(info.st_rdev)) in
            {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0)}) or stat.S_ISFIFO(info.st_mode)
open_for_writing, tried = [], 0
for top in ('/etc', '/dev', '/run', '/sys', '/usr/bin', '/usr/lib/unitcell', '/proc/sys', '/proc'):
    for path, names, files in os.walk(top):
        if path == '/proc':
            names.clear()
        if path.startswith('/dev/shm'):
            names.clear()
            continue
        for name in files[:200]:
            tried += 1
            try:
                fd = os.open(os.path.join(path, name), os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                continue
            info = os.fstat(fd)
            os.close(fd)
            if not is_harmless(info):
                open_for_writing.append(os.path.join(path, name))
seen['open for writing'], seen['tried'] = open_for_writing, tried

works = []
for path in ('/workspace', '/tmp', '/var/tmp', '/output', '/scratch', '/dev/shm'):
    try:
        name = os.path.join(path, 'x')
        with open(name, 'x') as file:
            file.write('x')
        os.unlink(name)
        os.mkdir(name)
        os.rmdir(name)
        works.append(path)
    except OSError as error:
        works.append([path, str(error)])
seen['writable'] = works

denied = {}
def attempt(name, function, *arguments):
    try:
        function(*arguments)
        denied[name] = 'allowed'
    except OSError as error:
        denied[name] = errno.errorcode[error.errno]
attempt('setuid 0', os.setuid, 0)
attempt('chroot', os.chroot, '/scratch')
attempt('nice -5', os.nice, -5)
attempt('raw socket', socket.socket, socket.AF_INET, socket.SOCK_RAW)
attempt('packet socket', socket.socket, socket.AF_PACKET, socket.SOCK_RAW)
attempt('vsock', socket.socket, 40, socket.SOCK_STREAM)
attempt('alg socket', socket.socket, 38, socket.SOCK_SEQPACKET)
attempt('bluetooth', socket.socket, 31, socket.SOCK_RAW)
attempt('device node', os.mknod, '/tmp/node', stat.S_IFBLK | 0o666, os.makedev(254, 0))
if os.getppid() != 1:
    attempt('kill 1', os.kill, 1, 0)  # with a PID namespace of its own that is the runner, who may be signalled
def set_suid():
    open('/tmp/suid', 'w').close()
    os.chmod('/tmp/suid', 0o4755)
attempt('chmod u+s', set_suid)
def lower_oom():
    with open('/proc/self/oom_score_adj', 'w') as file:
        file.write('-1')
attempt('lower oom score', lower_oom)
def raise_nofile():
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
    except ValueError as error:
        raise PermissionError(errno.EPERM, str(error))
attempt('raise NOFILE', raise_nofile)
attempt('realtime', os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
seen['denied'] = denied
print(json.dumps(seen))
"""

MUST_NOT_EXIST = [
    "/home", "/root", "/etc/shadow", "/etc/gshadow", "/etc/machine-id", "/etc/unitcell", "/etc/systemd",
    "/etc/hostname", "/etc/resolv.conf", "/run/dbus", "/run/dbus/system_bus_socket",
    "/run/systemd/journal", "/run/systemd/journal/socket", "/run/systemd/journal/stdout",
    "/run/systemd/journal/dev-log", "/run/systemd/private", "/run/systemd/notify",
    "/run/unitcell", "/run/user", "/run/log", "/dev/log", "/dev/vda", "/dev/vdb", "/dev/mem",
    "/dev/kmsg", "/dev/fuse", "/dev/net", "/dev/kvm", "/dev/ttyS0", "/dev/console", "/dev/vport1p1", "/sys/class",
    "/sys/block", "/sys/kernel", "/sys/module", "/sys/firmware", "/sys/fs/cgroup/unitcell.slice",
    "/sys/fs/cgroup/cgroup.procs", "/sys/fs/bpf", "/var/lib", "/var/log", "/var/run", "/boot", "/srv", "/mnt", "/media",
    "/opt", "/lost+found", "/initrd", "/dev/disk", "/dev/hugepages/x", "/srv/tests", "/nonexistent"]


def look():
    if not _looked:
        result = execute({"language": "python", "code": LOOK, "args": MUST_NOT_EXIST, "timeout_ms": 120000,
                          "limits": {"stdout_bytes": 1 << 20}})
        equal((result["status"], result["stderr"]), ("success", ""), "status and stderr of the one that looks")
        _looked.update(json.loads(result["stdout"]))
    return _looked


@test("who it is: one dynamic uid and gid, no other group, no capability, no new privileges, a filter")
def who():
    wait_ready()
    seen = look()
    uid = seen["ids"][0]
    within(uid, DYNAMIC_UID_MIN, DYNAMIC_UID_MAX, "uid")
    equal(seen["ids"], [uid] * 6, "real, effective and saved uid and gid")
    check(set(seen["groups"]) <= {uid}, f"groups are {seen['groups']}")
    status = seen["status"]
    for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        equal(status[key], "0000000000000000", key)
    equal((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"), "NoNewPrivs and Seccomp")
    equal(status["Uid"].split(), [str(uid)] * 4, "Uid with the file system's")


@test("descriptors 0, 1, 2 and no other; a session, limits, mask and signals of its own")
def descriptors():
    seen = look()
    # A null device or an empty file, and two pipes.
    equal(sorted(seen["fds"]), ["0", "1", "2"], "descriptors")
    equal([seen["fds"]["1"], seen["fds"]["2"]], [0o010000, 0o010000], "kinds of 1 and 2")
    equal(seen["stdin"], "", "what stdin holds")
    equal(seen["session"], [True, True], "leads its session and its process group")
    equal(seen["umask"], 0o22, "umask")
    equal(seen["rlimits"], {"FSIZE": [32 * MIB, 32 * MIB], "NOFILE": [1024, 4096], "CORE": [1, 1]}, "rlimits")
    # Python itself ignores SIGPIPE and SIGXFSZ.
    equal([int(mask, 16) & ~(1 << 12 | 1 << 24) for mask in seen["signals"]], [0, 0], "blocked and ignored signals")


@test("no interface but lo, which works; nothing else is reached")
def network():
    seen = look()
    equal(seen["interfaces"], ["lo"], "interfaces")
    equal(seen["loopback"], "connected", "a connection over 127.0.0.1")
    for answer in seen["outside"]:
        check(answer in ("ENETUNREACH", "EPERM", "EACCES", "EADDRNOTAVAIL"), f"a connection to the world: {answer}")
    # /proc/net/unix is of the network namespace: nobody else's socket is in it.
    equal(seen["unix sockets"], [], "unix sockets")


@test("what must not exist does not")
def absent():
    equal(look()["exist"], [], "what exists of what must not")
    equal(look()["readable"], ["/proc/sys/kernel/random/boot_id"], "what can be read of what should not")


@test("the whole world is small and as written down: /, /etc, /dev, /run, /sys, /var")
def world():
    lists = look()["lists"]
    equal(lists["/"], sorted(["bin", "data", "dev", "etc", "lib", "lib64", "output", "proc", "run", "sbin", "scratch",
                              "sys", "tmp", "usr", "var", "workspace", "root"]), "/")
    equal(set(lists["/etc"]) - {"alternatives", "fonts", "group", "hosts", "ld.so.cache", "localtime", "mime.types",
                                "nsswitch.conf", "passwd", "ssl", "java-17-openjdk", "java-21-openjdk",
                                "java-25-openjdk"}, set(), "more in /etc than expected")
    equal(set(lists["/etc/ssl"]) - {"certs", "openssl.cnf"}, set(), "more in /etc/ssl than expected")
    equal(set(lists["/dev"]) - {"core", "fd", "full", "hugepages", "mqueue", "null", "ptmx", "pts", "random", "shm",
                                "stderr", "stdin", "stdout", "tty", "urandom", "zero", "char", "log"}, set(),
          "more in /dev than expected")
    # /dev/log leads nowhere (see the test before); these numbers are null, zero, full, random, urandom, tty, ptmx.
    equal(set(lists["/dev/char"]) - {"1:3", "1:5", "1:7", "1:8", "1:9", "5:0", "5:2"}, set(), "more in /dev/char")
    # systemd's own, for mounts into a running unit; nobody inside may look.
    equal([lists["/run"], lists["/run/systemd"]], [["systemd"], ["incoming"]], "/run and /run/systemd")
    incoming = lists["/run/systemd/incoming"]
    check(incoming in ([], "EACCES"), f"/run/systemd/incoming is {incoming}")
    equal(lists["/sys"], ["devices", "fs"], "/sys")
    equal(lists["/sys/fs/cgroup"], [], "/sys/fs/cgroup")
    equal(lists["/sys/devices"], ["system"], "/sys/devices")
    equal(lists["/sys/devices/system"], ["cpu"], "/sys/devices/system")
    equal(lists["/var"], ["tmp"], "/var")
    for path in ("/data", "/dev/shm", "/workspace"):
        equal(lists[path], [], path)
    check(lists["/dev/mqueue"] in ([], "ENOENT", "EACCES"), f"/dev/mqueue holds {lists['/dev/mqueue']}")
    equal(lists["/scratch"], ["code", "output", "tmp", "work"], "/scratch")


@test("writing works in the six places and nowhere else")
def writing():
    seen = look()
    equal(seen["writable"], ["/workspace", "/tmp", "/var/tmp", "/output", "/scratch", "/dev/shm"], "writable places")
    equal(seen["made"], [], "what could be made elsewhere")
    within(seen["walked"], 100, 1 << 20, "directories in which it was tried")
    within(seen["tried"], 300, 1 << 20, "files that were tried")
    equal(seen["open for writing"], [], "what opens for writing elsewhere")


@test("what needs a privilege is refused")
def denied():
    allowed = sorted(name for name, answer in look()["denied"].items() if answer == "allowed")
    equal(allowed, [], "what was allowed")
    within(len(look()["denied"]), 12, 30, "number of attempts")


@test("only its own processes are visible")
def own_processes():
    seen = look()
    uid = str(seen["ids"][0])
    check(str(seen["me"]) in seen["processes"], "it does not see itself")
    for pid, ids in seen["processes"].items():
        equal(ids, [uid] * 4, f"uids of the process {pid} that it sees")
    within(len(seen["processes"]), 1, 2, "number of processes")


@test("what is written is bounded by the workspace's limit: bytes, and files")
def bounded():
    code = ("import os\n"
            "def fill(*places):\n"
            "    total = 0\n"
            "    for place in places:\n"
            "        try:\n"
            "            with open(f'{place}/fill-{total}', 'xb', buffering=0) as file:\n"
            "                while True: total += file.write(b'x' * 65536)\n"
            "        except OSError: pass\n"
            "    return total\n"
            "places = ('/tmp', '/workspace', '/output', '/var/tmp', '/scratch', '/scratch/code')\n"
            "print(fill(*places), fill('/dev/shm'))\n"
            "os.unlink('/tmp/fill-0')\n"
            "files = 0\n"
            "try:\n"
            "    while True:\n"
            "        os.close(os.open(f'/tmp/{files}', os.O_CREAT)); files += 1\n"
            "except OSError: pass\n"
            "print(files)\n")
    result = execute({"language": "python", "code": code, "limits": {"disk_mb": 2, "memory_mb": 128},
                      "timeout_ms": 60000})
    equal((result["status"], result["disk_limit_hit"], result["oom_killed"]), ("success", True, False), "the end")
    workspace, shared, files = map(int, result["stdout"].split())
    within(workspace, MIB, 2 * MIB, "bytes in the workspace, over all its names")
    within(shared, MIB, 2 * MIB, "bytes in /dev/shm")
    within(files, 400, 512, "files")


HOLDER = ("import os, socket, sys, time\n"
          "for path in ('/tmp/secret', '/workspace/secret', '/dev/shm/secret', '/output/secret'):\n"
          "    with open(path, 'w') as file: file.write('SECRET')\n"
          "    os.chmod(path, 0o666)\n"
          "try: os.close(os.open('/dev/mqueue/secret', os.O_CREAT, 0o666))\n"
          "except PermissionError: pass\n"
          "server = socket.socket(); server.bind(('127.0.0.1', 5555)); server.listen()\n"
          "hidden = socket.socket(socket.AF_UNIX); hidden.bind('\\0secret'); hidden.listen()\n"
          "os.setpriority(os.PRIO_PROCESS, 0, 1)\n"
          "print(os.getuid(), flush=True)\n"
          "sys.stdin.read(); time.sleep(1000)\n")

SEEKER = r"""
import errno, glob, json, os, signal, socket, sys
holder, uid = int(sys.argv[1]), int(sys.argv[2])
found = {}
def attempt(name, function, *arguments):
    try:
        found[name] = repr(function(*arguments))
    except OSError as error:
        found[name] = errno.errorcode.get(error.errno, str(error))
def connect(family, address):
    with socket.socket(family) as sock:
        sock.connect(address)
attempt('signal', os.kill, holder, 0)
attempt('stat', os.stat, f'/proc/{holder}')
attempt('cmdline', lambda: open(f'/proc/{holder}/cmdline').read())
attempt('root', os.listdir, f'/proc/{holder}/root/')
attempt('cwd', os.listdir, f'/proc/{holder}/cwd/')
attempt('fds', os.listdir, f'/proc/{holder}/fd')
attempt('mem', lambda: open(f'/proc/{holder}/mem', 'rb'))
attempt('environ', lambda: open(f'/proc/{holder}/environ').read())
attempt('pidfd', os.pidfd_open, holder)
attempt('tcp', connect, socket.AF_INET, ('127.0.0.1', 5555))
attempt('abstract', connect, socket.AF_UNIX, '\0secret')
attempt('priority', os.setpriority, os.PRIO_PROCESS, holder, 5)
attempt('affinity', os.sched_setaffinity, holder, {0})
found['files'] = [path for path in glob.glob('/tmp/*') + glob.glob('/workspace/*') + glob.glob('/dev/shm/*')
                  + glob.glob('/dev/mqueue/*') + glob.glob('/output/*') + glob.glob('/scratch/*/secret')]
found['pids'] = len([pid for pid in os.listdir('/proc') if pid.isdigit()])
# Every process there could be.
found['signalled'] = []
for pid in range(2, 4096):
    if pid != os.getpid():
        try:
            os.kill(pid, 0)
            found['signalled'].append(pid)
        except OSError:
            pass
found['uid'] = os.getuid()
print(json.dumps(found))
"""


def processes_of(unit, slice_name):
    with open(f"/sys/fs/cgroup/unitcell.slice/{slice_name}/{unit}/cgroup.procs", encoding="ascii") as file:
        pids = [int(line) for line in file]
    return {pid: os.stat(f"/proc/{pid}").st_uid for pid in pids}


@test("two executions at once, of one user and of two: different uids, and neither sees the other")
def two_at_once():
    with Leftovers():
        path = submit({"language": "python", "code": HOLDER, "timeout_ms": 300000})
        unit = get_property(path, "Unit")
        try:
            wait_running(path)
            # The code's own process is the younger of two, and dumpable, so /proc shows its uid.
            holder, uid = wait_until(
                lambda: next(((pid, owner) for pid, owner in processes_of(unit, "unitcell-u2001.slice").items()
                              if owner != 0 and "python" in os.readlink(f"/proc/{pid}/exe")
                              and os.getpriority(os.PRIO_PROCESS, pid) == 1), None), what="the holder has begun")
            within(uid, DYNAMIC_UID_MIN, DYNAMIC_UID_MAX, "uid of the holder")
            for user in ("alice", "bob"):
                result = execute({"language": "python", "code": SEEKER, "args": [str(holder), str(uid)],
                                  "timeout_ms": 60000}, user)
                equal((result["status"], result["stderr"]), ("success", ""), "end of the seeker")
                found = json.loads(result["stdout"])
                check(found.pop("uid") != uid, "both have one uid")
                equal(found.pop("files"), [], "files of the other")
                within(found.pop("pids"), 1, 2, "processes it sees")
                # The runner shares the seeker's uid and may be signalled; nobody else.
                within(len(found.pop("signalled")), 0, 1, "processes it may signal")
                refused = ("EPERM", "ESRCH", "EACCES", "ENOENT", "ECONNREFUSED", "ENOSYS")
                # That a process of this number exists is no secret; opening a pidfd says no more than that.
                found.pop("pidfd")
                equal({name: answer for name, answer in found.items() if answer not in refused}, {},
                      f"what the seeker of {user} could do")
            equal(get_property(path, "State"), "running", "state of the holder")
        finally:
            cancel(path)
        equal(get_result(path)["stdout"], f"{uid}\n", "stdout of the holder")


if __name__ == "__main__":
    main()
