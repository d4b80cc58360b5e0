package ownership_test

import (
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// block changes the block of a node.
func block(t state.Target, change func(*config.Node)) tt.Change {
	return func(v *topology.Fleet) {
		for _, n := range v.Config.Nodes {
			if n.Target == t {
				change(n)
			}
		}
	}
}

// machine makes the host of a node be another machine.
func machine(t state.Target, id string) tt.Change {
	return tt.Host(t, func(r *state.Report) { r.Facts.MachineID = id })
}

func replaces(targets ...state.Target) tt.Change {
	return func(v *topology.Fleet) { v.Replace = targets }
}

// TestReplaceReason checks why a node is removed and joins again.
func TestReplaceReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		target state.Target
		change tt.Change
		want   string
	}{
		{"nothing changes", tt.W(1), nil, ""},
		{"as requested", tt.W(1), replaces(tt.W(1)), planner.ReasonRequested},
		{"another one is replaced", tt.W(1), replaces(tt.W(2)), ""},
		{"another role", tt.W(1), block(tt.W(1), func(n *config.Node) { n.Role = config.ControlPlane }), "role worker -> control-plane"},
		{"another name", tt.W(1), block(tt.W(1), func(n *config.Node) { n.Name = "w9" }), "name w1 -> w9"},
		{"the recorded name", tt.W(1), block(tt.W(1), func(n *config.Node) { n.Name = "w1" }), ""},
		{"another address of a worker", tt.W(1), block(tt.W(1), func(n *config.Node) { n.Address = "10.0.1.99" }), ""},
		{"another address of a control plane", tt.CP(1), block(tt.CP(1), func(n *config.Node) { n.Address = "10.0.0.99" }), "address 10.0.0.11 -> 10.0.0.99"},
		{"the same address in another notation", tt.CP(1), func(v *topology.Fleet) {
			v.Recorded.Nodes[tt.CP(1)].Address = "fd00:0::1"
			block(tt.CP(1), func(n *config.Node) { n.Address = "fd00::1" })(v)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(2, 2, some(c.change)...)
			if got := ownership.ReplaceReason(v, v.Find(c.target).Node, v.Recorded.Nodes[c.target]); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func some(change tt.Change) []tt.Change {
	if change == nil {
		return nil
	}
	return []tt.Change{change}
}

// TestReplaceUnknownRefusesFlags checks which nodes -replace and -accept-new-host apply to.
func TestReplaceUnknownRefusesFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    [][]string
	}{
		{"a node", []tt.Change{replaces(tt.W(1))}, nil},
		{"a node without a block", []tt.Change{replaces(tt.W(9))}, [][]string{{"error: Nothing to replace", `⟨+replace=node.worker["w9"]⟩: the configuration has no such node.`}}},
		{"a node that has yet to join", []tt.Change{replaces(tt.W(1)), unrecorded(tt.W(1))}, [][]string{{"warning: Nothing to remove", "It joins."}}},
		{"a host that does not answer", []tt.Change{replaces(tt.W(1)), tt.Down(tt.W(1))}, [][]string{{"error: Host could not be observed", "a node is replaced only on a host that answers", "cannot connect to w1", `⟨+gone-host=node.worker["w1"]⟩`}}},
		{"a new host is accepted and not replaced", []tt.Change{func(v *topology.Fleet) { v.AcceptNewHost = []state.Target{tt.W(1)} }}, [][]string{
			{"error: New host is accepted without a replacement", `⟨+new-host=node.worker["w1"]⟩ requires ⟨+replace=node.worker["w1"]⟩`},
		}},
		{"a new host is accepted", []tt.Change{replaces(tt.W(1)), func(v *topology.Fleet) { v.AcceptNewHost = []state.Target{tt.W(1)} }}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, ownership.ReplaceUnknown(tt.Running(1, 1, c.changes...)), c.want...)
		})
	}
}

