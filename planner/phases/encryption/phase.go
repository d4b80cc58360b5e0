package encryption

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Encryption writes the file of keys on control planes.
var Encryption = topology.Phase{
	Name: topology.EncryptionPhase,
	NodeItems: func(n *topology.Node) []state.Item {
		if !n.IsControlPlane() || n.Cluster.AtRest == nil {
			return nil
		}
		return []state.Item{{
			Address: address(n), Kind: state.KindEncryption, Attributes: attributes("0600", topology.Root, final(n.Cluster), n.Cluster.AtRest.Plugins()),
			Origin: origins(n.Cluster),
		}}
	},
	NodeStep:  finalStep,
	NodeNeeds: finalNeeds,
}

func address(n *topology.Node) state.Address {
	return topology.ItemAddress(n.Target, topology.EncryptionPhase, "file", atrest.Path)
}

// origins returns the lines that set the attributes.
func origins(c *topology.Cluster) map[string]state.Source {
	at := func(path string) state.Source {
		if s := c.Origins.Of("encryption." + path); !s.IsZero() {
			return s
		}
		return c.AtRest.Source
	}
	out := map[string]state.Source{"": c.AtRest.Source, "plugins": at("kms")}
	for _, r := range c.AtRest.Resources {
		out[state.JoinPath("resources", r)] = at("key")
	}
	return out
}

func attributes(mode, owner string, c chains, plugins map[string]state.KMSPlugin) state.Value {
	resources := map[string]any{}
	for r, chain := range c {
		resources[r] = strings.Join(chain, ", ")
	}
	m := map[string]any{"mode": mode, "owner": owner, "resources": resources}
	if len(plugins) > 0 {
		of := map[string]any{}
		for id, p := range plugins {
			of[id] = strings.TrimSpace(p.Endpoint + " " + p.Timeout)
		}
		m["plugins"] = of
	}
	return state.FromGo(m)
}

// Observe returns the observed attributes of the file; false if there is none.
func Observe(n *topology.Node, f state.FileReport) (state.Value, bool) {
	if !f.Exists {
		return state.Value{}, false
	}
	if f.Encryption == nil {
		return topology.Attributes("mode", f.Mode, "owner", f.Owner, "invalid", f.Invalid), true
	}
	attrs := attributes(f.Mode, f.Owner, f.Encryption.Chains, f.Encryption.Plugins)
	if n != nil && n.Report != nil {
		if id := strayKey(n); id != "" {
			attrs = topology.WithAttribute(attrs, "invalid", "key "+id+" differs from that of other control planes")
		}
	}
	return attrs, true
}

// strayKey returns a key of a node's file that differs from the one of the same name on the control
// plane that the others follow; empty if there is none.
func strayKey(n *topology.Node) string {
	source := holders(n.Cluster)
	own := n.Report.Files[atrest.Path].Encryption.Keys
	for _, id := range slices.Sorted(maps.Keys(own)) {
		if first := source[id]; first != nil && first != n && first.Report.Files[atrest.Path].Encryption.Keys[id] != own[id] {
			return id
		}
	}
	return ""
}

// holders returns, for each key, the control plane from which others get it: the first one that has
// it, the running ones before those that join.
func holders(c *topology.Cluster) map[string]*topology.Node {
	out := map[string]*topology.Node{}
	order := running(c)
	for _, n := range c.ControlPlanes() {
		if !slices.Contains(order, n) {
			order = append(order, n)
		}
	}
	for _, n := range order {
		if n.Report == nil || n.Report.Files[atrest.Path].Encryption == nil {
			continue
		}
		for id := range n.Report.Files[atrest.Path].Encryption.Keys {
			if out[id] == nil {
				out[id] = n
			}
		}
	}
	return out
}

// maker returns the control plane on which new keys are made.
func maker(c *topology.Cluster) *topology.Node {
	if nodes := running(c); len(nodes) > 0 {
		return nodes[0]
	}
	return c.PrimaryNode()
}

// write returns the operations that write the file of a node.
func write(n *topology.Node, want chains, plugins map[string]state.KMSPlugin) []planner.Operation {
	c := n.Cluster
	from, needs, missing := holders(c), ids(want), map[state.Target][]string{}
	var make []string
	var sources []state.Target
	for _, id := range needs {
		if !atrest.NeedsKey(id) && !strings.HasPrefix(id, "aesgcm:") {
			continue
		}
		source := from[id]
		switch {
		case source == n:
			continue
		case source == nil && n == maker(c):
			make = append(make, id)
			continue
		case source == nil:
			source = maker(c)
		}
		if missing[source.Target] == nil {
			sources = append(sources, source.Target)
		}
		missing[source.Target] = append(missing[source.Target], id)
	}
	ops := []planner.Operation{planner.EnsureDirectory{Path: atrest.Folder, Mode: "0700", Owner: topology.Root}}
	op := planner.WriteEncryption{Path: atrest.Path, Chains: want, Plugins: only(plugins, needs), Make: make}
	for i, source := range sources {
		// Each operation has the keys of one other control plane at hand.
		op.From = source
		if i < len(sources)-1 {
			part := op
			part.Make, part.Chains = nil, without(want, slices.Concat(later(missing, sources[i+1:]), make))
			ops = append(ops, part)
		}
	}
	return append(ops, op)
}

