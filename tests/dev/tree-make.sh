#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes one root tree. Runs in a mount namespace of its own (see tree.sh), as root.
set -euo pipefail

release=$1 suite=$2 flavour=$3 root=$4 debs=$5 mirror=$6 security=$7 base=$8
dev_dir=$(dirname "$(realpath "$0")")

export DEBIAN_FRONTEND=noninteractive LC_ALL=C
# debootstrap and apt inside the tree use the proxy that the machine's apt uses.
proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy)
[[ -z $proxy || $proxy = DIRECT ]] || export http_proxy=$proxy

package_list() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@"; }
inside() { chroot "$root" "$@"; }

start_fresh() {
        mkdir -p "$debs/$suite"
        debootstrap --variant=minbase --cache-dir="$debs/$suite" "$suite" "$root" "$mirror"
        # Nothing in here needs to survive a power cut.
        echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unitcell-dev"
        {
                echo "deb $mirror $suite main"
                echo "deb $mirror $suite-updates main"
                [[ -z $security ]] || echo "deb $security $suite-security main"
        } >"$root/etc/apt/sources.list"
}

install_packages() {
        local packages

        mapfile -t packages < <(package_list "$@")
        mount --bind "$debs/$suite" "$root/var/cache/apt/archives"
        mkdir -p "$debs/$suite/partial"
        inside apt-get update -q
        inside apt-get -q -y -o APT::Keep-Downloaded-Packages=true upgrade
        inside apt-get -q -y -o APT::Keep-Downloaded-Packages=true --no-install-recommends install "${packages[@]}"
        umount "$root/var/cache/apt/archives"
}

# The kernel is only unpacked: installing it would bring initramfs-tools and udev, and with them a slow boot.
add_kernel() {
        local package unpacked=$root/tmp/kernel version

        package=$(inside apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' |
                head -n 1)
        (cd "$debs/$suite" && inside sh -c "cd /tmp && apt-get -q download $package")
        mkdir "$unpacked"
        dpkg-deb -x "$root"/tmp/linux-image-*.deb "$unpacked"
        rm "$root"/tmp/linux-image-*.deb
        mkdir -p "$root/usr/lib/modules" "$root/boot"
        # /lib is a link in the tree but a directory in the package.
        [[ ! -d $unpacked/lib/modules ]] || mv "$unpacked"/lib/modules/* "$root/usr/lib/modules/"
        [[ ! -d $unpacked/usr/lib/modules ]] || mv "$unpacked"/usr/lib/modules/* "$root/usr/lib/modules/"
        version=$(basename "$unpacked"/boot/vmlinuz-*)
        version=${version#vmlinuz-}
        mv "$unpacked/boot/vmlinuz-$version" "$root/boot/vmlinuz"
        echo "$version" >"$root/boot/version"
        rm -rf "$unpacked"
        inside depmod "$version"
}

# Three ordinary users for the tests: two of them join the group `unitcell` once the service has brought it.
add_users() {
        local id=2001 name

        for name in alice bob carol; do
                inside useradd --uid "$id" --user-group --create-home --shell /bin/bash "$name"
                id=$((id + 1))
        done
        inside passwd -d root
}

# What must not be the same or stale in every machine made from this.
tidy() {
        : >"$root/etc/fstab"
        : >"$root/etc/machine-id"
        rm -f "$root/etc/resolv.conf" "$root"/var/lib/apt/lists/*_* "$root"/var/log/*.log "$root"/var/log/apt/*
}

if [[ -n $base ]]; then
        cp --reflink=auto -a "$base/." "$root/"
        cp /etc/resolv.conf "$root/etc/resolv.conf"
else
        start_fresh
fi
# Maintainer scripts (Java's above all) want /proc; the namespace takes the mounts away again.
mount -t proc proc "$root/proc"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
[[ -n $base ]] || install_packages "$dev_dir/packages-base"
[[ $flavour != full ]] || install_packages "$dev_dir/packages-full"
if [[ -z $base ]]; then
        add_kernel
        add_users
fi
rm "$root/usr/sbin/policy-rc.d"
tidy
umount "$root/proc"
