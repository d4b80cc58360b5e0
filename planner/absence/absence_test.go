package absence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/absence"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// TestAbsenceNeedsQuorum checks for every combination of up to seven control planes, any of them silent,
// that the others are planned if and only if etcd holds quorum without the silent ones.
func TestAbsenceNeedsQuorum(t *testing.T) {
	t.Parallel()
	for planes := 1; planes <= 7; planes++ {
		for silent := range 1 << planes {
			var changes []tt.Change
			for i := range planes {
				if silent&(1<<i) != 0 {
					changes = append(changes, tt.Down(tt.CP(i+1)))
				}
			}
			c := tt.Running(planes, 1, changes...).Clusters[0]
			a := absence.Of(c)
			if len(changes) == 0 {
				if a != nil || absence.Vouched(c) {
					t.Errorf("%d control planes, all observed: %+v", planes, a)
				}
				continue
			}
			if want := 2*(planes-len(changes)) > planes; a == nil || len(a.Planes) != len(changes) || absence.Vouched(c) != want || (a.Doubt == "") != want {
				t.Errorf("%d control planes, %b silent: planned is %v, want %v (%+v)", planes, silent, absence.Vouched(c), want, a)
			}
		}
	}
}

// TestAbsenceDoubts checks what the cluster has to show of a control plane that could not be observed.
func TestAbsenceDoubts(t *testing.T) {
	t.Parallel()
	learner := func(name string) tt.Change {
		return tt.Members(func(members []state.EtcdMember) []state.EtcdMember {
			for i := range members {
				members[i].Learner = members[i].Learner || members[i].Name == name
			}
			return members
		})
	}
	external := func(v *topology.Fleet) {
		v.Config.Clusters[0].Etcd.External = &config.ExternalEtcd{Endpoints: []string{"https://10.0.0.9:2379"}}
		v.ClusterReports[tt.Label].Members = nil
	}
	healthyAgain := tt.Members(func(members []state.EtcdMember) []state.EtcdMember {
		for i := range members {
			members[i].Healthy = true
		}
		return members
	})
	for name, c := range map[string]struct {
		changes []tt.Change
		doubt   string
	}{
		"one of three":                    {nil, ""},
		"its member answers nevertheless": {[]tt.Change{healthyAgain}, ""},
		"its block is gone":               {[]tt.Change{tt.Without(tt.CP(3))}, ""},
		"an external etcd":                {[]tt.Change{external}, ""},
		"a silent API":                    {[]tt.Change{tt.SilentAPI()}, "the API of the cluster does not answer either (cannot reach the API)"},
		"no members":                      {[]tt.Change{tt.Members(func([]state.EtcdMember) []state.EtcdMember { return nil })}, "etcd does not say who its members are (it listed none)"},
		"a learner":                       {[]tt.Change{learner("cp3")}, `etcd lists no voting member at https://10.0.0.13:2380`},
		"another member fails":            {[]tt.Change{tt.MemberDown(tt.CP(2))}, "etcd also misses the member cp2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planes := 3
			if strings.HasPrefix(c.doubt, "etcd also") {
				planes = 5
			}
			a := absence.Of(tt.Running(planes, 1, append([]tt.Change{tt.Down(tt.CP(3))}, c.changes...)...).Clusters[0])
			if a == nil || !strings.HasPrefix(a.Doubt, c.doubt) || (a.Doubt == "") != (c.doubt == "") {
				t.Errorf("got %+v, want the doubt %q", a, c.doubt)
			}
		})
	}
}

// TestAbsenceIgnoresDestroyAndRefused checks what has nothing to preserve, or is refused elsewhere.
func TestAbsenceIgnoresDestroyAndRefused(t *testing.T) {
	t.Parallel()
	for _, change := range []tt.Change{
		func(v *topology.Fleet) { v.Destroy = true },
		func(v *topology.Fleet) { v.Restores = true },
		func(v *topology.Fleet) { v.Refused = map[string]bool{tt.CP(3).String(): true} },
	} {
		if a := absence.Of(tt.Running(3, 1, tt.Down(tt.CP(3)), change).Clusters[0]); a != nil {
			t.Errorf("got %+v", a)
		}
	}
}