// TestHostsOfReplacedNodes checks when the host of a node is refused, since it is another machine, the
// host of another node, or the host that joined still runs.
func TestHostsOfReplacedNodes(t *testing.T) {
	t.Parallel()
	accept := func(v *topology.Fleet) { v.AcceptNewHost = []state.Target{tt.CP(2)} }
	// elsewhere gives the node another address, where a blank machine is.
	elsewhere := func(v *topology.Fleet) {
		block(tt.CP(2), func(n *config.Node) { n.Address = "10.0.0.99" })(v)
		tt.Wiped(tt.CP(2))(v)
		machine(tt.CP(2), "new")(v)
	}
	silent := tt.Node(tt.CP(2), func(n *state.NodeReport) { n.Silent = true })
	const cp2 = `node.cp["cp2"]`
	for _, c := range []struct {
		name    string
		changes []tt.Change
		check   func(*topology.Fleet, *config.Node, *state.RecordedNode, *state.Report) *diag.Diagnostic
		want    []string
	}{
		{"the machine that joined", nil, ownership.AnotherMachine, nil},
		{"another machine", []tt.Change{machine(tt.CP(2), "new")}, ownership.AnotherMachine, []string{
			"error: Host is another machine", cp2 + " (10.0.0.12) has the machine id new, and the host that joined had cp2", `⟨+replace=node.cp["cp2"] +new-host=node.cp["cp2"]⟩`, "Its old etcd member and its old Node object are removed first",
		}},
		{"another machine is accepted", []tt.Change{machine(tt.CP(2), "new"), accept}, ownership.AnotherMachine, nil},
		{"no machine id is recorded", []tt.Change{machine(tt.CP(2), "new"), tt.Record(tt.CP(2), func(n *state.RecordedNode) { n.MachineID = "" })}, ownership.AnotherMachine, nil},
		{"the machine of another node", []tt.Change{machine(tt.CP(2), "cp3"), accept}, ownership.HostOfAnother, []string{
			"error: Host is another node", cp2 + ` now has the address 10.0.0.12, and the machine there is the host of node.cp["cp3"].`, `The state records node.cp["cp2"] at 10.0.0.12, and node.cp["cp3"] at 10.0.0.13.`,
		}},
		{"a machine that no node has", []tt.Change{machine(tt.CP(2), "new")}, ownership.HostOfAnother, nil},
		{"another machine while the old host runs", []tt.Change{elsewhere, accept}, ownership.OldHostRuns, []string{
			"error: Old host still runs the node", cp2 + ` now has the address 10.0.0.99, where another machine is, but the kubelet of node "cp2" still reports to the API: the host that joined, at 10.0.0.12, still runs that node.`,
		}},
		{"the old host is silent", []tt.Change{elsewhere, silent}, ownership.OldHostRuns, nil},
		{"another machine at the same address", []tt.Change{machine(tt.CP(2), "new")}, ownership.OldHostRuns, nil},
		{"the same machine at another address", []tt.Change{block(tt.CP(2), func(n *config.Node) { n.Address = "10.0.0.99" })}, ownership.OldHostRuns, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(3, 0, c.changes...)
			var got diag.Diagnostics
			if d := c.check(v, v.Find(tt.CP(2)).Node, v.Recorded.Nodes[tt.CP(2)], v.Reports[tt.CP(2)]); d != nil {
				got = append(got, d)
			}
			if c.want == nil {
				wantFindings(t, got)
			} else {
				wantFindings(t, got, c.want)
			}
		})
	}
}

// TestReplaceAllKeepsAControlPlane checks that one control plane remains, through which others join.
func TestReplaceAllKeepsAControlPlane(t *testing.T) {
	t.Parallel()
	replacing := func(targets ...state.Target) tt.Change {
		return func(v *topology.Fleet) {
			v.Replacements = map[state.Target]*topology.Replacement{}
			for _, t := range targets {
				v.Replacements[t] = &topology.Replacement{Reason: planner.ReasonRequested, Report: v.Reports[t]}
			}
		}
	}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		refused bool
	}{
		{"none is replaced", nil, false},
		{"one of two", []tt.Change{replacing(tt.CP(1))}, false},
		{"both", []tt.Change{replacing(tt.CP(1), tt.CP(2))}, true},
		{"one is replaced and the other one removed", []tt.Change{replacing(tt.CP(1)), tt.Without(tt.CP(2))}, true},
		{"a worker", []tt.Change{replacing(tt.W(1))}, false},
		{"a cluster that does not exist", []tt.Change{unrecorded(tt.CP(1)), unrecorded(tt.CP(2))}, false},
	} {
		got := ownership.ReplaceAll(tt.Running(2, 1, c.changes...))
		if got.HasErrors() != c.refused {
			t.Errorf("%s: refused is %v, want %v: %v", c.name, got.HasErrors(), c.refused, got)
		}
		if c.refused {
			wantFindings(t, got, []string{"error: No control plane would remain", `Cluster "prod"`})
		}
	}
}

