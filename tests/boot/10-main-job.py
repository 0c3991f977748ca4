#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The main job: a request in, a truthful result and two audit records out; every language; all kinds of input."""

import base64
import socket

from harness import *

REFERENCE = ('{"task_id":"task_7f3a2d91","language":"python","code":"print(sum(range(100)))","timeout_ms":10000,'
             '"limits":{"cpu_cpus":0.5,"memory_mb":256,"pids_max":32,"disk_mb":64},"network":"deny",'
             '"allowed_paths":["/tmp/output"],"env":{}}')

RESULT_KEYS = {
    "id", "task_id", "status", "retryable", "counts_as_failure", "message", "exit_code", "signal", "stdout",
    "stdout_bytes", "stdout_truncated", "stderr", "stderr_bytes", "stderr_truncated", "duration_ms", "queue_ms",
    "start_ms", "cpu_ms", "memory_peak_bytes", "memory_warned", "oom_killed", "tasks_limit_hit", "file_limit_hit",
    "disk_limit_hit", "suspected_runaway", "denied_syscalls", "report", "report_truncated", "stopped_at", "artifacts",
    "egress", "policy", "unit", "invocation_id", "enforced"}


def expect(result, **wanted):
    for key, value in wanted.items():
        equal(result[key], value, key)


@test("the reference request, verbatim")
def reference():
    wait_ready()
    with Leftovers():
        result = execute(REFERENCE)
        expect(result, task_id="task_7f3a2d91", status="success", exit_code=0, signal=None, stdout="4950\n",
               stdout_bytes=5, stdout_truncated=False, stderr="", stderr_bytes=0, stderr_truncated=False,
               retryable=False, counts_as_failure=False, oom_killed=False, tasks_limit_hit=False,
               disk_limit_hit=False, file_limit_hit=False, suspected_runaway=False, denied_syscalls=[], artifacts=[],
               report=None, policy="default", egress={"allowed": 0, "blocked": 0})
        equal(RESULT_KEYS - set(result), set(), "keys that are missing in the result")
        equal(result["unit"], f"unitcell-x-{result['id']}.service", "unit")
        within(len(result["id"]), 32, 32, "length of the id")
        within(len(result["invocation_id"]), 32, 32, "length of the invocation id")
        within(result["duration_ms"], 1, 10000, "duration_ms")
        within(result["cpu_ms"], 1, 10000, "cpu_ms")
        within(result["memory_peak_bytes"], 1 << 20, 256 << 20, "memory_peak_bytes")
        equal(result["enforced"]["limits"],
              {"memory_max_bytes": 256 << 20, "memory_swap_max_bytes": 0, "pids_max": 33, "cpu_thousandths": 500},
              "enforced.limits")
        equal(result["enforced"]["missing_controllers"], [], "enforced.missing_controllers")


@test("its two audit records have the fields of DESIGN section 9, and nothing else is recorded")
def audit():
    code = "import sys; sys.stdin.read(); print('A' + '%d' % 12345)"
    result = execute({"language": "python", "code": code, "stdin": "not for the journal", "task_id": "task-9",
                      "timeout_ms": 20000, "labels": {"agent": "test"}})
    accepted, finished = records(result["id"])
    pid = str(daemon_pid())
    both = {"_PID": pid, "_UID": "0", "_SYSTEMD_UNIT": "unitcelld.service", "UNITCELL_EXECUTION": result["id"],
            "UNITCELL_CALLER_UID": "2001", "UNITCELL_CALLER_UNIT": "dev-command.service", "UNITCELL_POLICY": "default",
            "UNITCELL_LANGUAGE": "python", "UNITCELL_TASK_ID": "task-9"}
    for entry in (accepted, finished):
        equal({key: entry.get(key) for key in both}, both, "fields of both")
    equal((accepted["UNITCELL_EVENT"], accepted["UNITCELL_DECISION"]), ("accepted", "accepted"), "event, decision")
    equal(accepted["UNITCELL_CODE"], code, "UNITCELL_CODE")
    equal(accepted["UNITCELL_CODE_SHA256"], sha256(code), "UNITCELL_CODE_SHA256")
    equal(json.loads(accepted["UNITCELL_SPEC"]),
          {"task_id": "task-9", "language": "python", "code": {"bytes": len(code)}, "stdin": {"bytes": 19},
           "timeout_ms": 20000, "labels": {"agent": "test"}}, "UNITCELL_SPEC")
    contains(accepted["UNITCELL_WIDENED"], "timeout_ms", "UNITCELL_WIDENED")

    usage = {f"UNITCELL_{key.upper()}": str(result[key])
             for key in ("status", "exit_code", "duration_ms", "cpu_ms", "memory_peak_bytes", "stdout_bytes",
                         "stderr_bytes", "unit", "invocation_id")}
    equal({key: finished.get(key) for key in usage}, usage, "fields of the end")
    equal(finished["UNITCELL_EVENT"], "finished", "UNITCELL_EVENT")
    equal(json.loads(finished["UNITCELL_RESULT"]), result, "UNITCELL_RESULT")
    check(accepted["MESSAGE_ID"] != finished["MESSAGE_ID"], "both have one MESSAGE_ID")
    equal(len(journal(f"UNITCELL_EXECUTION={result['id']}")), 2, "number of records")


