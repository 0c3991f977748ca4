#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bad input: refused with the right name, the key and what is permitted; nothing started, one audit record."""

from harness import *

MIB = 1 << 20
INVALID, TOO_LARGE, NOT_SUPPORTED = ERROR + "InvalidSpec", ERROR + "TooLarge", ERROR + "NotSupported"
NO_POLICY, NO_LANGUAGE = ERROR + "NoSuchPolicy", ERROR + "LanguageUnavailable"
GOOD = {"language": "bash", "code": "true"}


def good(**keys):
    return GOOD | keys


def limits(**keys):
    return GOOD | {"limits": keys}


def new_user(name):
    """A caller whose refusals are not counted with those of other tests: his uid."""
    if run(["id", "-u", name]).status != 0:
        run(["useradd", "--user-group", "--groups", "unitcell", name], check=True)
    return run(["id", "-u", name], check=True).text.strip()


# (what is wrong, the spec, the error's name, the key, what else the message says)
TEXTS = [
    ("nothing", "", INVALID, "", "JSON"),
    ("no JSON", "hello", INVALID, "", "JSON"),
    ("an array", "[]", INVALID, "", "object"),
    ("a number", "42", INVALID, "", "object"),
    ("null", "null", INVALID, "", "object"),
    ("half a document", '{"language":"bash","code":"true"', INVALID, "", "JSON"),
    ("text after the end", '{"language":"bash","code":"true"} x', INVALID, "", "after the end"),
    ("a comment", '{"language":"bash",/* */"code":"true"}', INVALID, "", "JSON"),
    ("single quotes", "{'language':'bash'}", INVALID, "", "JSON"),
    ("NaN", '{"language":"bash","code":"true","timeout_ms":NaN}', INVALID, "timeout_ms", "JSON"),
    ("a duplicate key", '{"language":"bash","code":"true","code":"false"}', INVALID, "code", "twice"),
    ("a duplicate key, escaped", '{"language":"bash","code":"true","\\u0063ode":"false"}', INVALID, "code", "twice"),
    ("a duplicate key within", '{"language":"bash","code":"true","limits":{"pids_max":1,"pids_max":2}}', INVALID,
     "limits.pids_max", "twice"),
    ("a NUL in code", '{"language":"bash","code":"a\\u0000b"}', INVALID, "code", "NUL"),
    ("a NUL in a key", '{"language":"bash","code":"true","a\\u0000":1}', INVALID, "", "NUL"),
    ("half a surrogate pair", '{"language":"bash","code":"\\ud800"}', INVALID, "code", "surrogate"),
    ("a raw control character", '{"language":"bash","code":"a\nb"}', INVALID, "code", "control character"),
    ("depth", "[" * 100000, INVALID, "", "deep"),
    ("depth within", '{"labels":' + '{"a":' * 5000 + "1" + "}" * 5001, INVALID, "labels", "deep"),
    ("an exponent", '{"language":"bash","code":"true","timeout_ms":1e999}', INVALID, "timeout_ms", ""),
    ("too many digits", '{"language":"bash","code":"true","timeout_ms":' + "9" * 500 + "}", INVALID, "timeout_ms", ""),
]
KEYS = [
    ("no key at all", {}, INVALID, "code", "missing"),
    ("code without language", {"code": "true"}, INVALID, "language", "missing"),
    ("language without code", {"language": "bash"}, INVALID, "code", "missing"),
    ("code and argv", good(argv=["/usr/bin/true"]), INVALID, "language", "argv"),
    ("code twice", good(code_base64="dHJ1ZQ=="), INVALID, "code", "code_base64"),
    ("bad base64", {"language": "bash", "code_base64": "dHJ1Z"}, INVALID, "code_base64", ""),
    ("an unknown key", good(langauge="bash"), INVALID, "langauge", "not a known key"),
    ("an unknown limit", limits(memory_gb=1), INVALID, "limits.memory_gb", "not a known key"),
    ("timeout_ms in the wrong place", limits(timeout_ms=1), INVALID, "limits.timeout_ms", "spec itself"),
    ("code of the wrong type", {"language": "bash", "code": 5}, INVALID, "code", "string"),
    ("code null", {"language": "bash", "code": None}, INVALID, "code", ""),
    ("a number as text", good(timeout_ms="10"), INVALID, "timeout_ms", ""),
    ("a truth as number", good(timeout_ms=True), INVALID, "timeout_ms", ""),
    ("a fraction", good(timeout_ms=1.5), INVALID, "timeout_ms", ""),
    ("limits a list", good(limits=[]), INVALID, "limits", "object"),
    ("args a string", good(args="x"), INVALID, "args", ""),
    ("args with a number", good(args=["x", 1]), INVALID, "args[1]", "string"),
    ("argv empty", {"argv": []}, INVALID, "argv", ""),
    ("argv relative", {"argv": ["true"]}, INVALID, "argv[0]", "absolute"),
    ("env with a number", good(env={"A": 1}), INVALID, "env.A", "string"),
    ("env with a bad name", good(env={"A-B": "1"}), INVALID, "env.A-B", ""),
    ("env with no name", good(env={"": "1"}), INVALID, "env.", ""),
    ("timeout_ms zero", good(timeout_ms=0), INVALID, "timeout_ms", "from 1 to"),
    ("timeout_ms negative", good(timeout_ms=-1), INVALID, "timeout_ms", "from 1 to"),
    ("timeout_ms above the policy's maximum", good(timeout_ms=300001), INVALID, "timeout_ms", "from 1 to 300000 (ms)"),
    ("timeout_ms absurd", good(timeout_ms=10 ** 30), INVALID, "timeout_ms", "from 1 to"),
    ("memory_mb below its minimum", limits(memory_mb=15), INVALID, "limits.memory_mb", "from 16 to"),
    ("memory_mb above its maximum", limits(memory_mb=2049), INVALID, "limits.memory_mb", "from 16 to 2048 (MiB)"),
    ("memory_mb 2^64", limits(memory_mb=1 << 64), INVALID, "limits.memory_mb", "from 16 to"),
    ("pids_max zero", limits(pids_max=0), INVALID, "limits.pids_max", "from 1 to"),
    ("pids_max above its maximum", limits(pids_max=513), INVALID, "limits.pids_max", "from 1 to 512"),
    ("cpu_cpus zero", limits(cpu_cpus=0), INVALID, "limits.cpu_cpus", "0.01"),
    ("cpu_cpus negative", limits(cpu_cpus=-0.5), INVALID, "limits.cpu_cpus", "0.01"),
    ("cpu_cpus more than the host has", limits(cpu_cpus=1000), INVALID, "limits.cpu_cpus", "on this host"),
    ("disk_mb above its maximum", limits(disk_mb=1025), INVALID, "limits.disk_mb", "from 1 to 1024 (MiB)"),
    ("file_mb zero", limits(file_mb=0), INVALID, "limits.file_mb", "from 1 to"),
    ("stdout_bytes above its maximum", limits(stdout_bytes=16 * MIB + 1), INVALID, "limits.stdout_bytes", "16777216"),
    ("stderr_bytes negative", limits(stderr_bytes=-1), INVALID, "limits.stderr_bytes", "from 0 to"),
    ("artifact_mb above its maximum", limits(artifact_mb=1025), INVALID, "limits.artifact_mb", "from 0 to 1024"),
    ("more files than fit", good(files=[{"path": "a", "content": "x" * (2 * MIB)}], limits={"disk_mb": 1}), INVALID,
     "limits.disk_mb", "raise it to 3"),
    ("a file outside", good(files=[{"path": "../x", "content": ""}]), INVALID, "files[0].path", '".."'),
    ("a file with an absolute path", good(files=[{"path": "/etc/x", "content": ""}]), INVALID, "files[0].path",
     "relative"),
    ("a file twice", good(files=[{"path": "a", "content": ""}, {"path": "a", "content": ""}]), INVALID,
     "files[1].path", "same path"),
    ("a file below a file", good(files=[{"path": "a", "content": ""}, {"path": "a/b", "content": ""}]), INVALID,
     "files[1].path", "not a directory"),
    ("a file without content", good(files=[{"path": "a"}]), INVALID, "files[0]", "content"),
    ("a file with an unknown key", good(files=[{"path": "a", "content": "", "mode": 7}]), INVALID, "files[0].mode",
     "not a known key"),
    ("allowed_paths elsewhere", good(allowed_paths=["/etc"]), INVALID, "allowed_paths[0]", "/workspace"),
    ("allowed_paths that leaves", good(allowed_paths=["/tmp/../etc"]), INVALID, "allowed_paths[0]", '".."'),
    ("a network that does not exist", good(network="host"), INVALID, "network", "deny"),
    ("labels with a number", good(labels={"a": 1}), INVALID, "labels.a", "string"),
    ("queue_ms absurd", good(queue_ms=10 ** 9), INVALID, "queue_ms", "from 0 to"),
    ("a policy that does not exist", good(policy="nix"), NO_POLICY, "policy",
     '"nix"; there are: build, compute, default'),
    ("a policy with a path", good(policy="../default"), INVALID, "policy", ""),
    ("a language that does not exist", good(language="cobol"), NO_LANGUAGE, "language", "python"),
]
NOT_BUILT = [
    ("limits.external_calls", limits(external_calls=1)),
    ("network", good(network="allowlist")),
    ("egress_allow", good(egress_allow=["pypi.org:443"])),
    ("handles", good(handles=["docs.read"])),
    ("artifacts", good(artifacts=["*.png"])),
    ("report", good(report="other.json")),
    ("image", good(image="debian")),
    ("isolation", good(isolation="vm")),
    ("queue_ms", good(queue_ms=1)),
    ("request_key", good(request_key="k")),
    ("files[0].fd", good(files=[{"path": "a", "fd": "name"}])),
]
LARGE = [
    ("10 MiB of code", lambda: good(code="#" * (10 * MIB)), TOO_LARGE, "code", "4 MiB"),
    ("one byte more than 4 MiB of code", lambda: good(code="#" * (4 * MIB + 1)), TOO_LARGE, "code", "4194304"),
    ("one byte more than 16 MiB of stdin", lambda: good(stdin="#" * (16 * MIB + 1)), TOO_LARGE, "stdin", "16 MiB"),
    ("a spec of 31 MiB", lambda: good(files=[{"path": "a", "content": "#" * (31 * MIB)}]), TOO_LARGE, "", "30 MiB"),
]


