package pipeline_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// absentFile does not exist: a component with an argument for it exits.
const absentFile = "/etc/kubernetes/absent.yaml"

// breaking sets arguments of a component that make it exit.
var breaking = map[string]func(c *config.Cluster, args ...config.Arg){
	"kube-apiserver":          func(c *config.Cluster, args ...config.Arg) { c.APIServer.Args = args },
	"kube-controller-manager": func(c *config.Cluster, args ...config.Arg) { c.ControllerManager.Args = args },
	"kube-scheduler":          func(c *config.Cluster, args ...config.Arg) { c.Scheduler.Args = args },
}

// broken returns the control planes whose manifest has the argument.
func (o *operator) broken(component string) []string {
	o.t.Helper()
	var out []string
	for _, n := range o.config.Nodes {
		path := "/etc/kubernetes/manifests/" + component + ".yaml"
		r, err := o.world.Host(n.Address).Observe(o.t.Context(), state.Query{Files: []state.FileQuery{{Path: path, Read: state.ReadContent}}})
		o.must(err)
		if strings.Contains(string(r.Files[path].Content), absentFile) {
			out = append(out, n.Target.Key)
		}
	}
	return out
}

// TestFailingControlPlaneIsRepairedFirst checks that an argument that breaks one control plane breaks no other,
// however often the apply is repeated, and that the broken one is repaired first.
func TestFailingControlPlaneIsRepairedFirst(t *testing.T) {
	t.Parallel()
	for component, args := range breaking {
		t.Run(component, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 0)
			cl := o.config.Clusters[0]
			args(cl, config.Arg{Name: "audit-policy-file", Value: absentFile})
			for range 3 {
				if err := o.apply(); err == nil || !strings.Contains(err.Error(), component+"-host-10-0-0-11") {
					t.Fatalf("apply: %v, want that the pod of cp1 does not run", err)
				}
				if got := o.broken(component); !slices.Equal(got, []string{"cp1"}) {
					t.Fatalf("broken are %v, want cp1 alone", got)
				}
			}
			p, err := o.plan()
			o.must(err)
			proof := p.Steps[0]
			if want := "waits until " + component + " runs here as in its manifest, before another control plane is changed"; proof.ID.String() != `node.cp["cp1"]/wait-control-plane` || proof.Impact != want {
				t.Errorf("the first step is %s: %s; want the verification of cp1: %s", proof.ID, proof.Impact, want)
			}
			for _, s := range p.Steps[1:] {
				if s.Phase == "control-plane" && !slices.Contains(s.Needs, proof.ID) {
					t.Errorf("%s needs %v, and not the verification of cp1", s.ID, s.Needs)
				}
			}
			args(cl, config.Arg{Name: "v", Value: "3"})
			p, err = o.plan()
			o.must(err)
			mended := p.Steps[0].ID
			if mended.String() != `node.cp["cp1"]/control-plane` {
				t.Errorf("the first step is %s, want the repair of cp1", mended)
			}
			for _, s := range p.Steps[1:] {
				if s.Phase == "control-plane" && !slices.Contains(s.Needs, mended) {
					t.Errorf("%s needs %v, and not the repair of cp1", s.ID, s.Needs)
				}
			}
			o.must(o.carryOut())
			o.wantNothing()
		})
	}
}

// TestOnlyControlPlaneFailingIsObservedOnHost checks that while the API does not answer, the host shows whether a component
// runs, and that the plan is not empty until it does.
func TestOnlyControlPlaneFailingIsObservedOnHost(t *testing.T) {
	t.Parallel()
	for component, args := range breaking {
		t.Run(component, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 1, 0)
			cl := o.config.Clusters[0]
			args(cl, config.Arg{Name: "audit-policy-file", Value: absentFile})
			for range 2 {
				if err := o.apply(); err == nil {
					t.Fatal("the apply succeeded, and a component does not run")
				}
				if p, err := o.plan(); err != nil || p.Empty() {
					t.Fatalf("the plan is empty, and a component does not run: %v", err)
				}
			}
			args(cl)
			o.must(o.apply())
			o.must(o.apply()) // for objects that could not be observed before
			o.wantNothing()
		})
	}
}

// planSeeing plans with a changed observation.
func (o *operator) planSeeing(change func(v *topology.Fleet)) *planner.Plan {
	o.t.Helper()
	v := o.observe()
	v.Key = state.NewKey(o.recorded.FingerprintKey)
	change(v)
	return plan(o.t.(*testing.T), v)
}

// pod changes the API's report of a static pod of the first control plane.
func pod(component string, change func(p *state.StaticPodReport)) func(v *topology.Fleet) {
	return func(v *topology.Fleet) {
		name := component + "-host-10-0-0-11"
		p := v.ClusterReports["prod"].StaticPods[name]
		change(&p)
		v.ClusterReports["prod"].StaticPods[name] = p
	}
}

func notReady(p *state.StaticPodReport) { p.Ready = false }

