package refusal

import "github.com/kubewright/kubewright/state"

// A Start is a component that starts.
type Start struct {
	// Component is its name, such as kube-apiserver.
	Component string
	// Minor is the minor version of Kubernetes; see EtcdMinor.
	Minor int
	// Flags are --NAME=VALUE.
	Flags []string
	// Config is its configuration, and Path the file that it is in.
	Config state.Value
	Path   string
}
