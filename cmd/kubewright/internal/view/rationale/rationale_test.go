package rationale_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/rationale"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestExplainAddresses explains addresses in plans of every sort, and expects an explanation of that
// address and of nothing else; or the nearest addresses.
func TestExplainAddresses(t *testing.T) {
	gated := func() *planner.Plan {
		p := viewtest.ExamplePlan()
		p.Steps[0].Gates = []string{planner.APIGate, planner.QuorumGate, planner.DowntimeGate, planner.GoneGate, planner.WorkersGate, planner.SilenceGate, "another"}
		return p
	}
	const server = `node.cp["cp1"]/control-plane/file:/etc/kubernetes/manifests/kube-apiserver.yaml`
	for _, c := range []struct {
		plan      func() *planner.Plan
		at        string
		has, lack []string
		fails     bool
	}{
		{viewtest.UpdatePlan, server + "#args.audit-log-maxage", []string{`args.audit-log-maxage: null -> "30"`, "because cluster.hcl:21 says so", "step " + `node.cp["cp1"]/control-plane`}, []string{"kubelet-start/file", "maxPods"}, false},
		{viewtest.UpdatePlan, server + "#args", []string{`args.audit-log-maxage: null -> "30"`}, []string{"maxPods"}, false},
		{viewtest.CreatePlan, `node.cp["cp1"]/prepare/sysctl:net.ipv4.ip_forward`, []string{`value: "1"`, "not there yet: "}, []string{"null ->", "br_netfilter"}, false},
		// A node block is each of its nodes, as for -target.
		{viewtest.UpdatePlan, "node.worker", []string{`node.worker["10.77.0.21"] will be updated`, `node.worker["10.77.0.22"] will be destroyed`}, []string{`node.cp["cp1"] will`}, false},
		// A phase with several waypoints refers to each.
		{viewtest.CreatePlan, "cluster.prod/bootstrap-token", []string{"step cluster.prod/bootstrap-token,", "step cluster.prod/bootstrap-token@joined,"}, nil, false},
		{viewtest.CreatePlan, "cluster.prod/bootstrap-token@joined", []string{"step cluster.prod/bootstrap-token@joined,"}, []string{"step cluster.prod/bootstrap-token,"}, false},
		// The explanation of a target that could not be observed says why nothing is planned.
		{viewtest.DriftPlan, `node.worker["10.77.0.22"]/kubelet-start`, []string{"could not be observed, and is left alone", "i/o timeout after 10s.", "To do: Bring the host back"}, []string{"knows no"}, false},
		{viewtest.DriftPlan, `node.cp["cp2"]/control-plane`, []string{`args.v: "10" -> null`, `args.v: null -> "10"`, "was changed outside of kubewright since the last apply"}, nil, false},
		{viewtest.ImportPlan, "cluster.prod", []string{"cluster.prod will be imported (Kubernetes 1.36.3).", "imported from ssh://root@10.77.0.11"}, nil, false},
		{viewtest.ImportPlan, `node.worker["10.77.0.22"]`, []string{`has moved from node.batch["w2"]`}, nil, false},
		{gated, `node.cp["cp1"]/control-plane`, []string{"only if, right before it, another API server serves\n", "only if, right before it, etcd keeps its quorum\n", "only if, right before it, both members", "only if, right before it, neither its kubelet nor its etcd is heard of\n", "only if, right before it, no more workers are down than may be\n", "only if, right before it, no quorum of etcd answers\n", "another holds\n"}, []string{planner.APIGate}, false},
		// An address that the plan does not have leads to the nearest ones.
		{viewtest.UpdatePlan, server + "#args.audit", []string{"the plan does nothing at " + server + "#args.audit: it is as it should be, or it is left alone", "\n  " + server + "#args.audit-log-maxage"}, []string{"kubelet-start"}, true},
		{viewtest.UpdatePlan, `node.cp["cp1"]/control-plane/file:/etc/kubernetes/manifests/etcd.yaml`, []string{"\n  " + server}, []string{"kubelet-start", "#"}, true},
		{viewtest.UpdatePlan, `node.cp["cp1"]/certs`, []string{"\n  " + `node.cp["cp1"]/control-plane` + "\n  " + `node.cp["cp1"]/kubelet-start`}, []string{"file:", "cp2"}, true},
		{viewtest.UpdatePlan, `node.cp["cp9"]`, []string{`the plan knows no node.cp["cp9"]: it is in neither configuration nor state`, "\n  " + `node.cp["cp1"]`, "\n  cluster.prod"}, []string{"does nothing"}, true},
		{viewtest.ThirtyPlan, "node.gone", []string{"and 19 more"}, nil, true},
	} {
		at, err := state.ParseAddress(c.at)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		err = rationale.Explain(&b, c.plan(), at, ui.Options{Width: 100})
		text := b.String()
		if err != nil {
			text = err.Error()
		}
		if (err != nil) != c.fails {
			t.Errorf("%s: %v\n%s", c.at, err, text)
		}
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s is not explained by %q:\n%s", c.at, want, text)
			}
		}
		for _, other := range c.lack {
			if strings.Contains(text, other) {
				t.Errorf("%s is explained by %q, which is about something else:\n%s", c.at, other, text)
			}
		}
		for line := range strings.Lines(text) {
			if (strings.HasPrefix(line, "  waits for ") || strings.HasPrefix(line, "  before ")) && len(line) > 101 {
				t.Errorf("%s: too long for 100 columns: %s", c.at, line)
			}
		}
	}
}

// TestRareSentencesRationale checks sentences that are rarely printed.
func TestRareSentencesRationale(t *testing.T) {
	t.Parallel()
	o := ui.Options{Width: 400, Recorded: ui.Recorded{Durations: map[string]float64{"certs/update": 12}}}
	explain := func(plan *planner.Plan, at state.Address) func(io.Writer) error {
		return func(w io.Writer) error { return rationale.Explain(w, plan, at, o) }
	}
	viewtest.CheckSentences(t, map[string]viewtest.Sentences{
		"why a certificate is renewed":        viewtest.Shows(explain(viewtest.Because(planner.ReasonDue), viewtest.ID(viewtest.Cp1, "certs")), "renewal due: it expires soon, and is renewed as certificates.renew_before says", ", 2 of 2, in the longest chain\n", "  takes about 12s, going by the last time\n"),
		"why something is done that is asked": viewtest.Shows(explain(viewtest.Because(planner.ReasonRequested), viewtest.ID(viewtest.Cp1, "certs")), "as requested: a flag of this command asks for it"),
	})
	if err := rationale.Explain(io.Discard, viewtest.UpdatePlan(), viewtest.ID(viewtest.Cp1, "certs"), o); err == nil || !strings.Contains(err.Error(), ". Of what the plan changes there are:\n") {
		t.Errorf("the nearest addresses are not named: %v", err)
	}
}