@test("output of the program is not in the journal, but for a short summary in the result's record")
def output_not_in_journal():
    since = time.time()
    code = ("import sys\n"
            "for stream in sys.stdout, sys.stderr:\n"
            "    stream.write('x' * 20000 + '\\nMAR' + 'KER-%d\\n' % 77 + 'y' * 20000)\n")
    result = execute({"language": "python", "code": code})
    equal((result["status"], result["stdout_bytes"]), ("success", 40011), "status and stdout_bytes")
    contains(result["stdout"], "\nMARKER-77\n", "stdout")
    entry = records(result["id"])[1]
    within(len(entry["UNITCELL_RESULT"]), 100, 8192, "size of UNITCELL_RESULT")
    everything = run(["journalctl", "-q", "--all", "-o", "export", f"--since=@{since:.6f}"], check=True)
    check(b"MARKER-77" not in everything.out, "the output is in the journal")
    equal(journal(f"_SYSTEMD_UNIT={result['unit']}"), [], "entries of the unit itself")


# One program in each language: its arguments, stdin, a variable, a file of the working directory; then stderr, and
# exit status 5.
LANGUAGES = {
    "python": "import os, sys\n"
              "print(sys.argv[1:], sys.stdin.read(), os.environ['GREETING'], open('here').read())\n"
              "print('to stderr', file=sys.stderr)\n"
              "sys.exit(5)\n",
    "javascript": "const fs = require('fs');\n"
                  "console.log(process.argv.slice(2), fs.readFileSync(0, 'utf8'), process.env.GREETING,"
                  " fs.readFileSync('here', 'utf8'));\n"
                  "console.error('to stderr');\n"
                  "process.exitCode = 5;\n",
    "bash": "printf '%s|' \"$@\"; cat; echo \" $GREETING $(<here)\"\necho 'to stderr' >&2\nexit 5\n",
    "c": "#include <stdio.h>\n#include <stdlib.h>\n"
         "int main(int argc, char **argv) {\n"
         "        char in[64] = \"\", here[64] = \"\";\n"
         "        fread(in, 1, 63, stdin);\n"
         "        fread(here, 1, 63, fopen(\"here\", \"r\"));\n"
         "        for (int i = 1; i < argc; i++) printf(\"%s|\", argv[i]);\n"
         "        printf(\"%s %s %s\\n\", in, getenv(\"GREETING\"), here);\n"
         "        fprintf(stderr, \"to stderr\\n\");\n"
         "        return 5;\n"
         "}\n",
}
STDOUT = {
    "python": "['one', 'two words'] from stdin hello world in the workspace\n",
    "javascript": "[ 'one', 'two words' ] from stdin hello world in the workspace\n",
    "bash": "one|two words|from stdin hello world in the workspace\n",
    "c": "one|two words|from stdin hello world in the workspace\n",
}


def language_test(language):
    @test(f"{language}: args, stdin, env, a file, both streams, exit status")
    def run_language():
        with Leftovers():
            result = execute({"language": language, "code": LANGUAGES[language], "args": ["one", "two words"],
                              "stdin": "from stdin", "env": {"GREETING": "hello world"}, "timeout_ms": 60000,
                              "files": [{"path": "here", "content": "in the workspace"}]})
        expect(result, status="failed", exit_code=5, stdout=STDOUT[language], stderr="to stderr\n",
               counts_as_failure=True, retryable=False, language=language)
        if language == "c":
            within(result["compile_ms"], 1, 20000, "compile_ms")


for each in LANGUAGES:
    language_test(each)


