package provenance_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

func line(n int) state.Source { return state.Source{File: "main.hcl", Line: n} }

// written makes the block of the cluster have settings in these lines.
func written(lines map[string]int) tt.Change {
	return tt.Cluster(func(c *config.Cluster) {
		for path, n := range lines {
			c.Origins[path] = line(n)
		}
	})
}

// block changes the block of a node.
func block(t state.Target, change func(*config.Node)) tt.Change {
	return func(v *topology.Fleet) {
		for _, n := range v.Config.Nodes {
			if n.Target == t {
				change(n)
			}
		}
	}
}

// rendered returns a file of a node as an item.
func rendered(t *testing.T, n *topology.Node, kind state.Kind, render func(kubeadm.Input) ([]byte, error)) *state.Item {
	t.Helper()
	content, err := render(n.Input())
	if err != nil {
		t.Fatal(err)
	}
	attributes, err := provenance.FileAttributes(n.Cluster.Fleet, kind, content, "0600", topology.Root)
	if err != nil {
		t.Fatal(err)
	}
	return &state.Item{Kind: kind, Attributes: attributes}
}

// wantOrigins checks the places of values.
func wantOrigins(t *testing.T, it *state.Item, want map[string]string) {
	t.Helper()
	for path, place := range want {
		if got := it.OriginOf(path).String(); got != place {
			t.Errorf("%s: got %q, want %q", path, got, place)
		}
	}
}

// TestPodOrigins checks which line of the configuration a value in a static pod comes from.
func TestPodOrigins(t *testing.T) {
	t.Parallel()
	const usual = "default(kubeadm 1.36)"
	v := tt.Running(1, 0, written(map[string]int{
		`api_server.arg["audit-log-maxage"]`: 10, "bind_port": 11, "network.service_subnet": 12, "kubernetes_version": 13, "image_repository": 14,
		"proxy_env.HTTPS_PROXY": 15, `api_server.extra_volume["audit"].host_path`: 16, `api_server.arg["service-account-issuer"]`: 17, "network.dns_domain": 18,
	}), tt.Cluster(func(c *config.Cluster) {
		c.APIServer.Args = []config.Arg{{Name: "audit-log-maxage", Value: "30"}, {Name: "service-account-issuer", Value: "https://issuer.example.com"}}
		c.APIServer.Volumes = []config.Volume{{Name: "audit", HostPath: "/audit", MountPath: "/audit"}}
		c.ProxyEnv = map[string]string{"HTTPS_PROXY": "http://proxy.example.com:3128"}
		c.Patches = []config.Patch{{Target: "kube-apiserver", Type: "json", Source: line(30), Content: `[{"op": "add", "path": "/spec/containers/0/command/-", "value": "--v=4"}]`}}
	}), block(tt.CP(1), func(n *config.Node) { n.Origins = config.Origins{"address": line(40)} }))
	n := v.Find(tt.CP(1))
	render := func(in kubeadm.Input) ([]byte, error) { return kubeadm.StaticPod(in, "kube-apiserver") }
	it := rendered(t, n, state.KindStaticPod, render)
	provenance.PodOrigins(n, it, "kube-apiserver", render)
	wantOrigins(t, it, map[string]string{
		"args.audit-log-maxage": "main.hcl:10", "args.secure-port": "main.hcl:11", "args.service-cluster-ip-range": "main.hcl:12", "args.v": "main.hcl:30",
		"args.advertise-address": "main.hcl:40", "env.HTTPS_PROXY": "main.hcl:15", "volumes.audit.hostPath.path": "main.hcl:16", "image": "main.hcl:13",
		"args.service-account-issuer": "main.hcl:17", "args.authorization-mode": usual, "mode": usual,
	})
	if got, want := it.Origin[state.JoinPath("image", "registry.k8s.io/kube-apiserver")].String(), "main.hcl:14"; got != want {
		t.Errorf("the repository of the image: got %q, want %q", got, want)
	}
}

