# Runs once in the bootstrapped tree.
dpkg --purge runc containernetworking-plugins
apt-get clean
rm -rf /var/lib/apt/lists/* /var/log/*.log /var/log/apt /var/cache/debconf/*-old

# Identity is given to each host by itself.
rm -f /etc/ssh/ssh_host_* /etc/hostname /etc/resolv.conf /etc/hosts /var/lib/dbus/machine-id
: >/etc/machine-id

# What talks to hardware, to a terminal or to the network in the background.
for unit in systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket \
    systemd-udev-trigger.service systemd-udev-settle.service getty.target console-getty.service \
    dev-hugepages.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount \
    apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
    dpkg-db-backup.timer; do
    ln -sf /dev/null "/etc/systemd/system/$unit"
done

# The kernel's messages are those of every host; none of them is ours to keep.
mkdir -p /etc/systemd/journald.conf.d
printf '[Journal]\nReadKMsg=no\n' >/etc/systemd/journald.conf.d/lab.conf

# One user for each way of becoming root, and one who cannot.
useradd --create-home --shell /bin/bash ubuntu
useradd --create-home --shell /bin/bash --groups sudo carol
useradd --create-home --shell /bin/bash dave
echo 'carol:lab-password' | chpasswd
echo 'dave:lab-password' | chpasswd
echo 'ubuntu ALL=(ALL) NOPASSWD:ALL' >/etc/sudoers.d/ubuntu
chmod 0440 /etc/sudoers.d/ubuntu
