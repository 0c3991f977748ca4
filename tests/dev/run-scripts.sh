# SPDX-License-Identifier: LGPL-2.1-or-later
# Inside: run-scripts PART TIMEOUT SCRIPT…: run the test scripts in turn. Their output goes out framed (testing.sh takes
# it apart), stderr behind stdout and as remarks, so that it never cuts a line of TAP in two. Progress goes to stderr.
part=$1 limit=$2
shift 2
cd "/srv/tests/$part" || exit 1
export PYTHONPATH=/srv/tests/lib PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
errors=$(mktemp)
for script in "$@"; do
        printf '        %s …\n' "$script" >&2
        start=$EPOCHSECONDS
        printf '=== unitcell-dev begin %s\n' "$script"
        timeout --kill-after=10 "$limit" "./$script" </dev/null 2>"$errors"
        status=$?
        [ ! -s "$errors" ] || { echo; sed 's/^/# stderr: /' "$errors"; }
        [ $status -ne 124 ] || echo "# timed out after $limit s"
        printf '\n=== unitcell-dev end %s %d\n' "$script" "$status"
        printf '        %s: %s, %d s\n' "$script" "$([ $status -eq 0 ] && echo ended well || echo "status $status")" \
                $((EPOCHSECONDS - start)) >&2
done
exit 0
