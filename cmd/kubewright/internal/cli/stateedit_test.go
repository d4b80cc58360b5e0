package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// findings returns the findings in the error of a command.
func findings(t *testing.T, err error) diag.Diagnostics {
	t.Helper()
	var d *console.FindingsError
	if !errors.As(err, &d) {
		t.Fatalf("%v is not a finding", err)
	}
	return d.List
}

// TestStateMvRefusals checks which moves state mv refuses, and why.
func TestStateMvRefusals(t *testing.T) {
	t.Parallel()
	node := func(address string) *state.RecordedNode {
		return &state.RecordedNode{Cluster: "one", Address: address}
	}
	addon := func(name string) state.Item {
		return state.Item{Address: state.Address{Target: state.AddonTarget("one", name)}}
	}
	s := &session.Session{Recorded: &state.State{
		Clusters: map[string]*state.RecordedCluster{"one": {}},
		Nodes: map[state.Target]*state.RecordedNode{
			state.NodeTarget("cp"):             node("10.0.0.11"),
			state.NodeKeyTarget("worker", "a"): node("10.0.0.21"),
			state.NodeKeyTarget("worker", "b"): node("10.0.0.22"),
		},
		Items: []state.Item{addon("cni"), addon("dns")},
	}}
	for name, c := range map[string]struct{ from, to, summary, detail string }{
		"no address":      {"node.worker[0]", "node.x", "Invalid address", `write 'node.worker["0"]'`},
		"unknown":         {"node.workr", "node.x", "Not in the state", "The state has no node.workr. Did you mean node.worker? It has cluster.one, "},
		"to no address":   {"node.cp", "cp", "Cannot be moved", `"cp"`},
		"another kind":    {"node.cp", "cluster.cp", "Cannot be moved", "node.cp is of the kind node and cluster.cp of the kind cluster. What is moved keeps its kind."},
		"itself":          {"node.cp", "node.cp", "Cannot be moved", "Source and destination are both node.cp."},
		"another cluster": {state.AddonTarget("one", "cni").String(), state.AddonTarget("two", "cni").String(), "Cannot be moved", "is an addon of another cluster. It is in the cluster where it is, and stays there."},
		"many to one":     {"node.worker", `node.x["a"]`, "Cannot be moved", `node.worker is 2 nodes, and node.x["a"] is one. Move them one by one, or all to another block as in node.x.`},
		"occupied":        {`node.worker["a"]`, `node.worker["b"]`, "Cannot be moved", `The state has node.worker["b"] as well, so that node.worker["a"] cannot become it.`},
		"occupied addon":  {state.AddonTarget("one", "cni").String(), state.AddonTarget("one", "dns").String(), "Cannot be moved", "kubewright state rm '" + state.AddonTarget("one", "dns").String() + "'"},
	} {
		_, err := renamings(s, c.from, c.to)
		if found := findings(t, err); len(found) != 1 || found[0].Summary != c.summary || !strings.Contains(found[0].Detail, c.detail) {
			t.Errorf("%s: %v, want %s: %s", name, found, c.summary, c.detail)
		}
	}
}

// TestStatePushRefusals checks which states replace the present one only if forced.
func TestStatePushRefusals(t *testing.T) {
	t.Parallel()
	make := func(lineage string, serial int64, version string) *state.State {
		return &state.State{FormatVersion: state.FormatVersion, Lineage: lineage, Serial: serial, ToolVersion: version}
	}
	for name, c := range map[string]struct {
		pushed   *state.State
		leftover bool
		detail   string
	}{
		"another lineage": {make("b", 5, ""), false, "x.json is of lineage b, and the present state of a: they are of different clusters, and the hosts of the one do not belong to the other."},
		"older":           {make("a", 3, ""), false, "x.json has serial 3, and the present state 4: it does not know what was done since."},
		"as old":          {make("a", 4, "9"), false, "x.json has serial 4 as the present state has, and says something else: it was changed by hand, or the two have gone different ways."},
		"a journal":       {make("a", 5, ""), true, "A run did not get to its end, and the journal holds what it did: x.json does not know it."},
	} {
		s := &session.Session{Recorded: make("a", 4, ""), Leftover: c.leftover}
		_, err := pushable(s, c.pushed, "x.json", false)
		const way = " Nothing was written. With -force it is pushed all the same, and the present state is kept as a backup."
		if found := findings(t, err); len(found) != 1 || found[0].Summary != "State is not pushed" || found[0].Detail != c.detail+way {
			t.Errorf("%s: %v, want %s", name, found, c.detail+way)
		}
		if _, err := pushable(s, c.pushed, "x.json", true); err != nil {
			t.Errorf("%s, forced: %v", name, err)
		}
	}
}
