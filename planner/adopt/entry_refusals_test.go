package adopt_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner/adopt"
	"github.com/kubewright/kubewright/planner/kubeadm/kubeadmtest"
	"github.com/kubewright/kubewright/state"
)

// TestAdoptRefusesUnsuitableEntryHost checks that the error for a host through which no cluster can be read says what the
// host is, and which host to use instead.
func TestAdoptRefusesUnsuitableEntryHost(t *testing.T) {
	t.Parallel()
	const manifest, admin, joined = "/etc/kubernetes/manifests/kube-apiserver.yaml", "/etc/kubernetes/admin.conf", "/etc/kubernetes/kubelet.conf"
	there := state.FileReport{Exists: true}
	for _, c := range []struct {
		files map[string]state.FileReport
		want  string
	}{
		{map[string]state.FileReport{manifest: there, admin: there}, ""},
		{map[string]state.FileReport{manifest: there}, "error: Host has no administrator's kubeconfig: h1 is a control plane without /etc/kubernetes/admin.conf, which is needed to read the cluster. " +
			"Nothing was written. Name another control plane, or create the file there: kubeadm init phase kubeconfig admin."},
		{map[string]state.FileReport{joined: there}, "error: Host is a worker: h1 is a node of a cluster, but not a control plane. " +
			"A cluster is read through a control plane, which leads to its workers. Nothing was written. Name a control plane."},
		{map[string]state.FileReport{joined: {Exists: true, Kubeconfig: &state.KubeconfigInfo{Server: "https://api:6443"}}}, "error: Host is a worker: h1 is a node of a cluster, but not a control plane. " +
			"Its kubelet connects to https://api:6443. A cluster is read through a control plane, which leads to its workers. Nothing was written. Name a control plane."},
		{nil, "error: Host holds no cluster: h1 has neither /etc/kubernetes/manifests/kube-apiserver.yaml nor /etc/kubernetes/kubelet.conf: no kubeadm cluster runs there. " +
			"Nothing was written. For a new cluster write a configuration, and run ⟨apply⟩."},
	} {
		got := ""
		if d := adopt.Entry("h1", &state.Report{Files: c.files}); d != nil {
			got = d.String()
		}
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestAdoptNamesReasonForUnreadableCluster checks that the error for a cluster that cannot be described names the reason.
func TestAdoptNamesReasonForUnreadableCluster(t *testing.T) {
	t.Parallel()
	run := kubeadmtest.Runs()[slices.IndexFunc(kubeadmtest.Runs(), func(r kubeadmtest.Run) bool { return r.Version == "1.36.3" && r.Case.Name == "default" })]
	system := func(name string) state.ObjectRef {
		return state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: name}
	}
	configured := func(text string) func(*adopt.Seen) {
		return func(s *adopt.Seen) {
			s.Objects[system("kubeadm-config")] = state.FromGo(map[string]any{"data": map[string]any{"ClusterConfiguration": text}})
		}
	}
	further := func(name, key, line string) func(*adopt.Seen) {
		return func(s *adopt.Seen) {
			text := s.Objects[system(name)].Get("data").AsMap()[key].AsString()
			s.Objects[system(name)] = state.FromGo(map[string]any{"data": map[string]any{key: text + "\n" + line}})
		}
	}
	const was = "the cluster has no ConfigMap kubeadm-config in kube-system with a ClusterConfiguration: it was not created by kubeadm"
	for _, c := range []struct {
		spoil func(*adopt.Seen)
		want  string
	}{
		{func(s *adopt.Seen) { delete(s.Objects, system("kubeadm-config")) }, was},
		{configured(""), was},
		{configured("kind: ["), "the ClusterConfiguration in the ConfigMap kubeadm-config cannot be read: yaml: "},
		{configured("apiServer: {extraArgs: {a: b}}"), "extraArgs of type []kubeadm.argConfig. " +
			"Correct it there (kubectl -n kube-system edit configmap kubeadm-config), and run the same command again"},
		{configured("apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\n"), "cannot read ClusterConfiguration of kubeadm.k8s.io/v1beta3: " +
			"only ClusterConfiguration of kubeadm.k8s.io/v1beta4 is supported, which kubeadm 1.31 and later write when they upgrade a cluster"},
		{configured("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.29.9\n"), "version 1.29.9 of Kubernetes is not supported: versions 1.34 to 1.37 are. Upgrade an older cluster first with the tool that created it"},
		{configured("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.3\nfeatureGates: {RootlessControlPlane: true}\n"), "the cluster has kubeadm's feature gate RootlessControlPlane: the pods of its control plane run as users of their own, and kubewright would run them as root. It has to stay with kubeadm"},
		{func(s *adopt.Seen) { delete(s.Hosts[0].Files, "/etc/kubernetes/manifests/kube-apiserver.yaml") }, "none of the 1 hosts has a manifest of kube-apiserver"},
		{func(s *adopt.Seen) {
			s.Objects[system("kubelet-config")] = state.FromGo(map[string]any{"data": map[string]any{"kubelet": "kind: ["}})
		}, "the ConfigMap kubelet-config in kube-system has no readable kubelet. Correct it there, and run the same command again"},
		{
			further("kubelet-config", "kubelet", "maxPod: 1\n"),
			`the ConfigMap kubelet-config in kube-system: cannot read the KubeletConfiguration: unknown field "maxPod". ` +
				"Correct it there (kubectl -n kube-system edit configmap kubelet-config), and run the same command again",
		},
		{
			further("kube-proxy", "config.conf", "modes: nftables\n"),
			`the ConfigMap kube-proxy in kube-system: cannot read the KubeProxyConfiguration: unknown field "modes". ` +
				"Correct it there (kubectl -n kube-system edit configmap kube-proxy), and run the same command again",
		},
		{
			second(etcd, "      path: /var/lib/etcd\n", "      path: /data/etcd\n"),
			"etcd does not keep its data in the same folder on all hosts: cp1 (/var/lib/etcd), cp2 (/data/etcd). A cluster has one, in which members are found, restored and reset. " +
				"Choose one of them. On each host that has another one, one at a time: move /etc/kubernetes/manifests/etcd.yaml out of its folder, move the data, set its path in the volume etcd-data, and put the manifest back. Then run the same command again",
		},
		{
			second(api, ":6443\n", ":7443\n", "--secure-port=6443", "--secure-port=7443"),
			"API servers do not listen on the same port on all hosts: cp1 (6443), cp2 (7443). A cluster has one, on which the components of a control plane reach their own API server. " +
				"Choose one of them. Each control plane that has another one, one at a time: drain it, run kubeadm reset on it, delete its node, and have it join again with kubeadm join --control-plane --apiserver-bind-port=PORT; " +
				"a load balancer has to know the new port. Then run the same command again",
		},
	} {
		golden, err := kubeadmtest.NewGoldens(filepath.Join("..", "kubeadm", "testdata", "oracle")).Read("1.36.3", "default")
		if err != nil {
			t.Fatal(err)
		}
		x := returning{t: t, c: run.Case, golden: golden}
		seen := adopt.Seen{Label: "prod", Objects: x.objects(), Hosts: []adopt.Host{x.host(run.Case.Founder, golden.Init)}}
		seen.Hosts[0].Files = maps.Clone(seen.Hosts[0].Files)
		c.spoil(&seen)
		if _, err := adopt.Read(seen); !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// second adds a control plane whose manifest at that path has the words replaced.
func second(manifest string, words ...string) func(*adopt.Seen) {
	return func(s *adopt.Seen) {
		other := s.Hosts[0]
		other.Name, other.Target, other.Addresses = "cp2", state.NodeKeyTarget("cp", "cp2"), []string{"10.77.0.12"}
		other.Files = maps.Clone(other.Files)
		other.Files[manifest] = state.FileReport{Exists: true, Content: []byte(strings.NewReplacer(words...).Replace(string(other.Files[manifest].Content)))}
		s.Hosts = append(s.Hosts, other)
	}
}

// TestAdoptHostQueryHasCleanPaths checks that the query has clean paths, however the cluster writes its certificates
// folder.
func TestAdoptHostQueryHasCleanPaths(t *testing.T) {
	t.Parallel()
	text := "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncertificatesDir: /srv/pki/\n"
	config := state.FromGo(map[string]any{"data": map[string]any{"ClusterConfiguration": text}})
	q := adopt.HostQuery(map[state.ObjectRef]state.Value{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "kubeadm-config"}: config})
	found := false
	for _, f := range q.Files {
		if err := state.CheckPath(f.Path); err != nil {
			t.Error(err)
		}
		found = found || f.Path == "/srv/pki/ca.crt"
	}
	if !found {
		t.Error("the query lacks /srv/pki/ca.crt")
	}
}
