// Package hardening lists what the CIS Kubernetes Benchmark asks of a cluster of kubeadm, control by
// control: which value a setting gets where the configuration says nothing, and which values
// contradict the control.
package hardening
