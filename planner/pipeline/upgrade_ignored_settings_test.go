package pipeline_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state"
)

// leaveToOthers returns a lifecycle with one entry of ignore_changes, in line 7.
func leaveToOthers(path ...string) config.Lifecycle {
	return config.Lifecycle{IgnoreChanges: []config.Ignored{{Path: path, Source: state.Source{File: "main.hcl", Line: 7, Column: 1}}}}
}

// TestUpgradeRefusesUnfitIgnoredSetting checks that an ignored setting on a host or in the cluster that the new
// version would not start with is refused in the plan. It is accepted once it is removed there, and for
// a kubelet that keeps its version.
func TestUpgradeRefusesUnfitIgnoredSetting(t *testing.T) {
	t.Parallel()
	const summary, gone = "Ignored value does not fit the version", "Remove it there by hand, or remove that entry from ignore_changes: the value of the configuration is then written there."
	const manifests, flags, kubeletYAML = "/etc/kubernetes/manifests/", "/var/lib/kubelet/kubeadm-flags.env", "/var/lib/kubelet/config.yaml"
	refused := func(says ...string) []finding {
		return []finding{{diag.Error, summary, "main.hcl:7", "cluster.prod", append(says, gone)}}
	}
	cluster := func(path ...string) func(o *operator) {
		return func(o *operator) { o.config.Clusters[0].Lifecycle = leaveToOthers(path...) }
	}
	for name, c := range map[string]struct {
		from, to string
		ignore   func(o *operator)
		put, out []string
		want     []finding
	}{
		"a gate of the API server": {
			"1.36.3", "1.37.1", cluster("api_server", "arg", "feature-gates"),
			[]string{"file " + manifests + "kube-apiserver.yaml set-arg feature-gates=AnyVolumeDataSource=true"},
			[]string{"file " + manifests + "kube-apiserver.yaml unset-arg feature-gates"},
			refused(`kube-apiserver 1.37 has no feature gate "AnyVolumeDataSource", and would not start.`,
				`It is in /etc/kubernetes/manifests/kube-apiserver.yaml of node.cp["cp1"], where ignore_changes keeps it (api_server.arg["feature-gates"]), and the version changes from 1.36.3 to 1.37.1. Remove it there by hand`),
		},
		"a gate that an intermediate version removes": {
			"1.35.8", "1.37.1", cluster("scheduler", "arg", "feature-gates"),
			[]string{"file " + manifests + "kube-scheduler.yaml set-arg feature-gates=InTreePluginPortworxUnregister=true"},
			[]string{"file " + manifests + "kube-scheduler.yaml unset-arg feature-gates"},
			refused("kube-scheduler 1.36 has no feature gate", "from 1.35.8 to 1.36.3."),
		},
		"a flag of etcd": {
			"1.36.3", "1.37.1", cluster("etcd", "arg", "experimental-corrupt-check-time"),
			[]string{"file " + manifests + "etcd.yaml set-arg experimental-corrupt-check-time=10m"},
			[]string{"file " + manifests + "etcd.yaml unset-arg experimental-corrupt-check-time"},
			refused("etcd of Kubernetes 1.37 has no flag --experimental-corrupt-check-time", `of node.cp["cp1"]`),
		},
		"a gate of kubelets": {
			"1.36.3", "1.37.1", cluster("kubelet", "config"),
			[]string{"yaml " + kubeletYAML + " set featureGates.AnyVolumeDataSource=true"},
			[]string{"yaml " + kubeletYAML + " unset featureGates"},
			refused(`kubelet 1.37 has no feature gate "AnyVolumeDataSource"`, `It is in /var/lib/kubelet/config.yaml of node.cp["cp1"], where ignore_changes keeps it (kubelet.config)`),
		},
		"a flag of a node's kubelet": {
			"1.36.3", "1.37.1", func(o *operator) { o.config.Nodes[0].Lifecycle = leaveToOthers("kubelet", "arg", "boot-id-file") },
			[]string{"file " + flags + ` content KUBELET_KUBEADM_ARGS="--boot-id-file=/etc/boot-id"`},
			[]string{"file " + flags + ` content KUBELET_KUBEADM_ARGS=""`},
			refused("kubelet 1.37 has no flag --boot-id-file", `It is in /var/lib/kubelet/kubeadm-flags.env of node.cp["cp1"], where ignore_changes keeps it (kubelet.arg["boot-id-file"])`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running(t, 1, 0, c.from)
			cl := places(o.config).Clusters[0]
			c.ignore(o)
			o.edit("10.0.0.11", c.put...)
			o.world.Advance(time.Minute)
			if diags := o.diagnose(); diags.HasErrors() {
				t.Errorf("no version changes:\n%s", printedFindings(diags))
			}
			cl.KubernetesVersion = c.to
			if strings.Contains(name, "kubelet") {
				diags := o.diagnose()
				if diags.HasErrors() {
					t.Errorf("the kubelet stays:\n%s", printedFindings(diags))
				}
			}
			o.kubelets(c.to)
			wantFindings(t, o.diagnose(), c.want...)
			o.edit("10.0.0.11", c.out...)
			o.world.Advance(time.Minute)
			wantFindings(t, o.diagnose())
		})
	}
}

