#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""systemd-analyze security of what runs untrusted code and of the daemon itself: exposure at most 1.5 each."""

import re

from harness import *

MOST = 1.5


def exposure(unit):
    done = run(["systemd-analyze", "security", "--no-pager", unit], timeout=30)
    equal(done.status, 0, f"status of systemd-analyze ({done.error.strip()})")
    found = re.search(r"Overall exposure level for (\S+): (\d+\.\d+) ", done.text)
    check(found, f"no overall exposure level in {done.text[-300:]!r}")
    equal(found[1], unit, "unit of the exposure level")
    level = float(found[2])
    note(f"{unit}: {level}")
    # What adds to it, for whoever has to mend it: such a line ends with its weight.
    worst = [line.strip() for line in done.text.splitlines() if re.search(r"\d\.\d$", line.strip())]
    return level, "\n".join(worst)


def at_most(found):
    level, worst = found
    check(level <= MOST, f"exposure {level} is more than {MOST}; what adds to it:\n{worst}")
    # 0.0 would mean that it was not looked at.
    check(level > 0, "an exposure of 0.0 cannot be")


@test("a running execution: exposure at most 1.5")
def execution():
    wait_ready()
    path = submit({"argv": ["/usr/bin/sleep", "250"], "timeout_ms": 250000})
    wait_running(path)
    try:
        at_most(exposure(get_property(path, "Unit")))
    finally:
        cancel(path)
    equal(get_result(path)["status"], "canceled", "status")


@test("unitcelld.service: exposure at most 1.5")
def daemon():
    at_most(exposure("unitcelld.service"))


@test("a unit without any setting is far above it, so the measure measures")
def unconfined():
    run(["systemd-run", "--unit=security-red", "--property=CollectMode=inactive-or-failed", "sleep", "250"], check=True)
    try:
        level, _ = exposure("security-red.service")
    finally:
        run(["systemctl", "stop", "security-red.service"], check=True)
    check(level > 9, f"exposure of a unit without any setting is {level}")


if __name__ == "__main__":
    main()
