#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cases: small programs with the right outcome of each, run against the service and judged from outside too.

    run.py [WORD…]      only the cases with one of these words in their name

The files *.json beside this one are the cases, README.md says how they read and what each kind proves. Callers are
the ordinary users alice and bob. Many of the programs are hostile, and what they do where a wall is missing is done
to the whole machine: outside the virtual machine of the tests only those marked "harmless" run.

Environment:
  UNITCELL_CASES_FULL=1         all repeats (a tenth of them without it, at least 3)
  UNITCELL_CASES_WITHOUT=a,b    leave these limits out of all specs: for work on a service that lacks them
"""

import copy
import json
import os
import sys
from contextlib import ExitStack

HERE = os.path.dirname(os.path.abspath(__file__))
for lib in (os.path.join(HERE, "..", "lib"), "/srv/lib", "/srv/tests/lib"):
    if os.path.exists(os.path.join(lib, "harness.py")):
        sys.path.insert(0, lib)
        break

import host
import judge
import procedures
from attempt import Attempt, attempt_all
from harness import *
from pace import Pace

FULL = os.environ.get("UNITCELL_CASES_FULL") == "1"
WITHOUT = set(filter(None, os.environ.get("UNITCELL_CASES_WITHOUT", "").split(",")))

# What every case has unless it says otherwise, "usual": false among others.
USUAL = {"timeout_ms": 10000,
         "limits": {"cpu_ms": 10000, "memory_mb": 256, "pids_max": 64, "disk_mb": 64, "file_mb": 32,
                    "stdout_bytes": 1048576, "stderr_bytes": 1048576}}
CASE_KEYS = {"name", "proves", "usual", "time", "harmless", "spec", "expect", "needs", "host", "repeat", "others",
             "variants", "each", "via", "procedure", "user"}
VARIANT_KEYS = {"label", "spec", "expect", "needs", "via", "each"}


# --- reading ----------------------------------------------------------------------------------------------------

def read_cases():
    cases = []
    for name in sorted(os.listdir(HERE)):
        if name.endswith(".json"):
            with open(os.path.join(HERE, name), encoding="utf-8") as file:
                document = json.load(file)
            cases += document["cases"]
    names = [case["name"] for case in cases]
    equal(len(set(names)), len(names), "number of different names")
    for case in cases:
        known(case, CASE_KEYS, case["name"])
        for variant in case.get("variants", []):
            known(variant, VARIANT_KEYS, f"a variant of {case['name']}")
    return cases


def known(document, keys, what):
    check(set(document) <= keys, f"{what}: unknown {sorted(set(document) - keys)}")


def merged(below, above):
    if not isinstance(below, dict) or not isinstance(above, dict):
        return copy.deepcopy(above)
    result = copy.deepcopy(below)
    for key, value in above.items():
        result[key] = merged(result[key], value) if key in result else copy.deepcopy(value)
    return result


def text(value):
    """A text: itself, a list of lines, or {"repeat", "times", "then"}."""
    if isinstance(value, list):
        return "".join(line + "\n" for line in value)
    if isinstance(value, dict):
        return value["repeat"] * value["times"] + value.get("then", "")
    return value


def replaced(value, words):
    """value with the words of "each" put in; one that is nothing but such a word becomes the value itself."""
    if isinstance(value, str):
        if value in words:
            return words[value]
        for word, put in words.items():
            value = value.replace(word, str(put))
        return value
    if isinstance(value, list):
        return [replaced(item, words) for item in value]
    if isinstance(value, dict):
        return {key: replaced(item, words) for key, item in value.items()}
    return value


def finished_spec(spec):
    spec = {key: text(value) if key in ("code", "stdin") else value for key, value in spec.items()}
    limits = {key: value for key, value in spec.get("limits", {}).items() if key not in WITHOUT}
    return {**spec, "limits": limits} if "limits" in spec else spec


def runs_of(case):
    """The runs that a case stands for, each with label, spec, expect, needs and via."""
    base = {"label": "", "spec": merged(USUAL if case.get("usual", True) else {}, case["spec"]),
            "expect": case.get("expect", {}), "needs": case.get("needs", []), "via": case.get("via", "bus")}
    for variant in case.get("variants", [{}]):
        run = merged(base, {key: value for key, value in variant.items() if key != "each"})
        each = variant.get("each", case.get("each", {"": [""]}))
        (word, values), = each.items()
        for value in values:
            one = replaced(run, {word: value}) if word else run
            one["label"] = " ".join(filter(None, [one["label"], str(value)]))
            one["spec"] = finished_spec(one["spec"])
            yield one


def repeats(case):
    wanted = case.get("repeat", 1)
    return wanted if FULL or wanted == 1 else max(3, wanted // 10)


# --- running ----------------------------------------------------------------------------------------------------

def run_case(case, pace):
    if "procedure" in case:
        spec = finished_spec(merged(USUAL, case["spec"]))
        getattr(procedures, case["procedure"])(pace.spec(spec, case.get("time", "full")), pace, FULL)
        return
    runs = list(runs_of(case))
    count = repeats(case)
    for run in runs:
        with ExitStack() as stack:
            for name in run["needs"]:
                stack.enter_context(host.NEEDS[name]())
            for number in range(count):
                label = ", ".join(filter(None, [run["label"], f"run {number + 1} of {count}" if count > 1 else ""]))
                try:
                    run_once(case, run, pace)
                except AssertionError as error:
                    raise AssertionError(f"{label + ': ' if label else ''}{error}") from None


def run_once(case, run, pace):
    how = case.get("time", "full")
    spec, expect = pace.spec(run["spec"], how), pace.expect(run["expect"], run["spec"], how)
    attempts = [Attempt(spec, case.get("user", "alice"), via=run["via"])]
    others = case.get("others")
    if others:
        users = others.get("users", ["alice", "bob"])
        delay = others["after_ms"] / 1000
        attempts[0].delay = max(0, -delay) * (pace.factor if delay < 0 else 1)
        other_spec = finished_spec(merged(USUAL, others["spec"]))
        for number in range(others["count"]):
            attempts.append(Attempt(pace.spec(other_spec, "full"), users[number % len(users)], max(0, delay)))

    with Leftovers() as leftovers, ExitStack() as stack:
        for name in case.get("host", []):
            name, _, argument = name.partition(" ")
            stack.enter_context(host.CHECKS[name](*filter(None, [argument]), pace=pace))
        attempt_all(attempts)
        if not others:
            # Everything of an execution is dead before it is answered: no time is given here.
            alive = sorted(filter(living, dynamic_processes() - leftovers.before["process"]))
            check(not alive, f"alive after the answer: {alive}")

    problems = judge.problems(attempts[0], expect)
    if others:
        wanted = pace.expect(others["expect"], other_spec, "full")
        for attempt in attempts[1:]:
            problems += [f"beside it, {attempt.user}: {problem}" for problem in judge.problems(attempt, wanted)]
    if problems:
        fail("; ".join(problems) + "\n" + attempts[0].summary())


def living(process):
    """Whether "pid name" is more than an entry that its parent has yet to take."""
    try:
        with open(f"/proc/{process.split()[0]}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def register(case, pace):
    @test(case["name"])
    def one():
        run_case(case, pace)


if __name__ == "__main__":
    wait_ready()
    the_pace = Pace()
    note(the_pace)
    for the_case in read_cases():
        if IN_GUEST or the_case.get("harmless"):
            register(the_case, the_pace)
        elif not sys.argv[1:]:
            note(f"{the_case['name']}: not harmless, runs in the virtual machine only")
    main()
