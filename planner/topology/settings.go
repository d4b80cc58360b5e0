package topology

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// A plan shows for each changed value which line of the configuration sets it. Most values are a
// setting that is written into a file or object; tables map settings to their values, and values
// without a row are kubeadm's defaults. The effect of a patch is found by rendering without it.

// Placing maps a setting to values of an item. Both are split paths. A key "*" is any single key,
// the same on both sides, and "**" at the end is any number of keys: a value in a tree.
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

// Placings map settings to the values of an item. Earlier rows take precedence over later ones.
type Placings struct {
	// Cluster are the rows of the cluster's settings. Some settings of the node take precedence
	// over them (Before), as in a kubelet, and some do not (Behind), such as an address that an
	// argument may override. Objects only have the latter, of the cluster's primary.
	Before, Cluster, Behind []Placing
	Images                  []ImagePlacing
}

// ImagePlacing is an image in an item: Value is its path in the item, and At its path in a change.
// The first of the settings of its repository and tag that is set takes precedence.
type ImagePlacing struct {
	Value, At       string
	Repository, Tag []string
}

// Written is a setting that is present in the configuration.
type Written struct {
	Keys   []string
	Source state.Source
	// Leaf reports whether nothing inside of it is set.
	Leaf bool
}

// SharedKey identifies origins that are the same for all nodes of a cluster.
type SharedKey struct {
	Cluster  *config.Cluster
	Placings *Placings
}

// PatchedPath is a path of an item that a patch has changed.
type PatchedPath struct {
	Path   string
	Source state.Source
}
