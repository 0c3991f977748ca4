# SPDX-License-Identifier: LGPL-2.1-or-later
# The cached root trees: a small Debian with systemd, made once by debootstrap from the machine's own package source,
# never written afterwards. Container and virtual machine both start from a throw-away layer on top of it.
#
#   $cache/tree-<release>-<flavour>-<hash>/root      the tree
#                                         /boot      kernel, initial RAM disk, ext4 image (made when a guest asks)

# Raise this when the steps below change in a way that old trees must not survive.
tree_format=2

package_list() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@"; }

# The package lists that make up a flavour, smallest first.
flavour_files() {
        echo "$dev_dir/packages-base"
        [[ $1 != full ]] || echo "$dev_dir/packages-full"
}

tree_path() {
        local release=$1 flavour=$2 files hash

        mapfile -t files < <(flavour_files "$flavour")
        hash=$({ echo "$tree_format $release"; package_list "${files[@]}"; } | sha256sum | cut -c 1-12)
        echo "$cache/tree-$release-$flavour-$hash"
}

# Make the tree unless it is there; sets tree_dir. The name appears by rename, so a tree that exists is a whole tree.
ensure_tree() {
        local release=$1 flavour=$2 new base='' started=$EPOCHSECONDS

        tree_dir=$(tree_path "$release" "$flavour")
        # The time of the last use, for forget_old_trees.
        [[ ! -d $tree_dir ]] || { touch "$tree_dir"; return 0; }

        say "making the Debian $release tree ($flavour); this happens once and takes a few minutes"
        [[ $flavour = base ]] || base=$(same_release_base "$release")
        find_mirrors
        new=$tree_dir.new
        rm -rf --one-file-system -- "$new"
        mkdir -p "$new/root"
        # A private mount namespace: what is mounted for the build disappears with the build, however it ends.
        run_quietly "$cache/tree.log" unshare --mount --propagation private \
                bash "$dev_dir/tree-make.sh" "$release" "$(codename "$release")" "$flavour" "$new/root" "$cache/debs" \
                "$mirror" "$security_mirror" "$base"
        mv "$new" "$tree_dir"
        forget_old_trees
        say "made in $(seconds_since "$started") s: $tree_dir"
}

# Trees of package lists that nobody has used for a week.
forget_old_trees() {
        find "$cache" -maxdepth 1 -name 'tree-*' -type d -mtime +7 -exec rm -rf --one-file-system -- {} +
}

# A bigger tree starts as a copy of the base tree, if that has been made already.
same_release_base() {
        local base

        base=$(tree_path "$1" base)
        [[ ! -d $base ]] || echo "$base/root"
}

# Where this machine gets its own Debian packages from. No host name is written down in this project.
find_mirrors() {
        mirror=$(own_source '')
        if [[ -z $mirror ]]; then
                # apt names only sources whose lists are on the disk.
                run_quietly "$cache/apt-update.log" apt-get -q -o DPkg::Lock::Timeout=600 update
                mirror=$(own_source '')
        fi
        [[ -n $mirror ]] || die "cannot find this release's package source in the machine's apt configuration"
        security_mirror=$(own_source -security)
}

# The first source of this machine's own release, or with a suffix of its security archive.
own_source() {
        apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Identifier: Packages' |
                awk -v suite="$(os_release VERSION_CODENAME)$1" '$1 == suite && $2 == "main" && !seen++ { print $3 }'
}
