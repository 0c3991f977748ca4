#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each program is run by a fresh interpreter and through the bootstrap; output and status must be the same."""

import os
import re
import signal
import subprocess
import sys
import tempfile

BOOTSTRAP = sys.argv[1]

PROGRAMS = {
    "empty": b"",
    "print": b"print(sum(range(100)))\n",
    "arguments": b"import sys; print(sys.argv, __file__, __name__, sys.orig_argv[1:])\n",
    "names": b"print(list(globals()), __doc__, __spec__, __cached__, type(__builtins__), type(__loader__).__name__,"
             b" __loader__.path)\nprint(__package__, __annotations__, dir())\n",
    "doc string": b"'about'\nprint(__doc__)\n",
    "no source line end": b"print(1)",
    "carriage returns": b"x = 1\r\nif x:\r\n    print('''a\r\nb'''.encode())\r\n",
    "byte order mark": b"\xef\xbb\xbfprint('\xc3\xbc')\n",
    "coding cookie": b"# -*- coding: latin-1 -*-\nprint('\xfc', len('\xfc'))\n",
    "future": b"from __future__ import annotations\nx: nonsense = 1\nprint(__annotations__)\n",
    "no inherited future": b"def f(x: 1 + 1): pass\nprint(f.__annotations__)\n",
    "stdin": b"import sys; print(sys.stdin.read(), input.__name__)\n",
    "modules": b"import sys; print('__main__' in sys.modules, sys.modules['__main__'].__file__ == __file__)\n",
    "optimisation": b"import sys; print(sys.flags, __debug__)\n",
    # how it ends
    "exit 3": b"import sys; sys.exit(3)\n",
    "exit text": b"import sys; sys.exit('gone')\n",
    "exit none": b"raise SystemExit\n",
    "os._exit": b"import os; os._exit(7)\n",
    "atexit": b"import atexit; atexit.register(print, 'last'); 1 / 0\n",
    "thread outlives": b"import threading, time\nthreading.Thread(target=lambda: (time.sleep(.2), print('t'))).start()\n"
                       b"print('m')\nraise ValueError\n",
    "interrupt": b"raise KeyboardInterrupt('x')\n",
    "interrupt by signal": b"import os, signal; os.kill(os.getpid(), signal.SIGINT)\nimport time; time.sleep(5)\n",
    "killed": b"import os, signal; os.kill(os.getpid(), signal.SIGTERM)\n",
    "generator exit": b"raise GeneratorExit\n",
    # tracebacks
    "traceback": b"def f():\n    return 1 / 0\n\nf()\n",
    "traceback at top": b"x = {}\nx['key']\n",
    "traceback in a thread": b"import threading\nt = threading.Thread(target=lambda: 1 / 0, name='t')\nt.start(); t.join()\n",
    "cause": b"try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('v') from e\n",
    "context": b"try:\n    1 / 0\nexcept ZeroDivisionError:\n    undefined\n",
    "group": b"raise ExceptionGroup('g', [ValueError(1), TypeError(2)])\n",
    "notes": b"e = ValueError('v'); e.add_note('n'); raise e\n",
    "in a library": b"import json\njson.loads('{')\n",
    "own hook": b"import sys, traceback\ndef hook(t, v, tb):\n    print('mine', t, v, [f.name for f in"
                b" traceback.extract_tb(tb)], v.__traceback__ is tb, sys.last_traceback is tb,"
                b" sys.excepthook is hook)\nsys.excepthook = hook\n1 / 0\n",
    "hook that fails": b"import sys\ndef hook(*a):\n    undefined\nsys.excepthook = hook\n1 / 0\n",
    "hook that leaves": b"import sys\nsys.excepthook = lambda *a: sys.exit(9)\n1 / 0\n",
    "hook deleted": b"import sys\nsys.excepthook = None\n",
    "default hook": b"import sys; print(sys.excepthook is sys.__excepthook__)\n",
    "format_exc": b"import traceback\ntry:\n    1 / 0\nexcept Exception:\n    print(traceback.format_exc())\n",
    "no stderr": b"import sys; sys.stderr = None; 1 / 0\n",
    # programs that do not compile
    "syntax error": b"x = 1\ndef f(:\n    pass\n",
    "syntax error late": b"print('never')\nreturn 1\n",
    "indentation": b"if 1:\n  a\n    b\n",
    "tabs": b"if 1:\n        a = 1\n\tb = 1\n",
    "not UTF-8": b"print('\xff')\n",
    "unknown coding": b"# coding: nonsense\n",
    "nul": b"print(1)\0\n",
    "deep": b"(" * 300 + b")" * 300 + b"\n",
    "syntax warning": b"print(1 is 1)\n",
    # what looks __main__ up
    "pickle": b"import pickle\nclass C:\n    def __init__(self): self.x = 4\nprint(pickle.loads(pickle.dumps(C())).x,"
              b" C.__module__, C.__qualname__)\n",
    "fork pool": b"import multiprocessing as m\nclass C:\n    x = 5\ndef f(c):\n    return c.x\nif __name__ == '__main__':\n"
                 b"    with m.get_context('fork').Pool(2) as p:\n        print(p.map(f, [C(), C()]))\n",
    "spawn process": b"import multiprocessing as m\ndef f():\n    print('child', __name__)\nif __name__ == '__main__':\n"
                     b"    p = m.get_context('spawn').Process(target=f); p.start(); p.join(); print(p.exitcode)\n",
    "dataclass": b"from dataclasses import dataclass\nimport typing\n@dataclass\nclass P:\n    x: 'int'\n"
                 b"print(P(1), typing.get_type_hints(P))\n",
    "source": b"import inspect\ndef f():\n    return 1  # here\nprint(inspect.getsource(f), inspect.getsourcefile(f))\n",
    "unittest": b"import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\n"
                b"unittest.main(argv=['x'], testRunner=type('R', (), {'run': lambda s, t: print(t.countTestCases())"
                b" or type('X', (), {'wasSuccessful': lambda s: True})()}))\n",
    "enum": b"import enum, pickle\nclass E(enum.Enum):\n    A = 1\nprint(pickle.loads(pickle.dumps(E.A)) is E.A)\n",
    "asyncio": b"import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    raise ValueError('late')\nasyncio.run(f())\n",
    "import main": b"import __main__\nx = 8\nprint(__main__.x)\n",
    "bytes code": b"print(__file__.encode()[-7:])\nimport sys; print(sys.dont_write_bytecode)\n",
    "unraisable": b"class C:\n    def __del__(self): 1 / 0\nc = C()\ndel c\n",
    "del at exit": b"class C:\n    def __del__(self): print('gone', print is not None)\nc = C()\n",
}


