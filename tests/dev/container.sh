# SPDX-License-Identifier: LGPL-2.1-or-later
# The container: systemd as PID 1 under systemd-nspawn, at the machine's own speed. Where the machine outside still
# has cgroup v1 controllers mounted, there is no memory, pids and cpu controller in here: limits are tested in the
# virtual machine (guest.sh), and hostile programs never run here.

container_boot_timeout=${UNITCELL_CONTAINER_BOOT_TIMEOUT:-60}
container_leader= container_outer= container_cgroup=

# Start the container over the staged tree and wait until its start-up jobs are done. Sets container_leader, the id of
# its PID 1 out here. Arguments: directories to copy to /srv.
container_start() {
        local started=$EPOCHSECONDS

        container_make_cgroup
        # A pid namespace around it: when ./dev is killed, unshare is (exec_child), then its child, and with that, as
        # the namespace's number 1, every process of the container. systemd-nspawn alone would leave them running.
        # --private-network: without it a unit's PrivateNetwork= fails open in here.
        # --console=read-only: what PID 1 says goes to our log; no terminal is needed, unlike with =interactive, and
        # it does not end at once, as =pipe does without stdin.
        (export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1
        container_join_cgroup
        exec_child unshare --mount --propagation private --pid --fork --kill-child=KILL --mount-proc \
                bash "$dev_dir/stage.sh" "$tree_dir/root" "$run_dir" CONTAINER "$install_tree" "$@" -- \
                systemd-nspawn --quiet --private-network --register=no --keep-unit --console=read-only \
                --machine=unitcell-dev --link-journal=no --resolv-conf=off --timezone=off \
                --boot --directory="$run_dir/root") </dev/null >"$run_dir/console.log" 2>"$run_dir/nspawn.log" &
        container_outer=$!

        until container_find_leader "$container_outer" && container_is_up; do
                kill -0 "$container_outer" 2>/dev/null || container_failed "it ended while starting"
                (($(seconds_since "$started") < container_boot_timeout)) ||
                        container_failed "it was not up after $container_boot_timeout s"
                sleep 0.1
        done
}

# unshare's child is (stage.sh, then) systemd-nspawn; the child of that which is number 1 in a pid namespace of its own
# is the container's PID 1.
container_find_leader() {
        local nspawn child

        [[ -z $container_leader ]] || return 0
        nspawn=$(pgrep -P "$1" || true)
        [[ -n $nspawn && $(cat "/proc/$nspawn/comm" 2>/dev/null) = systemd-nspawn ]] || return 1
        for child in $(pgrep -P "$nspawn" || true); do
                if [[ $(awk '$1 == "NSpid:" && NF > 3 { print $NF }' "/proc/$child/status" 2>/dev/null) = 1 ]]; then
                        container_leader=$child
                        return 0
                fi
        done
        return 1
}

# --root, --wd: where pivot_root(2) was not possible (./dev itself runs in a chroot), the namespace's root is not its PID 1's.
enter_options=(--mount --root --wd --uts --ipc --net --pid --cgroup)
container_enter() { nsenter --target "$container_leader" "${enter_options[@]}" -- "$@"; }

# Up: every start-up job is done (unitcelld has started, or has failed), which is what multi-user.target waits for.
container_is_up() {
        container_enter timeout 5 systemctl is-active --quiet dev-command.service 2>/dev/null
}

container_failed() {
        say "the container did not boot: $1"
        say "the end of its console:"
        tail -n 40 "$run_dir/nspawn.log" "$run_dir/console.log" >&2 || true
        exit "$status_not_booted"
}

# container_run TIMEOUT|'' COMMAND…: run a command in the container: as root, in the unit dev-command.service, with
# our stdin, stdout and stderr. The shell in between joins the unit's cgroup: a bus peer outside every cgroup is not
# what a caller looks like. SIGINT is put back to its default because a background job of this script ignores it.
container_run() {
        local limit=$1 pid timer= ended status=0

        shift
        (exec_child nsenter --target "$container_leader" "${enter_options[@]}" -- \
                env -i --default-signal=INT,QUIT \
                PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root USER=root LOGNAME=root \
                SHELL=/bin/bash LANG=C.UTF-8 TERM="${TERM:-dumb}" \
                ${UNITCELL_TESTS_MUST_RUN:+UNITCELL_TESTS_MUST_RUN="$UNITCELL_TESTS_MUST_RUN"} \
                /bin/sh -c 'echo $$ >/sys/fs/cgroup/system.slice/dev-command.service/cgroup.procs || :
                            cd /root; exec "$@"' sh "$@") <&0 &
        pid=$!
        cleanup_pids+=("$pid")
        if [[ -n $limit ]]; then
                (exec_child sleep "$limit") </dev/null >/dev/null 2>&1 &
                timer=$!
                cleanup_pids+=("$timer")
        fi
        # The shell's own remark about a killed child must not get into the command's stderr.
        wait -n -p ended "$pid" $timer 2>/dev/null || status=$?
        if [[ -n $timer && $ended = "$timer" ]]; then
                say "the command did not end within $limit s"
                { container_stop; wait "$pid" || true; } 2>/dev/null
                return 124
        fi
        [[ -z $timer ]] || kill_child "$timer"
        return "$status"
}

# --- its cgroup -------------------------------------------------------------------------------------------------
# systemd-nspawn puts the container's cgroup below its own and leaves the empty directories behind. Below one of ours
# they are easy to find and remove, and the next container starts without them.

cgroup_mounts() { awk '$3 == "cgroup2" || ($3 == "cgroup" && $4 ~ /name=systemd/) { print $2 }' /proc/mounts; }

container_make_cgroup() {
        local mount own

        container_cgroup=
        mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
        own=$(sed -n 's/^0:://p' /proc/self/cgroup)
        [[ -n $mount ]] && mkdir "$mount${own%/}/unitcell-dev.$$" 2>/dev/null || return 0
        container_cgroup=$mount${own%/}/unitcell-dev.$$
}

container_join_cgroup() {
        [[ -z $container_cgroup ]] || echo 0 >"$container_cgroup/cgroup.procs" || true
}

# Also what a killed ./dev has left: we hold the machine lock.
remove_cgroups() {
        local mount

        while read -r mount; do
                find "$mount" -depth -type d -path '*/unitcell-dev.[0-9]*' -exec rmdir {} \; 2>/dev/null || true
        done < <(cgroup_mounts)
}

# The tree is thrown away, so an orderly shutdown would only cost time.
container_stop() {
        local tries=100

        [[ -n $container_outer ]] || return 0
        # Its number 1 first: everything in there dies with that, each parent out here is still there to reap its
        # child, and systemd-nspawn and unshare end by themselves.
        [[ -z $container_leader ]] || kill -KILL "$container_leader" 2>/dev/null || true
        wait_gone "$container_outer" 3 || true
        kill_child "$container_outer"
        # After a kill the kernel may still be busy with it.
        while [[ -n $container_leader && -d /proc/$container_leader ]] && ((tries-- > 0)); do
                sleep 0.05
        done
        container_leader= container_outer=
        remove_cgroups
}
