package view_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/state"
)

// manySteps returns a plan with so many steps, of as many phases.
func manySteps(n int) *planner.Plan {
	var m maker
	m.Resources = append(m.Resources, resource(w21, planner.Update, 0))
	var before []state.Address
	for i := range n {
		before = []state.Address{m.step(w21, fmt.Sprintf("phase-%d", i), planner.Update, "", before, planner.WriteFile{Path: "/x"})}
	}
	return &m.Plan
}

// manyLines returns a plan of which so many lines of the configuration change something.
func manyLines(n int) *planner.Plan {
	var m maker
	m.Resources = append(m.Resources, resource(w21, planner.Update, 0))
	for i := range n {
		m.change(w21, "kubelet-start", fmt.Sprintf("file:/etc/%d", i), state.KindFile, planner.Update, attrs("content", "a", "b", src(i+1)))
	}
	m.step(w21, "kubelet-start", planner.Update, "", nil, planner.WriteFile{Path: "/x"})
	return &m.Plan
}

// stepOf returns a plan of one step on a worker that does these operations.
func stepOf(ops ...planner.Operation) *planner.Plan {
	var m maker
	m.Resources = append(m.Resources, resource(w21, planner.Delete, 0))
	m.step(w21, "reset", planner.Delete, "", nil, ops...)
	return &m.Plan
}

// because returns a plan of one change with a reason.
func because(reason string) *planner.Plan {
	var m maker
	m.Resources = append(m.Resources, resource(cp1, planner.Update, 0))
	m.change(cp1, "certs", "file:/etc/kubernetes/pki/apiserver.crt", state.KindCertificate, planner.Update, attrs("renewal_due", true, false))
	m.Changes[0].Reason = reason
	m.step(cp1, "control-plane", planner.Update, "", nil, planner.WriteFile{Path: "/x"})
	m.step(cp1, "certs", planner.Update, "", nil, planner.WriteFile{Path: "/x"})
	return &m.Plan
}

