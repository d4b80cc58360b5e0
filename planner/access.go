package planner

import "github.com/kubewright/kubewright/state"

// KeyMode and KeyOwner are the attributes of a certificate for the mode and owner of the private
// key beside it. For a key or a kubeconfig the attributes are called mode and owner.
const (
	KeyMode  = "key_mode"
	KeyOwner = "key_owner"
)

// SetAccess sets mode and owner of an existing regular file. The content stays, so it does not have
// to be read again. Done when the file has this mode and owner.
type SetAccess struct {
	Path  string `json:"path"`
	Mode  string `json:"mode"`
	Owner string `json:"owner"`
	// IfPresent leaves an absent file alone.
	IfPresent bool `json:"if_present,omitempty"`
}

// Op returns the name in JSON.
func (SetAccess) Op() string { return "set_access" }

// Summary returns one line for the progress display.
func (o SetAccess) Summary() string {
	return "set mode " + o.Mode + " and owner " + o.Owner + " of " + o.Path
}

// IsAccess reports whether an attribute of a file with a private key says who may read it.
func IsAccess(kind state.Kind, path string) bool {
	switch kind {
	case state.KindCertificate:
		return path == KeyMode || path == KeyOwner
	case state.KindKey, state.KindKubeconfig:
		return path == "mode" || path == "owner"
	}
	return false
}

// Access splits the attributes of an update to a file with a private key: those that say who may
// read it, which SetAccess corrects, and all others.
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

// OnlyAccess reports whether the change affects only who may read a file with a private key.
func (c Change) OnlyAccess() bool {
	access, others := c.Access()
	return len(access) > 0 && len(others) == 0
}
