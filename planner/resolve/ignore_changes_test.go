package resolve_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// hasFile makes a host have a file with content.
func hasFile(t state.Target, path, content string) tt.Change {
	return tt.File(t, path, func(f *state.FileReport) { f.Exists, f.Content = true, []byte(content) })
}

func ignored(path ...string) config.Lifecycle {
	return config.Lifecycle{IgnoreChanges: []config.Ignored{{Path: path}}}
}

func nodeIgnores(t state.Target, path ...string) tt.Change {
	return block(t, func(n *config.Node) { n.Lifecycle = ignored(path...) })
}

func clusterIgnores(path ...string) tt.Change {
	return tt.Cluster(func(c *config.Cluster) { c.Lifecycle = ignored(path...) })
}

// TestFleetKeepsKubeletSettings checks from which settings the configuration of a kubelet is rendered:
// from those on the host where ignore_changes leaves them to others.
func TestFleetKeepsKubeletSettings(t *testing.T) {
	t.Parallel()
	sets := tt.Cluster(func(c *config.Cluster) {
		c.Kubelet.Config = state.FromGo(map[string]any{"maxPods": 110, "podPidsLimit": 1000})
	})
	host := hasFile(tt.W(1), topology.KubeletConfig, "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 200\nserializeImagePulls: false\n")
	for _, c := range []struct {
		name                string
		changes             []tt.Change
		pods, limit, serial string
	}{
		{"nothing is ignored", nil, "110", "1000", ""},
		{"the node leaves a value to others", []tt.Change{nodeIgnores(tt.W(1), "kubelet", "config", "maxPods")}, "200", "1000", ""},
		{"the cluster does", []tt.Change{clusterIgnores("kubelet", "config", "maxPods")}, "200", "1000", ""},
		{"another node does", []tt.Change{nodeIgnores(tt.CP(1), "kubelet", "config", "maxPods")}, "110", "1000", ""},
		{"the whole configuration", []tt.Change{nodeIgnores(tt.W(1), "kubelet", "config")}, "200", "", "false"},
		{"a value that the host does not have", []tt.Change{nodeIgnores(tt.W(1), "kubelet", "config", "podPidsLimit")}, "110", "", ""},
		{"the node's own value", []tt.Change{nodeIgnores(tt.W(1), "kubelet", "config", "maxPods"), block(tt.W(1), func(n *config.Node) {
			n.Kubelet.Config = state.FromGo(map[string]any{"maxPods": 50})
		})}, "200", "1000", ""},
		{"a node that is not recorded yet", []tt.Change{nodeIgnores(tt.W(1), "kubelet", "config", "maxPods"), func(v *topology.Fleet) { delete(v.Recorded.Nodes, tt.W(1)) }}, "110", "1000", ""},
		{"a node that joins again", []tt.Change{nodeIgnores(tt.W(1), "kubelet", "config", "maxPods"), replaced(tt.W(1))}, "110", "1000", ""},
		{"a host that does not answer", []tt.Change{nodeIgnores(tt.W(1), "kubelet", "config", "maxPods"), tt.Down(tt.W(1))}, "110", "1000", ""},
		{"a file that cannot be read", []tt.Change{nodeIgnores(tt.W(1), "kubelet", "config", "maxPods"), hasFile(tt.W(1), topology.KubeletConfig, "- no map\n")}, "110", "1000", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := tt.Running(1, 1, append([]tt.Change{sets, host}, c.changes...)...).Find(tt.W(1))
			got := config.MergeTrees(n.Settings.Kubelet.Config, n.Kubelet.Config)
			for name, want := range map[string]string{"maxPods": c.pods, "podPidsLimit": c.limit, "serializeImagePulls": c.serial, "kind": ""} {
				if value := text(got.Get(name)); value != want {
					t.Errorf("%s: got %q, want %q", name, value, want)
				}
			}
		})
	}
}

