// Package kubeadm says what kubeadm of each supported version writes for a
// configuration: certificates, kubeconfigs, static pods, the kubelet's files
// and the objects of a cluster.
//
// All functions are pure: no file, no network, no clock, no randomness. What
// depends on the host comes in as facts, what depends on time (keys, serial
// numbers) is left to whoever performs the plan. Nothing of kubeadm is called
// or imported; real kubeadm is the oracle of the tests, whose outputs lie in
// testdata/oracle.
//
// Functions that render from user-given text (patches, component
// configurations) return an error. Check finds all of them at once, so that a
// plan begins only with what can be rendered.
package kubeadm
