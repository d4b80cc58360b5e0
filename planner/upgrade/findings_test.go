package upgrade_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/planner/upgrade"
	"github.com/kubewright/kubewright/state"
)

// finding is a wanted finding: its severity and title, and words of its text.
type finding struct {
	title string
	words []string
}

// wantFindings checks that there are these findings and no others.
func wantFindings(t *testing.T, got diag.Diagnostics, want ...finding) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want):
			t.Errorf("got  %s\nwant no further finding", got[i])
			continue
		case i >= len(got):
			t.Errorf("got  nothing\nwant %s", want[i].title)
			continue
		}
		if title := string(got[i].Severity) + ": " + got[i].Summary; title != want[i].title {
			t.Errorf("got  %s\nwant %s", got[i], want[i].title)
		}
		for _, words := range want[i].words {
			if !strings.Contains(got[i].Detail, words) {
				t.Errorf("got  %s\nwant %q in it", got[i].Detail, words)
			}
		}
	}
}

// unmanaged adds a control plane that is unmanaged to the API.
func unmanaged(version string) tt.Change {
	return func(v *topology.Fleet) {
		c := v.ClusterReports[tt.Label]
		c.Nodes["old"] = state.NodeReport{Ready: true, KubeletVersion: "v" + version}
		c.StaticPods["kube-apiserver-old"] = state.StaticPodReport{Running: true, Ready: true, Image: "registry.k8s.io/kube-apiserver:v" + version}
	}
}

// isNew makes a control plane be one that has yet to join.
func isNew(t state.Target) tt.Change {
	return func(v *topology.Fleet) {
		tt.Wiped(t)(v)
		delete(v.Recorded.Nodes, t)
		delete(v.ClusterReports[tt.Label].Nodes, tt.NodeName(t))
		delete(v.ClusterReports[tt.Label].StaticPods, "kube-apiserver-"+tt.NodeName(t))
		tt.Members(func(members []state.EtcdMember) []state.EtcdMember {
			return slices.DeleteFunc(members, func(m state.EtcdMember) bool { return m.Name == tt.NodeName(t) })
		})(v)
	}
}

// TestVersionChangeRefusesUnreachableVersions checks which version changes are refused as a whole.
func TestVersionChangeRefusesUnreachableVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		planes  int
		changes []tt.Change
		want    []finding
	}{
		{"one minor version", 3, nil, nil},
		{"back", 3, []tt.Change{tt.To("1.34.9")}, []finding{{"error: Version cannot be reached", []string{"an API server already runs 1.35.8", `Set kubernetes_version = "1.35.8"`}}}},
		{"from a version that is not known", 3, []tt.Change{tt.From("1.31.9")}, []finding{{"error: Version cannot be reached", []string{
			"from 1.31.9 to 1.36.3 the control planes pass through 1.32 and 1.33, and this kubewright supports no such release",
		}}}},
		{"control planes at three minor versions", 3, []tt.Change{tt.Manifests(tt.CP(1), "1.34.9"), tt.Manifests(tt.CP(2), "1.36.3")}, []finding{{"error: Version cannot be reached", []string{
			"API servers run 1.34.9 and 1.36.3, which are more than one minor version apart",
		}}}},
		{"the API is silent", 3, []tt.Change{tt.SilentAPI()}, []finding{{"error: Cluster cannot be upgraded now", []string{
			"the API did not answer: cannot reach the API, so that the versions of its kubelets are unknown", `with kubernetes_version = "1.35.8"`,
		}}}},
		{"the API is silent in an upgrade that has begun", 3, []tt.Change{tt.Manifests(tt.CP(1), "1.36.3"), tt.SilentAPI()}, nil},
		{"a control plane joins and one is removed", 4, []tt.Change{isNew(tt.CP(4)), tt.Without(tt.CP(3))}, []finding{{"error: Cluster cannot be upgraded now", []string{
			"control planes are added and removed in the same plan (cp4 joins, cp3 leaves)", `Do one after the other: the nodes first, with kubernetes_version = "1.35.8", or the upgrade first.`,
		}}}},
		{"they are exchanged and the upgrade has begun", 4, []tt.Change{isNew(tt.CP(4)), tt.Without(tt.CP(3)), tt.Manifests(tt.CP(1), "1.36.3")}, []finding{{"error: Cluster cannot be upgraded now", []string{
			"the upgrade first, which has begun, with the previous control planes",
		}}}},
		{"a control plane joins", 4, []tt.Change{isNew(tt.CP(4))}, nil},
		{"the endpoint moves", 3, []tt.Change{tt.Cluster(func(c *config.Cluster) { c.ControlPlaneEndpoint = "other.example.com:6443" })}, []finding{
			{"error: Endpoint migration cannot be combined with an upgrade", []string{"moves from api.example.com to "}},
		}},
		{"an unmanaged control plane", 3, []tt.Change{unmanaged("1.35.8")}, []finding{{"error: Unmanaged control plane would stay behind", []string{"upgraded to 1.36.3", "  kube-apiserver 1.35.8 of node old"}}}},
		{"an unmanaged control plane that has the version", 3, []tt.Change{unmanaged("1.36.1"), tt.Kubelet(tt.CP(1), "1.35.8"), func(v *topology.Fleet) {
			n := v.ClusterReports[tt.Label].Nodes["old"]
			n.KubeletVersion = "v1.35.8"
			v.ClusterReports[tt.Label].Nodes["old"] = n
		}}, nil},
		{"an unmanaged member of etcd", 3, []tt.Change{tt.Members(func(members []state.EtcdMember) []state.EtcdMember {
			return append(members, state.EtcdMember{ID: "ff", Name: "old", Healthy: true, Version: "3.5.24", PeerURLs: []string{"https://10.9.9.9:2380"}})
		})}, []finding{{"error: Unmanaged control plane would stay behind", []string{"  etcd 3.5.24 of member old at https://10.9.9.9:2380"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, upgrade.VersionChange(upgrading(c.planes, 1, append([]tt.Change{tt.From("1.35.8")}, c.changes...)...)), c.want...)
		})
	}
}

