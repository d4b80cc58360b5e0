// Package lab makes real hosts on one Linux machine, for demos, end-to-end
// tests and benchmarks: each host has its own systemd as PID 1, its own sshd,
// host name, machine id, network stack, process and cgroup tree, and runs the
// container runtime and the kubelet as a machine of its own would.
//
// # How a host is made
//
// A Debian 12 root file system, built once with debootstrap, is the read-only
// lower layer of one overlay per host. What Kubernetes hosts need on top (a
// "prepared" host) is a second read-only layer. /var/lib/containerd and
// /var/lib/kubelet are bind mounts from disk, because the container runtime cannot
// stack its own overlays on an overlay, and /var/lib/etcd is memory that outlives
// a reboot, because the hosts' etcds would wait for one disk. A veth pair
// joins the host's network namespace to the lab's bridge. Everything the host
// runs lives in one cgroup folder per hierarchy, so it can be found, frozen and
// killed by name, also by a later process that knows nothing but the name.
//
// # Words
//
// A lab is a bridge with hosts; several labs live side by side. A guest is a host as
// it lives on this machine: a folder, a network namespace, processes. A leftover is
// what a lab whose maker was killed leaves behind; bringing up a lab of the same
// name clears it first. A prepared host is ready for kubeadm or kubewright; a
// bare one has Debian and sshd only, and the artifacts that would prepare it lie
// in a folder on the operator's side (package build makes all of this).
//
// # What such hosts cannot show
//
// The kernel is shared: modules, the clock, swap, global sysctls and kernel
// messages belong to all hosts and to the machine. Global sysctls that the
// kubelet sets are put back when the last lab goes down.
package lab
