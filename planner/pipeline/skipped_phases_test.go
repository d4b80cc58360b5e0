package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// skippable returns a cluster for which each phase that may be skipped has something to do.
func skippable() *config.Config {
	cfg := cluster(2, 1)
	cfg.Nodes[2].Labels = map[string]string{"example.com/pool": "batch"}
	cfg.Clusters[0].Addons = []*config.Addon{{Name: "own", Objects: documents(state.FromGo(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": "own"},
	}))}}
	return cfg
}

// TestEveryPhaseIsKnownToSkipPhases checks that skip_phases knows each phase of a plan, and that the
// message for one that it refuses offers -skip-phase, which knows the phases of plans and no others.
func TestEveryPhaseIsKnownToSkipPhases(t *testing.T) {
	t.Parallel()
	for _, name := range pipeline.Names() {
		if _, known := config.Phases()[name]; !known {
			t.Errorf("skip_phases does not know the phase %s: add a rule for it to skipRules in config/skip.go", name)
		}
	}
	for name := range config.Phases() {
		cfg := cluster(1, 1)
		cfg.Clusters[0].SkipPhases = []string{name}
		for _, d := range cfg.Validate() {
			offered, known := strings.Contains(d.Detail, "give -skip-phase="+name), slices.Contains(pipeline.Names(), name)
			if d.Summary == "Phase cannot be left out" && offered != known {
				t.Errorf("%s is a phase of plans: %v, but the message offers -skip-phase: %v. Set once in its rule in config/skip.go to the former", name, known, offered)
			}
		}
	}
}

// TestSkippedPhasesAreInNoPlan checks that phases that the configuration skips are in no plan, neither at the
// bootstrap nor later. Other items of the same phase stay.
func TestSkippedPhasesAreInNoPlan(t *testing.T) {
	t.Parallel()
	proxy, dns := "object:apps/v1/DaemonSet/kube-system/kube-proxy", "object:apps/v1/Deployment/kube-system/coredns"
	for name, test := range map[string]struct {
		cluster, node string
		gone, there   []string
	}{
		"images":               {cluster: "images", gone: []string{"]/images/"}},
		"images of a node":     {node: "images", gone: []string{`node.cp["cp2"]/images/`}, there: []string{`node.cp["cp1"]/images/`}},
		"control planes":       {cluster: "mark-control-plane", gone: []string{"/mark-control-plane/"}, there: []string{"/mark-worker/"}},
		"control plane":        {node: "control-plane-join/mark-control-plane", gone: []string{`node.cp["cp2"]/mark-`}, there: []string{`node.cp["cp1"]/mark-`}},
		"workers":              {cluster: "mark-worker", gone: []string{"/mark-worker/"}, there: []string{"/mark-control-plane/"}},
		"addons":               {cluster: "addon", gone: []string{proxy, dns}, there: []string{`addon["own"]/addon/`}},
		"addons by their name": {cluster: "addon/all", gone: []string{proxy, dns}, there: []string{`addon["own"]/addon/`}},
		"kube-proxy":           {cluster: "addon/kube-proxy", gone: []string{proxy}, there: []string{dns}},
		"coredns":              {cluster: "addon/coredns", gone: []string{dns}, there: []string{proxy}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			skip := func(cfg *config.Config) {
				if test.cluster != "" {
					cfg.Clusters[0].SkipPhases = []string{test.cluster}
				} else {
					cfg.Nodes[1].SkipPhases = []string{test.node}
				}
			}
			o := newOperator(t, skippable())
			skip(o.config)
			for _, n := range o.config.Nodes {
				o.must(sim.Edit(o.world, n.Address, "image remove registry.k8s.io/pause:3.10.2"))
			}
			p, err := o.plan()
			o.must(err)
			text := describe(p)
			for _, gone := range test.gone {
				if strings.Contains(text, gone) {
					t.Errorf("%s is in the plan", gone)
				}
			}
			for _, there := range test.there {
				if !strings.Contains(text, there) {
					t.Errorf("%s is not in the plan", there)
				}
			}
			o.must(o.carryOut())
			o.wantNothing()

			later := newOperator(t, skippable())
			later.must(later.apply())
			skip(later.config)
			p, err = later.plan()
			later.must(err)
			for _, c := range p.Changes {
				// kubeadm-config lists the desired addons, as after init.
				if !strings.Contains(c.Address.String(), "kubeadm-config") {
					t.Errorf("%s %s, which already existed", c.Action, c.Address)
				}
			}
		})
	}
}

// TestSkippedPhaseShowsNoDrift checks that changes to items of a skipped phase are no drift.
func TestSkippedPhaseShowsNoDrift(t *testing.T) {
	t.Parallel()
	o := newOperator(t, skippable())
	o.must(o.apply())
	o.must(sim.Edit(o.world, "10.0.0.11", "label host-10-0-0-21 example.com/pool=other"))
	p, err := o.plan()
	o.must(err)
	if len(p.Drift) != 1 || len(p.Changes) != 1 {
		t.Fatalf("%d drifted, %d changes", len(p.Drift), len(p.Changes))
	}
	o.config.Nodes[2].SkipPhases = []string{"mark-worker"}
	r, diags := pipeline.Plan(o.observe(), planner.Plan{}, planner.Options{})
	if diags.HasErrors() || len(r.Plan.Drift)+len(r.Plan.Changes) > 0 {
		t.Errorf("%v, drift %v, changes %v", diags, r.Plan.Drift, r.Plan.Changes)
	}
}