// TestVersionChangeChecksKubelets checks which kubelets do not fit a version change, and which ones
// a plan warns of.
func TestVersionChangeChecksKubelets(t *testing.T) {
	t.Parallel()
	installed := func(version string) tt.Change {
		return func(v *topology.Fleet) {
			for _, n := range v.Config.Nodes {
				tt.Installed(n.Target, version)(v)
			}
		}
	}
	stays := func(version string) finding {
		return finding{"warning: Kubelet is not upgraded", []string{`node.worker["w1"]: the installed kubelet is ` + version}}
	}
	misfit := func(words ...string) finding { return finding{"error: Kubelet version does not fit", words} }
	notReady := func(n *state.NodeReport) { n.Ready = false }
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    []finding
	}{
		{"a kubelet two minor versions behind", []tt.Change{tt.Kubelet(tt.W(1), "1.34.9")}, nil},
		{"a kubelet four minor versions behind", []tt.Change{tt.Kubelet(tt.W(1), "1.32.9")}, []finding{misfit("node w1: kubelet 1.32.9 does not fit API server 1.35.8 to 1.36.3", "Stop at 1.35.8 first", "Then continue to 1.36.3.")}},
		{"one that the way leaves behind", []tt.Change{tt.Kubelet(tt.W(1), "1.33.9"), tt.To("1.37.1"), installed("1.37.1")}, []finding{misfit("node w1: kubelet 1.33.9 does not fit", "Stop at a release of 1.36 first")}},
		{"a newer kubelet runs", []tt.Change{tt.Kubelet(tt.W(1), "1.36.3")}, []finding{misfit("node w1: kubelet 1.36.3 does not fit", "Install the kubelet 1.35.8 there and restart it")}},
		{"a newer kubelet is installed", []tt.Change{tt.Installed(tt.W(1), "1.37.1")}, []finding{misfit(`node.worker["w1"], as installed on the host: kubelet 1.37.1 does not fit API server 1.36.3`, "Install the kubelet 1.36.3 there.")}},
		{"the installed kubelet stays", []tt.Change{tt.Installed(tt.W(1), "1.35.8")}, []finding{stays("1.35.8")}},
		{"the installed kubelet stays without an upgrade", []tt.Change{tt.From("1.36.3"), tt.Kubelet(tt.W(1), "1.35.8"), tt.Installed(tt.W(1), "1.35.8")}, []finding{stays("1.35.8")}},
		{"an older patch release stays without an upgrade", []tt.Change{tt.From("1.36.3"), tt.Kubelet(tt.W(1), "1.36.1"), tt.Installed(tt.W(1), "1.36.1")}, nil},
		{"a control plane is not ready", []tt.Change{tt.Node(tt.CP(2), notReady)}, []finding{{"warning: Control plane is not ready", []string{`node.cp["cp2"]: the Node is not Ready. The upgrade waits 4m0s`}}}},
		{"a worker is not ready", []tt.Change{tt.Node(tt.W(1), notReady)}, nil},
		{"a kubelet is newer than its API server, and silent", []tt.Change{tt.Node(tt.CP(2), func(n *state.NodeReport) { n.Ready, n.Silent = false, true })}, []finding{
			{"warning: Kubelet is newer than the API server", []string{`node.cp["cp2"]: the kubelet 1.36.3 is installed`, "the API server 1.35.8 beside it"}},
		}},
		{"a worker that is not upgraded is down", []tt.Change{tt.Node(tt.W(1), notReady), tt.Installed(tt.W(1), "1.35.8")}, []finding{
			{"error: Workers are already unavailable", []string{`max_unavailable = "1": the Node of w1 is not Ready`}}, stays("1.35.8"),
		}},
		{"two may be down", []tt.Change{tt.Node(tt.W(1), notReady), tt.Installed(tt.W(1), "1.35.8"), tt.Cluster(func(c *config.Cluster) { c.Upgrade.MaxUnavailable = "2" })}, []finding{stays("1.35.8")}},
		{"a pool without workers", []tt.Change{tt.Cluster(func(c *config.Cluster) {
			c.Upgrade.Pools = []config.Pool{{Name: "gpu", Selector: "pool=gpu", Pace: config.Pace{MaxUnavailable: "1"}}}
		})}, []finding{{"warning: Pool has no workers", []string{`Pool "gpu" of cluster "prod" selects no worker`, "pool=gpu"}}}},
		{"APIs that the version removes", []tt.Change{func(v *topology.Fleet) {
			v.ClusterReports[tt.Label].Deprecated = []state.DeprecatedAPI{
				{Group: "a.example.com", Version: "v1beta1", Resource: "gone", Removed: "1.36", Users: []string{"old-operator"}},
				{Group: "b.example.com", Version: "v1beta1", Resource: "later", Removed: "1.37"},
			}
		}}, []finding{
			{"warning: Removed APIs are in use", []string{"APIs that Kubernetes 1.36 does not serve", "  a.example.com/v1beta1 gone, removed in 1.36; written by old-operator\n"}},
			{"warning: Deprecated APIs are in use", []string{"  b.example.com/v1beta1 later, removed in 1.37\n"}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, upgrade.VersionChange(upgrading(2, 2, append([]tt.Change{tt.From("1.35.8")}, c.changes...)...)), c.want...)
		})
	}
}

