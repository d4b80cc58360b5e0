// Package kubelet is the kubelets of simulated machines: their start, static pods,
// bootstrap, certificates and DaemonSets. It does one step per call; the world decides
// when.
package kubelet
