#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""unitcell doctor where controllers are missing and AllowMissing= accepts that: exactly their checks fail.

Of its probes, those that would need a missing controller to be bounded are not sent, and the others bound themselves.
"""

from harness import *

# The checks that a controller brings about.
ROWS = {
    "memory": {"host/memory", "limits/memory"},
    "pids": {"host/pids", "limits/fork-bomb"},
    "cpu": {"host/cpu", "limits/cpu-share"},
}

# systemd-nspawn filters its containers itself: its EPERM for bpf and keyctl comes before ours is asked, unreported.
OF_THE_CONTAINER = {"kernel/refusals-named"}


@test("exactly the checks of the missing controllers, and what nspawn hides, fail")
def exactly_the_controllers():
    wait_ready()
    missing = execute({"argv": ["/usr/bin/true"]})["enforced"]["missing_controllers"]
    note(f"missing: {missing}")
    with Leftovers():
        done = run(["unitcell", "doctor", "--json"], user="alice", cwd="/")
    document = json.loads(done.text)
    failed = {f"{row['group']}/{row['name']}": row["found"] for row in document["checks"] if not row["passed"]}
    expected = OF_THE_CONTAINER.union(*(ROWS[name] for name in missing))
    note(failed)
    equal(set(failed), expected, "what failed")
    equal(done.status, 1, "exit status")
    equal(document["failed"], len(expected), "failed")


if __name__ == "__main__":
    main()
