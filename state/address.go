package state

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Target names what a plan acts on: a cluster, an addon of a cluster, or a node.
// It is comparable and can key a map. The zero Target is invalid.
type Target struct {
	// Type is "cluster", "addon" or "node".
	Type string
	// Name is the label of the block: of the cluster (also for an addon) or the node.
	Name string
	// Key is the for_each key of a node, or the label of an addon.
	Key string
	// Keyed distinguishes a node with for_each (whose key may be "") from one without.
	Keyed bool
}

// The types of a Target.
const (
	TypeCluster = "cluster"
	TypeAddon   = "addon"
	TypeNode    = "node"
)

// ClusterTarget returns the target of the cluster block with the given label.
func ClusterTarget(name string) Target { return Target{Type: TypeCluster, Name: name} }

// AddonTarget returns the target of an addon block inside a cluster.
func AddonTarget(cluster, addon string) Target {
	return Target{Type: TypeAddon, Name: cluster, Key: addon, Keyed: true}
}

// NodeTarget returns the target of a node block without for_each.
func NodeTarget(name string) Target { return Target{Type: TypeNode, Name: name} }

// NodeKeyTarget returns the target of one node of a node block with for_each.
func NodeKeyTarget(name, key string) Target {
	return Target{Type: TypeNode, Name: name, Key: key, Keyed: true}
}

// String prints the target as it is written on a command line:
// cluster.prod, cluster.prod.addon["cni"], node.solo, node.cp["cp1"]. The zero
// Target prints as nothing.
func (t Target) String() string {
	switch {
	case t.IsZero():
		return ""
	case t.Type == TypeAddon:
		return "cluster." + t.Name + ".addon[" + strconv.Quote(t.Key) + "]"
	case t.Keyed:
		return t.Type + "." + t.Name + "[" + strconv.Quote(t.Key) + "]"
	default:
		return t.Type + "." + t.Name
	}
}

// IsZero reports whether the target is unset.
func (t Target) IsZero() bool { return t == Target{} }

// MarshalText implements encoding.TextMarshaler.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler; no text is the zero Target.
func (t *Target) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*t = Target{}
		return nil
	}
	parsed, err := ParseTarget(string(b))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// ParseTarget reads the form that Target.String prints.
func ParseTarget(s string) (Target, error) {
	t, rest, err := cutTarget(s)
	if err != nil {
		return Target{}, err
	}
	if rest != "" {
		return Target{}, fmt.Errorf("cannot parse target %q: unexpected %q after %s", s, rest, t)
	}
	return t, spelling(s, t.String())
}

// spelling refuses a second way to write an address: addresses are compared and looked up as
// text, so each has exactly one form.
func spelling(s, canonical string) error {
	if s != canonical {
		return fmt.Errorf("cannot parse address %q: write it as %s", s, canonical)
	}
	return nil
}

// cutTarget reads a target from the front of s and returns what follows it.
func cutTarget(s string) (Target, string, error) {
	typ, rest, ok := strings.Cut(s, ".")
	if !ok || (typ != TypeCluster && typ != TypeNode) {
		return Target{}, "", fmt.Errorf("cannot parse address %q: it must begin with cluster.NAME or node.NAME", s)
	}
	end := strings.IndexAny(rest, "[./@#")
	if end < 0 {
		end = len(rest)
	}
	t := Target{Type: typ, Name: rest[:end]}
	if t.Name == "" {
		return Target{}, "", fmt.Errorf("cannot parse address %q: the name is missing", s)
	}
	rest = rest[end:]
	if typ == TypeCluster {
		if after, ok := strings.CutPrefix(rest, ".addon"); ok {
			t.Type, rest = TypeAddon, after
		}
	}
	if t.Type == TypeCluster || !strings.HasPrefix(rest, "[") {
		if t.Type == TypeAddon {
			return Target{}, "", fmt.Errorf("cannot parse address %q: an addon needs its label, as in addon[\"cni\"]", s)
		}
		return t, rest, nil
	}
	quoted, err := strconv.QuotedPrefix(rest[1:])
	if err != nil {
		key, after, closed := strings.Cut(rest[1:], "]")
		if !closed || key == "" || strings.ContainsAny(key, `"'`) {
			return Target{}, "", fmt.Errorf("cannot parse address %q: the key in brackets must be quoted", s)
		}
		t.Key, t.Keyed = key, true
		return Target{}, "", fmt.Errorf("cannot parse address %q: the key in brackets must be quoted, and a shell takes quotes away: write %s", s, ShellWord(t.String()+after))
	}
	rest = rest[1+len(quoted):]
	if !strings.HasPrefix(rest, "]") {
		return Target{}, "", fmt.Errorf("cannot parse address %q: the closing bracket is missing", s)
	}
	t.Key, _ = strconv.Unquote(quoted)
	t.Keyed = true
	return t, rest[1:], nil
}

