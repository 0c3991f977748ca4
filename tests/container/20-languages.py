#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ordinary programs in each language do inside what they do outside."""

from harness import *

# (name, spec, stdout)
PROGRAMS = [
    ("python reads a CSV", {"language": "python", "code":
        "import csv\nprint(sum(int(row['n']) for row in csv.DictReader(open('data/in.csv'))))",
        "files": [{"path": "data/in.csv", "content": "n,m\n1,2\n40,5\n"}]}, "41\n"),
    ("python imports a module from the workspace", {"language": "python", "code": "import helper; helper.f()",
        "files": [{"path": "helper.py", "content": "def f(): print('helped')\n"}]}, "helped\n"),
    ("python starts threads, processes and a shell", {"language": "python", "code":
        "import concurrent.futures as c, multiprocessing, subprocess\n"
        "with c.ThreadPoolExecutor(4) as pool: print(sum(pool.map(abs, range(-9, 0))))\n"
        "with multiprocessing.Pool(2) as pool: print(sum(pool.map(abs, range(-9, 0))))\n"
        "print(subprocess.run('echo $((6 * 7))', shell=True, capture_output=True, text=True).stdout, end='')"},
        "45\n45\n42\n"),
    ("python has shared memory, temporary files, a loopback and an event loop", {"language": "python", "code":
        "import asyncio, tempfile\nfrom multiprocessing import shared_memory\n"
        "m = shared_memory.SharedMemory(create=True, size=9); m.buf[0] = 5; print(m.buf[0]); m.close(); m.unlink()\n"
        "with tempfile.NamedTemporaryFile() as f: f.write(b'x'); print(f.name.startswith('/tmp/'))\n"
        "async def main():\n"
        "    server = await asyncio.start_server(lambda r, w: (w.write(b'hi\\n'), w.close()), '127.0.0.1', 0)\n"
        "    r, w = await asyncio.open_connection(*server.sockets[0].getsockname())\n"
        "    print((await r.read()).decode(), end='')\n"
        "asyncio.run(main())"}, "5\nTrue\nhi\n"),
    ("python knows who and where it is", {"language": "python", "code":
        "import getpass, os, pwd, socket, time, locale, sys\n"
        "print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir, os.path.expanduser('~'),\n"
        "      socket.gethostbyname('localhost'), time.tzname[0], sys.stdout.encoding,\n"
        "      os.path.samefile('.', '/workspace'))"},
        "unitcell /workspace /workspace 127.0.0.1 UTC utf-8 True\n"),
    ("python's answer to Ctrl-C, asserts and warnings is that of an interpreter", {"language": "python", "code":
        "import sys\nprint(__name__, __debug__, sys.flags.optimize, sys.dont_write_bytecode, sys.argv, __file__)",
        "args": ["-x", "--", "ü"]}, "__main__ True 0 True ['/scratch/code/main.py', '-x', '--', 'ü'] "
                                    "/scratch/code/main.py\n"),
    ("javascript uses promises, timers, files and JSON", {"language": "javascript", "code":
        "const fs = require('fs/promises');\n"
        "(async () => {\n"
        "  await new Promise(done => setTimeout(done, 5));\n"
        "  await fs.writeFile('out.json', JSON.stringify({a: [1, 2, 3].map(x => x * x)}));\n"
        "  console.log((await fs.readFile('out.json', 'utf8')));\n"
        "})();"}, '{"a":[1,4,9]}\n'),
    ("javascript requires a module of the workspace by its path", {"language": "javascript", "code":
        "console.log(require('/workspace/lib.js').answer)",
        "files": [{"path": "lib.js", "content": "exports.answer = 42;\n"}]}, "42\n"),
    ("javascript starts a worker and a process", {"language": "javascript", "code":
        "const {Worker} = require('worker_threads'), {execFileSync} = require('child_process');\n"
        "new Worker(\"require('worker_threads').parentPort.postMessage(6 * 7)\", {eval: true})\n"
        "  .on('message', m => console.log(m, execFileSync('echo', ['echoed']).toString().trim()));",
        "limits": {"memory_mb": 512}}, "42 echoed\n"),
    ("bash has pipes, here documents, arrays and process substitution", {"language": "bash", "code":
        "a=(3 1 2); printf '%s\\n' \"${a[@]}\" | sort -n | tr '\\n' ' '; cat <<< here; cat <(echo there)\n"
        "seq 1000 | awk '{ n += $1 } END { print n }'"}, "1 2 3 here\nthere\n500500\n"),
    ("c computes, starts a thread and reads its input", {"language": "c", "code":
        "#include <math.h>\n#include <pthread.h>\n#include <stdio.h>\n"
        "static void *half(void *p) { *(double *) p /= 2; return NULL; }\n"
        "int main(void) {\n"
        "        double x = 0, y;\n        pthread_t thread;\n"
        "        while (scanf(\"%lf\", &y) == 1) x += sqrt(y);\n"
        "        pthread_create(&thread, NULL, half, &x);\n        pthread_join(thread, NULL);\n"
        "        printf(\"%.1f\\n\", x);\n        return 0;\n}\n", "stdin": "4 9 16\n"}, "4.5\n"),
    ("argv runs any program of /usr", {"argv": ["/usr/bin/sort", "-r"], "stdin": "a\nc\nb\n"}, "c\nb\na\n"),
]