// gate sets a feature gate in a tree of kubelet settings.
func gate(name string) state.Value {
	return state.FromGo(map[string]any{"featureGates": map[string]any{name: true}})
}

// TestVersionChangeChecksIntermediateVersions checks that settings that only the wanted version has are refused
// when control planes pass through a version without them.
func TestVersionChangeChecksIntermediateVersions(t *testing.T) {
	t.Parallel()
	apiServer := tt.Cluster(func(c *config.Cluster) {
		c.APIServer.Args = []config.Arg{{Name: "feature-gates", Value: "AtomicFIFO=true"}}
	})
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    []finding
	}{
		{"a gate of the API server", []tt.Change{tt.From("1.34.9"), apiServer}, []finding{{"error: Configuration does not fit an intermediate version", []string{
			`kube-apiserver 1.35 has no feature gate "AtomicFIFO"`, "1.34.9 → 1.35.8 → 1.36.3 passes through 1.35.8",
		}}}},
		{"no version is on the way", []tt.Change{tt.From("1.35.8"), apiServer}, nil},
		{"a gate of kubelets, which skip the version", []tt.Change{tt.From("1.34.9"), tt.Cluster(func(c *config.Cluster) { c.Kubelet.Config = gate("CRIListStreaming") })}, nil},
		{"a patch", []tt.Change{tt.From("1.34.9"), tt.Cluster(func(c *config.Cluster) {
			c.Patches = []config.Patch{{Target: "etcd", Type: "json", Content: `[{"op": "test", "path": "/spec/containers/0/image", "value": "registry.k8s.io/etcd:3.6.8-0"}]`}}
		})}, []finding{{"error: Configuration does not fit an intermediate version", []string{`For node.cp["cp1"]: `, "passes through 1.35.8"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, upgrade.VersionChange(upgrading(1, 1, c.changes...)), c.want...)
		})
	}
}

