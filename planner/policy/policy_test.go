package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/policy"
	"github.com/kubewright/kubewright/state"
)

const digest = "0123456789abcdef0123456789abcdef"

// TestEvaluatePolicies checks the findings of policies about a plan that destroys one node of one cluster
// and changes one of another.
func TestEvaluatePolicies(t *testing.T) {
	t.Parallel()
	gone, kept := state.NodeKeyTarget("worker", "w2"), state.NodeKeyTarget("batch", "b1")
	base := func() policy.Input {
		return policy.Input{
			Config:   &config.Config{Nodes: []*config.Node{{Target: kept, Cluster: "test"}}},
			Recorded: &state.State{Nodes: map[state.Target]*state.RecordedNode{gone: {Cluster: "prod"}, kept: {Cluster: "test"}}},
			Plan: &planner.Plan{
				Resources: []planner.ResourceChange{{Target: gone, Action: planner.Delete}, {Target: kept, Action: planner.Update}},
				Steps:     []planner.Step{{Target: gone}, {Target: kept}},
			},
			Now: time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC), Digest: digest,
		}
	}
	saturday := []config.Freeze{{Name: "f", Weekdays: []string{"sat"}, Zone: "UTC"}}
	with := func(p config.Policy) config.Policy { p.Name = "p"; return p }
	for _, tt := range []struct {
		name   string
		policy config.Policy
		change func(*policy.Input)
		want   string // rules
	}{
		{"nothing to say", config.Policy{MaxDestroys: 1}, nil, ""},
		{"one too many", config.Policy{}, nil, "max_destroys"},
		{"a cluster of which some is left counts with the last of its nodes", config.Policy{MaxDestroys: 1}, func(in *policy.Input) {
			in.Plan.Resources = append(in.Plan.Resources, planner.ResourceChange{Target: state.ClusterTarget("prod"), Action: planner.Delete, Partly: true})
		}, ""},
		{"without a limit", config.Policy{MaxDestroys: config.NoLimit}, nil, ""},
		{"of another cluster", config.Policy{Cluster: "test"}, nil, ""},
		{"of its cluster, whose block has no such node any more", config.Policy{Cluster: "prod"}, nil, "max_destroys"},
		{"protected", config.Policy{MaxDestroys: 1, Protected: []string{"node.worker"}}, nil, "protected"},
		{"protected, and changed", config.Policy{MaxDestroys: 1, Protected: []string{"node.batch"}}, nil, ""},
		{"frozen", config.Policy{MaxDestroys: 1, Freezes: saturday}, nil, "freeze"},
		{"frozen on another day", config.Policy{MaxDestroys: 1, Freezes: saturday}, func(in *policy.Input) { in.Now = in.Now.AddDate(0, 0, 1) }, ""},
		{"frozen, with nothing to do there", config.Policy{MaxDestroys: 1, Freezes: saturday, Cluster: "prod"}, func(in *policy.Input) { in.Plan.Steps = in.Plan.Steps[1:] }, ""},
		{"not approved", config.Policy{MaxDestroys: 1, Approval: &config.Approval{Approvers: 1}}, nil, "approval"},
		{"approved", config.Policy{MaxDestroys: 1, Approval: &config.Approval{Approvers: 1}}, func(in *policy.Input) { in.Approved = true }, ""},
		{
			"a digest on the command line is no approver in the file",
			config.Policy{MaxDestroys: 1, Approval: &config.Approval{Approvers: 1, File: "a"}},
			func(in *policy.Input) { in.Approved = true }, "approval",
		},
		{
			"approved twice by one",
			config.Policy{MaxDestroys: 1, Approval: &config.Approval{Approvers: 2, File: "a"}},
			func(in *policy.Input) {
				in.Approvals = map[string][]policy.Approval{"a": {{digest[:16], "ann"}, {digest, "ann"}, {strings.Repeat("f", 16), "bob"}}}
			}, "approval",
		},
		{
			"approved by two, one of whom does not count",
			config.Policy{MaxDestroys: 1, Approval: &config.Approval{Approvers: 2, File: "a", Names: []string{"ann", "cy"}}},
			func(in *policy.Input) {
				in.Approvals = map[string][]policy.Approval{"a": {{digest[:16], "ann"}, {digest[:16], "bob"}}}
			}, "approval",
		},
		{
			"approved by two",
			config.Policy{MaxDestroys: 1, Approval: &config.Approval{Approvers: 2, File: "a"}},
			func(in *policy.Input) {
				in.Approvals = map[string][]policy.Approval{"a": {{digest[:16], "ann"}, {digest[:20], "bob"}}}
			}, "",
		},
	} {
		in := base()
		if tt.change != nil {
			tt.change(&in)
		}
		in.Policies = []config.Policy{with(tt.policy)}
		var rules []string
		for _, f := range policy.Evaluate(in) {
			rules = append(rules, f.Rule)
		}
		if got := strings.Join(rules, " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		in.Plan.OverriddenPolicies = []string{"p"}
		if found := policy.Evaluate(in); len(found) != len(rules) || len(policy.Refusals(found)) != 0 {
			t.Errorf("%s: an overridden policy still refuses: %+v", tt.name, found)
		}
	}
}