// silent makes the kubelet of the first control plane stop reporting.
func silent(v *topology.Fleet) {
	n := v.ClusterReports["prod"].Nodes["host-10-0-0-11"]
	n.Ready, n.Silent = false, true
	v.ClusterReports["prod"].Nodes["host-10-0-0-11"] = n
}

// gone removes a process from the report of the first control plane.
func gone(component string) func(v *topology.Fleet) {
	return func(v *topology.Fleet) { delete(v.Reports[state.NodeKeyTarget("cp", "cp1")].Started, component) }
}

// older makes a process of the first control plane older than its manifest.
func older(component string) func(v *topology.Fleet) {
	return func(v *topology.Fleet) {
		r := v.Reports[state.NodeKeyTarget("cp", "cp1")]
		path := "/etc/kubernetes/manifests/" + component + ".yaml"
		f := r.Files[path]
		f.Modified = r.Started[component].Add(time.Second)
		r.Files[path] = f
	}
}

// dark removes the cluster's report: the API does not answer.
func dark(v *topology.Fleet) { delete(v.ClusterReports, "prod") }

// TestPlanWaitsForFailingComponents checks that a plan waits for components that are known not to run, and not for unknown
// ones. It waits for components that may just be starting only where a control plane is touched.
func TestPlanWaitsForFailingComponents(t *testing.T) {
	t.Parallel()
	first := founded(t, 3, 0)
	api, etcd := "kube-apiserver", "etcd"
	type seen []func(v *topology.Fleet)
	another := pod(api, func(p *state.StaticPodReport) { p.Hash = "another" })
	for name, tt := range map[string]struct {
		seen          seen
		alone, before []string
	}{
		"all is well":                       {nil, nil, nil},
		"not ready":                         {seen{pod(api, notReady)}, nil, []string{api}},
		"two not ready":                     {seen{pod(api, notReady), pod(etcd, notReady)}, nil, []string{etcd, api}},
		"not ready, and not there":          {seen{pod(api, notReady), gone(api)}, []string{api}, []string{api}},
		"one starts, one is not there":      {seen{pod(api, notReady), gone(api), pod(etcd, notReady)}, []string{api}, []string{etcd, api}},
		"not running":                       {seen{pod(api, func(p *state.StaticPodReport) { p.Running = false })}, nil, []string{api}},
		"another manifest":                  {seen{another}, nil, []string{api}},
		"another manifest, kubelet silent":  {seen{silent, another}, nil, []string{api}},
		"another manifest, older process":   {seen{another, older(api)}, []string{api}, []string{api}},
		"older process, kubelet silent":     {seen{silent, another, older(api)}, []string{api}, []string{api}},
		"older process, its manifest":       {seen{older(api)}, nil, nil},
		"another manifest, and not there":   {seen{another, gone(api)}, []string{api}, []string{api}},
		"not ready, kubelet silent":         {seen{silent, pod(api, notReady)}, nil, nil},
		"not ready, silent, and not there":  {seen{silent, pod(api, notReady), gone(api)}, []string{api}, []string{api}},
		"no hash":                           {seen{pod(api, func(p *state.StaticPodReport) { p.Hash = "" })}, nil, nil},
		"API silent":                        {seen{dark}, nil, nil},
		"API silent, process not there":     {seen{dark, gone(api)}, []string{api}, []string{api}},
		"API silent, processes not visible": {seen{dark, func(v *topology.Fleet) { v.Reports[state.NodeKeyTarget("cp", "cp1")].Started = nil }}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			see := func(v *topology.Fleet) {
				for _, change := range tt.seen {
					change(v)
				}
			}
			wantProof(t, first.copy(t).planSeeing(see), tt.alone, true)
			o := first.copy(t)
			o.config.Clusters[0].Scheduler.Args = []config.Arg{{Name: "v", Value: "3"}}
			p := o.planSeeing(see)
			wantProof(t, p, tt.before, false)
			if i := slices.IndexFunc(p.Steps, func(s planner.Step) bool { return s.OnlyProves() }); len(tt.alone) == 0 && i >= 0 && p.Steps[i].Action != planner.NoOp {
				t.Errorf("a wait for a starting component counts as %s", p.Steps[i].Action)
			}
		})
	}
}

// wantProof checks that a plan verifies exactly these components of the first control plane; alone says
// that it does nothing else.
func wantProof(t *testing.T, p *planner.Plan, components []string, alone bool) {
	t.Helper()
	var proofs []planner.Step
	for _, s := range p.Steps {
		if s.OnlyProves() {
			proofs = append(proofs, s)
		} else if alone {
			t.Errorf("unexpected step %s", s.ID)
		}
	}
	switch {
	case len(components) == 0 && len(proofs) > 0:
		t.Errorf("got %s: %s; want no verification", proofs[0].ID, proofs[0].Impact)
	case len(components) > 0 && (len(proofs) != 1 || proofs[0].ID.String() != `node.cp["cp1"]/wait-control-plane` ||
		!strings.HasPrefix(proofs[0].Impact, "waits until "+strings.Join(components, ", ")+" run")):
		t.Errorf("the verifications are %+v, want that of %v", proofs, components)
	}
}