// TestSettingsUnknownToKubeletAreRefused checks that settings are refused that the kubelet of a node, of another minor
// version than the cluster, does not know.
func TestSettingsUnknownToKubeletAreRefused(t *testing.T) {
	t.Parallel()
	gated := tt.Cluster(func(c *config.Cluster) { c.Kubelet.Config = gate("CRIListStreaming") })
	of := func(t state.Target) tt.Change {
		return func(v *topology.Fleet) {
			for _, n := range v.Config.Nodes {
				if n.Target == t {
					n.Kubelet.Config = gate("CRIListStreaming")
				}
			}
		}
	}
	refused := finding{"error: Configuration does not fit a kubelet", []string{
		`kubelet 1.34 has no feature gate "CRIListStreaming"`, `A kubelet of 1.34 is on node.worker["w1"], while the cluster is at 1.36.3.`,
	}}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    []finding
	}{
		{"all kubelets have the cluster's version", []tt.Change{gated}, nil},
		{"a gate of the cluster, and a kubelet two minor versions behind", []tt.Change{gated, tt.Installed(tt.W(1), "1.34.9")}, []finding{refused}},
		{"a gate of that node", []tt.Change{of(tt.W(1)), tt.Installed(tt.W(1), "1.34.9")}, []finding{refused}},
		{"a gate of another node", []tt.Change{of(tt.W(2)), tt.Installed(tt.W(1), "1.34.9")}, nil},
		{"a kubelet of the same minor version", []tt.Change{gated, tt.Installed(tt.W(1), "1.36.1")}, nil},
		{"the cluster is destroyed", []tt.Change{gated, tt.Installed(tt.W(1), "1.34.9"), func(v *topology.Fleet) { v.Destroy = true }}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, upgrade.UnfitForKubelets(upgrading(1, 2, c.changes...)), c.want...)
		})
	}
}

// TestIgnoredValuesUnknownToNewVersionAreRefused checks that a value that ignore_changes keeps on a host is refused
// if the coming version does not know it.
func TestIgnoredValuesUnknownToNewVersionAreRefused(t *testing.T) {
	t.Parallel()
	ignored := tt.Cluster(func(c *config.Cluster) {
		c.Lifecycle.IgnoreChanges = []config.Ignored{{Path: []string{"api_server", "arg", "feature-gates"}}}
	})
	has := func(args ...string) tt.Change { return tt.Manifests(tt.CP(1), "1.36.3", args...) }
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    []finding
	}{
		{"a gate that the version removes", []tt.Change{ignored, has("--feature-gates=AnyVolumeDataSource=true"), tt.To("1.37.1")}, []finding{{"error: Ignored value does not fit the version", []string{
			`kube-apiserver 1.37 has no feature gate "AnyVolumeDataSource"`,
			`It is in /etc/kubernetes/manifests/kube-apiserver.yaml of node.cp["cp1"], where ignore_changes keeps it (api_server.arg["feature-gates"]), and the version changes from 1.36.3 to 1.37.1.`,
		}}}},
		{"a gate that the version has", []tt.Change{ignored, has("--feature-gates=AtomicFIFO=true"), tt.To("1.37.1")}, nil},
		{"a flag of a kubelet", []tt.Change{func(v *topology.Fleet) {
			v.Config.Nodes[1].Lifecycle.IgnoreChanges = []config.Ignored{{Path: []string{"kubelet", "arg", "boot-id-file"}}}
		}, tt.File(tt.W(1), topology.KubeletFlags, func(f *state.FileReport) {
			f.Exists, f.Content = true, []byte("KUBELET_KUBEADM_ARGS=\"--boot-id-file=/etc/boot-id\"\n")
		}), tt.Installed(tt.W(1), "1.37.1"), tt.To("1.37.1")}, []finding{{"error: Ignored value does not fit the version", []string{
			"kubelet 1.37 has no flag --boot-id-file", `It is in /var/lib/kubelet/kubeadm-flags.env of node.worker["w1"], where ignore_changes keeps it (kubelet.arg["boot-id-file"])`,
		}}}},
		{"no version changes", []tt.Change{ignored, has("--feature-gates=AnyVolumeDataSource=true")}, nil},
		{"the value is not kept", []tt.Change{has("--feature-gates=AnyVolumeDataSource=true"), tt.To("1.37.1")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, upgrade.UnfitIgnored(upgrading(1, 1, append([]tt.Change{tt.From("1.36.3")}, c.changes...)...)), c.want...)
		})
	}
}
