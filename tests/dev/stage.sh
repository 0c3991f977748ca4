#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Lays the service into a throw-away layer over a cached tree, then runs THEN… there. Both worlds, container and
# virtual machine, start from this one place. Runs in a mount namespace of its own, so that the mounts end with it.
#
#   stage.sh TREE RUN_DIR CONTAINER|GUEST INSTALL_TREE [COPY_DIR]… -- THEN…
#
# RUN_DIR/root is the result. What differs from the tree is in RUN_DIR/upper with overlayfs; without it, everything
# newer than RUN_DIR/stamp.
set -euo pipefail

tree=$1 run_dir=$2 world=$3 install_tree=$4
shift 4
copies=()
while [[ $1 != -- ]]; do copies+=("$1"); shift; done
shift
dev_dir=$(dirname "$(realpath "$0")")
root=$run_dir/root

mkdir -p "$root" "$run_dir/upper" "$run_dir/work"
# metacopy and redirect_dir off: the upper layer must make sense when it is read as plain files.
if ! mount -t overlay overlay \
        -o "lowerdir=$tree,upperdir=$run_dir/upper,workdir=$run_dir/work,metacopy=off,redirect_dir=off" \
        "$root" 2>"$run_dir/overlay.log"; then
        echo "./dev: no overlayfs here ($(tail -n 1 "$run_dir/overlay.log")): copying the tree, which is slower" >&2
        rmdir "$run_dir/upper"
        cp --reflink=auto -a "$tree/." "$root/"
        touch "$run_dir/stamp"
        sleep 0.05
        # systemd-nspawn wants its root to be a mount point, or makes it one in a way that differs by version.
        mount --bind "$root" "$root"
fi

# Directories that exist keep their mode and owner, links like /lib stay links, and everything belongs to root.
lay() { tar --owner=0 --group=0 --numeric-owner -C "$1" -cf - . |
        tar -C "$2" --no-overwrite-dir --keep-directory-symlink -xpf -; }

lay "$install_tree" "$root"
for copy in ${copies[@]+"${copies[@]}"}; do
        target=$root/srv/$(basename "$copy")
        mkdir -p "$target"
        lay "$copy" "$target"
done
cp "$dev_dir/agent.py" "$root/usr/local/sbin/unitcell-dev-agent"
chmod 755 "$root/usr/local/sbin/unitcell-dev-agent"
chroot "$root" /bin/bash -s "$world" <"$dev_dir/setup-root.sh" >"$run_dir/setup.log" 2>&1 || {
        cat "$run_dir/setup.log" >&2
        echo "./dev: could not set up the service in the tree" >&2
        exit 125
}

exec "$@"
