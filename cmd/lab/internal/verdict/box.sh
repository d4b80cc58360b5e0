# Runs a program in namespaces of its own, on a root that is thrown away.
# LOWER: read-only layers; BOX: an empty folder; UPPER: a folder that keeps what is written;
# CGROUPS: words FOLDER=MOUNT-OPTIONS, or unified; SHARED: a folder that is seen as /shared;
# PROGRAMS: a folder that is seen as /programs; BEFORE: what runs first, in the root.
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$BOX"
root=$BOX/root
mkdir "$root" "$BOX/upper" "$BOX/work"
[ -z "$UPPER" ] || mkdir -p "$UPPER" "$UPPER.work"
mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=${UPPER:-$BOX/upper},workdir=${UPPER:-$BOX/}${UPPER:+.}work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
if [ "$CGROUPS" = unified ]; then
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
    mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
    for group in $CGROUPS; do
        mkdir "$root/sys/fs/cgroup/${group%%=*}"
        mount -t cgroup -o "${group#*=}" cgroup "$root/sys/fs/cgroup/${group%%=*}"
    done
fi
mount --bind /dev "$root/dev"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mkdir -p "$root/programs" "$root/shared" "$root/var/lib/kubelet" "$root/var/log/pods"
mount --bind "$PROGRAMS" "$root/programs"
mount --bind "$SHARED" "$root/shared"
hostname verdict
[ -z "$BEFORE" ] || chroot "$root" /bin/sh -c "$BEFORE"
exec chroot "$root" "$@"
