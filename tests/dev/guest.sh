# SPDX-License-Identifier: LGPL-2.1-or-later
# The virtual machine: everything real, full cgroup v2 and a kernel of its own, without any help of the hardware
# (so slow that times measured in it mean nothing). image.sh makes its disks, vm.py runs it, agent.py is inside.

# guest_run STDIN(yes|no) TIMEOUT|'' [COPY_DIR]… -- [COMMAND…]: boot, run, end; the command's exit status.
guest_run() {
        local stdin=$1 timeout=$2 copies=() options=() pid status=0

        shift 2
        while [[ $1 != -- ]]; do copies+=("$1"); shift; done
        shift

        stage_layer ${copies[@]+"${copies[@]}"}
        [[ -z $timeout ]] || options+=(--timeout "$timeout")
        [[ $verbose != yes ]] || options+=(--verbose)
        [[ $stdin != yes ]] || options+=(--shell)
        [[ -z ${UNITCELL_TESTS_MUST_RUN:-} ]] || options+=(--env "UNITCELL_TESTS_MUST_RUN=$UNITCELL_TESTS_MUST_RUN")
        # <&0: a background job would get /dev/null. It is one so that our traps run while it lasts.
        (exec_child /usr/bin/python3 "$dev_dir/vm.py" --run "$run_dir" --image "$image_dir" \
                --layer "$run_dir/layer.tar" --memory "$guest_memory" --boot-timeout "$guest_boot_timeout" \
                --accel "${UNITCELL_ACCEL:-tcg,thread=multi}" --cpu "${UNITCELL_CPU:-max}" \
                ${options[@]+"${options[@]}"} -- "$@") <&0 &
        pid=$!
        cleanup_pids+=("$pid")
        wait "$pid" || status=$?
        return "$status"
}

# What differs from the tree, as a tar archive: the second disk of the machine.
stage_layer() {
        run_quietly "$run_dir/stage.log" unshare --mount --propagation private \
                bash "$dev_dir/stage.sh" "$tree_dir/root" "$run_dir" GUEST "$install_tree" "$@" -- \
                bash "$dev_dir/layer.sh" "$run_dir"
}

verbose=no
guest_memory=2048
guest_boot_timeout=${UNITCELL_GUEST_BOOT_TIMEOUT:-180}