// text returns a value as it is written.
func text(v state.Value) string {
	switch v.Kind() {
	case state.KindBool:
		if v.AsBool() {
			return "true"
		}
		return "false"
	case state.KindNull:
		return ""
	}
	return v.AsString()
}

// TestFleetKeepsKubeletArguments checks which arguments a kubelet gets: ignored ones with the number
// and the values that the host has.
func TestFleetKeepsKubeletArguments(t *testing.T) {
	t.Parallel()
	sets := block(tt.W(1), func(n *config.Node) {
		n.Kubelet.Args = []config.Arg{{Name: "v", Value: "2"}, {Name: "pod-cidr", Value: "10.0.0.0/24"}}
	})
	flags := func(line string) tt.Change {
		return hasFile(tt.W(1), topology.KubeletFlags, `KUBELET_KUBEADM_ARGS="`+line+"\"\n")
	}
	taint := state.Taint{Key: "gpu", Effect: "NoSchedule"}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    []string
	}{
		{"nothing is ignored", []tt.Change{flags("--v=4")}, []string{"v=2", "pod-cidr=10.0.0.0/24"}},
		{"one is ignored", []tt.Change{flags("--v=4"), nodeIgnores(tt.W(1), "kubelet", "arg", "v")}, []string{"v=4", "pod-cidr=10.0.0.0/24"}},
		{"one is ignored that the host has twice", []tt.Change{flags("--v=4 --v=5"), nodeIgnores(tt.W(1), "kubelet", "arg", "v")}, []string{"v=4", "pod-cidr=10.0.0.0/24", "v=5"}},
		{"one is ignored that the host does not have", []tt.Change{flags("--x=1"), nodeIgnores(tt.W(1), "kubelet", "arg", "v")}, []string{"pod-cidr=10.0.0.0/24"}},
		{"one is ignored that only the host has", []tt.Change{flags("--x=1"), nodeIgnores(tt.W(1), "kubelet", "arg", "x")}, []string{"v=2", "pod-cidr=10.0.0.0/24", "x=1"}},
		{"the file is missing", []tt.Change{nodeIgnores(tt.W(1), "kubelet", "arg", "v")}, []string{"v=2", "pod-cidr=10.0.0.0/24"}},
		{"the taints of a worker are ignored", []tt.Change{flags("--register-with-taints=old:NoSchedule"), nodeIgnores(tt.W(1), "taints"), block(tt.W(1), func(n *config.Node) { n.Taints = []state.Taint{taint} })}, []string{
			"v=2", "pod-cidr=10.0.0.0/24", "register-with-taints=old:NoSchedule",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := tt.Running(1, 1, append([]tt.Change{sets}, c.changes...)...).Find(tt.W(1))
			var got []string
			for _, a := range n.Kubelet.Args {
				got = append(got, a.Name+"="+a.Value)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if ignoresTaints := n.Lifecycle.Ignores("taints"); ignoresTaints && n.Taints != nil {
				t.Errorf("got taints %v, want none, as they are in the argument", n.Taints)
			}
		})
	}
}

