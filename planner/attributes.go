package planner

import "slices"

// RenewalDue is the attribute of a certificate or kubeconfig that reports whether it
// ends soon. Time alone changes it: that is no drift, nobody did it.
const RenewalDue = "renewal_due"

// CASerial is the attribute of a kubeconfig, and of cluster-info, that tells which
// certificate of the operator's CA they trust: it may be reissued for the same key.
const CASerial = "ca_serial"

// StaleFiles is the attribute of a static pod that runs as it was before these
// files were written, of the kubeconfig of a kubelet that does, and of the DaemonSet of
// kube-proxy, whose pods do. It is never wanted.
const StaleFiles = "stale_files"

// LeftRules is the attribute of the DaemonSet of kube-proxy that says which nodes keep
// rules of another mode than the one in use. It is never wanted.
const LeftRules = "left_rules"

// NeverWanted reports whether an attribute, by its path, is one that only what is observed
// has: a change takes it away.
func NeverWanted(path string) bool { return path == StaleFiles || path == LeftRules }

// OnlyRereads reports whether nothing of an item changes but that who uses it reads
// again what is there.
func (c Change) OnlyRereads() bool {
	return len(c.Attributes) > 0 && !slices.ContainsFunc(c.Attributes, func(a AttributeChange) bool { return a.Path != StaleFiles })
}