// Address identifies a target, a step, an item, or a field of an item. It is comparable; unset
// parts are empty.
//
//	node.cp["cp1"]                                       a target
//	node.cp["cp1"]/control-plane                         a step
//	node.cp["cp1"]/control-plane@1.35.8                  a step on the way to another version
//	node.cp["cp1"]/control-plane/file:/etc/x.yaml        an item
//	node.cp["cp1"]/control-plane/file:/etc/x.yaml#args   a field of it
//
// The form is fixed with format 1 of the state file.
type Address struct {
	Target   Target
	Phase    string
	Waypoint string
	// Item is CLASS:ID, such as file:/etc/kubernetes/admin.conf or
	// object:v1/ConfigMap/kube-system/kubeadm-config.
	Item string
	// Field is a path as Value.Get takes it.
	Field string
}

// A # begins the field, so one in an item (a file may have it in its name) is escaped.
var (
	escapeItem   = strings.NewReplacer("%", "%25", "#", "%23")
	unescapeItem = strings.NewReplacer("%25", "%", "%23", "#")
)

// String prints the address in the form that ParseAddress reads.
func (a Address) String() string {
	out := make([]byte, 0, 128)
	out = append(out, a.Target.String()...)
	if a.Phase != "" {
		out = append(append(out, '/'), a.Phase...)
	}
	if a.Waypoint != "" {
		out = append(append(out, '@'), a.Waypoint...)
	}
	if a.Item != "" {
		out = append(append(out, '/'), escapeItem.Replace(a.Item)...)
	}
	if a.Field != "" {
		out = append(append(out, '#'), a.Field...)
	}
	return string(out)
}

// WithField returns the address of a field of the item.
func (a Address) WithField(path string) Address { a.Field = path; return a }

// Step returns the address of the step that the item or field belongs to.
func (a Address) Step() Address {
	return Address{Target: a.Target, Phase: a.Phase, Waypoint: a.Waypoint}
}

// Class returns the part of the item before its colon: file, object, unit …
func (a Address) Class() string { c, _, _ := strings.Cut(a.Item, ":"); return c }

// ID returns the part of the item after its class: the path of a file, the reference of an
// object.
func (a Address) ID() string { _, id, _ := strings.Cut(a.Item, ":"); return id }

// SortByAddress sorts a list by the printed form of its elements' addresses. The sort is stable.
// The step, which neighbors mostly share, is printed once.
func SortByAddress[T any](list []T, of func(*T) Address) {
	order := make([]place, len(list))
	for i := range list {
		order[i] = place{Address: of(&list[i]), index: i}
		if a := &order[i]; i > 0 && order[i-1].sameStep(a.Address) {
			a.step = order[i-1].step
		} else {
			a.step = a.Step().String()
		}
	}
	compare := func(a, b place) int { return a.compare(&b) }
	if slices.IsSortedFunc(order, compare) {
		return
	}
	slices.SortStableFunc(order, compare)
	unsorted := slices.Clone(list)
	for i, p := range order {
		list[i] = unsorted[p.index]
	}
}

// place is the address of a list element during sorting.
type place struct {
	Address
	step  string // as it is printed
	index int
}

// compare is Address.Compare on the printed step.
func (a *place) compare(b *place) int {
	switch {
	case a.Field != "" || b.Field != "":
	case a.step == b.step:
		return strings.Compare(escapeItem.Replace(a.Item), escapeItem.Replace(b.Item))
	case !strings.HasPrefix(a.step, b.step) && !strings.HasPrefix(b.step, a.step):
		return strings.Compare(a.step, b.step)
	}
	return a.Address.Compare(b.Address)
}

func (a Address) sameStep(b Address) bool {
	return a.Target == b.Target && a.Phase == b.Phase && a.Waypoint == b.Waypoint
}

// Compare orders addresses by their printed form.
func (a Address) Compare(b Address) int { return strings.Compare(a.String(), b.String()) }

// MarshalText implements encoding.TextMarshaler.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler; no text is the zero Address.
func (a *Address) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*a = Address{}
		return nil
	}
	parsed, err := ParseAddress(string(b))
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

// ParseAddress reads the form that Address.String prints.
func ParseAddress(s string) (Address, error) {
	t, rest, err := cutTarget(s)
	if err != nil {
		return Address{}, err
	}
	a := Address{Target: t}
	if rest == "" {
		return a, spelling(s, a.String())
	}
	if !strings.HasPrefix(rest, "/") {
		return Address{}, fmt.Errorf("cannot parse address %q: unexpected %q after %s", s, rest, t)
	}
	phase, item, hasItem := strings.Cut(rest[1:], "/")
	a.Phase, a.Waypoint, _ = strings.Cut(phase, "@")
	if a.Phase == "" {
		return Address{}, fmt.Errorf("cannot parse address %q: the phase is missing", s)
	}
	if strings.Contains(phase, "#") {
		return Address{}, fmt.Errorf("cannot parse address %q: a field belongs to an item, which is missing", s)
	}
	if !hasItem {
		return a, spelling(s, a.String())
	}
	item, a.Field, _ = strings.Cut(item, "#")
	a.Item = unescapeItem.Replace(item)
	if class, id, ok := strings.Cut(a.Item, ":"); !ok || class == "" || id == "" {
		return Address{}, fmt.Errorf("cannot parse address %q: an item is written CLASS:ID", s)
	}
	return a, spelling(s, a.String())
}
