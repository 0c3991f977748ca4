# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares what came back with what a case expects. Each difference is a sentence."""

import hashlib
import json
import re

from harness import shorten

MIB = 1 << 20
# Of any result, whatever the case: a status is one of these, and ours is never to blame.
STATUSES = {"success", "failed", "signaled", "timeout", "cpu_limit", "memory_limit", "output_limit", "disk_limit",
            "tasks_limit", "compile_error", "canceled", "interrupted", "start_failed", "internal_error"}
NEVER = ("internal_error", "interrupted", "start_failed", "canceled")


def problems(attempt, expect):
    """What is wrong with attempt, as sentences; empty when nothing is."""
    if attempt.trouble is not None:
        return [f"no answer: {type(attempt.trouble).__name__}: {attempt.trouble}"]
    found = list(attempt.problems)
    if "refused" in expect:
        return found + _refusal(attempt, expect)
    if attempt.error is not None:
        return found + [f"refused: {attempt.error[0]}: {attempt.error[1]}"]
    found += _sound(attempt)
    return found + [problem for key, value in expect.items() for problem in RULES[key](attempt, value)]


def _refusal(attempt, expect):
    if attempt.error is None:
        return [f"not refused as {expect['refused']}: status {attempt.result['status']}"]
    name, message = attempt.error
    found = [] if name.endswith("." + expect["refused"]) else [f"refused as {name}, not {expect['refused']}: {message}"]
    return found + [f"the refusal does not say {part!r}: {message}" for part in expect.get("message_has", [])
                    if part not in message]


# What holds for every result.
def _sound(attempt):
    result, found = attempt.result, []
    if result["status"] not in STATUSES:
        found.append(f"status {result['status']!r} is not one of ours")
    if result["status"] in NEVER:
        found.append(f"status {result['status']}: {result['message']}")
    try:
        # A lone \ud83d in a document becomes what no encoder takes.
        json.dumps(json.loads(attempt.raw), ensure_ascii=False).encode()
    except UnicodeError as error:
        found.append(f"the document holds an unpaired surrogate: {error}")
    if not result["message"].endswith("."):
        found.append(f"the message is no sentence: {result['message']!r}")
    for stream in ("stdout", "stderr"):
        limit = attempt.spec.get("limits", {}).get(stream + "_bytes", 65536)
        kept = attempt.kept(stream)
        if len(kept) > limit:
            found.append(f"{len(kept)} bytes of {stream} were kept, the limit is {limit}")
        if result[stream + "_truncated"] != (len(kept) < result[stream + "_bytes"]):
            found.append(f"{stream}_truncated is {result[stream + '_truncated']} with {len(kept)} of "
                         f"{result[stream + '_bytes']} bytes kept")
    return found


# --- one function for each kind of expectation ----------------------------------------------------------------------

def _status(attempt, want):
    got = attempt.result["status"]
    return [] if got in (want if isinstance(want, list) else [want]) else [f"status is {got}, not {want}"]


def _value(key):
    def rule(attempt, want):
        got = attempt.result[key]
        wanted = want if isinstance(want, list) and key == "signal" else [want]
        return [] if got in wanted else [f"{key} is {shorten(got)}, not {shorten(want)}"]
    return rule


def _flags(attempt, want):
    return [f"{key} is {attempt.result[key]}" for key, value in want.items() if attempt.result[key] is not value]


def _text(stream):
    def rule(attempt, want):
        want = "".join(line + "\n" for line in want) if isinstance(want, list) else want
        got = attempt.kept(stream)
        return [] if got == want.encode() else [f"{stream} is {shorten(got)}, not {shorten(want)}"]
    return rule


def _exactly(stream):
    def rule(attempt, want):
        import base64
        got = attempt.kept(stream)
        return [] if got == base64.b64decode(want) else [f"{stream} is {shorten(got)}, not {shorten(base64.b64decode(want))}"]
    return rule


def _size(stream):
    def rule(attempt, want):
        got = len(attempt.kept(stream))
        return [] if got == want else [f"{got} bytes of {stream} were kept, not {want}"]
    return rule


def _size_max(stream):
    def rule(attempt, want):
        got = len(attempt.kept(stream))
        return [] if got <= want else [f"{got} bytes of {stream} were kept, more than {want}"]
    return rule


def _sha256(attempt, want):
    got = hashlib.sha256(attempt.kept("stdout")).hexdigest()
    return [] if got == want else [f"sha256 of stdout is {got}"]


def _starts(attempt, want):
    got = attempt.kept("stdout")
    return [] if got.startswith(want.encode()) else [f"stdout begins with {shorten(got[:200])}"]


def _matches(attempt, want):
    got = attempt.kept("stdout").decode(errors="replace")
    return [] if re.fullmatch(want, got) else [f"stdout {shorten(got)} does not match {want}"]


def _has(stream):
    def rule(attempt, want):
        got = attempt.kept(stream).decode(errors="replace")
        return [f"{stream} does not contain {part!r}: {shorten(got)}" for part in want if part not in got]
    return rule


def _json(attempt, want):
    try:
        got = json.loads(attempt.kept("stdout"))
    except ValueError as error:
        return [f"stdout is no JSON ({error}): {shorten(attempt.kept('stdout'))}"]
    return [] if got == want else [f"stdout is {got}, not {want}"]


def _answer(attempt, most):
    return [] if attempt.seconds * 1000 <= most else [f"answered after {attempt.seconds * 1000:.0f} ms, more than {most:.0f}"]


def _usage(attempt, want):
    got = {"memory_peak_mb": (attempt.result["memory_peak_bytes"] or 0) / MIB, "cpu_ms": attempt.result["cpu_ms"]}
    return [f"{key} is {got[key]}, not within {low} and {high}" for key, (low, high) in want.items()
            if not (got[key] is not None and low <= got[key] <= high)]


# Several answers would be sound; "ours" is the one that we have documented, and it is that one every time.
def _any_of(attempt, alternatives):
    ours = [part for part in alternatives if part.get("ours")]
    found = {id(part): [p for key, value in part.items() if key != "ours" for p in RULES[key](attempt, value)]
             for part in alternatives}
    if any(not found[id(part)] for part in ours):
        return []
    other = any(not found[id(part)] for part in alternatives)
    return [f"{'a sound answer, but not the documented one' if other else 'none of the sound answers'}: "
            + "; ".join(found[id(ours[0])])]


def _never(attempt, defects):
    everything = "\n".join(attempt.kept(stream).decode(errors="replace") for stream in ("stdout", "stderr"))
    found = []
    for defect in defects:
        (key, value), = defect.items()
        if (value in everything if key == "output_has" else not RULES[key](attempt, value)):
            found.append(f"never {key} {value!r}")
    return found


RULES = {
    "status": _status, "exit_code": _value("exit_code"), "signal": _value("signal"), "flags": _flags,
    "artifacts": _value("artifacts"), "stdout": _text("stdout"), "stderr": _text("stderr"),
    "stdout_exactly": _exactly("stdout"), "stdout_size": _size("stdout"), "stderr_size": _size("stderr"),
    "stdout_size_max": _size_max("stdout"), "stderr_size_max": _size_max("stderr"), "stdout_sha256": _sha256,
    "stdout_starts": _starts, "stdout_matches": _matches, "stderr_has": _has("stderr"), "stdout_has": _has("stdout"),
    "stdout_json": _json, "answer_ms_max": _answer, "usage": _usage, "any_of": _any_of, "never": _never,
}
