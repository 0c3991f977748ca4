# SPDX-License-Identifier: LGPL-2.1-or-later
"""A small D-Bus client: just enough to be an ordinary user on the system bus, many times a second.

python3-dbus cannot listen for signals without a main loop, and starting busctl for each call costs more in the
virtual machine than the call itself. Here a connection belongs to a real process of the user: a child drops to the
user's ids, connects, hands the socket back and stays there as the peer that the bus and polkit see.
"""

import array
import os
import pwd
import select
import socket
import struct
import time

ADDRESS = "/run/dbus/system_bus_socket"
CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4

FIXED = {"y": ("B", 1), "n": ("h", 2), "q": ("H", 2), "i": ("i", 4), "u": ("I", 4), "h": ("I", 4), "b": ("I", 4),
         "x": ("q", 8), "t": ("Q", 8), "d": ("d", 8)}
ALIGN = {"s": 4, "o": 4, "g": 1, "a": 4, "(": 8, "{": 8, "v": 1}


class BusError(Exception):
    """An error as answer; name is what a program matches on."""

    def __init__(self, name, message):
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


class BusTimeout(Exception):
    pass


def split(signature):
    """The complete types of a signature, one by one."""
    types, i = [], 0
    while i < len(signature):
        end = _type_end(signature, i)
        types.append(signature[i:end])
        i = end
    return types


def _type_end(signature, i):
    if signature[i] == "a":
        return _type_end(signature, i + 1)
    if signature[i] in "({":
        depth = 0
        while True:
            depth += (signature[i] in "({") - (signature[i] in ")}")
            i += 1
            if depth == 0:
                return i
    return i + 1


def _align_of(kind):
    return FIXED[kind][1] if kind in FIXED else ALIGN[kind]


class Writer:
    def __init__(self):
        self.data = bytearray()

    def align(self, n):
        self.data += bytes(-len(self.data) % n)

    def value(self, kind, value):
        first = kind[0]
        if first in FIXED:
            code, size = FIXED[first]
            self.align(size)
            self.data += struct.pack("<" + code, value)
        elif first in "so":
            raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
            self.value("u", len(raw))
            self.data += raw + b"\0"
        elif first == "g":
            self.data += bytes([len(value)]) + value.encode() + b"\0"
        elif first == "v":
            self.value("g", value[0])
            self.value(*value)
        elif first == "a":
            self.value("u", 0)
            length_at = len(self.data) - 4
            self.align(_align_of(kind[1]))
            start = len(self.data)
            for item in (value.items() if isinstance(value, dict) else value):
                self.value(kind[1:], item)
            struct.pack_into("<I", self.data, length_at, len(self.data) - start)
        else:
            self.align(8)
            for part, item in zip(split(kind[1:-1]), value):
                self.value(part, item)


class Reader:
    def __init__(self, data, at=0):
        self.data = data
        self.at = at

    def align(self, n):
        self.at += -self.at % n

    def value(self, kind):
        first = kind[0]
        if first in FIXED:
            code, size = FIXED[first]
            self.align(size)
            self.at += size
            value = struct.unpack_from("<" + code, self.data, self.at - size)[0]
            return bool(value) if first == "b" else value
        if first in "sog":
            size = self.value("y" if first == "g" else "u")
            self.at += size + 1
            return bytes(self.data[self.at - size - 1:self.at - 1]).decode()
        if first == "v":
            return self.value(self.value("g"))
        if first == "a":
            size = self.value("u")
            self.align(_align_of(kind[1]))
            end, items = self.at + size, []
            while self.at < end:
                items.append(self.value(kind[1:]))
            return dict(items) if kind[1] == "{" else items
        self.align(8)
        return tuple(self.value(part) for part in split(kind[1:-1]))


class Message:
    """What came in. fields: 1 path, 2 interface, 3 member, 4 error name, 5 reply serial, 7 sender."""

    def __init__(self, kind, fields, body):
        self.kind = kind
        self.path, self.interface, self.member = fields.get(1), fields.get(2), fields.get(3)
        self.error, self.reply_to, self.sender = fields.get(4), fields.get(5), fields.get(7)
        self.destination = fields.get(6)
        self.body = body

    def __repr__(self):
        return f"<{self.interface}.{self.member} {self.path} from {self.sender} to {self.destination}: {self.body!r}>"