// TestRefuseForgetLiving checks that a node is removed without its host only if nothing shows that
// the host still runs.
func TestRefuseForgetLiving(t *testing.T) {
	t.Parallel()
	forget := func(targets ...state.Target) tt.Change {
		return func(v *topology.Fleet) { v.ForgetUnreachable = targets }
	}
	// gone removes the block of a node whose host does not answer.
	gone := func(t state.Target) tt.Change {
		return func(v *topology.Fleet) {
			tt.Down(t)(v)
			tt.Without(t)(v)
		}
	}
	reports := func(t state.Target) tt.Change {
		return tt.Node(t, func(n *state.NodeReport) { n.Silent = false })
	}
	unobserved := func(t state.Target, change func(*state.Unobserved)) tt.Change {
		return func(v *topology.Fleet) {
			u := v.Unobserved[t]
			change(&u)
			v.Unobserved[t] = u
		}
	}
	const alive = "error: Host is still alive"
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    [][]string
	}{
		{"a host that is gone", []tt.Change{gone(tt.W(1)), forget(tt.W(1))}, nil},
		{"a control plane that is gone", []tt.Change{gone(tt.CP(3)), forget(tt.CP(3))}, nil},
		{"a node that has its block", []tt.Change{tt.Down(tt.W(1)), forget(tt.W(1))}, [][]string{{"error: Node is still in the configuration", `⟨+gone-host=node.worker["w1"]⟩`}}},
		{"a node that is not recorded", []tt.Change{forget(tt.W(9))}, [][]string{{"error: Nothing to forget", "⟨list⟩"}}},
		{"a host that answers", []tt.Change{tt.Without(tt.W(1)), forget(tt.W(1))}, [][]string{{alive, `node.worker["w1"] (10.0.1.11) is declared gone for good, but it answers.`}}},
		{"a blank machine has its address", []tt.Change{tt.Wiped(tt.W(1)), machine(tt.W(1), "new"), tt.Without(tt.W(1)), tt.Node(tt.W(1), func(n *state.NodeReport) { n.Silent = true }), forget(tt.W(1))}, nil},
		{"a kubelet that reports", []tt.Change{gone(tt.W(1)), reports(tt.W(1)), forget(tt.W(1))}, [][]string{{alive, `the kubelet of node "w1" reports to the API`}}},
		{"an etcd member that answers", []tt.Change{gone(tt.CP(3)), forget(tt.CP(3)), tt.Members(func(m []state.EtcdMember) []state.EtcdMember {
			m[2].Healthy = true
			return m
		})}, [][]string{{alive, "the etcd member cp3 answers"}}},
		{"a host that refuses the login", []tt.Change{gone(tt.W(1)), forget(tt.W(1)), unobserved(tt.W(1), func(u *state.Unobserved) { u.Answered = true })}, [][]string{{alive, "its host responds (cannot connect to w1)"}}},
		{"another machine has its address", []tt.Change{gone(tt.W(1)), forget(tt.W(1)), unobserved(tt.W(1), func(u *state.Unobserved) { u.Estranged = true })}, nil},
		{"a removed block says that it is gone", []tt.Change{gone(tt.W(1)), reports(tt.W(1)), func(v *topology.Fleet) {
			v.Config.Removals = []config.Removal{{From: tt.W(1), Unreachable: true, Destroy: true}}
		}}, [][]string{{alive, `node.worker["w1"]`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, ownership.RefuseForgetLiving(tt.Running(3, 1, c.changes...)), c.want...)
		})
	}
}