// TestKubeletOrigins checks that the block of a node, or a patch, takes precedence over the cluster's.
func TestKubeletOrigins(t *testing.T) {
	t.Parallel()
	cluster := []tt.Change{written(map[string]int{"kubelet.config.maxPods": 10, "kubelet.config.podPidsLimit": 11, "network.dns_domain": 12}), tt.Cluster(func(c *config.Cluster) {
		c.Kubelet.Config = state.FromGo(map[string]any{"maxPods": 110, "podPidsLimit": 1000})
	})}
	own := block(tt.W(1), func(n *config.Node) {
		n.Kubelet.Config, n.Origins = state.FromGo(map[string]any{"maxPods": 50}), config.Origins{"kubelet.config.maxPods": line(20)}
	})
	patch := tt.Cluster(func(c *config.Cluster) {
		c.Patches = []config.Patch{
			{Target: "kubeletconfiguration", Type: "merge", Content: "maxPods: 200", Source: line(30)},
			{Target: "kubeletconfiguration", Type: "merge", Content: "podPidsLimit: 2000", Source: line(31)},
			{Target: "kubeletconfiguration", Type: "merge", Content: "maxPods: 250", Source: line(32)},
		}
	})
	ownPatch := block(tt.W(1), func(n *config.Node) {
		n.Patches = []config.Patch{{Target: "kubeletconfiguration", Type: "merge", Content: "maxPods: 300", Source: line(40)}}
	})
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    map[string]string
	}{
		{"the cluster's", nil, map[string]string{"maxPods": "main.hcl:10", "podPidsLimit": "main.hcl:11", "clusterDomain": "main.hcl:12", "cgroupDriver": "default(kubeadm 1.36)"}},
		{"the node's own", []tt.Change{own}, map[string]string{"maxPods": "main.hcl:20", "podPidsLimit": "main.hcl:11"}},
		{"the last patch that changes it", []tt.Change{patch}, map[string]string{"maxPods": "main.hcl:32", "podPidsLimit": "main.hcl:31", "clusterDomain": "main.hcl:12"}},
		{"a patch over the node's own", []tt.Change{own, patch}, map[string]string{"maxPods": "main.hcl:32", "podPidsLimit": "main.hcl:31"}},
		{"a patch of the node", []tt.Change{patch, ownPatch}, map[string]string{"maxPods": "main.hcl:40", "podPidsLimit": "main.hcl:31"}},
		{"queries need none", []tt.Change{func(v *topology.Fleet) { v.Reports = nil }}, map[string]string{"maxPods": "", "podPidsLimit": ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// The effect of patches is kept for nodes without settings of their own, such as w2.
			nodes := tt.Running(1, 2, append(slices.Clone(cluster), c.changes...)...).Clusters[0]
			for _, n := range []*topology.Node{nodes.Node(tt.W(2)), nodes.Node(tt.W(1))} {
				it := rendered(t, n, state.KindYAMLFile, kubeadm.KubeletConfig)
				provenance.KubeletOrigins(n, it)
				want := map[string]string{"podPidsLimit": c.want["podPidsLimit"]}
				if n.Target == tt.W(1) {
					want = c.want
				}
				wantOrigins(t, it, want)
			}
		})
	}
}

// TestObjectOrigins checks which line a value in an object of the cluster comes from.
func TestObjectOrigins(t *testing.T) {
	t.Parallel()
	c := tt.Running(1, 0, written(map[string]int{"control_plane_endpoint": 10, "network.pod_subnet": 11, "dns.image_tag": 12, "network.dns_domain": 13}), tt.Cluster(func(c *config.Cluster) {
		c.DNS.ImageTag = "v1.14.2"
	})).Clusters[0]
	for ref, want := range map[state.ObjectRef]map[string]string{
		provenance.SystemConfigMap("kubeadm-config"): {
			"data.ClusterConfiguration.controlPlaneEndpoint": "main.hcl:10", "data.ClusterConfiguration.networking.podSubnet": "main.hcl:11", "data.ClusterConfiguration.kubernetesVersion": "default(kubeadm 1.36)",
		},
		provenance.SystemConfigMap("kubelet-config"): {"data.kubelet.clusterDomain": "main.hcl:13"},
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "kube-system", Name: "coredns"}: {
			"spec.template.spec.containers.coredns.image": "main.hcl:12", "spec.replicas": "default(kubeadm 1.36)",
		},
	} {
		i := slices.IndexFunc(kubeadm.Objects(provenance.PrimaryInput(c)), func(o kubeadm.Object) bool { return o.Ref == ref })
		if i < 0 {
			t.Fatalf("%s is not rendered", ref)
		}
		it := provenance.ObjectItem(c.Target, topology.UploadConfigPhase, ref, kubeadm.Objects(provenance.PrimaryInput(c))[i].Object)
		provenance.ObjectOrigins(c, &it, ref)
		wantOrigins(t, &it, want)
	}
}

