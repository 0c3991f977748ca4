#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several callers: nobody sees, reads, ends or hears of another's executions; each has a quota of his own."""

from harness import *

NO_SUCH = ERROR + "NoSuchExecution"
SLEEP = {"language": "bash", "code": "echo begun; sleep 1000 # UNIQUE-MARK-4711", "args": ["UNIQUE-ARG-4711"],
         "env": {"SECRET": "UNIQUE-ENV-4711"}, "timeout_ms": 300000}


def introspect(bus, path):
    return bus.call(NAME, path, "org.freedesktop.DBus.Introspectable", "Introspect", timeout=30 * SLOW)[0]


def result_of_path(paths, user="alice", **wanted):
    for path in paths:
        result = get_result(path, user)
        for key, value in wanted.items():
            equal(result[key], value, f"{key} of {path}")


@test("another user, in the group or not, can neither find, read nor end an execution: it does not exist for him")
def invisible():
    wait_ready()
    path = submit(SLEEP)
    unknown = f"{PATH}/execution/{'0' * 32}"
    try:
        wait_running(path)
        for user in ("bob", "carol"):
            bus = connection(user)
            for call in (("GetResult",), ("Cancel",)):
                errors = [raises(bus.call, NAME, where, EXECUTION, *call, timeout=30 * SLOW)
                          for where in (path, unknown)]
                equal([error.name for error in errors], [NO_SUCH, NO_SUCH], f"error of {user}'s {call[0]}")
                # Word for word what is said of one that was never there.
                equal(errors[0].message.replace(id_of(path), "?"), errors[1].message.replace("0" * 32, "?"), "message")
            error = raises(manager, "GetExecution", "s", id_of(path), user=user)
            equal(error.name, NO_SUCH, f"error of {user}'s GetExecution")
            for name in ("State", "Unit", "Owner", "TaskId", "NoSuchProperty"):
                error = raises(bus.call, NAME, path, PROPERTIES, "Get", "ss", EXECUTION, name, timeout=30 * SLOW)
                equal(error.name, NO_SUCH, f"error of {user}'s Get {name}")
            for interface in (EXECUTION, "", "org.freedesktop.DBus.Peer"):
                error = raises(bus.call, NAME, path, PROPERTIES, "GetAll", "s", interface, timeout=30 * SLOW)
                equal(error.name, NO_SUCH, f"error of {user}'s GetAll")
        equal(get_property(path, "State"), "running", "state, after all this")
        equal(get_property(path, "State", "root"), "running", "state, as root sees it")
    finally:
        cancel(path)
    result_of_path([path], status="canceled", stdout="begun\n")
    for user in ("bob", "carol"):
        equal(raises(get_result, path, user).name, NO_SUCH, f"error of {user}'s GetResult after the end")
    equal(get_result(path, "root")["id"], id_of(path), "the id of the result, as root sees it")


@test("introspection, object manager and properties of the tree show no execution to anybody")
def introspection():
    path = submit(SLEEP)
    try:
        wait_running(path)
        for user in ("alice", "bob", "root"):
            bus = connection(user)
            for where in ("/", "/org", PATH, PATH + "/execution"):
                check(id_of(path) not in introspect(bus, where), f"{user} finds the id in {where}")
                for interface, member, signature, *arguments in (
                        ("org.freedesktop.DBus.ObjectManager", "GetManagedObjects", ""),
                        (PROPERTIES, "GetAll", "s", MANAGER)):
                    try:
                        answer = bus.call(NAME, where, interface, member, signature, *arguments, timeout=30 * SLOW)
                        check(id_of(path) not in repr(answer), f"{user} finds the id by {member} of {where}")
                    except BusError:
                        pass
        # What is there for one is there for the other: whether an execution exists is not told by its node either.
        known, unknown = (introspect(connection("bob"), f"{PATH}/execution/{name}")
                          for name in (id_of(path), "0" * 32))
        equal(known, unknown, "introspection of an execution, by bob")
        contains(introspect(connection("bob"), PATH), "<method name=\"Execute\"", "introspection of the manager")
    finally:
        cancel(path)


@test("the signal of an end goes to its owner's connection alone")
def signals():
    with Connection("alice") as owner, Connection("alice") as other, Connection("bob") as bob, \
            Connection("carol") as carol:
        for bus in (other, bob, carol):
            bus.listen(f"type='signal',interface='{MANAGER}'")
            bus.listen("type='signal',path_namespace='/org/unitcell1'")
            bus.listen("type='signal',sender='org.unitcell1'")
            for rule in ("eavesdrop='true',type='signal'", "eavesdrop='true',type='method_return'",
                         "eavesdrop='true',type='method_call'"):
                try:
                    bus.listen(rule)
                except BusError:
                    pass
        path = manager("Submit", "sa{sh}", text_of({"argv": ["/usr/bin/true"]}), {}, user=owner)[0]
        equal(get_result(path, owner)["status"], "success", "status")
        wait_until(lambda: not owner.pump(0) and owner.heard(MANAGER), what="the owner's signal")
        equal(owner.heard(MANAGER)[0].body, [id_of(path), path, "success"], "the owner's signal")
        for bus in (other, bob, carol):
            # A call of its own is answered after everything that came before.
            bus.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
            while bus.pump(0):
                pass
            wrong = [signal for signal in bus.signals if "unitcell" in repr(signal)]
            equal(wrong, [], f"signals that {bus.user} heard")
            equal(bus.replies, {}, f"answers that {bus.user} heard")


