# SPDX-License-Identifier: LGPL-2.1-or-later
# The service at work, as `./dev try` shows it: runs as root inside the container, the callers are ordinary users.
set -u

bold=$(printf '\033[1m') plain=$(printf '\033[0m')
[ -t 1 ] || bold='' plain=''
failures=0

title() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }

# Show a command as alice types it, run it as her, say how it ended.
as_alice() {
        printf '%salice$%s' "$bold" "$plain"
        printf ' %q' "$@"
        printf '\n'
        runuser -u alice -- "$@"
        status=$?
        [ $status -eq 0 ] || { failures=$((failures + 1)); printf '[exit status %d]\n' $status; }
}

cd /home/alice || exit 1
cat >prices.csv <<'CSV'
item,price,count
apple,0.5,12
pear,0.75,8
melon,3.2,2
CSV
cat >sum.py <<'PYTHON'
import csv
total = 0
for row in csv.DictReader(open("prices.csv")):
    cost = float(row["price"]) * int(row["count"])
    total += cost
    print(f"{row['item']:8}{cost:8.2f}")
print(f"{'total':8}{total:8.2f}")
PYTHON
cat >primes.js <<'SCRIPT'
const primes = [];
for (let n = 2; primes.length < 10; n++)
    if (primes.every(p => n % p)) primes.push(n);
console.log(primes.join(' '));
SCRIPT
cat >who.c <<'PROGRAM'
#include <stdio.h>
#include <unistd.h>

int main(void) {
        printf("in here I am uid %d; /etc/shadow %s\n", getuid(),
               access("/etc/shadow", F_OK) == 0 ? "exists" : "does not exist");
        return 0;
}
PROGRAM
chown alice:alice prices.csv sum.py primes.js who.c
chmod 644 prices.csv sum.py primes.js who.c

started=$(date '+%Y-%m-%d %H:%M:%S')

title "the service"
systemctl --no-pager --lines=5 status unitcelld.service || failures=$((failures + 1))

title "Python reads a CSV file that goes in with it"
as_alice unitcell run --language python --file prices.csv sum.py

title "JavaScript"
as_alice unitcell run --language javascript primes.js

title "C: compiled inside the sandbox, then run"
as_alice unitcell run --language c who.c

title "the same service over the bus, no client of ours involved"
as_alice busctl call org.unitcell1 /org/unitcell1 org.unitcell1.Manager Execute s \
        '{"language":"python","code":"print(6*7)"}'

title "what the journal holds about these"
journalctl --sync
journalctl --no-pager --since "$started" _SYSTEMD_UNIT=unitcelld.service _UID=0 --output=verbose \
        --output-fields=MESSAGE,UNITCELL_EXECUTION,UNITCELL_STATUS,UNITCELL_CALLER_UID,UNITCELL_POLICY,UNITCELL_LANGUAGE \
        | sed -n 's/^    \(MESSAGE\|UNITCELL_\)/        \1/p; /^[A-Z][a-z][a-z] 20/s/ \[.*//p'
records=$(journalctl --no-pager --since "$started" _SYSTEMD_UNIT=unitcelld.service _UID=0 --output=json |
        grep -c UNITCELL_EXECUTION)
echo
echo "$records records with an execution in them"
[ "$records" -ge 8 ] || failures=$((failures + 1))

if [ $failures -gt 0 ]; then
        echo "$failures of these did not work" >&2
        exit 1
fi