def _drop_to(user):
    entry = pwd.getpwnam(user)
    os.initgroups(user, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def _connect_as(user):
    """A connected socket whose peer, for the bus, is a living process of user. (socket, its pid, its lifeline)"""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            ours.close()
            if user != "root":
                _drop_to(user)
            bus = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            bus.connect(ADDRESS)
            socket.send_fds(theirs, [b"x"], [bus.fileno()])
            bus.close()
            # Other children hold copies of many descriptors of the parent; this one keeps none but its lifeline.
            keep = theirs.fileno()
            os.closerange(0, keep)
            os.closerange(keep + 1, 4096)
            os.read(keep, 1)
            status = 0
        finally:
            os._exit(status)
    theirs.close()
    data, fds, _, _ = socket.recv_fds(ours, 1, 1)
    if not data:
        os.waitpid(pid, 0)
        raise OSError(f"{user} could not connect to the bus")
    return socket.socket(fileno=fds[0]), pid, ours


class Connection:
    """One connection to the system bus as user. close() is what a caller that dies looks like to the bus."""

    def __init__(self, user):
        self.user = user
        self.socket, self.pid, self._lifeline = _connect_as(user)
        self.serial = 0
        self.buffer = bytearray()
        self.replies = {}
        self.signals = []
        self._authenticate()
        self.name = self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.socket:
            self.socket.close()
            self._lifeline.close()
            os.waitpid(self.pid, 0)
            self.socket = None

    def _authenticate(self):
        uid = str(pwd.getpwnam(self.user).pw_uid).encode().hex().encode()
        self.socket.sendall(b"\0AUTH EXTERNAL " + uid + b"\r\n")
        self._expect_line(b"OK ")
        self.socket.sendall(b"NEGOTIATE_UNIX_FD\r\n")
        self._expect_line(b"AGREE_UNIX_FD")
        self.socket.sendall(b"BEGIN\r\n")

    def _expect_line(self, start):
        line = b""
        while not line.endswith(b"\r\n"):
            got = self.socket.recv(1)
            if not got:
                break
            line += got
        if not line.startswith(start):
            raise OSError(f"the bus answered {line!r}, not {start!r}")

    def send(self, destination, path, interface, member, signature="", *arguments, fds=()):
        """Sends a call and does not wait: its serial, for reply()."""
        self.serial += 1
        body = Writer()
        for kind, argument in zip(split(signature), arguments):
            body.value(kind, argument)
        fields = [(1, ("o", path)), (2, ("s", interface)), (3, ("s", member)), (6, ("s", destination))]
        if signature:
            fields.append((8, ("g", signature)))
        if fds:
            fields.append((9, ("u", len(fds))))
        head = Writer()
        for kind, value in (("y", ord("l")), ("y", CALL), ("y", 0), ("y", 1), ("u", len(body.data)),
                            ("u", self.serial), ("a(yv)", fields)):
            head.value(kind, value)
        head.align(8)
        data = memoryview(bytes(head.data) + bytes(body.data))
        if fds:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            data = data[self.socket.sendmsg([data], rights):]
        self.socket.sendall(data)
        return self.serial

    def reply(self, serial, timeout=60):
        """The values of the answer to serial; raises BusError for an error, BusTimeout when none comes."""
        deadline = time.monotonic() + timeout
        while serial not in self.replies:
            if not self.pump(deadline - time.monotonic()):
                raise BusTimeout(f"no answer to call {serial} of {self.user} within {timeout:.0f} s")
        message = self.replies.pop(serial)
        if message.kind == ERROR:
            raise BusError(message.error, message.body[0] if message.body else "")
        return message.body

    def call(self, *arguments, timeout=60):
        return self.reply(self.send(*arguments), timeout)

    def listen(self, rule):
        """Adds a match rule; what matches lies in .signals after pump()."""
        self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", "s", rule)

    def heard(self, interface):
        """The signals of an interface that came in so far."""
        return [signal for signal in self.signals if signal.interface == interface]

    def pump(self, timeout):
        """Waits for one more message and sorts it in. False: none came in time."""
        deadline = time.monotonic() + max(timeout, 0)
        while True:
            message = self._take()
            if message:
                break
            if not select.select([self.socket], [], [], max(deadline - time.monotonic(), 0))[0]:
                return False
            data = self.socket.recv(1 << 16)
            if not data:
                raise OSError(f"the bus closed the connection of {self.user}")
            self.buffer += data
        if message.kind in (RETURN, ERROR):
            self.replies[message.reply_to] = message
        elif message.kind == SIGNAL:
            self.signals.append(message)
        return True

    def _take(self):
        if len(self.buffer) < 16:
            return None
        body_size, fields_size = struct.unpack_from("<I", self.buffer, 4)[0], \
            struct.unpack_from("<I", self.buffer, 12)[0]
        start = 16 + fields_size + -(16 + fields_size) % 8
        if len(self.buffer) < start + body_size:
            return None
        fields = dict(Reader(self.buffer, 12).value("a(yv)"))
        body = Reader(bytes(self.buffer[start:start + body_size]))
        values = [body.value(kind) for kind in split(fields.get(8, ""))]
        message = Message(self.buffer[1], fields, values)
        del self.buffer[:start + body_size]
        return message
