package pipeline_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// joinTokens returns the IDs of the present join tokens.
func (o *operator) joinTokens() []string { return o.observe().ClusterReports["prod"].JoinTokens }

// TestJoinTokensAreDeletedAfterJoin checks that each joining node has its own token, valid for a quarter of an hour, and
// that none is left when all have joined.
func TestJoinTokensAreDeletedAfterJoin(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(3, 3))
	made := map[string]int{}
	o.around = func(s *planner.Step) error {
		for _, op := range s.Operations {
			if token, ok := op.(planner.CreateToken); ok {
				made[s.Target.String()]++
				if token.TTL != 15*time.Minute || !strings.HasPrefix(token.Description, "kubewright: for the join of host-") {
					t.Errorf("%s: %+v", s.ID, token)
				}
			}
		}
		return nil
	}
	_, err := o.plan()
	o.must(err)
	o.must(o.carryOut())
	if len(made) != 5 || made[`node.cp["cp1"]`] != 0 {
		t.Errorf("tokens were created for %v", made)
	}
	if left := o.joinTokens(); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	o.wantNothing()

	// If a join may take longer, so does its token.
	o.config = cluster(3, 4)
	o.config.Clusters[0].Timeouts.TLSBootstrap = time.Hour
	p, err := o.plan()
	o.must(err)
	for _, op := range stepOf(p, "w4/kubelet-start").Operations {
		if token, ok := op.(planner.CreateToken); ok && (token.TTL <= time.Hour || token.TTL > 90*time.Minute) {
			t.Errorf("the token is valid for %s", token.TTL)
		}
	}
}

// TestJoinTokenOfFailedJoinIsDeleted checks that the token of a failed join is deleted in the same run,
// wherever the join fails after the token was created. Tokens of other joining nodes are not touched
// meanwhile.
func TestJoinTokenOfFailedJoinIsDeleted(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sim.Fault{
		"its kubeconfig cannot be written": {Host: "10.0.0.23", Op: "write_kubeconfig", Kind: sim.FaultFail},
		"its kubelet cannot be configured": {Host: "10.0.0.23", Op: "write_file", Detail: "/var/lib/kubelet/config.yaml", Kind: sim.FaultFail},
		"its host stops answering":         {Host: "10.0.0.23", Op: "remove_path", Times: -1, Kind: sim.FaultUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running(t, 1, 1, "1.36.3")
			o.config = cluster(1, 3)
			o.parallelism = 4
			var made atomic.Int32
			o.around = func(s *planner.Step) error {
				if s.ID.Phase == "kubelet-start" {
					made.Add(1)
				}
				return nil
			}
			_, err := o.plan()
			o.must(err)
			o.world.Fault(fault)
			if err := o.carryOut(); err == nil || made.Load() != 2 {
				t.Fatalf("%d nodes were to join: %v", made.Load(), err)
			}
			o.world.ClearFaults()
			if left := o.joinTokens(); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
			if o.observe().ClusterReports["prod"].Nodes["host-10-0-0-22"].KubeletVersion == "" {
				t.Error("the other node has not joined")
			}
			o.around = nil
			_, err = o.plan()
			o.must(err)
			o.must(o.carryOut())
			o.wantNothing()
		})
	}
}

// TestJoinTokensOfEarlierRunAreDeleted checks that a token that a killed run or an earlier version has left is
// deleted by the next run, even if no node joins. Tokens of other tools and of the configuration stay.
func TestJoinTokensOfEarlierRunAreDeleted(t *testing.T) {
	t.Parallel()
	o := running(t, 1, 1, "1.36.3")
	o.config.Clusters[0].BootstrapTokens = append(o.config.Clusters[0].BootstrapTokens, token("kept00."+tokenHalf, 0))
	o.config.Clusters[0].BootstrapTokens[0].Description = planner.JoinTokenDescription("mine")
	_, err := o.plan()
	o.must(err)
	o.must(o.carryOut())
	o.wantNothing()
	api, err := sim.Access{}.API(t.Context(), o.world.Host("10.0.0.11"), "")
	o.must(err)
	for _, description := range []string{planner.JoinTokenDescription("w9"), "kubewright: for the nodes that join in one apply", "somebody's"} {
		_, err := api.CreateToken(t.Context(), planner.CreateToken{Description: description, TTL: 10 * time.Minute}, state.Secret{})
		o.must(err)
	}
	p, err := o.plan()
	o.must(err)
	if len(p.Steps) != 1 || p.Steps[0].ID.String() != "cluster.prod/bootstrap-token@joined" || p.Steps[0].Finally {
		t.Errorf("the plan is\n%s", describe(p))
	}
	o.must(o.carryOut())
	if left := o.joinTokens(); len(left) != 1 || left[0] != "kept00" {
		t.Errorf("%v are left", left)
	}
	o.wantNothing()
}
