# SPDX-License-Identifier: LGPL-2.1-or-later
# What every verb of ./dev needs: words to the user, the cache, locks, and the promise that nothing is left running.

cache=${UNITCELL_CACHE:-/var/cache/unitcell-dev}

# The statuses of `env`, `timeout` and `unitcell run`, so that scripts around ./dev can tell our failure from the
# command's own.
status_not_booted=125
# Our own failures end with this; the verbs that run a command set it to 125, so that 1 is the command's.
failure_status=1

say() { printf './dev: %s\n' "$*" >&2; }
# Routine remarks. Beside a command whose stderr somebody reads by program there are none: it passes byte for byte.
quiet=no
progress() { [[ $quiet = yes ]] || say "$@"; }
die() { say "$*"; exit "$failure_status"; }
usage_error() { say "$*"; say "see ./dev --help"; exit 2; }

need_root() {
        [[ $(id -u) -eq 0 ]] || die "$1 needs root (mounts, namespaces): run it with sudo"
}

# --- cleaning up ------------------------------------------------------------------------------------------------
# Whatever must not outlive us is registered here: processes (by id, in the order of their start) and the run
# directory. SIGKILL cannot be trapped, so long-lived children also carry a parent-death signal (dies_with_us).

cleanup_pids=()
run_dir=

cleanup() {
        local status=$?

        trap - EXIT
        trap '' INT TERM HUP
        end_run
        exit "$status"
}

# End what was started for this run and remove what it wrote. Also between two runs of one ./dev.
end_run() {
        local pid

        # The container's PID 1 first: it would take its time over an orderly shutdown.
        container_stop 2>/dev/null
        for pid in ${cleanup_pids[@]+"${cleanup_pids[@]}"}; do
                kill -TERM "$pid" 2>/dev/null || continue
                wait_gone "$pid" 5 || kill_child "$pid"
                wait_gone "$pid" 5 || say "process $pid does not want to die"
        done
        cleanup_pids=()
        [[ -z $run_dir ]] || remove_run_dir "$run_dir"
        run_dir=
}

arm_cleanup() {
        trap cleanup EXIT
        trap 'exit 129' HUP
        trap 'exit 130' INT
        trap 'exit 143' TERM
}

wait_gone() {
        local pid=$1 tries=$(($2 * 20))

        while kill -0 "$pid" 2>/dev/null; do
                # A zombie of ours is dead as far as the machine is concerned.
                [[ $(ps -o stat= -p "$pid" 2>/dev/null) != Z* ]] || return 0
                ((tries-- > 0)) || return 1
                sleep 0.05
        done
}

# Replace this (sub)shell by a command that does not outlive ./dev, not even a killed one, and that does not hold its
# locks. Always as ( exec_child … ) &, so that traps run while it lasts.
exec_child() {
        drop_locks
        exec setpriv --pdeathsig KILL -- "$@"
}

# Without the shell's remark that it was killed.
kill_child() {
        kill -KILL "$1" 2>/dev/null || true
        wait "$1" 2>/dev/null || true
}

# --- the run directory ------------------------------------------------------------------------------------------
# Everything one run writes is in here, so that the next run starts from the cached tree and nothing else.

make_run_dir() {
        mkdir -p "$cache/runs"
        run_dir=$(mktemp -d "$cache/runs/run-XXXXXXXX")
}

remove_run_dir() {
        # overlayfs makes its work directory mode 000, nspawn may have set attributes: root removes both.
        rm -rf --one-file-system -- "$1" 2>/dev/null || { sleep 1; rm -rf --one-file-system -- "$1"; } ||
                say "could not remove $1, ignoring"
}

# We hold the machine lock, so every run directory that is still there belongs to somebody who was killed.
remove_stale_runs() {
        local stale

        for stale in "$cache"/runs/run-*; do
                [[ -d $stale ]] || continue
                remove_run_dir "$stale"
        done
}

# --- locks ------------------------------------------------------------------------------------------------------
# One container or virtual machine at a time: they share the cached trees, and two of them on a small machine make
# every time-out a lottery. The lock goes with the process, so a killed ./dev never leaves it behind.

declare -A lock_fds=()

lock_take() {
        local name=$1 file="$cache/$1.lock" fd pid

        mkdir -p "$cache"
        exec {fd}>>"$file"
        lock_fds[$name]=$fd
        if ! flock --nonblock "$fd"; then
                say "waiting for another ./dev to finish with the $name" \
                        "($(cat "$file.holder" 2>/dev/null || echo unknown))"
                flock "$fd" &
                pid=$!
                cleanup_pids+=("$pid")
                wait "$pid"
                say "the $name is free, going on"
        fi
        printf 'pid %d: %.80s, since %s\n' $$ "${dev_command_line//[[:cntrl:]]/ }" "$(date +%T)" >"$file.holder"
}

lock_release() {
        local fd=${lock_fds[$1]}

        unset "lock_fds[$1]"
        exec {fd}>&-
}

drop_locks() {
        local fd

        for fd in "${lock_fds[@]}"; do
                exec {fd}>&-
        done
}

machine_lock_held=
machine_lock() {
        [[ -z $machine_lock_held ]] || return 0
        lock_take machine
        machine_lock_held=yes
        remove_stale_runs
        remove_cgroups
}

# --- long steps -------------------------------------------------------------------------------------------------
# They talk into a log; the user sees it only when they fail.

run_quietly() {
        local log=$1 pid status=0

        shift
        (quiet_child "$@") >"$log" 2>&1 </dev/null &
        pid=$!
        cleanup_pids+=("$pid")
        wait "$pid" || status=$?
        [[ $status -ne 0 ]] || return 0
        tail -n 40 "$log" >&2
        die "failed with status $status: $* (the whole log: $log)"
}

quiet_child() {
        if [[ $(type -t "$1") = function ]]; then
                drop_locks
                "$@"
        else
                exec_child "$@"
        fi
}

# --- small things -----------------------------------------------------------------------------------------------

os_release() { (. /etc/os-release && printf '%s' "${!1:-}"); }

# The Debian release we boot when nobody asks for one: the host's own, so that what was built here runs there.
default_release() {
        case "$(os_release ID)$(os_release VERSION_ID)" in
        debian12 | debian13) os_release VERSION_ID ;;
        *) echo 12 ;;
        esac
}

codename() {
        case $1 in
        12) echo bookworm ;;
        13) echo trixie ;;
        *) usage_error "Debian $1 is not one of 12, 13" ;;
        esac
}

seconds_since() { printf '%d' $((EPOCHSECONDS - $1)); }
