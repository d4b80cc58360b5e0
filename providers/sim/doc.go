// Package sim is a fleet in memory: hosts, their clock and network, etcd membership,
// kubelets, static pods and the Kubernetes API, kept in one JSON file between commands. It
// is part of the binary (connection type "sim"), runs demonstrations, and is the base of
// most tests.
//
// # What is modelled
//
// A host has files with mode, owner and digest, units, sysctls, kernel modules, swap,
// mounts, links, firewall rules, images, a clock, a boot ID and a machine ID. It is made on
// first use, as a prepared Debian machine (Profile).
//
// An active kubelet with a valid configuration runs the static pods of its manifests
// folder, restarts those whose content changed, bootstraps with a token, registers its node
// and runs DaemonSets. Components come up only when the files in their arguments exist,
// their certificates are valid and match their keys, and their dependencies answer:
// kube-apiserver needs etcd, etcd needs a quorum of voters, the others need the API in
// their kubeconfig. Kubelets and components of static pods exit with the flags and fields with which
// the real ones of their version exited, and with their words. TLS is checked as far as records allow: issuer, names, expiry.
//
// Deployments get pods on nodes that they tolerate; a DaemonSet that mounts the folder of
// CNI configurations is a network addon and leaves the traces of one on hosts.
//
// etcd is its membership: bootstrap, learners that have to start before they are promoted,
// the arithmetic of quorum, refusals of unsafe changes. The API is a store of objects with
// server-side apply for one field manager, some defaults of the server, node objects,
// bootstrap tokens, evictions with PodDisruptionBudgets, and the administrator's rights.
//
// Keys and certificates are records (state.CertificateInfo), never key material: a key is a
// digest derived from the seed and a counter.
//
// # What is not modelled
//
// Data in etcd beyond objects, raft, pods other than static ones, those of DaemonSets and
// Deployments and those that a test adds, programs in pods, admission, RBAC beyond the
// administrator's and the kubelet's bootstrap, DNS (a name of no host counts as a load
// balancer in front of every API server whose certificate has it), real processes, and the
// bytes of non-text files.
//
// # Time and order
//
// Nothing runs by itself, and the wall clock is not read. Time passes when an operation
// takes some, and when all busy tasks sleep on the Clock; then the model settles. The same
// seed and the same calls in the same order give the same world, byte for byte.
//
// # Layers
//
// A World joins the packages below it, owns their lock, file and faults, and implements the
// interfaces of package providers. Each package knows only those above it in this list:
//
//	file         the content at a path, or a record in place of keys
//	staticpod    manifests of static pods
//	refusal      flags and configurations with which real components exit
//	store        the data that the API server keeps in etcd
//	machine      hosts: files, units, kernel, packages, processes
//	etcd         membership, quorum, snapshots
//	apiserver    health, access, nodes, apply, tokens
//	workload     pods of Deployments, scheduling, drains
//	kubelet      static pods, bootstrap, certificates, DaemonSets
//	operation    kubewright's operations on a host
//	observation  kubewright's queries to a host
//	edit         manual changes
package sim