def new_units(before):
    """Names of units, without those that were there, in whatever state they may be by now."""
    return {unit.split()[0] for unit in execution_units()} - {unit.split()[0] for unit in before}


def refusals_of(uid, since):
    return journal("_SYSTEMD_UNIT=unitcelld.service", "UNITCELL_EVENT=refused", f"UNITCELL_CALLER_UID={uid}",
                   since=since)


def refuse_all(rows, user):
    """Sends each row; what went wrong, all of it at once. Returns the error messages in their order."""
    wrong, messages = [], []
    for what, spec, name, key, words in rows:
        try:
            got, message = execute_error(spec() if callable(spec) else spec, user)
            messages.append(message)
            if got != name:
                wrong.append(f"{what}: {got}, not {name}: {message}")
            elif key and not message.startswith((key + ":", key + ",", key + ".")):
                wrong.append(f"{what}: the message does not begin with the key {key}: {message}")
            elif words not in message:
                wrong.append(f"{what}: the message does not say {words!r}: {message}")
        except AssertionError as error:
            wrong.append(f"{what}: {error}")
    if wrong:
        fail(f"{len(wrong)} of {len(rows)}:\n" + "\n".join(wrong))
    return messages


def nothing_started(rows, user):
    """refuse_all() while looking that nothing comes of it."""
    since, before, pid = time.time(), execution_units(), daemon_pid()
    messages = refuse_all(rows, user)
    equal(new_units(before), set(), "new units")
    equal(daemon_pid(), pid, "the daemon's pid")
    equal(journal("UNITCELL_EVENT=accepted", since=since), [], "accepted executions")
    return messages


