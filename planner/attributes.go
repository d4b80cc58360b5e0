package planner

import "slices"

// RenewalDue is the attribute of a certificate or kubeconfig that reports whether it expires soon.
// It changes with time alone, so a difference is no drift.
const RenewalDue = "renewal_due"

// CASerial is the attribute of a kubeconfig, and of cluster-info, with the serial number of the
// operator's CA certificate that they trust: that CA may be reissued for the same key.
const CASerial = "ca_serial"

// StaleFiles is the attribute that lists files which were written after their reader started.
// Static pods have it, the kubeconfig, configuration and flags of a kubelet, and the DaemonSet of
// kube-proxy for its pods.
// It is never desired.
const StaleFiles = "stale_files"

// LeftRules is the attribute of the DaemonSet of kube-proxy that lists the nodes with leftover
// rules of another mode than the current one. It is never desired.
const LeftRules = "left_rules"

// NeverWanted reports whether the attribute at path exists only in observed items: a change always
// removes it.
func NeverWanted(path string) bool { return path == StaleFiles || path == LeftRules }

// OnlyRereads reports whether the only effect of the change is that a reader of existing files
// reads them again.
func (c Change) OnlyRereads() bool {
	return len(c.Attributes) > 0 && !slices.ContainsFunc(c.Attributes, func(a AttributeChange) bool { return a.Path != StaleFiles })
}