// TestFleetKeepsPodArguments checks which arguments of static pods are left to others.
func TestFleetKeepsPodArguments(t *testing.T) {
	t.Parallel()
	sets := tt.Cluster(func(c *config.Cluster) { c.APIServer.Args = []config.Arg{{Name: "audit-log-maxage", Value: "30"}} })
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    map[string][]string
	}{
		{"nothing is ignored", []tt.Change{tt.Manifests(tt.CP(1), tt.Version, "--audit-log-maxage=90")}, nil},
		{"another value is there", []tt.Change{tt.Manifests(tt.CP(1), tt.Version, "--audit-log-maxage=90"), clusterIgnores("api_server", "arg", "audit-log-maxage")}, map[string][]string{"audit-log-maxage": {"90"}}},
		{"it is there twice", []tt.Change{tt.Manifests(tt.CP(1), tt.Version, "--audit-log-maxage=90", "--audit-log-maxage=60"), clusterIgnores("api_server", "arg", "audit-log-maxage")}, map[string][]string{"audit-log-maxage": {"90", "60"}}},
		{"it was removed", []tt.Change{tt.Manifests(tt.CP(1), tt.Version), clusterIgnores("api_server", "arg", "audit-log-maxage")}, map[string][]string{"audit-log-maxage": nil}},
		{"one that neither the host nor the configuration has", []tt.Change{tt.Manifests(tt.CP(1), tt.Version), clusterIgnores("api_server", "arg", "v")}, map[string][]string{}},
		{"the manifest is missing", []tt.Change{clusterIgnores("api_server", "arg", "audit-log-maxage")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := tt.Running(1, 0, append([]tt.Change{sets}, c.changes...)...).Find(tt.CP(1))
			if n.Ignored == nil {
				if c.want != nil {
					t.Errorf("got none, want %v", c.want)
				}
				return
			}
			if got := (*n.Ignored)["kube-apiserver"]; c.want == nil || !maps.EqualFunc(got, c.want, slices.Equal) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if got := n.Settings.APIServer.Args; len(got) != 1 || got[0].Value != "30" {
				t.Errorf("settings: got %v, want the configured argument", got)
			}
		})
	}
}

// TestFleetKeepsStoredSettings checks from which settings the configuration in the cluster is rendered.
func TestFleetKeepsStoredSettings(t *testing.T) {
	t.Parallel()
	sets := tt.Cluster(func(c *config.Cluster) {
		c.Kubelet.Config = state.FromGo(map[string]any{"maxPods": 110})
		c.Scheduler.Args = []config.Arg{{Name: "v", Value: "2"}}
	})
	stored := func(v *topology.Fleet) {
		object := func(key, document string) state.Value {
			return state.FromGo(map[string]any{"data": map[string]any{key: document}})
		}
		v.ClusterReports[tt.Label].Objects = map[state.ObjectRef]state.Value{
			provenance.SystemConfigMap("kubelet-config"): object("kubelet", "kind: KubeletConfiguration\nmaxPods: 200\n"),
			provenance.SystemConfigMap("kube-proxy"):     object("config.conf", "kind: KubeProxyConfiguration\nmode: ipvs\n"),
			provenance.SystemConfigMap("kubeadm-config"): object("ClusterConfiguration", "scheduler:\n  extraArgs:\n  - name: v\n    value: \"4\"\n"),
		}
	}
	for _, c := range []struct {
		name              string
		changes           []tt.Change
		pods, mode, level string
	}{
		{"nothing is ignored", nil, "110", "", "2"},
		{"a value of kubelets", []tt.Change{clusterIgnores("kubelet", "config", "maxPods")}, "200", "", "2"},
		{"all of kube-proxy", []tt.Change{clusterIgnores("kube_proxy", "config")}, "110", "ipvs", "2"},
		{"an argument", []tt.Change{clusterIgnores("scheduler", "arg", "v")}, "110", "", "4"},
		{"the API is silent", []tt.Change{clusterIgnores("kubelet", "config", "maxPods"), tt.SilentAPI()}, "110", "", "2"},
		{"the cluster is not recorded yet", []tt.Change{clusterIgnores("kubelet", "config", "maxPods"), func(v *topology.Fleet) { v.Recorded = nil }}, "110", "", "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shared := tt.Running(1, 0, append([]tt.Change{sets, stored}, c.changes...)...).Clusters[0].Shared
			level := ""
			for _, a := range shared.Scheduler.Args {
				level += a.Value
			}
			got := []string{text(shared.Kubelet.Config.Get("maxPods")), text(shared.KubeProxy.Config.Get("mode")), level}
			if want := []string{c.pods, c.mode, c.level}; !slices.Equal(got, want) {
				t.Errorf("maxPods, mode and v: got %q, want %q", got, want)
			}
		})
	}
}