// TestWhatIsSaid: sentences for what seldom is, in the forms that say them.
func TestWhatIsSaid(t *testing.T) {
	t.Parallel()
	o := view.Options{Width: 400, Recorded: view.Recorded{Durations: map[string]float64{"certs/update": 12}}}
	as := func(form string, plan *planner.Plan) func(io.Writer) error {
		return func(w io.Writer) error { return view.PlanAs(w, plan, form, o) }
	}
	explain := func(plan *planner.Plan, at state.Address) func(io.Writer) error {
		return func(w io.Writer) error { return view.Explain(w, plan, at, o) }
	}
	twoTexts := func() *planner.Plan {
		var m maker
		m.Resources = append(m.Resources, resource(w21, planner.Update, 0))
		m.change(w21, "kubelet-start", "file:/etc/motd", state.KindFile, planner.Update, attrs("content", "a\nb", "a\nb\n"))
		m.step(w21, "kubelet-start", planner.Update, "", nil, planner.WriteFile{Path: "/etc/motd"})
		return &m.Plan
	}
	partly := func() *planner.Plan {
		p := updatePlan()
		p.Excluded, p.LeftOut = []string{`node.cp["cp1"]`}, []string{"cluster.prod/upload-config"}
		return p
	}
	renewed := func(w io.Writer) error {
		p := updatePlan()
		p.Certificates[0].Changed = true
		full := o
		full.Full = true
		return view.Plan(w, p, full)
	}
	lines := func(e executor.Event) func(io.Writer) error {
		return func(w io.Writer) error {
			j := view.NewJSONLines(w, time.Now)
			j.Event(e)
			return j.Close()
		}
	}
	overtaken := func(w io.Writer) error {
		outcome := failed(createPlan())
		outcome.Overtaken = true
		for i := range outcome.Steps {
			if outcome.Steps[i].Status == executor.StatusFailed {
				outcome.Steps[i].Err = nil
			}
		}
		return view.Incomplete(w, createPlan(), outcome, o)
	}
	for name, tt := range map[string]struct {
		print func(io.Writer) error
		want  []string
	}{
		"annotations that GitHub would not show": {as("github", manyLines(12)), []string{"GitHub shows 10 of a kind.", "lines left out; kubewright show prints all of the plan."}},
		"no certificates":                        {func(w io.Writer) error { return view.Certificates(w, nil, o) }, []string{"No host holds a certificate.\n"}},
		"a certificate that a kubelet has not renewed": {func(w io.Writer) error {
			return view.Certificates(w, []pki.HeldCertificate{{Host: "w1", Name: "kubelet", Due: true, RenewedBy: planner.ByKubelet}}, o)
		}, []string{"due, by the kubelet\n"}},
		"texts that differ in their end":      {as("text", twoTexts()), []string{"<<-EOT # only the last line break differs\n"}},
		"more steps than boxes":               {as("html", manySteps(241)), []string{"<p>The plan has 241 steps, too many to draw.</p>", "No earlier apply tells how long the steps take: the bars show the order alone."}},
		"more steps than can be put in order": {as("text", manySteps(3001)), []string{"Order: 3001 steps; kubewright graph draws them.\n"}},
		"more steps than are looked at":       {as("html", manySteps(3001)), []string{"<p>The plan has 3001 steps, too many to draw.</p>"}},
		"a snapshot":                          {func(w io.Writer) error { return view.EtcdSnapshot(w, view.EtcdSnapshotFile{}, o) }, []string{"It holds every Secret of the cluster: keep it where you would keep the cluster's keys.\n"}},
		"why a certificate is renewed":        {explain(because(planner.ReasonDue), id(cp1, "certs")), []string{"renewal due: it ends soon, and is renewed as certificates.renew_before says", ", 2 of 2, in the longest chain\n", "  takes about 12s, going by the last time\n"}},
		"why something is done that is asked": {explain(because(planner.ReasonRequested), id(cp1, "certs")), []string{"as requested: a flag of this command asks for it"}},
		"a step that was not begun":           {lines(executor.Event{Kind: executor.KindCancelled, Step: id(cp1, "etcd")}), []string{`/etcd: not started, because the run was stopped"`}},
		"a member that leaves":                {as("text", stepOf(planner.RemoveEtcdMember{}, planner.Cordon{Node: "w1"}, planner.SetSysctl{})), []string{"takes it out of etcd, lets no more pods in, puts kernel settings back\n"}},
		"nothing to destroy":                  {as("text", &planner.Plan{Destroy: true}), []string{"No changes. No objects need to be destroyed.", "Either you have not created anything yet or everything was already destroyed."}},
		"certificates that a plan renews":     {renewed, []string{"  replaces or removes it\n"}},
		"what was left alone":                 {func(w io.Writer) error { return view.Complete(w, driftPlan(), nil, o) }, []string{"Run kubewright apply again when what is missing answers."}},
		"a key for certificates":              {func(w io.Writer) error { return view.CertificateKey(w, prod, state.NewSecret([]byte("00ff")), o) }, []string{"The certificates of cluster.prod are in the cluster for two hours, encrypted with this key. It is shown once and kept nowhere.", "kubeadm join … --control-plane --certificate-key 00ff"}},
		"a run that another one has ended":    {overtaken, []string{"no reason was given", "Another run has begun, or somebody has let one in. What this one has done is found on the hosts."}},
		"what does not run yet": {func(w io.Writer) error {
			return view.NotConverged(w, stepOf(planner.Wait{For: planner.WaitStaticPod}), o)
		}, []string{"kubewright plan shows whether it does by now; what stays down says why in its log on the host. These steps would wait for it:\n"}},
		"a part of a plan":              {as("markdown", partly()), []string{"-exclude=", ", which leaves out what is meant and what needs that: cluster.prod/upload-config."}},
		"an empty state":                {func(w io.Writer) error { return view.State(w, &state.State{}, o) }, []string{"The state is empty: nothing is there, or nothing was applied yet.\n"}},
		"names that the state gives up": {func(w io.Writer) error { return view.StateForgets(w, []view.Forgotten{{Target: w21}}, false, o) }, []string{"The state would forget, without touching any host:\n", "They go on as they are.", "what is not is nobody's any more: kubewright neither looks at it nor ever removes it."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := printed(t, tt.print)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("it is not said %q:\n%s", want, got)
				}
			}
		})
	}
	if err := view.Explain(io.Discard, updatePlan(), id(cp1, "certs"), o); err == nil || !strings.Contains(err.Error(), ". Of what the plan changes there are:\n") {
		t.Errorf("what is near is not named: %v", err)
	}
}
