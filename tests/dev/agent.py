#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs one command inside the virtual machine for ./dev, which talks to it over a virtio-serial port.

One port carries frames in both directions, so that order is kept and the end is unmistakable: a byte for the kind, four
for the length, the body. vm.py, outside, is the other end.

  here to there   H hello, the machine is up   O stdout   E stderr   X exit status (decimal): nothing follows
  there to here   R request (JSON)   I stdin   Z end of stdin   W window size (JSON)
"""

import base64
import fcntl
import json
import os
import pty
import selectors
import signal
import struct
import subprocess
import sys
import termios
import time

PORT_NAME = "unitcell-dev"
CHUNK = 32768


def find_port():
    # There is no udev to make links by name, so look through sysfs.
    base = "/sys/class/virtio-ports"
    for _ in range(100):
        for entry in sorted(os.listdir(base)) if os.path.isdir(base) else []:
            with open(f"{base}/{entry}/name") as file:
                if file.read().strip() == PORT_NAME:
                    return f"/dev/{entry}"
        time.sleep(0.1)
    sys.exit(f"no virtio-serial port called {PORT_NAME}")


class Port:
    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.buffer = b""

    def send(self, kind, body=b""):
        data = kind + struct.pack(">I", len(body)) + body
        while data:
            data = data[os.write(self.fd, data):]

    def frames(self):
        """What has arrived: whole frames only."""
        chunk = os.read(self.fd, CHUNK)
        if not chunk:
            # The other end is gone, and this machine is nothing without it.
            os.system("systemctl poweroff --force --force")
        self.buffer += chunk
        while len(self.buffer) >= 5:
            length = struct.unpack(">I", self.buffer[1:5])[0]
            if len(self.buffer) < 5 + length:
                return
            kind, body = self.buffer[:1], self.buffer[5:5 + length]
            self.buffer = self.buffer[5 + length:]
            yield kind, body


def child_setup():
    # The agent is protected from the OOM killer, what it runs is not.
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("0")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def environment(request):
    env = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin",
        "HOME": "/root", "USER": "root", "LOGNAME": "root", "SHELL": "/bin/bash", "LANG": "C.UTF-8",
    }
    env.update(request["env"])
    return env


def set_window(fd, size):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", size["rows"], size["columns"], 0, 0))


class Command:
    """The child and our ends of its stdin, stdout and stderr."""

    def __init__(self, request):
        argv = [base64.b64decode(word) for word in request["argv"]]
        options = dict(env=environment(request), cwd="/root", preexec_fn=child_setup)
        self.terminal = None
        self.outputs = {}
        if request["terminal"]:
            self.terminal, inner = pty.openpty()
            set_window(self.terminal, request["terminal"])
            self.process = subprocess.Popen(argv, stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
                                            **{**options, "preexec_fn": lambda: (child_setup(), fcntl.ioctl(
                                                0, termios.TIOCSCTTY, 0))})
            os.close(inner)
            self.stdin = self.terminal
            self.outputs[self.terminal] = b"O"
            return
        out, out_inner = os.pipe()
        err, err_inner = os.pipe()
        self.stdin = None
        stdin = subprocess.DEVNULL
        if request["stdin"]:
            stdin, self.stdin = os.pipe()
        self.process = subprocess.Popen(argv, stdin=stdin, stdout=out_inner, stderr=err_inner, **options)
        for fd in [out_inner, err_inner] + ([stdin] if request["stdin"] else []):
            os.close(fd)
        self.outputs = {out: b"O", err: b"E"}

    def write_stdin(self, data):
        try:
            while data and self.stdin is not None:
                data = data[os.write(self.stdin, data):]
        except OSError:
            self.close_stdin()

    def close_stdin(self):
        if self.stdin is not None and self.terminal is None:
            os.close(self.stdin)
        self.stdin = None


def relay(port, command):
    """Until the command is over and its output drained. Output that a left-over background process keeps open does
    not keep us: one second after the command's end we go."""
    selector = selectors.DefaultSelector()
    selector.register(port.fd, selectors.EVENT_READ)
    for fd in command.outputs:
        selector.register(fd, selectors.EVENT_READ)
    pidfd = os.pidfd_open(command.process.pid)
    selector.register(pidfd, selectors.EVENT_READ)
    deadline = None

    while command.outputs:
        wait = None if deadline is None else max(0, deadline - time.monotonic())
        ready = [key.fd for key, _ in selector.select(wait)]
        if not ready and deadline is not None and time.monotonic() >= deadline:
            break
        for fd in ready:
            if fd == port.fd:
                for kind, body in port.frames():
                    on_frame(command, kind, body)
            elif fd == pidfd:
                selector.unregister(pidfd)
                deadline = time.monotonic() + 1
            else:
                try:
                    data = os.read(fd, CHUNK)
                except OSError:         # a terminal whose last user has gone
                    data = b""
                if data:
                    port.send(command.outputs[fd], data)
                else:
                    selector.unregister(fd)
                    del command.outputs[fd]
    return command.process.wait()


def on_frame(command, kind, body):
    if kind == b"I":
        command.write_stdin(body)
    elif kind == b"Z":
        command.close_stdin()
    elif kind == b"W" and command.terminal is not None:
        set_window(command.terminal, json.loads(body))


def wait_for_request(port):
    while True:
        for kind, body in port.frames():
            if kind == b"R":
                return json.loads(body)


def main():
    port = Port(find_port())
    port.send(b"H")
    request = wait_for_request(port)
    try:
        command = Command(request)
    except OSError as error:
        port.send(b"E", f"./dev: cannot run the command: {error}\n".encode())
        port.send(b"X", b"127" if isinstance(error, FileNotFoundError) else b"126")
    else:
        status = relay(port, command)
        port.send(b"X", str(128 - status if status < 0 else status).encode())
    # vm.py ends the machine when it has read that.
    time.sleep(60)


main()
