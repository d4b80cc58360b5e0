// Package reset plans how hosts are given back: what kubewright and kubeadm have put there
// is removed, and what was there before is put back.
//
// It removes no member from etcd and no Node: those steps come before it.
//
// The package is pure: no clock, files, network or goroutines.
package reset
