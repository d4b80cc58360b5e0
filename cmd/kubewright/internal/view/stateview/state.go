package stateview

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// printer prints the records of a state.
type printer struct {
	*ui.Page
	st *state.State
}

// Print prints all records, by resource.
func Print(w io.Writer, st *state.State, o ui.Options) error {
	p := printer{ui.NewPage(o), st}
	targets := Targets(st)
	if len(targets) == 0 {
		p.Line("The state is empty: nothing is there, or nothing was applied yet.")
	}
	for _, t := range targets {
		p.resource(t)
	}
	if len(st.Outputs) > 0 {
		p.Line(p.BoldGreen("Outputs:"))
		p.Line()
		assign(p.Page, st.Outputs)
	}
	return p.Flush(w)
}

// List prints addresses, one per line.
func List(w io.Writer, targets []state.Target) error {
	p := ui.NewPage(ui.Options{})
	for _, t := range targets {
		p.Line(ui.Clean(t.String()))
	}
	return p.Flush(w)
}

// Show prints the record at an address: a resource with all its items, or an item with all its
// attributes. It reports whether there is one.
func Show(w io.Writer, st *state.State, a state.Address, o ui.Options) (shown bool, err error) {
	p := printer{ui.NewPage(o), st}
	if a.Phase == "" && slices.Contains(Targets(st), a.Target) {
		shown = true
		p.resource(a.Target)
	}
	for _, it := range st.Items {
		if a.Phase == "" || it.Address.Target != a.Target || it.Address.Phase != a.Phase || a.Item != "" && it.Address.Item != a.Item {
			continue
		}
		shown = true
		v := it.Attributes
		if a.Field != "" {
			v = v.Get(a.Field)
		}
		p.Line("# ", p.Bold(ui.Clean(it.Address.WithField(a.Field).String())))
		p.Line(ui.HCL(v, ""))
		p.Line()
	}
	return shown, p.Flush(w)
}

// Targets lists the clusters, addons and nodes of a state, in this order.
func Targets(st *state.State) []state.Target {
	seen := map[state.Target]bool{}
	for label := range st.Clusters {
		seen[state.ClusterTarget(label)] = true
	}
	for t := range st.Nodes {
		seen[t] = true
	}
	for _, it := range st.Items {
		seen[it.Address.Target] = true
	}
	rank := map[string]int{state.TypeCluster: 0, state.TypeAddon: 1, state.TypeNode: 2}
	return slices.SortedFunc(maps.Keys(seen), func(a, b state.Target) int {
		return cmp.Or(cmp.Compare(rank[a.Type], rank[b.Type]), strings.Compare(a.String(), b.String()))
	})
}

// resource prints one resource: its facts, and its items by phase.
func (p printer) resource(t state.Target) {
	p.Line("# ", p.Bold(ui.Clean(t.String())), ":")
	p.Line(ui.BlockHead(t), " {")
	facts := map[string]state.Value{}
	add := func(name, value string) {
		if value != "" {
			facts[name] = state.String(value)
		}
	}
	if n := p.st.Nodes[t]; n != nil {
		add("name", n.Name)
		add("role", n.Role)
		add("cluster", n.Cluster)
		add("address", n.Address)
		add("machine_id", n.MachineID)
		add("host_key", n.HostKey)
		if len(n.HopKeys) > 0 {
			facts["hop_keys"] = state.FromGo(n.HopKeys)
		}
		if n.PreventDestroy {
			facts["prevent_destroy"] = state.Bool(true)
		}
	}
	if c := p.st.Clusters[t.Name]; t.Type == state.TypeCluster && c != nil {
		add("kubernetes_version", c.Version)
		add("ca", c.CA)
		add("etcd_cluster_id", c.EtcdClusterID)
		if c.PreventDestroy {
			facts["prevent_destroy"] = state.Bool(true)
		}
	}
	width := 0
	for name := range facts {
		width = max(width, len(name))
	}
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		p.Line("    ", ui.Fill(name, width), " = ", ui.Inline(facts[name]))
	}
	p.items(t)
	p.Line("}")
	p.Line()
}

// items prints the items of a resource, by phase.
func (p printer) items(t state.Target) {
	phase := ""
	for _, it := range p.st.Items {
		if it.Address.Target != t {
			continue
		}
		if it.Address.Phase != phase {
			if phase != "" {
				p.Line("    }")
			}
			phase = it.Address.Phase
			p.Line()
			p.Line("    ", ui.Clean(phase), " {")
		}
		p.Line("        ", recordedHead(it))
	}
	if phase != "" {
		p.Line("    }")
	}
}

// recordedHead returns an item's kind and name.
func recordedHead(it state.Item) string {
	return strings.ReplaceAll(ui.Clean(it.Address.Class()), "_", " ") + " " + ui.Quote(it.Address.ID())
}