// TestUpgradeReportsUnfitIgnoredSettingOnce checks that a setting on several nodes is reported once, and that
// kube-proxy's is found in the cluster.
func TestUpgradeReportsUnfitIgnoredSettingOnce(t *testing.T) {
	t.Parallel()
	o := running(t, 3, 2, "1.36.3")
	cl := places(o.config).Clusters[0]
	cl.Lifecycle = leaveToOthers("api_server", "arg", "feature-gates")
	cl.Lifecycle.IgnoreChanges = append(cl.Lifecycle.IgnoreChanges, leaveToOthers("kubelet", "config", "featureGates").IgnoreChanges[0], leaveToOthers("kube_proxy", "config").IgnoreChanges[0])
	cl.KubernetesVersion = "1.37.1"
	o.kubelets("1.37.1")
	for _, n := range o.config.Nodes {
		if n.Role == config.ControlPlane {
			o.edit(n.Address, "file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg feature-gates=AnyVolumeDataSource=true")
		} else {
			o.edit(n.Address, "yaml /var/lib/kubelet/config.yaml set featureGates.AnyVolumeDataSource=true")
		}
	}
	o.world.Advance(time.Minute)
	v := o.observe()
	ref := state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "kube-proxy"}
	data := map[string]any{}
	for key, text := range v.ClusterReports["prod"].Objects[ref].Get("data").AsMap() {
		data[key] = text.AsString()
	}
	data["config.conf"] = data["config.conf"].(string) + "\nfeatureGates:\n  AnyVolumeDataSource: true\n"
	v.ClusterReports["prod"].Objects[ref] = state.FromGo(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data})
	_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
	show(t, diags...)
	for _, want := range []string{
		`kube-apiserver.yaml of node.cp["cp1"], node.cp["cp2"], node.cp["cp3"], where ignore_changes keeps it (api_server.arg["feature-gates"])`,
		`/var/lib/kubelet/config.yaml of node.worker["w1"], node.worker["w2"], where ignore_changes keeps it (kubelet.config.featureGates)`,
		`kube-proxy 1.37 has no feature gate`, "It is in the ConfigMap kube-proxy of cluster.prod, where ignore_changes keeps it (kube_proxy.config)",
	} {
		if !slices.ContainsFunc(diags, func(d *diag.Diagnostic) bool { return strings.Contains(d.Detail, want) }) {
			t.Errorf("%q is not in\n%s", want, printedFindings(diags))
		}
	}
	if n := len(diags.Errors()); n != 3 {
		t.Errorf("%d errors, want 3:\n%s", n, printedFindings(diags))
	}
}
