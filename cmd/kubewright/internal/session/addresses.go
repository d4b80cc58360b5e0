package session

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state"
)

// addresses resolves addresses of the command line against configuration, state and removed
// targets.
type addresses struct {
	config   *config.Config
	recorded *state.State
	// had are the targets that an address may refer to although they are gone from
	// configuration and state.
	had []state.Target
	// destroy reports whether everything is destroyed.
	destroy bool
}

func (s *Session) addresses() addresses {
	return addresses{s.Config, s.Recorded, s.departed, s.Opts.Destroy}
}

// known returns the targets of this run.
func (x addresses) known() []state.Target { return KnownTargets(x.config, x.recorded) }

// exists reports whether a selector's target belongs to this run. A selector without a target
// matches every target.
func (x addresses) exists(t state.Target) bool { return t.IsZero() || matchesAny(t, x.known()) }

// names lists the known targets, as many as can be read at a glance.
func (x addresses) names() []string {
	const most = 20
	var out []string
	for _, t := range x.known() {
		out = append(out, t.String())
	}
	if n := len(out); n > most {
		out = append(out[:most], fmt.Sprintf("and %d more", n-most))
	}
	return out
}

// nodes parses the node addresses of a flag, which have to be known.
func (x addresses) nodes(flag string, addresses []string, diags *diag.Diagnostics) []state.Target {
	var out []state.Target
	for _, a := range addresses {
		t, err := state.ParseTarget(a)
		var nodes []string
		for _, known := range x.known() {
			if known.Type == state.TypeNode {
				nodes = append(nodes, known.String())
			}
		}
		switch {
		case err != nil:
			diags.Append(diag.Errorf("Unknown node", "-%s=%s: %v.%s", flag, a, err, console.DidYouMean("", a, nodes)))
		case t.Type == state.TypeNode && !slices.Contains(nodes, t.String()) && x.exists(t):
			of := slices.DeleteFunc(nodes, func(n string) bool { return !strings.HasPrefix(n, t.String()+"[") })
			diags.Append(diag.Errorf("Address of several nodes", "-%s=%s: a single node is needed, and these are %s.", flag, a, strings.Join(of, ", ")))
		case t.Type != state.TypeNode && x.exists(t):
			diags.Append(diag.Errorf("Not a node", "-%s=%s: a node is needed, and this %s is none. There are %s.%s", flag, a, t.Type, strings.Join(nodes, ", "), rotated(flag, t)))
		case t.Type != state.TypeNode || !x.exists(t):
			diags.Append(diag.Errorf("Unknown node", "-%s=%s: neither configuration nor state have such a node.%s There are %s.%s", flag, a, console.DidYouMean("", a, nodes), strings.Join(nodes, ", "), departed(flag)))
		default:
			out = append(out, t)
		}
	}
	return out
}

// NodesNamed returns the nodes that arguments refer to, by address or by their name in Kubernetes, and
// their names as far as they are known before an observation.
func (s *Session) NodesNamed(args []string) (targets []state.Target, names []string, diags diag.Diagnostics) {
	recorded, known := NodeNames(s.Recorded), map[string][]state.Target{}
	for _, n := range s.Config.Nodes {
		known[n.Target.String()] = []state.Target{n.Target}
		if name := cmp.Or(recorded[n.Target], n.Name); name != "" {
			known[name] = append(known[name], n.Target)
		}
	}
	for _, arg := range args {
		switch of := known[arg]; {
		case len(of) == 0:
			all := slices.Sorted(maps.Keys(known))
			diags.Append(diag.Errorf("Unknown node", "The configuration has no node %q, neither by address nor by name.%s There are %s.", arg, console.DidYouMean("", arg, all), console.ListOf(all)))
		case len(of) > 1:
			diags.Append(diag.Errorf("Name of several nodes", "%q is the name of %s: give the address of the one that is meant.", arg, console.ListOf([]string{of[0].String(), of[1].String()})))
		case !slices.Contains(targets, of[0]):
			targets = append(targets, of[0])
		}
	}
	for name, of := range known {
		if len(of) == 1 && name != of[0].String() && slices.Contains(targets, of[0]) {
			names = append(names, name)
		}
	}
	return targets, names, diags
}