_storm = {}


@test("100 refusals of one caller make at most 30 records")
def storm():
    wait_ready()
    uid = new_user("stormy")
    _storm.update(uid=uid, since=time.time(), begun=time.monotonic())
    for _ in range(100):
        equal(execute_error({"bad": 1}, "stormy")[0], INVALID, "error")
    within(time.monotonic() - _storm["begun"], 0, 55, "seconds for 100 refusals (the window is a minute)")
    # The last of the hundred was answered after all their records had been sent.
    wait_until(lambda: len(refusals_of(uid, _storm["since"])) >= 30, what="30 records", step=0.3)
    equal(len(refusals_of(uid, _storm["since"])), 30, "number of records")


@test("text that is no document, or says something twice, is refused; one audit record each")
def bad_texts():
    uid = new_user("texts")
    since = time.time()
    messages = nothing_started(TEXTS, "texts")
    check(len(TEXTS) <= 30, "more rows than are recorded in a minute")
    entries = wait_until(lambda: (lambda found: found if len(found) >= len(TEXTS) else None)(refusals_of(uid, since)),
                         what=f"{len(TEXTS)} records", step=0.3)
    equal(len(entries), len(TEXTS), "number of records")
    for entry, message, row in zip(entries, messages, TEXTS):
        equal({key: entry.get(key) for key in ("UNITCELL_DECISION", "UNITCELL_ERROR", "UNITCELL_CALLER_UID", "_UID",
                                               "UNITCELL_CALLER_UNIT", "UNITCELL_EXECUTION", "MESSAGE")},
              {"UNITCELL_DECISION": "refused", "UNITCELL_ERROR": row[2], "UNITCELL_CALLER_UID": uid, "_UID": "0",
               "UNITCELL_CALLER_UNIT": "dev-command.service", "UNITCELL_EXECUTION": None,
               "MESSAGE": f"Request of uid {uid} refused: {message}"}, f"record of: {row[0]}")


