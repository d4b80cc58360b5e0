package store

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// Data is the data that API servers store in one etcd: the API's objects.
type Data struct {
	Objects map[string]*Object `json:"objects,omitempty"` // by state.ObjectRef's text
	Nodes   map[string]*Node   `json:"nodes,omitempty"`
	Pods    []*Pod             `json:"pods,omitempty"`
	PDBs    []*PDB             `json:"pdbs,omitempty"`
	Claims  []*Claim           `json:"claims,omitempty"`
	Leases  map[string]*Lease  `json:"leases,omitempty"`
	Made    int                `json:"made,omitempty"`
	// Leased counts the versions of all leases.
	Leased int `json:"leased,omitempty"`

	// Stale reports whether pods may have to be created, removed or scheduled.
	Stale bool `json:"-"`
}

// Initialize prepares the data of a cluster that is new or was read from a file.
func (d *Data) Initialize() {
	if d.Objects == nil {
		d.Objects = map[string]*Object{}
	}
	if d.Nodes == nil {
		d.Nodes = map[string]*Node{}
	}
	d.Stale = true
}

// Has reports whether an object exists.
func (d *Data) Has(ref state.ObjectRef) bool { return d.Objects[ref.String()] != nil }

// Keys returns the keys of objects with a prefix, in order.
func (d *Data) Keys(prefix string) []string {
	var out []string
	for key := range d.Objects {
		if strings.HasPrefix(key, prefix) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
