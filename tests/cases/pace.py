# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much slower this place is than a quiet machine, and what that makes of the times in the cases.

Times in a case are those of a quiet machine. "time" of a case says what is stretched: "full", all of them, where the
program has something to compute within them; "slack", only what lies between the limit and the answer, where the
program just waits for its end, or where the limit itself is what the case is about.
"""

import os
import time

# What the loop below takes on an ordinary machine. A faster machine has a factor of 1.
REFERENCE_SECONDS = 0.1
# No policy's timeout_ms is wider.
TIMEOUT_MAX = 300000


def _loop():
    begun, total = time.perf_counter(), 0
    for number in range(1000000):
        total += number & 7
    return time.perf_counter() - begun


class Pace:
    def __init__(self):
        measured = min(_loop() for _ in range(3))
        # Two factors more than one processor's: programs, daemon and PID 1 share the processors, and starting a process
        # is dearer than a loop where every instruction is emulated.
        self.measured = measured / REFERENCE_SECONDS
        self.factor = max(1, float(os.environ.get("UNITCELL_CASES_FACTOR", 2 * self.measured)))

    def __str__(self):
        return f"this place is {self.measured:.1f} times slower than a quiet machine; times are stretched {self.factor:.1f} times"

    def spec(self, spec, how):
        if how != "full":
            return spec
        spec = {**spec, "limits": dict(spec["limits"])} if "limits" in spec else dict(spec)
        if isinstance(spec.get("timeout_ms"), int):
            spec["timeout_ms"] = min(TIMEOUT_MAX, int(spec["timeout_ms"] * self.factor))
        if spec.get("limits", {}).get("cpu_ms"):
            spec["limits"]["cpu_ms"] = int(spec["limits"]["cpu_ms"] * self.factor)
        return spec

    def expect(self, expect, spec, how):
        """expect, for a spec as the case has it."""
        expect = dict(expect)
        timeout = spec.get("timeout_ms", 10000)
        if "answer_ms_max" in expect:
            expect["answer_ms_max"] = self._stretch(expect["answer_ms_max"], timeout, how)
        if "cpu_ms" in expect.get("usage", {}):
            low, high = expect["usage"]["cpu_ms"]
            high = self._stretch(high, spec["limits"]["cpu_ms"], how)
            expect["usage"] = {**expect["usage"], "cpu_ms": [low, high]}
        if "any_of" in expect:
            expect["any_of"] = [self.expect(part, spec, how) for part in expect["any_of"]]
        return expect

    def _stretch(self, bound, limit, how):
        if how == "full" or not isinstance(limit, int) or bound < limit:
            return bound * self.factor
        return limit + (bound - limit) * self.factor