// TestOriginsOfBlocks checks which of several paths is the origin of a value.
func TestOriginsOfBlocks(t *testing.T) {
	t.Parallel()
	v := tt.Running(1, 0, written(map[string]int{"b": 2, "c": 3}), block(tt.CP(1), func(n *config.Node) { n.Origins, n.Source = config.Origins{"y": line(5)}, line(4) }))
	c, n := v.Clusters[0], v.Find(tt.CP(1))
	for i, s := range []struct {
		got  state.Source
		want string
	}{
		{provenance.ClusterOrigin(c, "a", "b", "c"), "main.hcl:2"},
		{provenance.ClusterOrigin(c, "a"), "default(kubeadm 1.36)"},
		{provenance.NodeOrigin(n, "x", "y"), "main.hcl:5"},
		{provenance.NodeOrigin(n, "x"), "main.hcl:4"},
	} {
		if s.got.String() != s.want {
			t.Errorf("%d: got %q, want %q", i, s.got, s.want)
		}
	}
}

// TestObjectAttributes checks in which form an object is compared.
func TestObjectAttributes(t *testing.T) {
	t.Parallel()
	object := func(kind string) state.Value {
		return state.FromGo(map[string]any{
			"apiVersion": "v1", "kind": kind, "status": map[string]any{"phase": "Active"},
			"metadata": map[string]any{"name": "x", "namespace": "kube-system", "uid": "u", "labels": map[string]any{"a": "b"}},
			"data":     map[string]any{"config": "a: 1\nb: [2]\n", "note": "some text", "list": "- 1\n"},
		})
	}
	labels := map[string]any{"labels": map[string]any{"a": "b"}}
	for kind, want := range map[string]state.Value{
		"ConfigMap": state.FromGo(map[string]any{"metadata": labels, "data": map[string]any{"config": map[string]any{"a": 1, "b": []any{2}}, "note": "some text", "list": "- 1\n"}}),
		"Secret":    state.FromGo(map[string]any{"metadata": labels, "data": map[string]any{"config": "a: 1\nb: [2]\n", "note": "some text", "list": "- 1\n"}}),
	} {
		ref := provenance.SystemConfigMap("x")
		ref.Kind = kind
		if got := provenance.ObjectAttributes(ref, object(kind)); !got.Equal(want) {
			t.Errorf("%s: got %v, want %v", kind, got.Go(), want.Go())
		}
	}
	it := provenance.ObjectItem(state.ClusterTarget(tt.Label), topology.AddonPhase, provenance.SystemConfigMap("x"), object("ConfigMap"))
	if got, want := it.Exact, []string{"data.config", "data.list", "data.note"}; !slices.Equal(got, want) || !it.Partial {
		t.Errorf("got %v, partial %v; want %v of a partial item", got, it.Partial, want)
	}
	if got, want := it.Address.String(), "cluster.prod/addon/object:v1/ConfigMap/kube-system/x"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := provenance.DocumentIn(object("ConfigMap"), "config").Get("b.0").AsString(); got != strconv.Itoa(2) {
		t.Errorf("document: got b.0 = %q, want 2", got)
	}
	if got := provenance.DocumentIn(object("ConfigMap"), "absent"); !got.IsNull() {
		t.Errorf("a document that is missing: got %v, want null", got.Go())
	}
}
