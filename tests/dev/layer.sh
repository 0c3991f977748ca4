#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Packs what stage.sh changed into RUN_DIR/layer.tar.
set -euo pipefail
run_dir=$1

if [[ -d $run_dir/upper ]]; then
        # A device 0:0 is overlayfs's mark for "removed". Nothing in set-up removes a file of the tree; should it ever,
        # the mark must not become a device in the guest.
        (cd "$run_dir/upper" && find . -mindepth 1 ! -type c -print0) >"$run_dir/changed"
        base=$run_dir/upper
else
        (cd "$run_dir/root" && find . -mindepth 1 -xdev -cnewer "$run_dir/stamp" -print0) >"$run_dir/changed"
        base=$run_dir/root
fi
tar -C "$base" --numeric-owner --no-recursion --null -T "$run_dir/changed" -cf "$run_dir/layer.tar"
