package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// TestTargetLeavesNoOperationIncomplete checks that a part of an operation of several steps cannot be left out alone. Steps that
// are left out together with all that wait for them, and steps that nothing depends on, can.
func TestTargetLeavesNoOperationIncomplete(t *testing.T) {
	t.Parallel()
	const broken = "Plan would leave an operation incomplete"
	skip := func(names ...string) planner.Options { return planner.Options{SkipPhases: names} }
	exclude := func(names ...string) planner.Options {
		var o planner.Options
		for _, name := range names {
			s, err := planner.ParseSelector(name, pipeline.Names())
			if err != nil {
				t.Fatal(err)
			}
			o.Excludes = append(o.Excludes, s)
		}
		return o
	}
	target := func(names ...string) planner.Options { return planner.Options{Targets: exclude(names...).Excludes} }
	upgrade := func(o *operator) {
		o.config.Clusters[0].KubernetesVersion = "1.36.3"
		o.kubelets("1.36.3")
	}
	kubelets := func(o *operator) { o.kubelets("1.35.9") }
	move := func(o *operator) { o.config.Clusters[0].ControlPlaneEndpoint = "moved.example.com:6443" }
	rotate := func(o *operator) { o.rotate = []topology.Rotation{rotationOf(t, "ca")} }
	rotateEtcd := func(o *operator) { o.rotate = []topology.Rotation{rotationOf(t, "etcd-ca")} }
	replace := func(o *operator) { o.replace = []state.Target{state.NodeKeyTarget("cp", "cp1")} }
	ttl := func(o *operator) {
		o.config.Clusters[0].APIServer.Args = []config.Arg{{Name: "event-ttl", Value: "2h"}}
		o.config.Clusters[0].Etcd.Args = []config.Arg{{Name: "snapshot-count", Value: "5000"}}
		o.config.Clusters[0].Kubelet.Config = state.FromGo(map[string]any{"maxPods": 50})
	}
	joins := func(o *operator) {
		o.config.Nodes = append(slices.Clone(o.config.Nodes), cluster(4, 0).Nodes[3])
	}
	for name, tt := range map[string]struct {
		change  func(o *operator)
		options planner.Options
		// want lists parts of the refusal; it is empty where there is a plan.
		want []string
		// without lists phases of which no step stays.
		without []string
	}{
		"kubelets, one skipped":           {kubelets, skip("kubelet-start"), []string{"evicts the pods, and only node.", "uncordons the node", "⟨+except=drain +except=kubelet-start⟩"}, nil},
		"kubelets, excluded":              {kubelets, exclude("kubelet-start"), []string{"uncordons the node", "+except=drain"}, nil},
		"kubelets, of one node":           {kubelets, exclude(`node.worker["w1"]/kubelet-start`), []string{`+except=node.worker["w1"]/drain`}, nil},
		"kubelets, drains alone":          {kubelets, target("drain"), []string{"uncordons the node", "+only=kubelet-start"}, nil},
		"kubelets, drained by hand":       {kubelets, skip("drain"), nil, nil},
		"kubelets, all left out":          {kubelets, exclude("kubelet-start", "drain"), nil, []string{"kubelet-start", "drain"}},
		"upgrade, planes skipped":         {upgrade, skip("control-plane"), []string{"depends on node.cp", "/control-plane", "+except=control-plane"}, nil},
		"upgrade, planes excluded":        {upgrade, exclude("control-plane"), []string{"writes /etc/kubernetes/manifests/kube-apiserver.yaml, which node", "+except=etcd"}, nil},
		"upgrade, etcd skipped":           {upgrade, skip("etcd"), []string{"depends on node.cp"}, nil},
		"upgrade, no snapshot, no wait":   {upgrade, skip("etcd-snapshot", "wait-control-plane", "images", "upgrade-pause"), nil, nil},
		"upgrade, all left out":           {upgrade, exclude("control-plane", "etcd"), nil, []string{"control-plane", "etcd", "kubelet-start", "drain"}},
		"upgrade, one node left out":      {upgrade, exclude(`node.worker["w1"]`), nil, nil},
		"CA, kubelets skipped":            {rotate, skip("kubelet-start"), []string{"depends on node.", "/kubelet-start@trust-both"}, nil},
		"CA, certificates skipped":        {rotate, skip("certs"), []string{"/certs@trust-both"}, nil},
		"CA, cluster-info skipped":        {rotate, skip("bootstrap-token"), []string{"/bootstrap-token@trust-both"}, nil},
		"CA, stops in between":            {rotate, exclude("certs@reissue"), nil, nil},
		"etcd's CA, members skipped":      {rotateEtcd, skip("etcd"), []string{"/etcd@trust-both"}, nil},
		"endpoint, kubelets skipped":      {move, skip("kubelet-wait-bootstrap"), []string{"/certs@endpoint-moved depends on node.worker"}, nil},
		"endpoint, kube-proxy skipped":    {move, skip("addon"), []string{"/certs@endpoint-moved depends on cluster.prod/addon"}, nil},
		"endpoint, kubelets excluded":     {move, exclude("kubelet-wait-bootstrap"), nil, nil},
		"replaced, etcd skipped":          {replace, skip("etcd"), []string{`join again, also by node.cp["cp1"]/etcd`, "⟨+except=etcd +except=kubelet-start +except=reset⟩"}, nil},
		"replaced, etcd excluded":         {replace, exclude("etcd"), []string{`/etcd`, "+except=reset"}, nil},
		"replaced, kubelet excluded":      {replace, exclude("kubelet-start"), []string{"removes the node, which is to join again, also by"}, nil},
		"replaced, reset skipped":         {replace, skip("reset"), []string{"depends on node.cp"}, nil},
		"joins, etcd skipped":             {joins, skip("etcd"), []string{`node.cp["cp4"]/etcd`}, nil},
		"joins, no token":                 {joins, skip("bootstrap-token"), []string{"cluster.prod/bootstrap-token"}, nil},
		"joins, certificates alone":       {joins, target(`node.cp["cp4"]/certs`), nil, []string{"kubelet-start"}},
		"joins, left out":                 {joins, exclude(`node.cp["cp4"]`), nil, []string{"kubelet-start"}},
		"arguments, planes skipped":       {ttl, skip("control-plane"), []string{"writes /etc/kubernetes/manifests/kube-apiserver.yaml, which node"}, nil},
		"arguments, both skipped":         {ttl, skip("control-plane", "etcd"), nil, []string{"control-plane", "etcd"}},
		"arguments, kubelets' skipped":    {ttl, skip("kubelet-start"), nil, []string{"kubelet-start"}},
		"arguments, upload skipped":       {ttl, skip("upload-config"), nil, []string{"upload-config"}},
		"arguments, one phase of a plane": {ttl, target(`node.cp["cp1"]/control-plane`), nil, []string{"kubelet-start"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			version := "1.36.3"
			if strings.HasPrefix(name, "upgrade") {
				version = "1.34.9"
			}
			if strings.HasPrefix(name, "kubelets") {
				version = "1.35.8"
			}
			o := running(t, 3, 2, version)
			if tt.change != nil {
				tt.change(o)
			}
			r, diags := o.planOf(o.observe(), tt.options)
			show(t, diags...)
			i := slices.IndexFunc(diags, func(d *diag.Diagnostic) bool { return d.Severity == diag.Error })
			switch {
			case len(tt.want) == 0 && i >= 0:
				t.Fatalf("%s: %s", diags[i].Summary, diags[i].Detail)
			case len(tt.want) > 0 && i < 0:
				t.Fatal("the plan is not refused:\n" + describe(r.Plan))
			case len(tt.want) > 0 && diags[i].Summary != broken:
				t.Fatalf("refused for another reason: %s: %s", diags[i].Summary, diags[i].Detail)
			}
			for _, want := range tt.want {
				if !strings.Contains(diags[i].Detail, want) {
					t.Errorf("%s\nwant %s", diags[i].Detail, want)
				}
			}
			if len(tt.want) > 0 {
				if _, then := o.planOf(o.observe(), wayOut(t, diags[i].Detail, tt.options)); then.HasErrors() {
					t.Errorf("%s\nand then\n%s", diags[i].Detail, printedFindings(then))
				}
				return
			}
			for _, s := range r.Plan.Steps {
				if slices.Contains(tt.without, s.Phase) {
					t.Errorf("%s stays", s.ID)
				}
			}
		})
	}
}

// wayOut returns the options that a refusal recommends in order to leave no operation incomplete.
func wayOut(t *testing.T, detail string, given planner.Options) planner.Options {
	t.Helper()
	out := planner.Options{Targets: slices.Clone(given.Targets)}
	_, found := remedy.Spell(detail[strings.LastIndex(detail, "\n\n"):], remedy.Remedy.String)
	for _, option := range found[0].Options {
		s, err := planner.ParseSelector(option.Value, pipeline.Names())
		if err != nil {
			t.Fatal(err)
		}
		switch option.Kind {
		case remedy.Except:
			out.Excludes = append(out.Excludes, s)
		case remedy.Only:
			out.Targets = append(out.Targets, s)
		}
	}
	return out
}
