package view

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// Expression prints what an expression came to, as HCL; of what is sensitive, that it is.
func Expression(w io.Writer, v state.Value, o Options) error {
	p := newPage(o)
	p.line(hcl(v, ""))
	return p.flush(w)
}

// Output prints one output: as HCL, as JSON, or bare for a script. A bare
// value is printed as it is and without a line break.
func Output(w io.Writer, v state.Value, raw, asJSON bool, o Options) error {
	switch {
	case v.Kind() == state.KindSensitive:
		return fmt.Errorf("the output is sensitive, and its value is kept nowhere: the state has a fingerprint of it. Take it from where the configuration has it")
	case v.Kind() == state.KindPending && (raw || asJSON):
		return fmt.Errorf("the output is known only after an apply")
	case asJSON:
		return WriteJSON(w, known(v))
	case !raw:
		return Expression(w, v, o)
	}
	switch v.Kind() {
	case state.KindString, state.KindNumber:
		_, err := io.WriteString(w, v.AsString())
		return err
	case state.KindBool:
		_, err := io.WriteString(w, inline(v))
		return err
	}
	return fmt.Errorf("only a string, number or boolean can be printed bare; use -json for others")
}

// OutputList prints outputs as assignments, without a heading.
func OutputList(w io.Writer, outputs map[string]state.Value, o Options) error {
	p := newPage(o)
	if len(outputs) == 0 {
		p.line(p.bold(p.yellow("Warning: ")), p.bold("No outputs found"))
		p.line()
		p.prose("The state has no outputs: the configuration defines none, or it was not applied since it does.")
		return p.flush(w)
	}
	p.assign(outputs)
	return p.flush(w)
}

// hcl prints a value over several lines where it is a map, list or text.
func hcl(v state.Value, indent string) string {
	deeper := indent + "  "
	switch v.Kind() {
	case state.KindMap, state.KindArgs:
		members, ok := nested(v)
		if !ok {
			return "{}"
		}
		width := 0
		for _, m := range members {
			width = max(width, len(key(m.key)))
		}
		var b strings.Builder
		b.WriteString("{\n")
		for _, m := range members {
			b.WriteString(deeper + fill(key(m.key), width) + " = " + hcl(m.value, deeper) + "\n")
		}
		return b.String() + indent + "}"
	case state.KindList:
		if len(v.AsList()) == 0 {
			return "[]"
		}
		var b strings.Builder
		b.WriteString("[\n")
		for _, e := range v.AsList() {
			b.WriteString(deeper + hcl(e, deeper) + ",\n")
		}
		return b.String() + indent + "]"
	case state.KindString:
		if multiline(v) {
			lines := textLines(v)
			end := delimiter(lines)
			return "<<-" + end + "\n" + deeper + strings.Join(lines, "\n"+deeper) + "\n" + indent + end
		}
	}
	return inline(v)
}

// State prints what is recorded, by resource.
func State(w io.Writer, st *state.State, o Options) error {
	p := newPage(o)
	targets := StateTargets(st)
	if len(targets) == 0 {
		p.line("The state is empty: nothing is there, or nothing was applied yet.")
	}
	for _, t := range targets {
		p.recorded(st, t)
	}
	if len(st.Outputs) > 0 {
		p.line(p.boldGreen("Outputs:"))
		p.line()
		p.assign(st.Outputs)
	}
	return p.flush(w)
}

// StateList prints addresses, one per line.
func StateList(w io.Writer, targets []state.Target) error {
	p := newPage(Options{})
	for _, t := range targets {
		p.line(Clean(t.String()))
	}
	return p.flush(w)
}

// StateShow prints what is recorded at an address: a resource with all its
// items, or an item with all its attributes. It reports whether there is anything.
func StateShow(w io.Writer, st *state.State, a state.Address, o Options) (shown bool, err error) {
	p := newPage(o)
	if a.Phase == "" && slices.Contains(StateTargets(st), a.Target) {
		shown = true
		p.recorded(st, a.Target)
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
		p.line("# ", p.bold(Clean(it.Address.WithField(a.Field).String())))
		p.line(hcl(v, ""))
		p.line()
	}
	return shown, p.flush(w)
}

// StateTargets lists the clusters, addons and nodes of a state, in this order.
func StateTargets(st *state.State) []state.Target {
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

// recorded prints one resource: what it is, and its items by phase.
func (p *page) recorded(st *state.State, t state.Target) {
	p.line("# ", p.bold(Clean(t.String())), ":")
	p.line(blockHead(t), " {")
	facts := map[string]state.Value{}
	add := func(name, value string) {
		if value != "" {
			facts[name] = state.String(value)
		}
	}
	if n := st.Nodes[t]; n != nil {
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
	if c := st.Clusters[t.Name]; t.Type == state.TypeCluster && c != nil {
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
		p.line("    ", fill(name, width), " = ", inline(facts[name]))
	}
	p.recordedItems(st, t)
	p.line("}")
	p.line()
}

func (p *page) recordedItems(st *state.State, t state.Target) {
	phase := ""
	for _, it := range st.Items {
		if it.Address.Target != t {
			continue
		}
		if it.Address.Phase != phase {
			if phase != "" {
				p.line("    }")
			}
			phase = it.Address.Phase
			p.line()
			p.line("    ", Clean(phase), " {")
		}
		p.line("        ", recordedHead(it))
	}
	if phase != "" {
		p.line("    }")
	}
}

// recordedHead returns an item's kind and name.
func recordedHead(it state.Item) string {
	return strings.ReplaceAll(Clean(it.Address.Class()), "_", " ") + " " + quote(it.Address.ID())
}
