package etcd

import (
	"cmp"
	"math"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
)

// MoveLeaders has each member of etcd that the plan restarts hand leadership over before it
// stops, to the one that stops last from there on: then leadership is handed over as seldom
// as the order allows. Where quorum is not held meanwhile, nobody could take it over.
func MoveLeaders(v *topology.Fleet, p *planner.Plan) {
	for _, c := range v.Clusters {
		if c.Seen == nil {
			continue // who is a member is not known
		}
		stops := memberStops(c, p)
		for i, stop := range stops {
			s := &p.Steps[stop.step]
			if !slices.Contains(s.Gates, planner.QuorumGate) || planner.ChangesMembers(s) {
				continue
			}
			if heirs := clusterHeirs(c, s, stop.peerURL, stops[i+1:]); len(heirs) > 0 {
				op := planner.MoveEtcdLeader{Name: c.Node(s.Target).NodeName, PeerURL: stop.peerURL, To: heirs}
				s.Operations = slices.Insert(slices.Clone(s.Operations), stop.operation, planner.Operation(op))
			}
		}
	}
}

// memberStop is where a plan stops a member of etcd: at an operation of a step, by their places.
type memberStop struct {
	peerURL         string
	step, operation int
}

// memberStops returns where the plan stops members, in its order: they restart, or leave.
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
			if n != nil && planner.StopsMember(op) && c.Votes(n.PeerURL()) {
				out = append(out, memberStop{n.PeerURL(), i, j})
				break
			}
		}
	}
	return out
}

// clusterHeirs returns the peer URLs of the voters beside one that a step stops: first who does not
// stop in what follows of the plan, then who stops last.
func clusterHeirs(c *topology.Cluster, s *planner.Step, peerURL string, follows []memberStop) []string {
	next := map[string]int{}
	for i, stop := range slices.Backward(follows) {
		next[stop.peerURL] = i
	}
	var out []string
	for _, m := range c.VotersAt(staticpod.RestartWindow(c.Node(s.Target), s.Phase)) {
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