@test("plain argv: args follow argv, and the environment is made, not inherited")
def plain_argv():
    result = execute({"argv": ["/usr/bin/env", "-u", "OMP_NUM_THREADS"], "args": ["sh", "-c", "env; echo $# $0", "x"],
                      "env": {"A_b1": "ü=\"'$", "TZ": "Europe/Berlin", "LD_LIBRARY_PATH": "/workspace"},
                      "limits": {"cpu_cpus": 1}})
    expect(result, status="success", stderr="", language=None)
    lines = result["stdout"].splitlines()
    equal(lines.pop(), "0 x", "the arguments")
    variables = dict(line.split("=", 1) for line in lines)
    # sh adds PWD itself; /workspace is a link to it.
    equal(variables.pop("PWD"), "/scratch/work", "PWD")
    hints = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
             "NUMEXPR_MAX_THREADS", "VECLIB_MAXIMUM_THREADS", "GOMAXPROCS", "RAYON_NUM_THREADS", "JULIA_NUM_THREADS")
    equal(variables, {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/workspace", "USER": "unitcell",
                      "LOGNAME": "unitcell", "SHELL": "/bin/sh", "LANG": "C.UTF-8", "TMPDIR": "/tmp",
                      "TZ": "Europe/Berlin", "A_b1": "ü=\"'$", "LD_LIBRARY_PATH": "/workspace"}
          | {name: "1" for name in hints}, "the environment")


@test("code and stdin as bytes, files as text and as bytes, allowed_paths; all belong to the code")
def files():
    blob = bytes(range(256)) * 3
    code = ("import hashlib, os, sys, json, helper\n"
            "name = 'd\\u00e4ta/in.csv'\n"
            "open('/tmp/output/made', 'w').write('x'); open('/output/deep/er/made', 'w').write('y')\n"
            "open(name, 'a').write('more')\n"
            "print(json.dumps({'stdin': hashlib.sha256(sys.stdin.buffer.read()).hexdigest(),"
            " 'csv': open(name).read(), 'blob': hashlib.sha256(open('x.bin', 'rb').read()).hexdigest(),"
            " 'owner': os.stat('x.bin').st_uid == os.getuid() == os.stat('d\\u00e4ta').st_uid,"
            " 'path0': sys.path[0], 'file': __file__, 'helper': helper.answer,"
            " 'here': sorted(os.listdir('/workspace')), 'output': os.stat('/tmp/output').st_uid == os.getuid()}))\n")
    result = execute({
        "language": "python", "code_base64": base64.b64encode(code.encode()).decode(),
        "stdin_base64": base64.b64encode(blob).decode(),
        "files": [{"path": "däta/in.csv", "content": "a,b\n1,2\n"},
                  {"path": "x.bin", "content_base64": base64.b64encode(blob).decode()},
                  {"path": "helper.py", "content": "answer = 42\n"}],
        "allowed_paths": ["/tmp/output", "/output/deep/er"]})
    expect(result, status="success", stderr="")
    equal(json.loads(result["stdout"]),
          {"stdin": sha256(blob), "csv": "a,b\n1,2\nmore", "blob": sha256(blob), "owner": True, "path0": "/workspace",
           "file": "/scratch/code/main.py", "helper": 42, "here": ["däta", "helper.py", "x.bin"], "output": True},
          "what the code found")


@test("stdin is at its end at once unless given, and /dev/stdout can be opened again")
def streams():
    result = execute({"language": "bash", "code": "cat; echo first > /dev/stdout; echo second >> /dev/stdout;"
                                                  "echo third > /dev/stderr"})
    expect(result, status="success", stdout="first\nsecond\n", stderr="third\n")


@test("a large stdin arrives whole")
def large_stdin():
    text = "0123456789abcdef" * (192 * 1024)
    result = execute({"argv": ["/usr/bin/sha256sum"], "stdin": text})
    expect(result, status="success", stdout=sha256(text) + "  -\n")


@test("an uncaught exception is a traceback with the code's own lines")
def traceback_lines():
    result = execute({"language": "python", "code": "def f():\n    return 1 // 0\nprint('before')\nf()\n"})
    expect(result, status="failed", exit_code=1, stdout="before\n", counts_as_failure=True)
    equal(result["stderr"].splitlines()[:5],
          ["Traceback (most recent call last):", '  File "/scratch/code/main.py", line 4, in <module>', "    f()",
           '  File "/scratch/code/main.py", line 2, in f', "    return 1 // 0"], "stderr")
    contains(result["stderr"], "ZeroDivisionError: integer division or modulo by zero", "stderr")


