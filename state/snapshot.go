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
	KindEncryption  Kind = "encryption"  // providers of each resource, mode, owner; a key itself is never recorded
	KindUnit        Kind = "unit"        // active, enabled
	KindImage       Kind = "image"       // present
	KindBinary      Kind = "binary"      // sha256, mode, owner
	KindPackage     Kind = "package"     // version, held; status where it is there in part
	KindSysctl      Kind = "sysctl"      // value
	KindModule      Kind = "module"      // loaded
	KindSwap        Kind = "swap"        // on, at_boot
	KindUser        Kind = "user"        // group
	KindEtcdMember  Kind = "etcd_member" // name, peer_url, learner
	KindMark        Kind = "mark"        // kubewright's own mark on a host: cluster, node
	KindNodeObject  Kind = "node_object" // labels, taints, annotations that are ours
	KindObject      Kind = "object"      // the leaves that we set
)

// Class says how a plan treats an attribute.
type Class string

// The classes of an attribute; one without a class is bound.
const (
	// Bound attributes are part of diff and digest.
	Bound Class = "bound"
	// Shown attributes are printed, but not part of diff and digest: days left, pods on a node.
	Shown Class = "shown"
	// Gate attributes are evaluated again right before the operation: quorum,
	// PodDisruptionBudgets.
	Gate Class = "gate"
)

// Item is one thing on a host, in the API or in etcd.
type Item struct {
	Address Address `json:"address"`
	Kind    Kind    `json:"kind"`
	// Attributes is a map.
	Attributes Value `json:"attributes"`
	// Origin holds the source of the values, by attribute path. The longest path that is a prefix
	// of an attribute's path applies. Below the path of a list there may be its elements, by
	// their names or texts, and below a string the parts that it is composed of. Desired only.
	Origin map[string]Source `json:"origin,omitempty"`
	// Classes names the attributes that are not bound, by their first key.
	Classes map[string]Class `json:"classes,omitempty"`
	// CreateOnly marks an item that matters only at its creation: once it is present it is not
	// diffed, except for a renewal that is due (super-admin.conf, the founder's kubelet.conf) and
	// for its permissions, and its removal is no drift.
	CreateOnly bool `json:"create_only,omitempty"`
	// Expires marks an item that Kubernetes removes when it expires: once it was created as
	// desired, its absence is no difference.
	Expires bool `json:"expires,omitempty"`
	// Partial marks an item of which only the attributes present here are managed: other leaves
	// of the observed item are ignored (API objects, nodes).
	Partial bool `json:"partial,omitempty"`
	// Exact lists attribute paths of a partial item below which everything is managed.
	Exact []string `json:"exact,omitempty"`
	// Initial lists attribute paths that matter only at the item's creation: a Deployment's
	// replicas, which operators may scale.
	Initial []string `json:"initial,omitempty"`
	// Outdated lists those of Initial that are written nevertheless: the observed value is a
	// former default that was never changed. Desired only, never stored.
	Outdated []string `json:"-"`
	// Content is the content that a write produces. Desired only, never stored.
	Content []byte `json:"-"`
	// Sealed replaces Content in a plan if a part of it is sensitive. For an object a plan holds
	// Outline instead, in which only the sensitive leaves are sealed. Desired only, never stored.
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

// Unobserved records what could not be observed, and why. It is not an attribute value: something
// unobserved is neither present nor absent.
type Unobserved struct {
	Target Target `json:"target"`
	// Class restricts it to items of one class (object, node, member); empty means the whole
	// target.
	Class  string `json:"class,omitempty"`
	Reason string `json:"reason"`
	// Remedy says what the operator can do about it.
	Remedy string `json:"remedy,omitempty"`
	// Answered reports whether there is a machine nevertheless: it refused a login, for example.
	Answered bool `json:"-"`
	// Estranged reports whether the machine at the host's address did not prove to be that host.
	Estranged bool `json:"-"`
}

// Snapshot is the desired, observed or recorded state at one moment.
type Snapshot struct {
	// Items are sorted by address, each address once.
	Items []Item `json:"items"`
	// Facts are observed inputs that are never diffed, per node.
	Facts map[Target]*Facts `json:"facts,omitempty"`
	// Unobserved lists the targets that could not be observed.
	Unobserved []Unobserved `json:"unobserved,omitempty"`

	// places are the items' indices by address, as of the last Sort.
	places map[Address]int
}

// Sort orders the items by address. Find is fast afterwards, as long as the items are not moved.
func (s *Snapshot) Sort() {
	SortByAddress(s.Items, func(i *Item) Address { return i.Address })
	s.places = make(map[Address]int, len(s.Items))
	for i := range s.Items {
		s.places[s.Items[i].Address] = i
	}
}

// Check reports a broken invariant: unsorted or repeated addresses, or attributes that are no
// map.
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

// Dark reports whether the item or target at the address could not be observed.
func (s *Snapshot) Dark(a Address) bool {
	for _, u := range s.Unobserved {
		if u.Target == a.Target && (u.Class == "" || u.Class == a.Class()) {
			return true
		}
	}
	return false
}