def run(command, directory):
    done = subprocess.run(command, cwd=directory, input=b"given", capture_output=True, timeout=60, env={
        "PATH": os.environ.get("PATH", "/usr/bin"), "LANG": "C.UTF-8", "HOME": directory})
    return done.returncode, done.stdout, re.sub(b"0x[0-9a-f]+", b"0x", done.stderr)


def differences(name, source, directory):
    path = os.path.join(directory, "main.py")
    with open(path, "wb") as file:
        file.write(source)
    python = [sys.executable, "-u", "-B"]
    wanted = run([*python, path, "a", "--b"], directory)
    found = run([*python, BOOTSTRAP, path, "a", "--b"], directory)
    if wanted != found:
        yield f"{name}: fresh {wanted}, bootstrap {found}"


def special(directory):
    python = [sys.executable, "-u", "-B"]
    path = os.path.join(directory, "main.py")
    with open(path, "w") as file:
        file.write("import sys; print(sys.path)")
    status, fresh, _ = run([*python, path], directory)
    status, found, _ = run([*python, BOOTSTRAP, path], directory)
    if eval(found) != ["/workspace", *eval(fresh)[1:]]:
        yield f"sys.path: {found}"

    missing = os.path.join(directory, "missing.py")
    if run([*python, missing], directory) != run([*python, BOOTSTRAP, missing], directory):
        yield "a missing file"

    with open(path, "w") as file:
        file.write("raise KeyboardInterrupt")
    if run([*python, BOOTSTRAP, path], directory)[0] != -signal.SIGINT:
        yield "an interrupt does not end by the signal"


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as directory:
        for name, source in PROGRAMS.items():
            wrong += differences(name, source, directory)
        wrong += special(directory)
    for sentence in wrong:
        print(sentence)
    print(f"{len(PROGRAMS) + 3} programs, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
