# SPDX-License-Identifier: LGPL-2.1-or-later
# Packages of the machine, meson, and the tree that `meson install` lays.

plain_dir=build/plain
sanitized_dir=build/sanitized

# Install what is missing of packages-host. When nothing is, this costs one dpkg-query.
ensure_host_packages() {
        local wanted missing

        command -v dpkg-query >/dev/null || die "this machine is not a Debian: ./dev gets its packages with apt-get"
        mapfile -t wanted < <(package_list "$dev_dir/packages-host")
        mapfile -t missing < <(
                { printf '%s\n' "${wanted[@]}"; installed_packages "${wanted[@]}"; } | sort | uniq -u)
        [[ ${#missing[@]} -gt 0 ]] || return 0

        say "installing packages: ${missing[*]}"
        need_root "installing packages"
        mkdir -p "$cache"
        # Somebody else's apt may be at work; it gets ten minutes.
        run_quietly "$cache/apt-update.log" apt-get -q -o DPkg::Lock::Timeout=600 update
        DEBIAN_FRONTEND=noninteractive run_quietly "$cache/apt-install.log" \
                apt-get -q -y -o DPkg::Lock::Timeout=600 --no-install-recommends install "${missing[@]}"
}

installed_packages() {
        dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | awk '$1 == "installed" { print $2 }' |
                sort -u
}

# Configure a build directory unless it is configured. One that was made by a failed or another meson starts anew.
ensure_configured() {
        local dir=$1 options=(--prefix=/usr --sysconfdir=/etc --localstatedir=/var --buildtype=debugoptimized)

        [[ ! -f $source_dir/$dir/build.ninja ]] || return 0
        [[ $dir != "$sanitized_dir" ]] || options+=(-Db_sanitize=address,undefined -Db_lundef=false)
        rm -rf "${source_dir:?}/$dir"
        run_quietly "$cache/meson-${dir#build/}.log" /usr/bin/meson setup "$source_dir/$dir" "$source_dir" "${options[@]}"
}

# The compiler speaks to the user only when it has something to say.
compile() {
        local dir=$1 started=$EPOCHSECONDS log="$cache/compile-${1#build/}.log"

        ensure_configured "$dir"
        run_quietly "$log" ninja -C "$source_dir/$dir"
        grep -A 12 'warning:' "$log" >&2 || true
        progress "built $dir in $(seconds_since "$started") s"
}

build() {
        ensure_host_packages
        mkdir -p "$cache"
        lock_take build
        for dir in "$@"; do
                compile "$dir"
        done
        lock_release build
}

# Sets install_tree: the service as `meson install` lays it. UNITCELL_DESTDIR names one that exists already.
make_install_tree() {
        install_tree=${UNITCELL_DESTDIR:-}
        [[ -z $install_tree ]] || return 0
        install_tree=$run_dir/install
        mkdir -p "$install_tree"
        run_quietly "$cache/install.log" /usr/bin/meson install -C "$source_dir/$plain_dir" --no-rebuild --quiet \
                --destdir "$install_tree"
}

# What was built here must run there: an older Debian has an older libc.
check_release_fits() {
        local release=$1 own

        own=$(os_release VERSION_ID)
        [[ $(os_release ID) = debian && -n $own ]] || return 0
        ((own <= release)) || die "built on Debian $own, this does not run on Debian $release: use --debian $own"
}
