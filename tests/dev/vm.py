#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Starts qemu, hands one command to the agent inside (agent.py, which explains the frames), passes its output on and
ends with its exit status. The machine is ended by killing qemu once the last frame has been read: nothing in it is kept,
so an orderly shutdown would only cost time. See ./dev guest --help."""

import argparse
import base64
import ctypes
import fcntl
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import tty

NOT_BOOTED = 125
TIMED_OUT = 124
CHUNK = 65536


def say(text):
    sys.stderr.write(f"./dev: {text}\n")
    sys.stderr.flush()


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True, help="directory for the socket and the console log")
    parser.add_argument("--image", required=True, help="directory of vmlinuz, initrd, root.ext4")
    parser.add_argument("--layer", required=True, help="tar archive for the second disk")
    parser.add_argument("--memory", default="2048")
    parser.add_argument("--accel", default="tcg,thread=multi")
    parser.add_argument("--cpu", default="max")
    parser.add_argument("--boot-timeout", type=float, default=180)
    parser.add_argument("--timeout", type=float)
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--shell", action="store_true", help="stdin is passed on; a terminal if ours is one")
    parser.add_argument("command", nargs="*")
    return parser.parse_args()


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    # Ctrl-C is for us; qemu is ended by us.
    os.setpgid(0, 0)


def start_qemu(options, socket_path):
    kernel_words = [
        "root=/dev/vda", "console=ttyS0", "panic=-1", "psi=1", "systemd.unified_cgroup_hierarchy=1", "loglevel=4",
        "systemd.show_status=true", "systemd.log_color=0", "mitigations=off", "audit=0", "net.ifnames=0",
    ]
    command = [
        "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none",
        "-machine", "q35,usb=off", "-accel", options.accel, "-cpu", options.cpu, "-smp", "2", "-m", options.memory,
        "-kernel", f"{options.image}/vmlinuz", "-initrd", f"{options.image}/initrd",
        "-append", " ".join(kernel_words),
        "-serial", f"file:{options.run}/console.log",
        "-drive", f"file={options.image}/root.ext4,if=virtio,format=raw,snapshot=on,cache=unsafe",
        "-drive", f"file={options.layer},if=virtio,format=raw,readonly=on",
        "-object", "rng-random,id=rng,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng",
        "-device", "virtio-serial-pci",
        "-chardev", f"socket,id=dev,path={socket_path}",
        "-device", "virtserialport,chardev=dev,name=unitcell-dev",
    ]
    log = open(f"{options.run}/qemu.log", "wb")
    # snapshot=on puts its file into TMPDIR.
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent,
                            env={**os.environ, "TMPDIR": options.run})


class Machine:
    def __init__(self, options):
        self.options = options
        self.buffer = b""
        path = f"{options.run}/port"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(1)
        self.qemu = start_qemu(options, path)
        listener.settimeout(30)
        try:
            self.port, _ = listener.accept()
        except socket.timeout:
            self.give_up("qemu did not start")
        listener.close()

    def end(self):
        if self.qemu.poll() is None:
            self.qemu.kill()
        self.qemu.wait()

    def give_up(self, reason):
        self.end()
        say(f"the virtual machine {reason}")
        for name in ("qemu.log", "console.log"):
            try:
                with open(f"{self.options.run}/{name}", "rb") as file:
                    lines = file.read().splitlines()[-40:]
            except OSError:
                lines = []
            if lines:
                say(f"the end of {name}:")
                sys.stderr.write(b"\n".join(lines).decode(errors="replace").replace("\r", "") + "\n")
        sys.exit(NOT_BOOTED)

    def send(self, kind, body=b""):
        self.port.sendall(kind + struct.pack(">I", len(body)) + body)

    def frames(self):
        """Whole frames out of what can be read now; None in place of a frame when the machine is gone."""
        try:
            data = self.port.recv(CHUNK)
        except ConnectionResetError:
            data = b""
        if not data:
            yield None
            return
        self.buffer += data
        while len(self.buffer) >= 5:
            length = struct.unpack(">I", self.buffer[1:5])[0]
            if len(self.buffer) < 5 + length:
                return
            kind, body = self.buffer[:1], self.buffer[5:5 + length]
            self.buffer = self.buffer[5 + length:]
            yield kind, body

    def wait_for_hello(self):
        """Up to the deadline; the port exists before the machine runs, so silence is all there is to see."""
        deadline = time.monotonic() + self.options.boot_timeout
        while True:
            self.port.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                for frame in self.frames():
                    if frame is None:
                        self.give_up("ended while it was booting")
                    if frame[0] == b"H":
                        self.port.settimeout(None)
                        return
            except socket.timeout:
                self.give_up(f"did not boot within {self.options.boot_timeout:g} s")


def write_all(fd, data):
    try:
        while data:
            data = data[os.write(fd, data):]
    except BrokenPipeError:
        # Whoever reads our output has had enough; the command goes on, as it would behind a terminal.
        pass


def window_size():
    rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))
    return {"rows": rows, "columns": columns}


def request(options, terminal):
    argv = options.command or ["/bin/bash", "-l"]
    env = dict(word.split("=", 1) for word in options.env)
    if terminal:
        env["TERM"] = os.environ.get("TERM", "dumb")
    return json.dumps({
        "argv": [base64.b64encode(os.fsencode(word)).decode() for word in argv],
        "env": env, "stdin": options.shell, "terminal": terminal,
    }).encode()


def relay(machine, options, terminal):
    """The command's exit status."""
    deadline = None if options.timeout is None else time.monotonic() + options.timeout
    selector = selectors.DefaultSelector()
    selector.register(machine.port, selectors.EVENT_READ)
    if options.shell:
        try:
            selector.register(0, selectors.EVENT_READ)
        except PermissionError:         # a regular file or /dev/null: always readable, epoll does not want it
            while data := os.read(0, 4096):
                machine.send(b"I", data)
            machine.send(b"Z")
    if terminal:
        signal.signal(signal.SIGWINCH, lambda *_: machine.send(b"W", json.dumps(window_size()).encode()))

    while True:
        wait = None if deadline is None else deadline - time.monotonic()
        if wait is not None and wait <= 0:
            say(f"the command did not end within {options.timeout:g} s")
            return TIMED_OUT
        for key, _ in selector.select(wait):
            if key.fd == 0:
                data = os.read(0, 4096)
                machine.send(b"I" if data else b"Z", data)
                if not data:
                    selector.unregister(0)
                continue
            for frame in machine.frames():
                if frame is None:
                    machine.give_up("went away while the command ran")
                kind, body = frame
                if kind in b"OE":
                    write_all(1 if kind == b"O" else 2, body)
                elif kind == b"X":
                    return int(body)


def main():
    options = arguments()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    terminal = window_size() if options.shell and os.isatty(0) and os.isatty(1) else None
    started = time.monotonic()
    machine = Machine(options)
    saved = None
    try:
        machine.wait_for_hello()
        if options.verbose or terminal:
            say(f"the virtual machine is up after {time.monotonic() - started:.1f} s")
        machine.send(b"R", request(options, terminal))
        if terminal:
            saved = termios.tcgetattr(0)
            tty.setraw(0)
        return relay(machine, options, terminal)
    finally:
        if saved is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, saved)
        machine.end()


sys.exit(main())