@test("code, arguments and environment are not to be read from the unit, the journal or our directories")
def public_places():
    path = submit(SLEEP)
    try:
        wait_running(path)
        unit = get_property(path, "Unit")
        shown = run(["systemctl", "show", unit], user="bob", check=True)
        contains(shown.text, "\nSlice=unitcell-u2001.slice\n", "what bob is shown of the unit")
        for part in ("MARK-4711", "ARG-4711", "ENV-4711"):
            check(part not in shown.text, f"bob is shown {part}")
        status = run(["systemctl", "status", "--no-pager", unit], user="bob")
        check("MARK-4711" not in status.text and "ENV-4711" not in status.text, "systemctl status shows it")
        for place in ("/run/unitcell", "/var/lib/unitcell", "/run/systemd/transient", "/var/log/journal",
                      "/run/log/journal"):
            found = run(["grep", "-rsl", "-e", "MARK-4711", "-e", "ARG-4711", "-e", "ENV-4711", place], user="bob")
            equal(found.text, "", f"files in {place} in which bob finds it")
        equal(run(["journalctl", "-q", "--no-pager", "UNITCELL_EXECUTION=" + id_of(path)], user="bob").text, "",
              "what bob sees in the journal")
        # And his own eyes are good enough: as root the same search finds it.
        found = run(["grep", "-rsl", "-e", "MARK-4711", "/run/log/journal", "/var/log/journal"])
        check(found.text != "", "root does not find the code in the journal's files")
    finally:
        cancel(path)


@test("a caller may have 16 executions at once: the 17th is Busy, another caller's is not, and room comes back")
def quota():
    with Leftovers(settle=20):
        since = time.time()
        paths = [submit({"argv": ["/usr/bin/sleep", "1000"], "timeout_ms": 300000}) for _ in range(16)]
        try:
            for method in (lambda: submit({"argv": ["/usr/bin/true"]}), lambda: execute({"argv": ["/usr/bin/true"]})):
                error = raises(method)
                equal(error.name, ERROR + "Busy", "error of the 17th")
                contains(error.message, "16", "message")
            # alice's other connection is alice too.
            with Connection("alice") as bus:
                error = raises(submit, {"argv": ["/usr/bin/true"]}, bus)
                equal(error.name, ERROR + "Busy", "error on a new connection")
            begun = time.monotonic()
            equal(execute({"argv": ["/usr/bin/true"]}, "bob")["status"], "success", "status of bob's")
            note(f"bob waited {time.monotonic() - begun:.1f} s behind alice's burst of 16")
            cancel(paths[0])
            result_of_path(paths[:1], status="canceled")
            paths.append(submit({"argv": ["/usr/bin/true"]}))
        finally:
            for path in paths[:16]:
                cancel(path)
        result_of_path(paths[:16], status="canceled")
        result_of_path(paths[16:], status="success")
        entries = journal("UNITCELL_EVENT=refused", "UNITCELL_CALLER_UID=2001", since=since)
        equal([(entry["UNITCELL_ERROR"], entry["UNITCELL_DECISION"]) for entry in entries],
              [(ERROR + "Busy", "refused")] * 3, "records of the refusals")


@test("two users at once: each gets his own results, in slices of their own")
def two_users():
    with Leftovers(settle=20):
        begun = []
        for number in range(6):
            user = ("alice", "bob")[number % 2]
            spec = {"language": "bash", "code": f"echo {user} {number}; cat /proc/self/cgroup", "task_id": f"t{number}"}
            begun.append((user, number, begin_execute(spec, user)))
        for user, number, call in begun:
            result = result_of(finish_execute(call))
            uid = {"alice": 2001, "bob": 2002}[user]
            equal((result["status"], result["task_id"]), ("success", f"t{number}"), "status and task_id")
            equal(result["stdout"],
                  f"{user} {number}\n0::/unitcell.slice/unitcell-u{uid}.slice/{result['unit']}\n", "stdout")


@test("callers that connect, ask and vanish in the middle of everything harm nobody")
def vanishing():
    with Leftovers(settle=30):
        for number in range(12):
            bus = Connection(("alice", "bob")[number % 2])
            if number % 3 == 0:
                begin_execute({"argv": ["/usr/bin/sleep", "1000"], "timeout_ms": 300000}, bus)
            elif number % 3 == 1:
                bus.send(NAME, PATH, MANAGER, "Explain", "s", text_of({"argv": ["/usr/bin/true"]}))
            else:
                begin_execute({"bad": 1}, bus)
            if number % 2:
                time.sleep(0.2)
            bus.close()
        equal(execute({"argv": ["/usr/bin/true"]}, "bob")["status"], "success", "status of one that stays")

        def running():
            return [unit for unit in execution_units() if "active/running" in unit or "activating" in unit]

        wait_until(lambda: not running(), 20, "the executions of those who are gone end", step=0.2)


if __name__ == "__main__":
    main()
