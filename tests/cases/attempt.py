# SPDX-License-Identifier: LGPL-2.1-or-later
"""One request of one caller: sent, timed, and what came back. Several at once, each over a connection of its own."""

import base64
import json
import os
import pty
import select
import subprocess
import threading
import time

from harness import *

# Nothing in the cases may take longer than this; it only ends what hangs.
PATIENCE = 600


class Attempt:
    """result: the document; error: name and message of a refusal; raw: the document's text; seconds: until then."""

    def __init__(self, spec, user="alice", delay=0, via="bus"):
        self.spec, self.user, self.delay, self.via = spec, user, delay, via
        self.result = self.error = self.raw = self.trouble = None
        self.seconds = 0
        self.problems = []

    def send(self, bus):
        begun = time.monotonic()
        try:
            if self.via == "bus":
                self._over_bus(bus)
            else:
                getattr(self, "_over_" + self.via)()
        except BusError as error:
            self.error = (error.name, error.message)
        self.seconds = time.monotonic() - begun

    def _over_bus(self, bus):
        serial = bus.send(NAME, PATH, MANAGER, "Execute", "s", json.dumps(self.spec))
        self._document(bus.reply(serial, PATIENCE)[0])

    def _document(self, raw):
        self.raw, self.result = raw, json.loads(raw)

    # The command twice: the document it prints, and what it passes on, which must be the same bytes.
    def _over_cli(self, *words):
        words = words or ("--spec", "-")
        text = json.dumps(self.spec).encode() if words == ("--spec", "-") else b""
        done = run(["unitcell", "run", "--json", *words], self.user, text, timeout=PATIENCE / SLOW)
        if not done.out:
            self.error = ("org.unitcell1.Error.?", done.error)
            return
        self._document(done.out.decode())
        done = run(["unitcell", "run", "--quiet", *words], self.user, text, timeout=PATIENCE / SLOW)
        for stream, got in (("stdout", done.out), ("stderr", done.err)):
            if got != self.kept(stream):
                self.problems.append(f"the command passed on {shorten(got)} as {stream}, the document says {shorten(self.kept(stream))}")
        if done.status != self.result["exit_code"]:
            self.problems.append(f"exit status of the command is {done.status}")

    # A file of source, as people hand it over. The name's suffix tells the language.
    def _over_cli_file(self):
        suffix = {"python": ".py", "bash": ".sh", "c": ".c"}[self.spec["language"]]
        path = f"/tmp/unitcell-case{suffix}"
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.spec["code_base64"]) if "code_base64" in self.spec else
                       self.spec["code"].encode())
        os.chmod(path, 0o644)
        try:
            self._over_cli(path)
        finally:
            os.unlink(path)

    # The command at a person's terminal. What the program pushes into that would be read from it.
    def _over_terminal(self):
        script = "import os,sys; os.setsid(); import fcntl,termios; fcntl.ioctl(0,termios.TIOCSCTTY,0); os.execvp(sys.argv[1],sys.argv[1:])"
        master, slave = pty.openpty()
        path = "/tmp/unitcell-case.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.spec, file)
        os.chmod(path, 0o644)
        os.chmod(os.ttyname(slave), 0o666)
        try:
            for words in (["--json"], []):
                child = subprocess.Popen(["python3", "-c", script, *as_user(self.user, ["unitcell", "run", *words, "--spec", path])],
                                         stdin=slave, stdout=slave, stderr=slave)
                seen = _read_terminal(master, child)
                if words:
                    self._document(seen.decode())
                elif seen.replace(b"\r\n", b"\n") != self.kept("stdout"):
                    self.problems.append(f"the terminal shows {shorten(seen)}")
            # What was typed, by somebody else than nobody: echoed above, or waiting to be read here.
            os.set_blocking(slave, False)
            ready = select.select([slave], [], [], 0.5)[0]
            if ready:
                self.problems.append(f"typed into the terminal: {os.read(slave, 100)!r}")
        finally:
            os.close(slave)
            os.close(master)
            os.unlink(path)

    def kept(self, stream):
        """The bytes of a stream that were kept."""
        if stream + "_base64" in self.result:
            return base64.b64decode(self.result[stream + "_base64"], validate=True)
        return self.result[stream].encode("utf-8", "surrogatepass")

    def summary(self):
        if self.result is None:
            return f"answered with {self.error or self.trouble}"
        shown = {key: value if len(repr(value)) < 500 else shorten(value, 500) for key, value in self.result.items()
                 if key not in ("enforced", "unit", "invocation_id", "stdout_base64", "stderr_base64")}
        return f"after {self.seconds:.1f} s: {json.dumps(shown, ensure_ascii=False)}"


def _read_terminal(master, child):
    seen, deadline = b"", time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if select.select([master], [], [], 0.2)[0]:
            seen += os.read(master, 1 << 16)
        elif child.poll() is not None:
            return seen
    child.kill()
    return fail("the command at the terminal did not end")


def attempt_all(attempts):
    """Sends each after its delay, and waits for all of them."""
    buses = [Connection(attempt.user) if attempt.via == "bus" else None for attempt in attempts]
    begun = time.monotonic()

    def one(attempt, bus):
        try:
            time.sleep(max(0, begun + attempt.delay - time.monotonic()))
            attempt.send(bus)
        except BaseException as trouble:        # told by the judge; a thread has nobody to tell it to
            attempt.trouble = trouble

    threads = [threading.Thread(target=one, args=pair) for pair in zip(attempts, buses)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for bus in filter(None, buses):
            bus.close()