// rotated says which parts of a cluster that -replace names can be replaced.
func rotated(flag string, t state.Target) string {
	if flag != commandline.Replace || t.Type != state.TypeCluster {
		return ""
	}
	return fmt.Sprintf(" Of a cluster a CA can be replaced, as in -%s=%s/ca.", flag, t)
}

// departed says why a node may be unknown, for a flag that removes nodes.
func departed(flag string) string {
	if flag != commandline.ForgetUnreachable {
		return ""
	}
	return " One that has left already needs the flag no more."
}

// selectors parses the addresses of -target or -exclude.
func (x addresses) selectors(flag string, addresses []string, diags *diag.Diagnostics) []planner.Selector {
	var out []planner.Selector
	for _, a := range addresses {
		selectors, err := pipeline.Selectors(a)
		if _, known := errors.AsType[*pipeline.NotAloneError](err); known {
			diags.Append(diag.Errorf("Phase cannot be done alone", "-%s=%s: %v.", flag, a, err))
			continue
		}
		if err != nil {
			diags.Append(diag.Errorf("Unknown target", "-%s=%s: %v.%s", flag, a, err, console.DidYouMean("", a, Selectable(x.known()))))
			continue
		}
		switch sel := selectors[0]; { // the others are of the same target
		case flag == "exclude" && sel.Part != "":
			diags.Append(diag.Errorf("Part of a phase cannot be excluded", "-exclude=%s: -exclude leaves out whole steps, and what needs them. To leave out only this part, give -skip-phase=%s.", a, sel.Part))
			continue
		case !x.exists(sel.Target) && !matchesAny(sel.Target, x.had):
			diags.Append(diag.Errorf("Unknown target", "-%s=%s: neither configuration nor state have %s.%s There are %s.",
				flag, a, sel.Target, console.DidYouMean("", sel.Target.String(), Selectable(x.known())), strings.Join(x.names(), ", ")))
			continue
		}
		for _, sel := range selectors {
			sel.Members = x.goingWith(sel.Target)
			out = append(out, sel)
		}
	}
	return out
}

// goingWith returns the nodes of a cluster that is destroyed: its address includes them.
func (x addresses) goingWith(t state.Target) []state.Target {
	if t.Type != state.TypeCluster || !x.destroy && x.config.Cluster(t.Name) != nil || x.recorded == nil {
		return nil
	}
	var out []state.Target
	for node, n := range x.recorded.Nodes {
		if n.Cluster == t.Name {
			out = append(out, node)
		}
	}
	return out
}

// ArgumentCluster returns the cluster whose label is the first argument of a command, or the only one.
func ArgumentCluster(cfg *config.Config, args []string) (*config.Cluster, *diag.Diagnostic) {
	return ChosenCluster(cfg, strings.Join(args[:min(len(args), 1)], ""), "after the command")
}

// ChosenCluster returns the cluster with that label, or the only one; how says how a command
// takes a label.
func ChosenCluster(cfg *config.Config, label, how string) (*config.Cluster, *diag.Diagnostic) {
	var labels []string
	for _, c := range cfg.Clusters {
		labels = append(labels, c.Label)
	}
	switch c := cfg.Cluster(label); {
	case c != nil:
		return c, nil
	case len(labels) == 0:
		return nil, diag.Errorf("No cluster", "The configuration has no cluster block.")
	case label != "":
		return nil, diag.Errorf("Unknown cluster", "The configuration has no cluster %q.%s It has %s.", label, console.DidYouMean("", label, labels), console.ListOf(labels))
	case len(labels) == 1:
		return cfg.Clusters[0], nil
	}
	return nil, diag.Errorf("Which cluster?", "The configuration has %d clusters: %s. Name one %s.", len(labels), console.ListOf(labels), how)
}

// Selectable returns all addresses that -target takes: phases, clusters, addons, nodes, and
// blocks of nodes.
func Selectable(targets []state.Target) []string {
	out := append(pipeline.Names(), pipeline.KubeadmNames()...)
	for _, t := range targets {
		out = append(out, t.String())
		if t.Type == state.TypeNode && t.Keyed {
			out = append(out, state.NodeTarget(t.Name).String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