@test("keys that are unknown, wrong, missing, out of range or contradict each other are refused by name")
def bad_keys():
    new_user("keys")
    nothing_started(KEYS, "keys")


@test("what is understood but not built is NotSupported, by name, and its default is accepted")
def not_built():
    new_user("early")
    nothing_started([(key, spec, NOT_SUPPORTED, key, "not supported") for key, spec in NOT_BUILT], "early")
    defaults = good(network="deny", egress_allow=[], handles=[], mounts=[], artifacts=[], report="report.json",
                    image="host", isolation="unit", queue_ms=0, policy="default",
                    limits={"cpu_ms": 0, "memory_warn_mb": 0, "external_calls": 0})
    manager("Explain", "s", text_of(defaults))


@test("what is too large is TooLarge, and what is just not is accepted")
def too_large():
    new_user("large")
    nothing_started(LARGE, "large")
    for spec in (good(code="#" * (4 * MIB)), good(stdin="#" * (16 * MIB), limits={"disk_mb": 17})):
        manager("Explain", "s", text_of(spec))


@test("the ends of each range are accepted")
def ends_of_ranges():
    for spec in (good(timeout_ms=1), good(timeout_ms=300000),
                 limits(memory_mb=16, pids_max=1, disk_mb=1, file_mb=1, stdout_bytes=0, stderr_bytes=0, cpu_cpus=0.01,
                        artifact_mb=0),
                 limits(memory_mb=2048, pids_max=512, disk_mb=1024, file_mb=2048, stdout_bytes=16 * MIB,
                        stderr_bytes=16 * MIB, artifact_mb=1024)):
        plan = json.loads(manager("Explain", "s", text_of(spec))[0])["plan"]
        for key, value in spec.get("limits", {}).items():
            equal(plan["limits"][key], value, key)


@test("a call with the wrong arguments, path or method is an error of D-Bus, and nothing more")
def wrong_calls():
    pid, bus = daemon_pid(), connection("alice")
    for call in ((PATH, MANAGER, "Execute", "u", 5), (PATH, MANAGER, "Execute"), (PATH, MANAGER, "Submit", "s", "{}"),
                 (PATH, MANAGER, "Execute", "ss", "{}", "{}"), ("/", MANAGER, "Execute", "s", "{}"),
                 (PATH, MANAGER, "ExecuteAll", "s", "{}"), (PATH, EXECUTION, "Cancel"),
                 (PATH + "/execution", EXECUTION, "Cancel"), (PATH + "/execution/x", EXECUTION, "Cancel"),
                 (PATH + "/execution/" + "0" * 32, EXECUTION, "GetResult"),
                 (PATH + "/execution/" + "0" * 32 + "/x", EXECUTION, "GetResult"),
                 (PATH + "/execution/x", PROPERTIES, "Get", "s", "x"), (PATH, MANAGER, "GetExecution", "s", ""),
                 (PATH, MANAGER, "GetExecution", "s", "../" * 1000),
                 (PATH, PROPERTIES, "Set", "ssv", "a", "b", ("s", "c"))):
        error = raises(bus.call, NAME, *call, timeout=30 * SLOW)
        check(error.name.startswith((ERROR + "NoSuchExecution", "org.freedesktop.DBus.Error.")),
              f"{call}: {error.name}")
    equal(daemon_pid(), pid, "the daemon's pid")


