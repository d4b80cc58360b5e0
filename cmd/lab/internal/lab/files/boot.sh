# Runs as PID 1 of a host's namespaces and ends by becoming its init.
# HOST_DIR: the host's folder; LOWER: its read-only layers; HOST_NAME; and
# CGROUPS: words FOLDER=MOUNT-OPTIONS, or "unified" for a machine with cgroup v2 only.
set -eu
root=$HOST_DIR/root
hostname "$HOST_NAME"
mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$HOST_DIR/upper,workdir=$HOST_DIR/work" "$root"

mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
if [ "$CGROUPS" = unified ]; then
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
    mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
    for group in $CGROUPS; do
        folder=${group%%=*} options=${group#*=}
        mkdir "$root/sys/fs/cgroup/$folder"
        mount -t cgroup -o "$options" cgroup "$root/sys/fs/cgroup/$folder"
        case $folder in *,*)
            for alias in $(echo "$folder" | tr , ' '); do ln -s "$folder" "$root/sys/fs/cgroup/$alias"; done ;;
        esac
    done
fi

mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/net"
for device in null zero full random urandom tty kmsg fuse net/tun; do
    [ -e "/dev/$device" ] || continue
    mknod -m 666 "$root/dev/$device" c "$((0x$(stat -c %t "/dev/$device")))" "$((0x$(stat -c %T "/dev/$device")))"
done
mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/mqueue"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"

# Folders of their own: the container runtime's overlays do not work on an overlay,
# mounts below the kubelet's folder must be seen in containers and back, and etcd's
# data are in memory.
for folder in containerd kubelet etcd; do
    mkdir -p "$root/var/lib/$folder"
    mount --bind "$HOST_DIR/$folder" "$root/var/lib/$folder"
done
chmod 700 "$root/var/lib/etcd"

# A boot ID of its own, by which a reboot is detected.
cat /proc/sys/kernel/random/uuid >"$HOST_DIR/boot_id"
mount --bind "$HOST_DIR/boot_id" "$root/proc/sys/kernel/random/boot_id"
mount -o remount,bind,ro "$root/proc/sys/kernel/random/boot_id"
if [ -e /sys/class/dmi/id/product_uuid ]; then
    mount --bind "$HOST_DIR/product_uuid" "$root/sys/class/dmi/id/product_uuid"
fi
if [ -d "/lib/modules/$(uname -r)" ]; then
    mkdir -p "$root/lib/modules"
    mount --bind -o ro /lib/modules "$root/lib/modules"
fi

cd "$root"
mkdir -p .old
pivot_root . .old
umount -l /.old
rmdir /.old
mount --make-rshared /
exec env -i container=lab PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /sbin/init
