package planner

import "github.com/kubewright/kubewright/state"

// KeyMode and KeyOwner are the attributes of a certificate that tell who may read the
// private key beside it. Those of a key or kubeconfig are called mode and owner.
const (
	KeyMode  = "key_mode"
	KeyOwner = "key_owner"
)

// SetAccess gives a regular file that is there mode and owner. What is in it stays, so
// that nobody has to read it again. Done when the file has them.
type SetAccess struct {
	Path  string `json:"path"`
	Mode  string `json:"mode"`
	Owner string `json:"owner"`
}

// Op returns the name in JSON.
func (SetAccess) Op() string { return "set_access" }

// Summary returns one line for the progress display.
func (o SetAccess) Summary() string {
	return "set mode " + o.Mode + " and owner " + o.Owner + " of " + o.Path
}

// IsAccess tells an attribute of a file with a private key that says who may read it.
func IsAccess(kind state.Kind, path string) bool {
	switch kind {
	case state.KindCertificate:
		return path == KeyMode || path == KeyOwner
	case state.KindKey, state.KindKubeconfig:
		return path == "mode" || path == "owner"
	}
	return false
}

// Access splits the attributes of a change to a file with a private key that is there:
// those that say who may read it, which SetAccess puts right, and all others.
func (c Change) Access() (access, others []AttributeChange) {
	if c.Action != Update {
		return nil, c.Attributes
	}
	for _, a := range c.Attributes {
		if IsAccess(c.Kind, a.Path) && !a.Before.IsNull() && !a.After.IsNull() {
			access = append(access, a)
		} else {
			others = append(others, a)
		}
	}
	return access, others
}

// OnlyAccess reports whether nothing of a file with a private key changes but who may read it.
func (c Change) OnlyAccess() bool {
	access, others := c.Access()
	return len(access) > 0 && len(others) == 0
}