@test("a source that does not compile is compile_error with the compiler's messages")
def compile_error():
    with Leftovers():
        result = execute({"language": "c", "code": "int main(void) { return nowhere; }\n", "timeout_ms": 60000})
    expect(result, status="compile_error", exit_code=1, signal=None, stdout="", counts_as_failure=True,
           retryable=False)
    contains(result["stderr"], "nowhere", "stderr")
    contains(result["stderr"], "main.c:1:", "stderr")
    contains(result["message"], "does not compile", "message")


@test("stdout in UTF-8 is text and exact; other bytes are exact in stdout_base64, each stream by itself")
def encodings():
    result = execute({"argv": ["/usr/bin/printf", r"gr\xc3\xbc\xc3\x9fe \xf0\x9f\x90\x9f\t\x01\n"]})
    expect(result, status="success", stdout="grüße 🐟\t\x01\n", stdout_bytes=15, stdout_truncated=False)
    check("stdout_base64" not in result, "text that is exact has a base64 form too")
    blob = bytes(range(256))
    result = execute({"language": "python", "code": "import sys; sys.stdout.buffer.write(bytes(range(256)));"
                                                    "print('plain', file=sys.stderr)"})
    expect(result, status="success", stdout_bytes=256, stdout_truncated=False, stderr="plain\n")
    equal(base64.b64decode(result["stdout_base64"]), blob, "stdout_base64")
    equal(result["stdout"], blob[:128].decode() + "\ufffd" * 128, "stdout")
    check("stderr_base64" not in result, "stderr is exact and has a base64 form too")


@test("exactly the limit of output is kept: head and tail, a mark that is not counted, at whole characters")
def output_limits():
    # 3 bytes a character, so that the cut at byte 50 lies within one.
    result = execute({"language": "python", "limits": {"stdout_bytes": 100, "stderr_bytes": 0},
                      "code": "import sys\nprint('€' * 1000, end='')\nprint('gone', file=sys.stderr)"})
    whole = ("€" * 1000).encode()
    expect(result, status="success", stdout_bytes=3000, stdout_truncated=True, stderr_bytes=5, stderr_truncated=True)
    equal(base64.b64decode(result["stdout_base64"]), whole[:50] + whole[-50:], "stdout_base64")
    equal(result["stdout"], "€" * 16 + "\n[unitcell: 2904 bytes left out]\n" + "€" * 16, "stdout")
    equal(result["stderr"], "[unitcell: 5 bytes left out]\n", "stderr")
    equal(result["stderr_base64"], "", "stderr_base64")
    result = execute({"argv": ["/usr/bin/printf", "%0100d", "7"], "limits": {"stdout_bytes": 100}})
    expect(result, status="success", stdout="7".rjust(100, "0"), stdout_bytes=100, stdout_truncated=False)


@test("Submit answers at once; properties, GetResult before and after the end, the signal to its owner")
def submitted():
    with Connection("alice") as bus:
        bus.listen("type='signal',sender='org.unitcell1'")
        path = manager("Submit", "sa{sh}", text_of({"language": "bash", "code": "read line; echo done; exit 3",
                                                    "task_id": "t1"}), {}, user=bus)[0]
        check(path.startswith("/org/unitcell1/execution/"), f"the path is {path}")
        equal(get_property(path, "Id"), id_of(path), "Id")
        state = get_property(path, "State")
        check(state in ("queued", "starting", "running", "collecting"), f"State is {state}")
        equal(get_property(path, "Status"), "", "Status before the end")
        result = get_result(path, user=bus)
        expect(result, id=id_of(path), status="failed", exit_code=3, stdout="done\n")
        equal(get_result(path), result, "the result, asked for again")
        wait_until(lambda: not bus.pump(0) and bus.heard(MANAGER), what="the signal ExecutionFinished")
        signal = bus.heard(MANAGER)[0]
        equal((signal.member, signal.interface, signal.path, signal.destination),
              ("ExecutionFinished", MANAGER, PATH, bus.name), "the signal")
        equal(signal.body, [id_of(path), path, "failed"], "what the signal says")
        equal(len(bus.heard(MANAGER)), 1, "number of signals")
        values = on_execution(path, PROPERTIES, "GetAll", "s", EXECUTION)[0]
        for key in ("CreatedTimestamp", "FinishedTimestamp"):
            within(values.pop(key), (time.time() - 600) * 1e6, time.time() * 1e6, key)
        equal(values, {"Id": id_of(path), "TaskId": "t1", "State": "finished", "Status": "failed",
                       "Unit": result["unit"], "Owner": 2001, "Policy": "default", "Language": "bash"}, "GetAll")
        equal(manager("GetExecution", "s", id_of(path))[0], path, "GetExecution")