func later(missing map[state.Target][]string, sources []state.Target) []string {
	var out []string
	for _, s := range sources {
		out = append(out, missing[s]...)
	}
	return out
}

// without returns the providers except those whose keys are not at hand yet.
func without(c chains, gone []string) chains {
	out := chains{}
	for r, chain := range c {
		if kept := slices.DeleteFunc(slices.Clone(chain), func(id string) bool { return slices.Contains(gone, id) }); len(kept) > 0 {
			out[r] = kept
		}
	}
	return out
}

// ids returns all providers, each once, in order.
func ids(c chains) []string {
	var out []string
	for _, chain := range c {
		out = append(out, chain...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// only returns the plugins that are among the providers.
func only(plugins map[string]state.KMSPlugin, needs []string) map[string]state.KMSPlugin {
	out := maps.Clone(plugins)
	maps.DeleteFunc(out, func(id string, _ state.KMSPlugin) bool { return !slices.Contains(needs, id) })
	if len(out) == 0 {
		return nil
	}
	return out
}

// plugins returns the KMS plugins of the configuration and of all files.
func plugins(c *topology.Cluster) map[string]state.KMSPlugin {
	out := map[string]state.KMSPlugin{}
	for _, n := range c.ControlPlanes() {
		if n.Report != nil && n.Report.Files[atrest.Path].Encryption != nil {
			maps.Copy(out, n.Report.Files[atrest.Path].Encryption.Plugins)
		}
	}
	maps.Copy(out, c.AtRest.Plugins())
	return out
}

// loadTime is how long an API server may take to load the file: it looks once a minute, and then
// asks KMS plugins for up to ten seconds each.
const loadTime = 3 * time.Minute

// loaded waits until the API server of a step's node has loaded the file.
func loaded() planner.Wait {
	return planner.Wait{For: planner.WaitEncryption, Name: atrest.Path, Timeout: loadTime}
}

// finalStep writes the file as it is in the end, or removes it.
func finalStep(n *topology.Node, w topology.PhaseWork) planner.Step {
	if w.Empty() {
		return planner.Step{}
	}
	if n.Cluster.AtRest == nil {
		return planner.Step{Operations: []planner.Operation{planner.RemovePath{Path: atrest.Folder}}, Impact: "removes the keys by which objects in etcd were encrypted"}
	}
	if c := n.Cluster; c.Restored != nil && c.Founding && n == maker(c) {
		return planner.Step{Impact: "brings the keys of the backup", Operations: []planner.Operation{
			planner.EnsureDirectory{Path: atrest.Folder, Mode: "0700", Owner: topology.Root},
			planner.ImportSecrets{Files: []planner.SecretFile{{Path: atrest.Path, Mode: "0600", Owner: topology.Root, Source: c.Reference(config.RestoredPath(atrest.Path))}}},
		}}
	}
	s := planner.Step{Operations: write(n, final(n.Cluster), plugins(n.Cluster))}
	if (Told(n) || toldBefore(n)) && !n.Joins() && n.Runs() {
		s.Via, s.Operations, s.Impact = n.Target, append(s.Operations, loaded()), "the API server loads its keys without a restart"
	}
	return s
}

// toldBefore reports whether the API server of a node restarts with the file before the last stage.
func toldBefore(n *topology.Node) bool {
	p := Of(n.Cluster)
	return p != nil && slices.Contains(p.Nodes, n) && !p.leaves(n.Cluster)
}

func finalNeeds(n *topology.Node) []state.Address {
	c := n.Cluster
	needs := []state.Address{topology.StepAddress(n.Target, topology.PreparePhase)}
	if !n.IsControlPlane() {
		return needs
	}
	if p := Of(c); p != nil {
		needs = append(needs, rewriteStep(c))
	}
	if m := maker(c); m != nil && m != n && (c.Founding || n.Joins()) {
		needs = append(needs, topology.StepAddress(m.Target, topology.EncryptionPhase))
	}
	if c.AtRest == nil {
		needs = append(needs, topology.StepAddress(n.Target, topology.ControlPlanePhase))
	}
	return needs
}