def program_test(name, spec, stdout):
    @test(name)
    def program():
        result = execute(spec | {"timeout_ms": 60000})
        equal((result["status"], result["stderr"], result["stdout"]), ("success", "", stdout), "end")


for row in PROGRAMS:
    program_test(*row)


@test("all of them at once, by two users, leave nothing")
def together():
    with Leftovers(settle=20):
        begun = [(row, begin_execute(row[1] | {"timeout_ms": 120000}, user))
                 for row in PROGRAMS for user in ("alice", "bob")]
        for (name, _, stdout), call in begun:
            result = result_of(finish_execute(call))
            equal((result["status"], result["stdout"]), ("success", stdout), name)


BROKEN = {
    "python": ("print('a'\n", "failed", 1, "SyntaxError"),
    "javascript": ("console.log('a'\n", "failed", 1, "SyntaxError"),
    "bash": ("if true; then\n", "failed", 2, "syntax error"),
    "c": ("int main(void) { return 0 }\n", "compile_error", 1, "error"),
}


@test("a syntax error is told on stderr, with the file and the line")
def broken():
    for language, (code, status, exit_code, words) in BROKEN.items():
        result = execute({"language": language, "code": code})
        equal((result["status"], result["exit_code"], result["stdout"]), (status, exit_code, ""), f"end of {language}")
        contains(result["stderr"], words, f"stderr of {language}")
        contains(result["stderr"], "/scratch/code/main.", f"stderr of {language}")


@test("a compiler that does not come to its end is stopped at the policy's limit: compile_error")
def compile_forever():
    places = {"/etc/unitcell/policies/languages/slow.json":
              {"name": "slow", "description": "Test: compiles forever", "suffixes": [".slow"],
               "interpreters": ["/usr/bin/bash"], "file": "main.sh", "compile": ["{interpreter}", "{code}"],
               "argv": ["/usr/bin/true"]}}
    with open("/usr/lib/unitcell/policies/default.json", encoding="utf-8") as file:
        policy = json.load(file)
    places["/etc/unitcell/policies/hasty.json"] = policy | {"name": "hasty", "compile_timeout_ms": 500}
    try:
        for path, document in places.items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(document, file)
        run(["systemctl", "restart", "unitcelld"], check=True)
        wait_ready()
        with Leftovers():
            begun = time.monotonic()
            result = execute({"language": "slow", "policy": "hasty",
                              "code": "echo compiling; trap '' TERM; sleep 1000"})
            seconds = time.monotonic() - begun
        equal((result["status"], result["exit_code"], result["policy"]), ("compile_error", None, "hasty"), "end")
        contains(result["message"], "compiler was stopped after 500 ms", "message")
        equal(result["stdout"] + result["stderr"], "compiling\n", "output")
        within(seconds, 0.5, 5, "seconds")
        # Compiling is not charged to timeout_ms.
        result = execute({"language": "slow", "code": "sleep 0.4", "policy": "hasty", "timeout_ms": 200})
        equal((result["status"], result["exit_code"]), ("success", 0), "end of one that compiles for twice its timeout")
    finally:
        for path in places:
            os.unlink(path)
        run(["systemctl", "restart", "unitcelld"], check=True)
        wait_ready()


if __name__ == "__main__":
    main()
