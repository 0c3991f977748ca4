#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""unitcell(1) as an ordinary user types it: exit statuses, bytes, every way to say what runs."""

import shutil
import signal
import subprocess

from harness import *

PLACE = "/tmp/cli-test"


def unitcell(*words, user="alice", **named):
    return run(["/usr/bin/unitcell", *words], user=user, cwd=PLACE, timeout=60, **named)


def cell(*words, **named):
    return unitcell("run", *words, **named)


def ends(done, status, out=b"", err=None):
    """err: None for nothing at all, else what the one line on stderr begins with."""
    equal((done.status, done.out), (status, out), "exit status and stdout")
    if err is None:
        equal(done.err, b"", "stderr")
    else:
        check(done.error.startswith(err) and done.error.count("\n") == 1 and done.error.endswith("\n"),
              f"stderr is not one line that begins with {err!r}: {done.error!r}")


def local(name, content):
    path = os.path.join(PLACE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return name


@test("code as a word: stdout, nothing else, exit status 0")
def word():
    wait_ready()
    shutil.rmtree(PLACE, ignore_errors=True)
    os.makedirs(PLACE)
    ends(cell("--language", "python", "print(sum(range(100)))"), 0, b"4950\n")
    ends(cell("-l", "bash", 'printf "%s|" "$@"', "--json", "-x", "a b"), 0, b"--json|-x|a b|")


@test("both streams pass through byte for byte")
def exact():
    blob = bytes(range(256))
    done = cell("-l", "python", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 3);"
                                "sys.stderr.buffer.write(bytes(range(255, -1, -1)))")
    equal((done.status, done.out, done.err), (0, blob * 3, blob[::-1]), "status, stdout, stderr")


@test("exit statuses: the program's own, 128 + signal, 124, 123, 122, 121, each with its one line")
def statuses():
    ends(cell("-l", "bash", "exit 3"), 3, err="unitcell: failed: ")
    ends(cell("-l", "bash", "echo out; exit 255"), 255, b"out\n", "unitcell: failed: ")
    ends(cell("-l", "bash", "kill -TERM $$"), 128 + 15, err="unitcell: signaled: ")
    ends(cell("-l", "bash", "kill -KILL $$"), 128 + 9, err="unitcell: signaled: ")
    ends(cell("--timeout", "1500ms", "-l", "bash", "echo out; sleep 1000"), 124, b"out\n",
         "unitcell: timeout: Stopped after 1.5 s")
    done = cell("--limit", "memory_mb=32", "-l", "python", "x = b'x' * (64 << 20)")
    ends(done, 123, err="unitcell: memory_limit: ")
    done = cell("--limit", "disk_mb=2", "-l", "bash", "head -c 4000000 /dev/zero 2>/dev/null > /tmp/x")
    ends(done, 122, err="unitcell: disk_limit: ")
    done = cell("-l", "c", "int main(void) { return nowhere; }")
    equal((done.status, done.out), (121, b""), "exit status and stdout")
    contains(done.error, "nowhere", "stderr")
    contains(done.error.splitlines()[-1], "unitcell: compile_error: ", "last line of stderr")


@test("a line of ours begins a line, and --quiet leaves it out")
def remarks():
    code = ("-l", "bash", "printf 'no newline' >&2; exit 1")
    done = cell(*code)
    equal(done.status, 1, "exit status")
    check(done.error.startswith("no newline\nunitcell: failed: "), f"stderr is {done.error!r}")
    done = cell("--quiet", *code)
    equal((done.status, done.error), (1, "no newline"), "exit status and stderr")


@test("125 for what was refused or could not start: the error's last word comes first")
def refused():
    ends(cell("--", "/usr/bin/no-such-program"), 125, err="unitcell: start_failed: ")
    ends(cell("-l", "cobol", "x"), 125, err="unitcell: LanguageUnavailable: ")
    ends(cell("--policy", "nix", "-l", "bash", "true"), 125, err="unitcell: NoSuchPolicy: ")
    ends(cell("--limit", "memory_mb=100000", "-l", "bash", "true"), 125, err="unitcell: InvalidSpec: limits.memory_mb")
    ends(cell("-l", "bash", "true", user="carol"), 125, err="unitcell: AccessDenied: ")
    ends(cell("--spec", local("bad.json", '{"language": "bash",\n"cod": "true"}')), 125,
         err="unitcell: InvalidSpec: cod, line 2")
    ends(cell("missing.py"), 125, err="unitcell: missing.py: ")


