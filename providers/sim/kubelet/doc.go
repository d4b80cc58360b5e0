// Package kubelet is the kubelets of simulated machines: their start, static pods, bootstrap,
// certificates and DaemonSets. It does one step at a time when it is told to; when that is,
// is the world's.
package kubelet
