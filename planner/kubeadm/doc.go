// Package kubeadm renders what kubeadm of each supported version writes for a configuration:
// certificates, kubeconfigs, static pods, the kubelet's files and the objects of a cluster.
//
// All functions are pure: no file, no network, no clock, no randomness. Values that depend on the
// host come in as facts; values that depend on time or chance (keys, serial numbers) are left to
// the performer of the plan. The package neither calls nor imports kubeadm; real kubeadm is the
// oracle of the tests, whose outputs are in testdata/oracle.
//
// Functions that render user-given text (patches, component configurations) return an error. Check
// finds all of these errors at once, so that a plan begins only with what can be rendered.
package kubeadm
