package pipeline_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// kubernetesVersion is the place of kubernetes_version.
var kubernetesVersion = state.Source{File: "main.hcl", Line: 5, Column: 1}

// upgrading is an upgrade from 1.35.8.
type upgrading struct {
	to     string
	before func(*operator)
	seen   func(*operator, *topology.Fleet)
	want   []finding
}

// kubeletRuns changes the observed version of the worker's kubelet.
func kubeletRuns(version string) func(*operator, *topology.Fleet) {
	return func(_ *operator, v *topology.Fleet) {
		n := v.ClusterReports["prod"].Nodes["host-10-0-0-21"]
		n.KubeletVersion = "v" + version
		v.ClusterReports["prod"].Nodes["host-10-0-0-21"] = n
	}
}

// upgradings returns the upgrades with findings.
func upgradings() map[string]upgrading {
	line := kubernetesVersion.String()
	misfit := finding{diag.Error, "Kubelet version does not fit", line, "cluster.prod", []string{`Cluster "prod", node host-10-0-0-21: kubelet `}}
	exchanged := func(o *operator) {
		other := *o.config.Nodes[0]
		other.Target.Key, other.Address = "cp9", "10.0.0.19"
		o.leave("cp3")
		o.config.Nodes = slices.Insert(o.config.Nodes, 2, &other)
		o.kubelets("1.36.3")
	}
	return map[string]upgrading{
		"back": {"1.34.9", nil, nil, []finding{{diag.Error, "Version cannot be reached", line, "cluster.prod", []string{
			`Cluster "prod": an API server already runs 1.35.8, and Kubernetes cannot be downgraded`, `Set kubernetes_version = "1.35.8"`,
		}}}},
		"from what is not known": {"1.35.8", nil, func(o *operator, v *topology.Fleet) {
			for _, n := range o.config.NodesOf("prod", config.ControlPlane) {
				for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
					see(v, n, "/etc/kubernetes/manifests/"+component+".yaml", func(f *state.FileReport) {
						f.Content = bytes.ReplaceAll(f.Content, []byte(":v1.35.8"), []byte(":v1.31.9"))
					})
				}
			}
		}, []finding{{diag.Error, "Version cannot be reached", line, "cluster.prod", []string{
			"from 1.31.9 to 1.35.8 the control planes pass through 1.32 and 1.33, and this kubewright supports no such release", "Bring them to 1.33 first with the tool that created the cluster, and plan again",
		}}}},
		"in the dark": {"1.36.3", nil, func(_ *operator, v *topology.Fleet) {
			delete(v.ClusterReports, "prod")
			v.ClusterErrors["prod"] = "connection refused"
		}, []finding{
			{diag.Error, "Cluster cannot be upgraded now", line, "cluster.prod", []string{
				`Cluster "prod": the API did not answer: connection refused, so that the versions of its kubelets are unknown.`, `with kubernetes_version = "1.35.8".`,
			}},
		}},
		"while members come and go": {"1.36.3", exchanged, nil, []finding{{diag.Error, "Cluster cannot be upgraded now", line, "cluster.prod", []string{
			"control planes are added and removed in the same plan (cp9 joins, cp3 leaves)", `the nodes first, with kubernetes_version = "1.35.8", or the upgrade first`,
		}}}},
		"while members come and go and it has begun": {"1.36.3", exchanged, func(o *operator, v *topology.Fleet) {
			for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
				see(v, o.config.Nodes[0], "/etc/kubernetes/manifests/"+component+".yaml", func(f *state.FileReport) {
					f.Content = bytes.ReplaceAll(f.Content, []byte(":v1.35.8"), []byte(":v1.36.3"))
				})
			}
		}, []finding{{diag.Error, "Cluster cannot be upgraded now", line, "cluster.prod", []string{
			"Do one after the other: the upgrade first, which has begun, with the previous control planes",
		}}}},
		"an old kubelet runs": {"1.36.3", nil, kubeletRuns("1.32.9"), []finding{misfit.saying("kubelet 1.32.9 does not", "Stop at 1.35.8 first: set it as kubernetes_version", "Then continue to 1.36.3.")}},
		"too far at once":     {"1.37.1", nil, kubeletRuns("1.33.9"), []finding{misfit.saying("kubelet 1.33.9 does not", "Stop at a release of 1.36 first")}},
		"a new kubelet runs":  {"1.36.3", nil, kubeletRuns("1.36.3"), []finding{misfit.saying("kubelet 1.36.3 does not", "Install the kubelet 1.35.8 there and restart it")}},
		"a newer one is installed": {"1.36.3", func(o *operator) { o.edit("10.0.0.21", "install kubelet=1.37.1") }, nil, []finding{
			{diag.Error, "Kubelet version does not fit", line, "cluster.prod", []string{`node.worker["w1"], as installed on the host: kubelet 1.37.1 does not fit API server 1.36.3`, "Install the kubelet 1.36.3 there."}},
		}},
		"APIs that go": {"1.36.3", nil, func(_ *operator, v *topology.Fleet) {
			v.ClusterReports["prod"].Deprecated = []state.DeprecatedAPI{
				{Group: "a.example.com", Version: "v1beta1", Resource: "gone", Removed: "1.36", Users: []string{"old-operator (gone-1)"}},
				{Group: "b.example.com", Version: "v1beta1", Resource: "later", Removed: "1.40"},
			}
			v.ClusterReports["prod"].DeprecatedUnread = []string{`node.cp["cp2"]: connection refused`}
		}, []finding{
			{diag.Warning, "Removed APIs are in use", line, "cluster.prod", []string{
				`Since the API servers of cluster "prod" started, clients have requested APIs that Kubernetes 1.36 does not serve. Such requests fail after the upgrade`, "gone", "written by old-operator (gone-1)", "deprecated API migration guide",
			}},
			{diag.Warning, "Deprecated APIs are in use", line, "cluster.prod", []string{"APIs that a later release will not serve", "later", "removed in 1.40"}},
			{diag.Warning, "Use of deprecated APIs is not fully known", line, "cluster.prod", []string{
				`Not every API server of cluster "prod" reported which deprecated APIs clients have requested`, `node.cp["cp2"]: connection refused`, "plan again when it answers",
			}},
		}},
	}
}