@test("a language whose interpreter is gone is unavailable, listed so with the reason, and back when it is back")
def interpreter_gone():
    spec = {"language": "javascript", "code": "console.log(6 * 7)", "timeout_ms": 60000}

    def listed():
        return next(entry for entry in json.loads(manager("ListLanguages")[0]) if entry["name"] == "javascript")

    equal((listed()["available"], listed()["interpreter"]), (True, "/usr/bin/node"), "availability")
    os.rename("/usr/bin/node", "/usr/bin/node.away")
    try:
        away = [path for path in ("/usr/bin/nodejs", "/usr/bin/node") if os.path.exists(path)]
        equal(away, [], "interpreters that are still there")
        nothing_started([("javascript", spec, NO_LANGUAGE, "language", "/usr/bin/node")], "alice")
        equal((listed()["available"], listed()["interpreter"]), (False, None), "availability")
        contains(listed()["reason"], "/usr/bin/node", "reason")
    finally:
        os.rename("/usr/bin/node.away", "/usr/bin/node")
    equal(listed()["available"], True, "availability")
    result = execute(spec)
    equal((result["status"], result["stdout"]), ("success", "42\n"), "status and stdout")


@test("a caller who is not in the group is AccessDenied, recorded with what was asked; root is not asked")
def not_authorised():
    since, before = time.time(), execution_units()
    for method in (lambda: execute(GOOD, "carol"), lambda: submit(GOOD, "carol")):
        error = raises(method)
        equal(error.name, ACCESS_DENIED, "error")
        contains(error.message, "group unitcell", "message")
    entries = wait_until(lambda: (lambda found: found if len(found) >= 2 else None)(refusals_of(2003, since)),
                         what="two records", step=0.3)
    equal([(entry["UNITCELL_DECISION"], entry["UNITCELL_ERROR"], entry["UNITCELL_CODE"], entry["UNITCELL_LANGUAGE"])
           for entry in entries], [("refused", ACCESS_DENIED, "true", "bash")] * 2, "records")
    equal(new_units(before), set(), "new units")
    equal(execute(GOOD, "root")["status"], "success", "status of root's")


@test("with polkit masked and stopped nobody but root may, and it is not started by the asking")
def polkit_masked():
    equal(execute(GOOD, "alice")["status"], "success", "status before")
    run(["systemctl", "mask", "--runtime", "--now", "polkit.service"], check=True)
    try:
        before = execution_units()
        for user in ("alice", "bob", "carol"):
            begun = time.monotonic()
            name, message = execute_error(GOOD, user)
            equal(name, ACCESS_DENIED, f"error of {user}")
            contains(message, "polkit", "message")
            within(time.monotonic() - begun, 0, 10, "seconds until the refusal")
        equal(new_units(before), set(), "new units")
        equal(run(["systemctl", "is-active", "polkit.service"]).text, "inactive\n", "state of polkit")
        equal(execute(GOOD, "root")["status"], "success", "status of root's")
    finally:
        run(["systemctl", "unmask", "--runtime", "polkit.service"], check=True)
    run(["systemctl", "start", "polkit.service"], check=True)
    equal(execute(GOOD, "alice")["status"], "success", "status after")


@test("the refusals that were not recorded are told in one summary, a minute later")
def summary():
    if not _storm:
        raise Skip("it goes with the storm")
    time.sleep(max(0, 61 - (time.monotonic() - _storm["begun"])))
    # Told with the next refusal of anybody.
    execute_error({"bad": 1}, "bob")
    match = ["UNITCELL_EVENT=refusals-omitted", f"UNITCELL_CALLER_UID={_storm['uid']}"]
    entries = wait_until(lambda: journal(*match, since=_storm["since"]), what="the summary", step=0.3)
    equal(len(entries), 1, "number of summaries")
    equal((entries[0]["UNITCELL_OMITTED"], entries[0]["_UID"]), ("70", "0"), "UNITCELL_OMITTED and _UID")
    contains(entries[0]["MESSAGE"], "70 more requests", "MESSAGE")


if __name__ == "__main__":
    main()
