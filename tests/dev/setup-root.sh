# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs by chroot inside the staged root, before systemd starts there: what a package's post-install script would do
# after `meson install`, and the few things that make the place a test machine. $1: CONTAINER or GUEST.
set -eu

world=$1
unit_dir=/etc/systemd/system

# A quiet machine that is up soon: no udev to wait for, no logins on a terminal, nothing on a timer, no generator that
# looks for disks. In the virtual machine each of these is worth a part of a second or more.
for unit in \
        apt-daily.timer apt-daily-upgrade.timer console-getty.service container-getty@.service \
        dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer getty@.service getty-static.service \
        kmod-static-nodes.service ldconfig.service modprobe@.service serial-getty@.service \
        sys-fs-fuse-connections.mount sys-kernel-config.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
        systemd-binfmt.service systemd-firstboot.service systemd-hwdb-update.service \
        systemd-journal-catalog-update.service systemd-modules-load.service systemd-networkd.service \
        systemd-networkd-wait-online.service systemd-pcrphase.service systemd-pcrphase-sysinit.service \
        systemd-pstore.service systemd-remount-fs.service systemd-resolved.service systemd-sysusers.service \
        systemd-timesyncd.service systemd-udev-settle.service systemd-udev-trigger.service \
        systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udevd.service \
        systemd-update-done.service; do
        ln -sf /dev/null "$unit_dir/$unit"
done
mkdir -p /etc/systemd/system-generators
for generator in /usr/lib/systemd/system-generators/*; do
        ln -sf /dev/null "/etc/systemd/system-generators/${generator##*/}"
done
echo unitcell >/etc/hostname
printf '127.0.0.1 localhost unitcell\n::1 localhost\n' >/etc/hosts

# A machine id that exists: without it systemd takes this for a first boot and enables every unit by preset.
systemd-id128 new >/etc/machine-id

systemd-sysusers
getent group unitcell >/dev/null || groupadd -r unitcell
usermod -aG unitcell alice
usermod -aG unitcell bob

journalctl --update-catalog
[ ! -e /usr/lib/systemd/system/unitcelld.service ] || systemctl enable unitcelld.service

# The command of ./dev runs in this unit, so it has a unit and a cgroup as every other caller has. Not named
# unitcell-something: tests look for left-overs by that name.
if [ "$world" = CONTAINER ]; then
        cat >"$unit_dir/dev-command.service" <<UNIT
[Unit]
Description=Place of the command that ./dev runs
After=multi-user.target

[Service]
Type=exec
ExecStart=/usr/bin/sleep infinity
Slice=system.slice
TasksMax=infinity

[Install]
WantedBy=multi-user.target
UNIT
        mkdir -p /etc/unitcell/unitcell.conf.d
        cat >/etc/unitcell/unitcell.conf.d/50-container.conf <<CONF
# Written by ./dev: the machine outside may keep these controllers in cgroup v1, so they can be missing in here.
[Daemon]
AllowMissing=memory pids cpu
CONF
else
        cat >"$unit_dir/dev-command.service" <<UNIT
[Unit]
Description=The command that ./dev runs
After=multi-user.target

[Service]
Type=exec
ExecStart=/usr/local/sbin/unitcell-dev-agent
Slice=system.slice
TasksMax=infinity
OOMScoreAdjust=-900

[Install]
WantedBy=multi-user.target
UNIT
fi
systemctl enable dev-command.service