// TestStaticPodHashMismatchAloneChangesNothing checks that a kubelet that computes the hash of a pod differently neither
// keeps a plan from being empty nor another control plane from being changed. A process that was
// started after its manifest was written runs that manifest.
func TestStaticPodHashMismatchAloneChangesNothing(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(3, 0))
	o.world.PodHash = func(manifest []byte, path, node, kubelet string) string {
		if strings.HasSuffix(path, "/kube-scheduler.yaml") {
			return "reckoned-otherwise"
		}
		return kubeadm.StaticPodHash(manifest, path, node, kubelet)
	}
	o.must(o.apply())
	o.wantNothing()
	o.config.Clusters[0].ControllerManager.Args = []config.Arg{{Name: "v", Value: "3"}}
	o.must(o.apply())
	o.wantNothing()

	another := pod("kube-scheduler", func(p *state.StaticPodReport) { p.Hash = "another" })
	p := founded(t, 3, 0).planSeeing(func(v *topology.Fleet) { another(v); older("kube-scheduler")(v) })
	if !slices.ContainsFunc(p.Steps[0].Operations, func(op planner.Operation) bool { w, ok := op.(planner.Wait); return ok && w.Hash != "" }) {
		t.Error("the plan does not wait by the pod's hash for a process that is older than its manifest")
	}
}

// TestSavedPlanIgnoresPodReadiness checks that a saved plan stays valid if a pod becomes ready later, and the
// other way round, whatever else is to be changed.
func TestSavedPlanIgnoresPodReadiness(t *testing.T) {
	t.Parallel()
	for name, component := range map[string]string{"the seat's": "kube-apiserver", "another": "etcd"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 0)
			o.config.Clusters[0].Scheduler.Args = []config.Arg{{Name: "v", Value: "3"}}
			well, failing := o.planSeeing(func(*topology.Fleet) {}), o.planSeeing(pod(component, notReady))
			if planfile.Digest(well) == planfile.Digest(failing) {
				t.Fatal("the plan does not show what fails")
			}
			for _, pair := range [][2]*planner.Plan{{well, failing}, {failing, well}} {
				if d := planfile.Compare(pair[0], pair[1], nil); len(d) > 0 {
					t.Errorf("the plans differ: %+v", d)
				}
			}
		})
	}
}

// TestUpgradeBeginsWithFailingControlPlane checks that an upgrade begins with the control plane that an earlier
// one has broken, even if that was at an intermediate version.
func TestUpgradeBeginsWithFailingControlPlane(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"1.35.8", "1.34.9"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			o := running(t, 3, 0, from)
			cl := o.config.Clusters[0]
			cl.KubernetesVersion = "1.36.3"
			o.kubelets("1.36.3")
			cl.Scheduler.Args = []config.Arg{{Name: "requestheader-client-ca-file", Value: absentFile}}
			for range 2 {
				if err := o.apply(); err == nil {
					t.Fatal("the upgrade succeeded, and a component does not run")
				}
				if got := o.broken("kube-scheduler"); !slices.Equal(got, []string{"cp1"}) {
					t.Fatalf("broken are %v, want cp1 alone", got)
				}
			}
			cl.Scheduler.Args = nil
			p, err := o.plan()
			o.must(err)
			i := slices.IndexFunc(p.Steps, func(s planner.Step) bool { return s.Phase == "control-plane" || s.Phase == "etcd" })
			if got := p.Steps[i].ID.Target.Key; got != "cp1" {
				t.Errorf("the first control plane is %s, want cp1:\n%s", got, describe(p))
			}
			o.must(o.carryOut())
			o.wantNothing()
		})
	}
}

// TestRotationWaitsForFailingControlPlane checks that a rotation touches no control plane before a failing one is
// verified to run.
func TestRotationWaitsForFailingControlPlane(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	p := o.planSeeing(func(v *topology.Fleet) {
		v.Rotate = []topology.Rotation{{Cluster: state.ClusterTarget("prod"), CA: "ca"}}
		pod("kube-scheduler", notReady)(v)
	})
	if got := p.Steps[0].ID.String(); got != `node.cp["cp1"]/wait-control-plane` {
		t.Errorf("the first step is %s, want the verification of cp1", got)
	}
	for _, s := range p.Steps[1:] {
		if len(s.Needs) == 0 {
			t.Errorf("%s waits for nothing", s.ID)
		}
	}
}

// TestDeletedFileIsNoComponentFailure checks that a deleted file does not make its component count as
// failing: the component has read the file at its start.
func TestDeletedFileIsNoComponentFailure(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	o.must(sim.Edit(o.world, "10.0.0.11", "file /etc/kubernetes/scheduler.conf delete"))
	p := o.planSeeing(func(*topology.Fleet) {})
	if i := slices.IndexFunc(p.Steps, func(s planner.Step) bool { return s.OnlyProves() }); i >= 0 {
		t.Errorf("%s: a file that vanished has ended a process", p.Steps[i].Impact)
	}
}