@test("2 for what cannot be meant, with nothing started")
def usage():
    since = time.time()
    for words in ((), ("--language", "python"), ("--no-such-option",), ("--timeout", "soon", "-l", "bash", "true"),
                  ("--limit", "memory=5", "-l", "bash", "true"), ("--limit", "memory_mb", "-l", "bash", "true"),
                  ("--env", "NAME", "-l", "bash", "true"), ("--", "relative"), ("--",), ("-",), ("notes.unknown",),
                  ("-l", "bash", "--stdin", "-", "-")):
        done = cell(*words)
        equal((done.status, done.out), (2, b""), f"exit status and stdout of run {' '.join(words)}")
        check(done.error.startswith("unitcell: "), f"stderr of run {' '.join(words)} is {done.error!r}")
    equal(unitcell().status, 2, "exit status without a verb")
    equal(unitcell("rum").status, 2, "exit status of a verb that does not exist")
    equal(journal("UNITCELL_EVENT=accepted", since=since), [], "accepted executions")


@test("a script by its suffix, with arguments, and by --code-file; code from stdin; a source that is not UTF-8")
def sources():
    local("dir/script.py", "import sys; print(sys.argv[1:], sys.stdin.read())")
    ends(cell("dir/script.py", "a", "-b", "--json"), 0, b"['a', '-b', '--json'] \n")
    ends(cell("-l", "python", "dir/script.py"), 0, b"[] \n")
    ends(cell(local("script.sh", "echo sh $1"), "x"), 0, b"sh x\n")
    ends(cell(local("tool.js", "console.log(6 * 7)")), 0, b"42\n")
    ends(cell(local("main.c", "#include <stdio.h>\nint main(void) { puts(\"c\"); }\n")), 0, b"c\n")
    ends(cell("-l", "bash", "--code-file", local("noname", "echo $1"), "it"), 0, b"it\n")
    ends(cell("-l", "python", "-", "x", input="import sys; print('from stdin', sys.argv[1])"), 0, b"from stdin x\n")
    latin = b"# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))\n"
    ends(cell(local("latin.py", latin)), 0, b"'\\xe9'\n")


@test("--stdin from a file, from stdin, and none; --file under three names; --env; --allow-path; --label")
def inputs():
    local("in.txt", b"bytes \x00\xff")
    ends(cell("--stdin", "in.txt", "--", "/usr/bin/cat"), 0, b"bytes \x00\xff")
    ends(cell("--stdin", "-", "--", "/usr/bin/cat", input=b"\x00piped"), 0, b"\x00piped")
    ends(cell("--", "/usr/bin/cat", input=b"not for it"), 0, b"")
    local("sub/a.csv", "a")
    local("b.bin", b"\xff\x00")
    code = "cat sub/a.csv named/c hosts b.bin; ls -d /tmp/made; echo $GREETING"
    done = cell("--file", "sub/a.csv", "-f", "named/c=sub/a.csv", "-f", "/etc/hosts", "-f", "b.bin", "-e",
                "GREETING=hello world=", "--allow-path", "/tmp/made", "--label", "agent=tester", "--task-id", "cli-1",
                "-l", "bash", code)
    with open("/etc/hosts", "rb") as file:
        hosts = file.read()
    ends(done, 0, b"aa" + hosts + b"\xff\x00/tmp/made\nhello world=\n")
    entry = journal("UNITCELL_TASK_ID=cli-1", "UNITCELL_EVENT=accepted")[0]
    equal(json.loads(entry["UNITCELL_SPEC"])["labels"], {"agent": "tester"}, "labels")


@test("--json prints the result document as one line, with the same exit status")
def as_json():
    done = cell("--json", "-t", "5s", "--limit", "pids_max=5", "-l", "bash", "echo out; echo err >&2; exit 4")
    equal((done.status, done.err, done.out.count(b"\n")), (4, b"", 1), "exit status, stderr, lines")
    result = json.loads(done.out)
    equal([result[key] for key in ("status", "exit_code", "stdout", "stderr")], ["failed", 4, "out\n", "err\n"],
          "result")
    equal(result["enforced"]["limits"]["pids_max"], 6, "pids_max that was enforced")
    equal(result, get_result(result["id"]), "the result on the bus")


@test("--spec from a file and from stdin; what is said beside it replaces or adds")
def specs():
    spec = {"language": "bash", "code": "echo $A $B; exit 7", "env": {"A": "1", "B": "2"}, "timeout_ms": 9000}
    local("spec.json", json.dumps(spec))
    ends(cell("--spec", "spec.json"), 7, b"1 2\n", "unitcell: failed: ")
    ends(cell("--spec", "-", input=json.dumps(spec)), 7, b"1 2\n", "unitcell: failed: ")
    ends(cell("--spec", "spec.json", "-e", "B=3", "-l", "bash", "echo $A $B $1", "x"), 0, b"1 3 x\n")