func TestParseApprovals(t *testing.T) {
	t.Parallel()
	got, err := policy.ParseApprovals("# who has read it\n\n  " + strings.ToUpper(digest) + "   Ann  Example # on Monday\n" + digest[:16] + " bob")
	if err != nil || len(got) != 2 || got[0] != (policy.Approval{Digest: digest, Name: "Ann Example"}) || got[1] != (policy.Approval{Digest: digest[:16], Name: "bob"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, wrong := range []string{digest, digest[:15] + " ann", "ann " + digest, strings.Repeat("g", 16) + " ann"} {
		if _, err := policy.ParseApprovals("# remark\n" + wrong); err == nil || err.Error() != "line 2 is not an approval: it must be DIGEST NAME, with at least 16 characters of the digest that plan prints" {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// TestPolicyFindingNamesMissingApproval checks that a finding says what is missing, and how to get it.
func TestPolicyFindingNamesMissingApproval(t *testing.T) {
	t.Parallel()
	const flag = "⟨+approve=0123456789abcdef⟩"
	for want, c := range map[string]struct {
		plan     planner.Plan
		approval config.Approval
		given    []policy.Approval
	}{
		"not approved: apply with " + flag + ", or apply a saved plan":              {approval: config.Approval{Approvers: 1}},
		"not approved: destroy with " + flag + ", or apply a saved plan":            {plan: planner.Plan{Destroy: true}, approval: config.Approval{Approvers: 1}},
		"not approved: run kubewright etcd restore FILE with " + flag:               {plan: planner.Plan{Command: "etcd restore FILE"}, approval: config.Approval{Approvers: 1}},
		`approved by 0 of 1: to approve, add the line "0123456789abcdef NAME" to a`: {approval: config.Approval{Approvers: 1, File: "a"}},
		`approved by 1 of 2 (ann): to approve, add the line "0123456789abcdef NAME" to a`: {
			approval: config.Approval{Approvers: 2, File: "a"}, given: []policy.Approval{{digest[:16], "ann"}},
		},
	} {
		w := state.NodeTarget("w")
		c.plan.Steps = []planner.Step{{Target: w}}
		found := policy.Evaluate(policy.Input{
			Config: &config.Config{Nodes: []*config.Node{{Target: w, Cluster: "prod"}}}, Plan: &c.plan, Digest: digest,
			Policies: []config.Policy{{Name: "p", MaxDestroys: config.NoLimit, Approval: &c.approval}}, Approvals: map[string][]policy.Approval{"a": c.given},
		})
		if len(found) != 1 || found[0].Message != want {
			t.Errorf("got %+v, want %s", found, want)
		}
	}
}
