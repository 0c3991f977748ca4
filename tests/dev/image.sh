# SPDX-License-Identifier: LGPL-2.1-or-later
# What a virtual machine needs beside the tree, made once per tree: the kernel, a tiny initial RAM disk of our own, and
# the tree as an ext4 image. The initial RAM disk unpacks a tar archive (the second disk) over the root before systemd
# starts, so that the service, its users, bus policy and polkit rules are simply there: no reload, no ordering.

# Raise this when the steps below change.
image_format=1

# In the order in which they are loaded; what they depend on is looked up.
guest_modules='virtio_pci virtio_blk virtio_console ext4 crc32c_generic'

ensure_image() {
        local boot="$tree_dir/boot-$image_format" new started=$EPOCHSECONDS

        image_dir=$boot
        [[ ! -d $boot ]] || return 0
        say "making the image for the virtual machine; this happens once for a tree"
        new=$boot.new
        rm -rf "$new"
        mkdir -p "$new"
        run_quietly "$cache/image.log" make_image "$tree_dir/root" "$new"
        mv "$new" "$boot"
        say "made in $(seconds_since "$started") s"
}

make_image() {
        local root=$1 new=$2 size

        cp "$root/boot/vmlinuz" "$new/vmlinuz"
        make_initrd "$root" "$new"
        # Room for the tests beside what is there; the file is sparse. No journal: the image is never written (qemu
        # keeps the changes of a run aside and drops them).
        size=$(($(du -sm "$root" | cut -f 1) * 5 / 4 + 4096))
        mkfs.ext4 -q -F -O ^has_journal -E lazy_itable_init=1 -m 0 -L unitcell -d "$root" "$new/root.ext4" "${size}M"
}

make_initrd() {
        local root=$1 new=$2 ram="$2/ram" version

        version=$(cat "$root/boot/version")
        mkdir -p "$ram"/{bin,dev,proc,sys,root,modules}
        cp "$root/bin/busybox" "$ram/bin/busybox"
        gather_modules "$root" "$version" "$ram/modules"
        cp "$dev_dir/guest-init" "$ram/init"
        chmod 755 "$ram/init"
        (cd "$ram" && find . | "$root/bin/busybox" cpio -o -H newc | gzip -1) >"$new/initrd"
        rm -rf "$ram"
}

# modprobe lists a module with everything that it needs, in the order of loading; names here keep that order.
# Debian 13 compresses modules, busybox cannot load those.
gather_modules() {
        local root=$1 version=$2 target=$3 module path name number=100

        for module in $guest_modules; do
                # A module that this kernel has built in, or has no more, is no loss; guest-init says what is missing.
                chroot "$root" modprobe -S "$version" --show-depends "$module" 2>/dev/null || true
        done | awk -v root="$root" '$1 == "insmod" && !seen[$2]++ { print root $2 }' >"$target/list"
        while read -r path; do
                name=$(basename "$path")
                number=$((number + 1))
                case $name in
                *.xz) xz -dc "$path" >"$target/$number-${name%.xz}" ;;
                *.zst) zstd -dc "$path" >"$target/$number-${name%.zst}" ;;
                *) cp "$path" "$target/$number-$name" ;;
                esac
        done <"$target/list"
}
