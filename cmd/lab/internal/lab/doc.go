// Package lab creates real hosts on one Linux machine, for demos, end-to-end tests and
// benchmarks: each host has its own systemd as PID 1, its own sshd, host name, machine ID,
// network stack, process and cgroup tree, and runs the container runtime and the kubelet like a
// separate machine.
//
// # Structure of a host
//
// A Debian 12 root file system, built once with debootstrap, is the read-only lower layer of one
// overlay per host. The additions of a Kubernetes host (a "prepared" host) are a second read-only
// layer. /var/lib/containerd and /var/lib/kubelet are bind mounts from disk, because the
// container runtime cannot stack its own overlays on an overlay, and /var/lib/etcd is in memory
// that survives a reboot, because the hosts' etcds would wait for one disk. A veth pair joins the
// host's network namespace to the lab's bridge. All processes of the host live in one cgroup
// folder per hierarchy, so they can be found, frozen and killed by name, also by a later process
// that knows only the name.
//
// # Words
//
// A lab is a bridge with hosts; several labs can run side by side. A guest is the representation
// of a host on this machine: a folder, a network namespace, processes. Leftovers are what remains
// of a lab whose process was killed; bringing up a lab of the same name clears them first. A
// prepared host is ready for kubeadm or kubewright; a bare one has Debian and sshd only, and the
// artifacts to prepare it lie in a folder on the operator's side (package build creates all of
// these).
//
// # Limits of such hosts
//
// The kernel is shared: modules, the clock, swap, global sysctls and kernel messages belong to
// all hosts and to the machine. Global sysctls that the kubelet sets are restored when the last
// lab is taken down.
package lab