@test("output that was cut: first and last bytes, and a line that says so")
def cut():
    done = cell("--limit", "stdout_bytes=10", "-l", "bash", "printf %040d 7")
    equal((done.status, done.out), (0, b"0000000007"), "exit status and stdout")
    equal(done.error, "unitcell: stdout was cut: 40 bytes were printed, 10 of them are passed on"
                      " (limit stdout_bytes)\n", "stderr")
    done = cell("-q", "--limit", "stdout_bytes=10", "-l", "bash", "printf %040d 7")
    equal((done.status, done.out, done.err), (0, b"0000000007", b""), "with --quiet")


def started(since):
    entry = wait_until(lambda: journal("UNITCELL_EVENT=accepted", "UNITCELL_CALLER_UID=2001", since=since),
                       what="the execution is accepted", step=0.2)[0]
    wait_running(entry["UNITCELL_EXECUTION"])
    return entry["UNITCELL_EXECUTION"]


@test("Ctrl-C, SIGTERM and SIGHUP cancel the execution: 130, and it is gone")
def interrupted():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with Leftovers():
            since = time.time()
            with subprocess.Popen(as_user("alice", ["/usr/bin/unitcell", "run", "-l", "bash", "sleep 1000"]), cwd=PLACE,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
                execution = started(since)
                child.send_signal(number)
                out, err = child.communicate(timeout=30 * SLOW)
            equal((child.returncode, out), (130, b""), f"exit status and stdout after {number.name}")
            check(err.startswith(b"unitcell: canceled: ") and err.count(b"\n") == 1, f"stderr is {err!r}")
            equal(get_result(execution)["status"], "canceled", "status")


@test("unitcell cancel ends an execution from elsewhere, its owner's only")
def cancel_verb():
    path = submit({"argv": ["/usr/bin/sleep", "1000"]})
    wait_running(path)
    done = unitcell("cancel", id_of(path), user="bob")
    equal(done.status, 125, "exit status of bob's")
    contains(done.error, "NoSuchExecution", "stderr of bob's")
    ends(unitcell("cancel", id_of(path)), 0)
    equal(get_result(path)["status"], "canceled", "status")
    ends(unitcell("cancel", id_of(path)), 0)


@test("a restart of the service in the middle goes unnoticed")
def restarted():
    since = time.time()
    with subprocess.Popen(as_user("alice", ["/usr/bin/unitcell", "run", "-t", "200s", "-l", "bash",
                                            "sleep 8; echo done"]),
                          cwd=PLACE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        started(since)
        run(["systemctl", "restart", "unitcelld"], check=True)
        out, err = child.communicate(timeout=60 * SLOW)
    equal((child.returncode, out), (0, b"done\n"), f"exit status and stdout (stderr {err!r})")
    wait_ready()


@test("a reader that goes away, and a full disk for stdout, end in no hang and no lie")
def bad_stdout():
    line = "unitcell run --limit stdout_bytes=1000000 -l bash 'seq 100000' | head -n 1; echo ${PIPESTATUS[0]}"
    done = run(["bash", "-c", line], user="alice", timeout=60)
    equal(done.text.splitlines()[0], "1", "the first line")
    check(done.text.splitlines()[1] in ("125", "141"), f"exit status with a reader that is gone: {done.text!r}")
    done = run(["bash", "-c", "unitcell run -l bash 'echo lost' > /dev/full"], user="alice", timeout=60)
    equal((done.status, "unitcell: " in done.error), (125, True), "exit status and stderr with a full disk")


@test("explain, languages, policies, policy show")
def lists():
    since = time.time()
    done = unitcell("explain", "--json", "--limit", "memory_mb=300", "-l", "python", "print(1)")
    equal(done.status, 0, "exit status")
    equal(json.loads(done.out)["plan"]["limits"]["memory_mb"], 300, "memory_mb")
    done = unitcell("explain", "--limit", "memory_mb=300", "-l", "python", "print(1)")
    equal((done.status, done.err), (0, b""), "exit status and stderr")
    for part in ("memory_mb", "300", "MemoryMax", "DynamicUser", "/usr/bin/python3"):
        contains(done.text, part, "explain")
    done = unitcell("languages")
    equal(sorted(line.split()[0] for line in done.text.splitlines()[1:]),
          ["bash", "c", "go", "java", "javascript", "python"], "languages")
    equal({entry["name"] for entry in json.loads(unitcell("languages", "--json").out)},
          {"bash", "c", "go", "java", "javascript", "python"}, "languages --json")
    contains(unitcell("policies").text, "default", "policies")
    equal(json.loads(unitcell("policy", "show", "--json", "default").out)["name"], "default", "policy show")
    ends(unitcell("policy", "show", "nix"), 125, err="unitcell: NoSuchPolicy: ")
    equal(journal("UNITCELL_EVENT=accepted", since=since), [], "accepted executions")


if __name__ == "__main__":
    main()
