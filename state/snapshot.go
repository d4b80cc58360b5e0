package state

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is the kind of an item: a closed set.
type Kind string

// The kinds of an item.
const (
	KindFile        Kind = "file"        // attributes: sha256 or content, mode, owner
	KindDirectory   Kind = "directory"   // mode, owner
	KindCertificate Kind = "certificate" // see CertificateInfo
	KindKey         Kind = "key"         // mode, owner; the key itself is never read
	KindKubeconfig  Kind = "kubeconfig"  // see KubeconfigInfo
	KindStaticPod   Kind = "static_pod"  // the pod, with args split off its command
	KindYAMLFile    Kind = "yaml_file"   // content as a tree, mode, owner
	KindEnvFile     Kind = "env_file"    // the kubelet's flags as args, mode, owner
	KindUnit        Kind = "unit"        // active, enabled
	KindImage       Kind = "image"       // present
	KindBinary      Kind = "binary"      // sha256, mode, owner
	KindPackage     Kind = "package"     // version, held; status where it is there in part
	KindSysctl      Kind = "sysctl"      // value
	KindModule      Kind = "module"      // loaded
	KindSwap        Kind = "swap"        // on, at_boot
	KindEtcdMember  Kind = "etcd_member" // name, peer_url, learner
	KindMark        Kind = "mark"        // kubewright's own mark on a host: cluster, node
	KindNodeObject  Kind = "node_object" // labels, taints, annotations that are ours
	KindObject      Kind = "object"      // the leaves that we set
)

// Class says what a plan does with an attribute.
type Class string

// The classes of an attribute; one without a class is bound.
const (
	// Bound attributes are diffed and digested.
	Bound Class = "bound"
	// Shown attributes are printed, and neither diffed nor digested: days left, pods on a node.
	Shown Class = "shown"
	// Gate attributes are evaluated again right before the act: quorum, PodDisruptionBudgets.
	Gate Class = "gate"
)

// Item is one thing on a host, in the API or in etcd.
type Item struct {
	Address Address `json:"address"`
	Kind    Kind    `json:"kind"`
	// Attributes is a map.
	Attributes Value `json:"attributes"`
	// Origin tells, per attribute path, who wants the value. The longest path
	// that is a prefix of an attribute's path speaks for it. Below the path of a list
	// there may be its elements, by their names or texts, and below that of a text
	// what it is made of. Desired only.
	Origin map[string]Source `json:"origin,omitempty"`
	// Classes names the attributes that are not bound, by their first key.
	Classes map[string]Class `json:"classes,omitempty"`
	// CreateOnly marks an item that matters only while it is made: once it is
	// present it is not diffed, but for a renewal that is due (super-admin.conf, the
	// founder's kubelet.conf) and who may read it, and that somebody takes it away is
	// no drift.
	CreateOnly bool `json:"create_only,omitempty"`
	// Expires marks an item that Kubernetes takes away when its time is over:
	// once it was made as it is wanted, its absence is no difference.
	Expires bool `json:"expires,omitempty"`
	// Partial marks an item of which only the attributes present here are ours:
	// other leaves of the observed one are nobody's business (API objects, nodes).
	Partial bool `json:"partial,omitempty"`
	// Exact lists attribute paths of a partial item below which everything is ours.
	Exact []string `json:"exact,omitempty"`
	// Initial lists attribute paths that matter only while the item is made: a
	// Deployment's replicas, which somebody may scale.
	Initial []string `json:"initial,omitempty"`
	// Outdated lists those of Initial that are written all the same: what is there
	// is what was usual before, and nobody has changed it. Desired only, never stored.
	Outdated []string `json:"-"`
	// Content is what a write would put there. Desired only, never stored.
	Content []byte `json:"-"`
	// Sealed stands for Content in a plan when something in it is sensitive; of
	// an object Outline is what a plan holds, with only the sensitive leaves
	// sealed. Desired only, never stored.
	Sealed  Sensitive `json:"-"`
	Outline Value     `json:"-"`
}

// Class returns the class of the attribute at the path.
func (i Item) Class(path string) Class {
	key, _, _ := nextKey(path)
	if c, ok := i.Classes[key]; ok {
		return c
	}
	return Bound
}

// Unobserved says that something could not be looked at, and why. It is no
// value of any attribute: what was not seen is neither present nor absent.
type Unobserved struct {
	Target Target `json:"target"`
	// Class restricts it to items of one class (object, node, member); empty is all of the target.
	Class  string `json:"class,omitempty"`
	Reason string `json:"reason"`
	// Remedy says what the operator can do about it.
	Remedy string `json:"remedy,omitempty"`
	// Answered reports whether there is a machine all the same: it refused a login, say.
	Answered bool `json:"-"`
	// Estranged reports whether one is at the host's address which does not prove to be it.
	Estranged bool `json:"-"`
}

// Snapshot is what is wanted, seen or remembered at one moment.
type Snapshot struct {
	// Items are sorted by address, each address once.
	Items []Item `json:"items"`
	// Facts are observed inputs that are never diffed, per node.
	Facts map[Target]*Facts `json:"facts,omitempty"`
	// Unobserved lists the targets that could not be looked at.
	Unobserved []Unobserved `json:"unobserved,omitempty"`

	// places are the items' indices by address, as of the last Sort.
	places map[Address]int
}

// Sort orders the items by address; Find is quick from then on, for as long as
// the items are not moved.
func (s *Snapshot) Sort() {
	SortByAddress(s.Items, func(i *Item) Address { return i.Address })
	s.places = make(map[Address]int, len(s.Items))
	for i := range s.Items {
		s.places[s.Items[i].Address] = i
	}
}

// Check reports a broken invariant: unsorted or repeated addresses, or
// attributes that are no map.
func (s *Snapshot) Check() error {
	before := ""
	for i := range s.Items {
		item := &s.Items[i]
		address := item.Address.String()
		if k := item.Attributes.Kind(); k != KindMap {
			return fmt.Errorf("internal error: attributes of %s are no map", address)
		}
		if i > 0 && before >= address {
			return fmt.Errorf("internal error: %s is out of order or present twice", address)
		}
		before = address
	}
	return nil
}

// Find returns the item with the address, or nil.
func (s *Snapshot) Find(a Address) *Item {
	if i, ok := s.places[a]; ok && i < len(s.Items) && s.Items[i].Address == a {
		return &s.Items[i]
	}
	if len(s.places) == len(s.Items) {
		return nil
	}
	want := a.String()
	i, ok := slices.BinarySearchFunc(s.Items, want, func(it Item, want string) int {
		return strings.Compare(it.Address.String(), want)
	})
	if !ok {
		return nil
	}
	return &s.Items[i]
}

// Dark reports whether the item or target at the address could not be looked at.
func (s *Snapshot) Dark(a Address) bool {
	for _, u := range s.Unobserved {
		if u.Target == a.Target && (u.Class == "" || u.Class == a.Class()) {
			return true
		}
	}
	return false
}