@test("Explain, ListLanguages, ListPolicies, GetPolicy answer without starting anything")
def questions():
    since = time.time()
    before = execution_units()
    plan = json.loads(manager("Explain", "s", REFERENCE)[0])
    equal(plan["plan"]["limits"]["memory_mb"], 256, "memory_mb in the plan")
    equal(plan["plan"]["widened"], [], "widened")
    equal(plan["properties"]["MemoryMax"]["data"], 256 << 20, "MemoryMax")
    equal(plan["properties"]["TasksMax"]["data"], 33, "TasksMax")
    equal(plan["properties"]["Slice"]["data"], "unitcell-u2001.slice", "Slice")
    wide = json.loads(manager("Explain", "s", text_of(
        {"argv": ["/usr/bin/true"], "timeout_ms": 300000, "limits": {"memory_mb": 2048, "pids_max": 1}}))[0])
    equal(sorted(text.split()[0] for text in wide["plan"]["widened"]), ["memory_mb", "timeout_ms"], "widened")
    languages = {entry["name"]: entry for entry in json.loads(manager("ListLanguages")[0])}
    equal({name: languages[name]["available"] for name in LANGUAGES}, dict.fromkeys(LANGUAGES, True), "available")
    equal(languages["c"]["compiled"], True, "c is compiled")
    policies = [entry["name"] for entry in json.loads(manager("ListPolicies")[0])]
    equal(policies, ["build", "compute", "default", "network", "readonly"], "policies")
    equal(json.loads(manager("GetPolicy", "s", "default")[0])["max"]["timeout_ms"], 300000, "the policy's maximum")
    equal(raises(manager, "GetPolicy", "s", "nix").name, ERROR + "NoSuchPolicy", "GetPolicy of what is not there")
    equal({unit.split()[0] for unit in execution_units() - before} - {unit.split()[0] for unit in before}, set(),
          "new units")
    equal(journal("UNITCELL_EVENT=accepted", since=since), [], "accepted executions")


@test("descriptors with a call are refused, and not lost")
def descriptors():
    ours, theirs = socket.socketpair()
    with ours:
        bus = connection("alice")
        with theirs:
            serial = bus.send(NAME, PATH, MANAGER, "Submit", "sa{sh}", text_of({"argv": ["/usr/bin/true"]}), {"a": 0},
                              fds=[theirs.fileno()])
        error = raises(bus.reply, serial, 60)
        equal(error.name, ERROR + "NotSupported", "error")
        # Everybody has let go of the other end: its end of file arrives here.
        ours.settimeout(10 * SLOW)
        equal(ours.recv(1), b"", "what the other end says")


LEAKY = {
    "name": "leaky", "description": "Test: a compile step that leaves something running", "suffixes": [".leaky"],
    "interpreters": ["/usr/bin/bash"], "file": "main.sh", "compile": ["{interpreter}", "{code}"],
    "argv": ["{interpreter}", "{code}", "run"]}


@test("what a compile step leaves running is dead before the program starts")
def compile_leftovers():
    path = "/etc/unitcell/policies/languages/leaky.json"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(LEAKY, file)
        run(["systemctl", "restart", "unitcelld"], check=True)
        wait_ready()
        code = ("if [ \"$1\" != run ]; then\n"
                "        setsid bash -c 'trap \"\" TERM HUP; echo compiling; while :; do echo $$ > /scratch/tmp/beat;"
                " sleep 0.05; done' &\n"
                "        until [ -s /scratch/tmp/beat ]; do sleep 0.05; done\n"
                "        exit 0\n"
                "fi\n"
                "pid=$(cat /tmp/beat); rm /tmp/beat\n"
                "[ ! -e /proc/$pid ] || echo alive; sleep 0.5; [ ! -e /tmp/beat ] || echo beating; echo over\n")
        with Leftovers():
            result = execute({"language": "leaky", "code": code})
        expect(result, status="success", stdout="compiling\nover\n", stderr="")
        # A compile step that does not come to its end has a limit of its own; see tests/container for that.
    finally:
        os.unlink(path)
        run(["systemctl", "restart", "unitcelld"], check=True)
        wait_ready()


if __name__ == "__main__":
    main()
