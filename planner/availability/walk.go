package availability

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Frame is what a cluster has when a step begins, in whatever order the steps run.
type Frame struct {
	// Voters are etcd's voters, with the observed health; those that joined before are healthy. None
	// if etcd did not list its members.
	Voters []state.EtcdMember
	// Servers are the API servers of its control planes, in order, with those that are removed last.
	Servers []Server
	// Touched are the peer URLs of the members that steps have removed or on whose hosts they have
	// changed something, unless they wait for this step: it may be what a member needs to run.
	Touched []string
}

// Server is an API server. It serves if it was observed to, or has joined before; one that was not
// observed to serve may run.
type Server struct {
	Target       state.Target
	Runs, Serves bool
}

// start returns what the cluster was observed to have. A control plane that joins, or is removed to
// join again, does not count.
func start(c *topology.Cluster) Frame {
	f := Frame{Voters: c.Voters()}
	for _, n := range c.ControlPlanes() {
		f.Servers = append(f.Servers, Server{n.Target, !n.Joining() && (n.Runs() || n.Serves()), !n.Joining() && n.Serves()})
	}
	for _, l := range c.Departing() {
		if c.Node(l.Target) == nil {
			f.Servers = append(f.Servers, Server{l.Target, c.ShowsReady(l.Name), c.ShowsReady(l.Name)})
		}
	}
	return f
}

// At walks over the steps of a plan, in which needs come first, and returns what a cluster has when one
// of them begins: the steps that it needs are done, those that wait for it are not, and the others may
// be. What these add does not count yet, and an API server that they take away does not count any more.
func At(c *topology.Cluster, steps []planner.Step, id state.Address) Frame {
	needed, waits := map[state.Address]bool{id: true}, map[state.Address]bool{id: true}
	for _, s := range slices.Backward(steps) {
		for _, need := range s.Needs {
			needed[need] = needed[need] || needed[s.ID]
		}
	}
	f := start(c)
	for i := range steps {
		s := &steps[i]
		if waits[s.ID] = s.ID == id || slices.ContainsFunc(s.Needs, func(need state.Address) bool { return waits[need] }); !waits[s.ID] {
			f = f.after(c, s, needed[s.ID])
		}
	}
	return f
}

// after returns what the cluster has after a step that is done, or that only may be.
func (f Frame) after(c *topology.Cluster, s *planner.Step, done bool) Frame {
	n, removed := c.Node(s.Target), planner.RemovedMember(s)
	f.Touched = append(f.Touched, removed)
	joined := done && n != nil && n.Joining() && s.Phase == topology.WaitControlPlanePhase
	if i := slices.IndexFunc(f.Servers, func(o Server) bool { return o.Target == s.Target }); i >= 0 && (joined || s.Phase == topology.ResetPhase) {
		f.Servers = slices.Replace(slices.Clone(f.Servers), i, i+1, Server{s.Target, joined, joined})
	}
	if n != nil {
		f.Touched = append(f.Touched, n.PeerURL())
	}
	if done && removed != "" {
		f.Voters = quorum.Act{PeerURL: removed}.After(f.Voters)
	}
	if done && n != nil && len(f.Voters) > 0 && (joined || planner.AddsMember(s)) {
		f.Voters = quorum.Act{Name: n.NodeName, PeerURL: n.PeerURL(), Add: true}.After(f.Voters)
	}
	return f
}

// Repaired returns the voters other than the one at a peer URL as they are if the steps that do not
// wait for this one repair what they can.
func (f Frame) Repaired(except string) []state.EtcdMember {
	out := slices.Clone(f.Voters)
	for i, m := range out {
		out[i].Healthy = m.Healthy || slices.ContainsFunc(m.PeerURLs, func(url string) bool { return url != except && slices.Contains(f.Touched, url) })
	}
	return out
}

// ShouldServe reports whether an API server counts as serving while a step restarts another one or
// removes it. Where none does, the plan has said that the API is down meanwhile.
func ShouldServe(v *topology.Fleet, p *planner.Plan, s *planner.Step, t state.Target) bool {
	c := v.ClusterOf(s.Target)
	return c == nil || c.Node(s.Target) == nil || slices.ContainsFunc(At(c, p.Steps, s.ID).Servers, func(o Server) bool { return o.Target == t && o.Runs })
}
