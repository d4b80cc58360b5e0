package etcd

import (
	"cmp"
	"math"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/availability"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// MoveLeaders returns the plan with a transfer of leadership before each etcd member that it restarts
// stops, to the member that stops last after that: this minimises the number of transfers. A member is
// skipped where quorum does not hold meanwhile, because no other one could take over.
func MoveLeaders(v *topology.Fleet, p *planner.Plan) *planner.Plan {
	operations := map[state.Address][]planner.Operation{}
	for _, c := range v.Clusters {
		if c.Seen == nil {
			continue // the members are unknown
		}
		stops := memberStops(c, p)
		for i, stop := range stops {
			s := &p.Steps[stop.step]
			if !slices.Contains(s.Gates, planner.QuorumGate) || planner.ChangesMembers(s) {
				continue
			}
			if heirs := clusterHeirs(availability.At(c, p.Steps, s.ID), stop.peerURL, stops[i+1:]); len(heirs) > 0 {
				op := planner.MoveEtcdLeader{Name: c.Node(s.Target).NodeName, PeerURL: stop.peerURL, To: heirs}
				operations[s.ID] = slices.Insert(slices.Clone(s.Operations), stop.operation, planner.Operation(op))
			}
		}
	}
	if len(operations) == 0 {
		return p
	}
	return p.WithSteps(func(s planner.Step) planner.Step {
		if ops, moves := operations[s.ID]; moves {
			s.Operations = ops
		}
		return s
	})
}

// memberStop is where a plan stops a member of etcd: the indices of a step and its operation.
type memberStop struct {
	peerURL         string
	step, operation int
}

// memberStops returns where the plan stops members, in plan order: they restart, or are removed.
func memberStops(c *topology.Cluster, p *planner.Plan) []memberStop {
	var out []memberStop
	for i := range p.Steps {
		s := &p.Steps[i]
		n := c.Node(s.Target)
		for j, op := range s.Operations {
			if leave, is := op.(planner.RemoveEtcdMember); is {
				out = append(out, memberStop{leave.PeerURL, i, j})
				break
			}
			if n != nil && planner.StopsMember(op) && n.MemberCondition() >= quorum.VoterDown {
				out = append(out, memberStop{n.PeerURL(), i, j})
				break
			}
		}
	}
	return out
}

// clusterHeirs returns the peer URLs of the voters other than the one that a step stops: first
// those that the rest of the plan does not stop, then the ones that stop last.
func clusterHeirs(f availability.Frame, peerURL string, follows []memberStop) []string {
	next := map[string]int{}
	for i, stop := range slices.Backward(follows) {
		next[stop.peerURL] = i
	}
	var out []string
	for _, m := range f.Voters {
		if len(m.PeerURLs) > 0 && !slices.Contains(m.PeerURLs, peerURL) {
			out = append(out, m.PeerURLs[0])
		}
	}
	stops := func(url string) int {
		if i, again := next[url]; again {
			return i
		}
		return math.MaxInt
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(stops(b), stops(a)), cmp.Compare(a, b)) })
	return out
}
