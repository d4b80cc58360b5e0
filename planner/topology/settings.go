package topology

import (
	"github.com/kubewright/kubewright/state"
)

// Who reads a plan asks of each value that changes which line wants it. Most values
// are a setting put into a file or object; tables say which goes where, and what no
// row of a table refers to is kubeadm's default. What a patch sets shows when the same
// is rendered without it.

// Placing says where in an item a setting is. Both are paths, taken apart. A key "*"
// is any one key, the same on both sides, and "**" at the end any keys that follow:
// a value in a tree.
type Placing struct {
	Setting []string
	Values  [][]string
}

func Place(setting string, values ...string) Placing {
	p := Placing{Setting: state.SplitPath(setting)}
	for _, v := range values {
		p.Values = append(p.Values, state.SplitPath(v))
	}
	return p
}

// Placings tell where the values of an item come from. A row counts before those
// behind it.
type Placings struct {
	// cluster are those of the cluster's settings. Of the node's some count before
	// these, as they do in a kubelet, and some behind, as an address that an argument
	// may say otherwise. Objects have only the latter, of the cluster's primary.
	Before, Cluster, Behind []Placing
	Images                  []ImagePlacing
}

// ImagePlacing is an image in an item: value is where, and at as a change has it. Of
// the settings of its repository and tag the first that is written counts.
type ImagePlacing struct {
	Value, At       string
	Repository, Tag []string
}

// Written is a setting that stands in the configuration.
type Written struct {
	Keys   []string
	Source state.Source
	// Leaf reports whether nothing inside of it is written.
	Leaf bool
}

// SharedKey is an item as far as it is the same for all nodes of a cluster.
type SharedKey struct {
	Cluster  *Cluster
	Placings *Placings
}

// PatchedPath is a path of an item where a patch made it another.
type PatchedPath struct {
	Path   string
	Source state.Source
}
