# SPDX-License-Identifier: LGPL-2.1-or-later
# Counting tests. Every test of this project speaks TAP: `ok N - name`, `not ok N - name`, `ok N - name # SKIP why`,
# and the plan `1..N`. A program that ends badly, prints no plan or not as many lines as it planned has failed once
# more, so that silence is never success.

tests_passed=0 tests_failed=0 tests_skipped=0

count_passed() { tests_passed=$((tests_passed + ${1:-1})); }
count_failed() { tests_failed=$((tests_failed + ${1:-1})); }
count_skipped() { tests_skipped=$((tests_skipped + ${1:-1})); }

# tap_count FILE EXIT_STATUS NAME: count one program's output, show what went wrong.
tap_count() {
        local file=$1 status=$2 name=$3 passed failed skipped planned before=$tests_failed

        # One pass; an indented line is a subtest of Criterion or of another harness and is not counted by itself.
        read -r passed failed skipped planned < <(awk '
                { sub(/\r$/, "") }
                /^1\.\.[0-9]+/ { split($1, part, /\.\./); planned = part[2]; if (/# *[Ss][Kk][Ii][Pp]/) skipped++ }
                /^not ok/ { if (/# *[Tt][Oo][Dd][Oo]/) skipped++; else failed++ }
                /^ok/ { if (/# *[Ss][Kk][Ii][Pp]/) skipped++; else passed++ }
                END { print passed + 0, failed + 0, skipped + 0, planned == "" ? "none" : planned }' "$file")
        count_passed "$passed"
        count_failed "$failed"
        count_skipped "$skipped"
        if [[ $planned = none ]]; then
                say "$name printed no plan"
                count_failed
        elif ((planned != passed + failed + skipped)) && ! ((planned == 0 && passed + failed == 0)); then
                say "$name planned $planned tests and reported $((passed + failed + skipped))"
                count_failed
        fi
        if ((status != 0 && failed == 0)); then
                say "$name ended with status $status"
                count_failed
        fi
        grep -E '^ok.*# *[Ss][Kk][Ii][Pp]' "$file" | sed "s|^ok|skipped: $name:|" || true
        ((tests_failed > before)) || { printf 'ok      %s (%d)\n' "$name" "$((passed + skipped))"; return 0; }
        printf 'FAILED  %s, its output:\n' "$name"
        sed 's/^/        /' "$file"
}

# meson_count LOG: count what `meson test` wrote to testlog.junit.xml, which has every TAP line as a test case of its
# own.
meson_count() {
        local passed failed skipped

        [[ -s $1 ]] || { say "$1 is missing: meson ran nothing"; count_failed; return; }
        read -r passed failed skipped < <(/usr/bin/python3 - "$1" <<'PYTHON'
import sys
import xml.etree.ElementTree as tree

passed = failed = skipped = 0
for suite in tree.parse(sys.argv[1]).getroot().iter("testsuite"):
    cases = list(suite.iter("testcase"))
    bad = 0
    for case in cases:
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
            bad += 1
        elif case.find("skipped") is not None:
            skipped += 1
            print(f"skipped: {suite.get('name')}: {case.get('name')}", file=sys.stderr)
        else:
            passed += 1
    # A program that failed as a whole (a crash, a bad exit status) while each line it printed was fine.
    whole = int(suite.get("errors", 0)) + int(suite.get("failures", 0))
    if not bad and whole:
        failed += 1
print(passed, failed, skipped)
PYTHON
        )
        count_passed "$passed"
        count_failed "$failed"
        count_skipped "$skipped"
        last_meson_failed=$failed
}

# The closing line; returns failure when there is something to be sorry about.
tap_close() {
        printf '%d passed, %d failed, %d skipped\n' "$tests_passed" "$tests_failed" "$tests_skipped"
        ((tests_failed == 0)) || return 1
        if ((tests_skipped > 0)) && [[ ${UNITCELL_TESTS_MUST_RUN:-} = 1 ]]; then
                say "a skipped test is a failure here, because UNITCELL_TESTS_MUST_RUN=1"
                return 1
        fi
        ((tests_passed > 0)) || return 1
}
