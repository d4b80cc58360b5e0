// Package sim is a fleet in memory: hosts, their clock and network, etcd
// membership, kubelets, static pods and the Kubernetes API, kept in one JSON
// file between commands. It ships in the binary (connection type "sim"), is
// what a demonstration runs on, and the base of most tests.
//
// # What is modelled
//
// A host has files with mode, owner and digest, units, sysctls, kernel modules,
// swap, mounts, links, firewall rules, images, a clock, a boot and machine ID.
// It is made when it is first asked for, as a prepared Debian machine (Profile).
//
// An active kubelet with a valid configuration runs the static pods of its
// manifests folder, restarts those whose content changed, bootstraps with a
// token, registers its node and takes up DaemonSets. Components come up only
// when the files their arguments name exist, their certificates are valid and
// fit their keys, and what they depend on answers: kube-apiserver needs etcd,
// etcd needs a quorum of voters, the others need the API that their kubeconfig
// names. TLS is checked as far as records go: issuer, names, expiry.
//
// Deployments get pods on nodes that tolerate them; a DaemonSet that mounts the
// folder of CNI configurations is a network and leaves on hosts what networks do.
//
// etcd is its membership: founding, learners that have to start before they
// are promoted, the arithmetic of quorum, refusals of unsafe changes. The API
// is a store of objects with server-side apply for one field manager, some
// defaults of the server's, node objects, bootstrap tokens, evictions with
// PodDisruptionBudgets, and the administrator's rights.
//
// Keys and certificates are records (state.CertificateInfo), never key
// material: a key is a digest derived from the seed and a counter.
//
// # What is not modelled
//
// Data in etcd beyond objects, raft, pods other than static ones, those of
// DaemonSets and Deployments and those that a test adds, what runs in them,
// admission, RBAC beyond the administrator's and the kubelet's bootstrap, DNS (a name that is no host's is a load balancer in
// front of every API server that presents it), real processes, and bytes of
// what is not text.
//
// # Time and order
//
// Nothing here runs by itself and no wall clock is read. Time passes when an
// operation takes some, and when all who are busy sleep on the Clock; then the model
// settles. The same seed and the same calls in the same order give the same
// world, byte for byte.
//
// # Layers
//
// A World joins the packages below it, has their lock, their file and their faults, and
// implements the interfaces of package providers. Each of them knows those before it:
//
//	file         what is at a path: content, or a record in place of keys
//	staticpod    manifests of static pods
//	store        what the API server keeps in etcd
//	machine      hosts: files, units, kernel, packages, processes
//	etcd         membership, quorum, snapshots
//	apiserver    health, access, nodes, apply, tokens
//	workload     pods of Deployments, scheduling, drains
//	kubelet      static pods, bootstrap, certificates, DaemonSets
//	operation    kubewright's operations on a host
//	observation  kubewright's questions to a host
//	edit         changes by hand
package sim