// TestUpgradeRefusalsAndWarnings checks the findings about an upgrade: reasons against it, and warnings before it.
func TestUpgradeRefusalsAndWarnings(t *testing.T) {
	t.Parallel()
	for name, c := range upgradings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running(t, 3, 1, "1.35.8")
			if c.before != nil {
				c.before(o)
			} else {
				o.kubelets("1.35.8")
			}
			places(o.config)
			cl := o.config.Clusters[0]
			cl.KubernetesVersion, cl.Origins = c.to, maps.Clone(cl.Origins)
			cl.Origins["kubernetes_version"] = kubernetesVersion
			v := o.observe()
			if c.seen != nil {
				c.seen(o, v)
			}
			_, diags := o.planOf(v, planner.Options{})
			wantFindings(t, slices.DeleteFunc(diags, func(d *diag.Diagnostic) bool { return d.Summary == "Kubelet is not upgraded" }), c.want...)
		})
	}
}

// TestUnrenderableConfigurationIsReportedFirst checks that a configuration that cannot be rendered is reported before any host
// is observed.
func TestUnrenderableConfigurationIsReportedFirst(t *testing.T) {
	t.Parallel()
	cfg := places(cluster(2, 1))
	patch := config.Patch{Target: "kube-apiserver", Type: "json", Content: `[{"op": "remove", "path": "/spec/nothing"}]`}
	cfg.Clusters[0].Patches = []config.Patch{patch}
	if diags := pipeline.Check(cfg); len(diags) != 1 {
		t.Errorf("one patch for all control planes:\n%s", printedFindings(diags))
	} else {
		finding{says: []string{`For node.cp["cp1"]: `, "cannot apply the json patch of kube-apiserver"}}.check(t, diags[0])
	}
	cfg.Clusters[0].Patches = nil
	wantFindings(t, pipeline.Check(cfg))
	cfg.Nodes[1].Patches = []config.Patch{patch}
	wantFindings(t, pipeline.Check(cfg), finding{diag.Error, "Configuration does not fit the component", "main.hcl:12", `node.cp["cp2"]`, []string{"cannot apply the json patch of kube-apiserver"}})
}

// TestPatchErrorNamesItsPlace checks that the error about a patch has the place of the patch.
func TestPatchErrorNamesItsPlace(t *testing.T) {
	t.Parallel()
	at := func(line int) state.Source { return state.Source{File: "main.hcl", Line: line} }
	for _, c := range []struct{ target, content, says string }{
		{"kubeletconfiguration", `[{"op": "add", "path": "/maxPods", "value": "many"}]`, "cannot read the patched KubeletConfiguration: "},
		{"kubeletconfiguration", `[{"op": "add", "path": "/maxPodz", "value": 5}]`, `cannot read the patched KubeletConfiguration: unknown field "maxPodz"`},
		{"kube-apiserver", `[{"op": "add", "path": "/spec/priority", "value": "high"}]`, "cannot read the patched manifest of kube-apiserver: "},
		{"etcd", `[{"op": "remove", "path": "/spec/nothing"}]`, "cannot apply the json patch of etcd (main.hcl:42): "},
		{"corednsdeployment", `[{"op": "add", "path": "/spec/replicas", "value": "many"}]`, "cannot read the patched Deployment coredns: "},
	} {
		cfg := places(cluster(1, 1))
		cfg.Clusters[0].Patches = []config.Patch{
			{Target: c.target, Type: "merge", Content: "{}", Source: at(41)},
			{Target: c.target, Type: "json", Content: c.content, Source: at(42)},
			{Target: c.target, Type: "merge", Content: "{}", Source: at(43)},
		}
		diags := pipeline.Check(cfg)
		if len(diags) != 1 || diags[0].Subject != at(42) || !strings.Contains(diags[0].Detail, c.says) {
			t.Errorf("wanted %q at line 42, got\n%s", c.says, printedFindings(diags))
		}
	}
}

// TestKubeletPatchIgnoresIntermediateVersions checks that a patch that only newer kubelets understand does not matter for
// versions that only control planes go through.
func TestKubeletPatchIgnoresIntermediateVersions(t *testing.T) {
	t.Parallel()
	o := running(t, 1, 0, "1.34.9")
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.kubelets("1.36.3")
	o.config.Clusters[0].Patches = []config.Patch{{Target: "kubeletconfiguration", Type: "merge", Content: "memoryReservationPolicy: TieredReservation"}}
	o.must(o.apply())
	o.wantNothing()
}

// TestDowngradedKubeletIsNoUpgrade checks that a kubelet that a user has downgraded is no upgrade.
func TestDowngradedKubeletIsNoUpgrade(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	o.edit("10.0.0.21", "install kubelet=1.35.8")
	p, err := o.plan()
	o.must(err)
	if len(p.Upgrades) > 0 || stepOf(p, "w1/kubelet-start") == nil {
		t.Errorf("got upgrades %q, and\n%s", p.Upgrades, describe(p))
	}
}