// TestRotationNeedsEveryHost checks that a cluster in a rotation is not planned without a control plane.
func TestRotationNeedsEveryHost(t *testing.T) {
	t.Parallel()
	c := *tt.Running(3, 1, tt.Down(tt.CP(3))).Clusters[0]
	c.Rotating = []*topology.CARotation{{}}
	if a := absence.Of(&c); a == nil || !strings.Contains(a.Doubt, "is being rotated") {
		t.Errorf("got %+v", a)
	}
}

// TestWithheldSteps checks which steps wait for a missing control plane, and why.
func TestWithheldSteps(t *testing.T) {
	t.Parallel()
	c := tt.Running(3, 1, tt.Down(tt.CP(3))).Clusters[0]
	step := func(target state.Target, phase string, change func(*planner.Step)) planner.Step {
		s := planner.Step{ID: topology.StepAddress(target, phase), Target: target, Phase: phase}
		if change != nil {
			change(&s)
		}
		return s
	}
	operation := func(op planner.Operation) func(*planner.Step) {
		return func(s *planner.Step) { s.Operations = planner.Operations{op} }
	}
	both := func(op planner.Operation) func(*planner.Step) {
		return func(s *planner.Step) {
			s.Operations, s.Limits = planner.Operations{op}, []string{c.Limit("etcd-membership")}
		}
	}
	restartEtcd := operation(planner.Wait{For: planner.WaitStaticPod, Name: "etcd-cp1"})
	gate := func(s *planner.Step) { s.Gates = []string{planner.APIGate, planner.QuorumGate} }
	limit := func(s *planner.Step) { s.Limits = []string{c.Limit("control-plane-disruption")} }
	steps := []planner.Step{
		step(tt.CP(1), topology.EtcdPhase, restartEtcd),
		step(tt.CP(2), topology.ControlPlanePhase, gate),
		step(tt.CP(2), topology.CertsPhase, nil),
		step(tt.CP(1), topology.KubeletStartPhase, limit),
		step(tt.CP(1), topology.PreparePhase, nil),
		step(tt.CP(1), topology.MarkControlPlanePhase, nil),
		step(tt.W(1), topology.KubeletStartPhase, nil),
		step(tt.W(1), topology.MarkWorkerPhase, nil),
		step(c.Target, topology.AddonPhase, nil),
		step(state.NodeKeyTarget("cp", "new"), topology.EtcdPhase, both(planner.AddEtcdMember{PeerURL: "https://10.0.0.19:2380"})),
		step(state.NodeKeyTarget("cp", "old"), topology.ResetPhase, both(planner.RemoveEtcdMember{PeerURL: "https://10.0.0.13:2380"})),
	}
	got := absence.Of(c).Withhold(steps)
	want := map[string]string{
		`node.cp["cp1"]/etcd`:          "restarts a member of etcd while cp3 is missing: 1 of 3 would be left, quorum is 2",
		`node.cp["cp2"]/control-plane`: "restarts a component of a control plane while cp3 is missing: 2 of 3 serve the API",
		`node.cp["cp2"]/certs`:         "is read by a component only in control-plane here, which is withheld",
		`node.cp["cp1"]/kubelet-start`: "disrupts another control plane while cp3 is missing",
		`node.cp["new"]/etcd`:          "adds or removes a member of etcd while cp3 is missing: 2 of 3 members of etcd answer, quorum is 2",
		`node.cp["old"]/reset`:         "adds or removes a member of etcd while cp3 is missing: 2 of 3 members of etcd answer, quorum is 2",
	}
	for id, why := range got {
		if want[id.String()] != why {
			t.Errorf("%s: got %q, want %q", id, why, want[id.String()])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	five := absence.Of(tt.Running(5, 0, tt.Down(tt.CP(3))).Clusters[0]).Withhold(steps[:1])
	if why := fmt.Sprint(five); !strings.Contains(why, "3 of 5 would be left, quorum is 3, and one more failure would be one too many") {
		t.Errorf("of five: %s", why)
	}
	apart := absence.Of(c).Apart(steps)
	if len(apart) != 2 || !slices.ContainsFunc(steps, func(s planner.Step) bool { return apart[s.ID] && s.Target == tt.W(1) }) {
		t.Errorf("got %v", apart)
	}
}
