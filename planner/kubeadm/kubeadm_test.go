package kubeadm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// plane returns a control plane of a cluster without any configuration.
func plane(version string) kubeadm.Input {
	return kubeadm.Input{
		Cluster: &config.Cluster{KubernetesVersion: version},
		Node:    &config.Node{Role: config.ControlPlane, Address: "10.0.0.1"},
		Facts:   &state.Facts{Hostname: "cp1"},
	}
}

func worker(version string) kubeadm.Input {
	in := plane(version)
	in.Node = &config.Node{Role: config.Worker, Address: "10.0.0.9"}
	in.Facts = &state.Facts{Hostname: "w1"}
	in.SharedAddress = "10.0.0.1"
	return in
}

// A kubelet without an address argument detects one, of one family.
func TestKubeletOfDualStackNodeGetsBothAddresses(t *testing.T) {
	t.Parallel()
	in := worker("1.36.3")
	if flags := string(kubeadm.KubeletFlags(in)); strings.Contains(flags, "node-ip") {
		t.Errorf("a single-stack node gets a node-ip flag: %s", flags)
	}
	in.Node.AdvertiseAddresses = []string{"10.0.0.9", "fd00:0:0::9"}
	if flags := string(kubeadm.KubeletFlags(in)); !strings.Contains(flags, "--node-ip=10.0.0.9,fd00::9") {
		t.Errorf("the kubelet does not get both addresses: %s", flags)
	}
	in.Node.Kubelet.Args = []config.Arg{{Name: "node-ip", Value: "10.0.0.10"}}
	if flags := string(kubeadm.KubeletFlags(in)); !strings.Contains(flags, "--node-ip=10.0.0.10") || strings.Count(flags, "node-ip") != 1 {
		t.Errorf("the configured node-ip does not replace the default: %s", flags)
	}
}

// TestPatchReleaseDifferences checks the releases around each change within a minor version.
func TestPatchReleaseDifferences(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]struct {
		etcd             string
		organization     bool
		ordered, binding bool
	}{
		"1.34.0":      {"3.6.4-0", true, false, false},
		"1.34.1":      {"3.6.4-0", true, false, false},
		"1.34.2":      {"3.6.5-0", true, false, false},
		"1.34.3":      {"3.6.5-0", true, false, false},
		"1.34.4":      {"3.6.5-0", true, true, false},
		"1.34.7":      {"3.6.5-0", true, true, false},
		"1.34.8":      {"3.6.5-0", false, true, true},
		"1.35.0":      {"3.6.6-0", true, false, false},
		"1.35.1":      {"3.6.6-0", true, true, false},
		"1.35.5":      {"3.6.6-0", false, true, true},
		"1.36.0":      {"3.6.8-0", true, true, false},
		"1.36.1":      {"3.6.8-0", false, true, true},
		"1.37.0":      {"3.7.0-0", false, true, true},
		"1.37.0-rc.1": {"3.7.0-0", false, true, true},
		"v1.37.9":     {"3.7.0-0", false, true, true},
	} {
		in := plane(version)
		in.Cluster.Scheduler.Args = []config.Arg{{Name: "z", Value: "1"}, {Name: "a", Value: "2"}}
		if images := kubeadm.Images(in); !slices.Contains(images, "registry.k8s.io/etcd:"+want.etcd) {
			t.Errorf("%s: images %v have no etcd %s", version, images, want.etcd)
		}
		client := kubeadm.Leaves(in)[1]
		if got := len(client.Organizations) > 0; got != want.organization {
			t.Errorf("%s: %s has organizations %v", version, client.Name, client.Organizations)
		}
		pod, err := kubeadm.StaticPod(in, "kube-scheduler")
		if err != nil {
			t.Fatal(err)
		}
		args := attributes(t, pod).Get("args").AsArgs()
		if got := args[len(args)-1].Name == "a"; got != want.ordered {
			t.Errorf("%s: arguments are %v", version, args)
		}
		binding := slices.ContainsFunc(kubeadm.Objects(in), func(o kubeadm.Object) bool { return o.Ref.Name == "kubeadm:apiserver-kubelet-client" })
		if binding != want.binding {
			t.Errorf("%s: binding is %t", version, binding)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{
		"1.34.0": true, "1.37.4": true, "v1.36.3": true, "1.37.0-rc.1+build": true,
		"1.33.9": false, "1.38.0": false, "2.36.0": false, "": false, "x": false,
	} {
		if err := kubeadm.CheckVersion(version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestEtcdManifestOfJoiningMember checks what differs in a manifest that kubeadm only writes for a running etcd.
func TestEtcdManifestOfJoiningMember(t *testing.T) {
	t.Parallel()
	in := plane("1.36.3")
	founding, err := kubeadm.EtcdPod(in, "", false)
	if err != nil {
		t.Fatal(err)
	}
	joining, err := kubeadm.EtcdPod(in, "a=https://10.0.0.7:2380,cp1=https://10.0.0.1:2380", true)
	if err != nil {
		t.Fatal(err)
	}
	was, is := attributes(t, founding).Get("args"), attributes(t, joining).Get("args")
	if got := was.Get("initial-cluster").AsString(); got != "cp1=https://10.0.0.1:2380" {
		t.Errorf("the founder's initial-cluster is %q", got)
	}
	if got := is.Get("initial-cluster").AsString(); got != "a=https://10.0.0.7:2380,cp1=https://10.0.0.1:2380" {
		t.Errorf("the joiner's initial-cluster is %q", got)
	}
	if !was.Get("initial-cluster-state").IsNull() || is.Get("initial-cluster-state").AsString() != "existing" {
		t.Errorf("initial-cluster-state is %v, then %v", was.Get("initial-cluster-state"), is.Get("initial-cluster-state"))
	}
	if got := len(is.AsArgs()) - len(was.AsArgs()); got != 1 {
		t.Errorf("got %d additional arguments", got)
	}
	// Patches with an index apply to all members, the first one and joining ones.
	in.Cluster.Patches = []config.Patch{{Target: "etcd", Type: "json", Content: `[
		{"op": "test", "path": "/spec/containers/0/command/8", "value": "--key-file=/etc/kubernetes/pki/etcd/server.key"},
		{"op": "add", "path": "/spec/containers/0/command/8", "value": "--quota-backend-bytes=8589934592"}
	]`}}
	for _, existing := range []bool{false, true} {
		pod, err := kubeadm.EtcdPod(in, "", existing)
		if err != nil {
			t.Fatal(err)
		}
		args := attributes(t, pod).Get("args")
		if args.Get("quota-backend-bytes").IsNull() || args.Get("initial-cluster-state").IsNull() == existing {
			t.Errorf("existing %v:\n%s", existing, pod)
		}
	}
	// A word of the user stays a separate word.
	in.Cluster.Patches, in.Cluster.Etcd.Args = nil, []config.Arg{{Name: "initial-cluster-state", Value: "new"}}
	own, err := kubeadm.EtcdPod(in, "", true)
	if got := attributes(t, own).Get("args").Get("initial-cluster-state").AsString(); err != nil || got != "new" {
		t.Errorf("initial-cluster-state is %q (%v)", got, err)
	}
	in.Cluster.Etcd = config.Etcd{External: &config.ExternalEtcd{Endpoints: []string{"http://x:2379"}}}
	if _, err := kubeadm.EtcdPod(in, "", false); err == nil {
		t.Error("external etcd has a pod")
	}
}

func TestKubeconfigs(t *testing.T) {
	t.Parallel()
	in := plane("1.36.3")
	in.Cluster.ControlPlaneEndpoint = "api.example.test"
	var founder, joined []string
	for _, k := range kubeadm.Kubeconfigs(in, true) {
		founder = append(founder, strings.TrimPrefix(k.Path, "/etc/kubernetes/")+" "+k.Server)
	}
	for _, k := range kubeadm.Kubeconfigs(in, false) {
		joined = append(joined, strings.TrimPrefix(k.Path, "/etc/kubernetes/"))
	}
	want := []string{
		"admin.conf https://api.example.test:6443", "super-admin.conf https://api.example.test:6443", "kubelet.conf https://10.0.0.1:6443",
		"controller-manager.conf https://10.0.0.1:6443", "scheduler.conf https://10.0.0.1:6443",
	}
	if !slices.Equal(founder, want) {
		t.Errorf("founder has %q", founder)
	}
	if !slices.Equal(joined, []string{"admin.conf", "controller-manager.conf", "scheduler.conf"}) {
		t.Errorf("joined control plane has %q", joined)
	}
	if got := kubeadm.KubeletServer(worker("1.36.3")); got != "https://10.0.0.1:6443" {
		t.Errorf("a worker's kubelet connects to %s", got)
	}
	if k := kubeadm.BootstrappedKubeconfig(in); k.Server != "https://10.0.0.1:6443" || k.User != "default-auth" || k.ClientKey != kubeadm.RotatedCertificate {
		t.Errorf("bootstrapped kubeconfig is %+v", k)
	}
	in.ExternalCA = true
	if n := len(kubeadm.Kubeconfigs(in, false)); n != 4 {
		t.Errorf("with an external CA a joined control plane has %d kubeconfigs", n)
	}
}

func TestHealthzURLs(t *testing.T) {
	t.Parallel()
	in := plane("1.36.3")
	in.Cluster.BindPort = 7443
	in.Cluster.ControllerManager.Args = []config.Arg{{Name: "secure-port", Value: "1"}, {Name: "bind-address", Value: "::1"}, {Name: "secure-port", Value: "20257"}}
	for component, want := range map[string]string{
		"kube-apiserver": "https://10.0.0.1:7443/livez false", "kube-controller-manager": "https://[::1]:20257/healthz true",
		"kube-scheduler": "https://127.0.0.1:10259/livez true",
	} {
		manifest, err := kubeadm.StaticPod(in, component)
		if err != nil {
			t.Fatal(err)
		}
		attributes, err := kubeadm.StaticPodAttributes(manifest)
		if err != nil {
			t.Fatal(err)
		}
		url, insecure := kubeadm.Healthz(in, component, attributes)
		if got := url + map[bool]string{true: " true", false: " false"}[insecure]; got != want {
			t.Errorf("the health check of %s is at %s, want %s", component, got, want)
		}
	}
	for _, c := range []struct {
		config state.Value
		want   string
	}{
		{state.Null(), "127.0.0.1 10248"},
		{state.FromGo(map[string]any{"healthzPort": 20248, "healthzBindAddress": "10.0.0.1"}), "10.0.0.1 20248"},
	} {
		in.Node.Kubelet.Config = c.config
		content, err := kubeadm.KubeletConfig(in)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := kubeadm.YAMLAttributes(content)
		if err != nil {
			t.Fatal(err)
		}
		if address, port := kubeadm.KubeletHealthz(tree); fmt.Sprint(address, " ", port) != c.want {
			t.Errorf("the kubelet's health check is at %s %d, want %s", address, port, c.want)
		}
	}
}

// TestCheckRefusesUnrenderableConfiguration checks the errors for configurations that cannot be rendered.
func TestCheckRefusesUnrenderableConfiguration(t *testing.T) {
	t.Parallel()
	if err := kubeadm.Check(plane("1.36.3")); err != nil {
		t.Errorf("an empty configuration: %v", err)
	}
	if err := kubeadm.Check(worker("1.36.3")); err != nil {
		t.Errorf("a worker: %v", err)
	}
	patch := func(target, kind, content string) func(*config.Cluster) {
		return func(c *config.Cluster) { c.Patches = []config.Patch{{Target: target, Type: kind, Content: content}} }
	}
	for want, change := range map[string]func(*config.Cluster){
		"version 1.33.1 of Kubernetes is not supported: versions 1.34 to 1.37 are":                                                func(c *config.Cluster) { c.KubernetesVersion = "1.33.1" },
		"cannot render static pods with the feature gate RootlessControlPlane: it is not supported. Remove it from feature_gates": func(c *config.Cluster) { c.FeatureGates = map[string]bool{"RootlessControlPlane": true} },
		`unknown field "maxPod"`:                 func(c *config.Cluster) { c.Kubelet.Config = state.FromGo(map[string]any{"maxPod": 1}) },
		"cannot read the KubeletConfiguration: ": func(c *config.Cluster) { c.Kubelet.Config = state.FromGo(map[string]any{"maxPods": "many"}) },
		`unknown field "maxpods"`:                func(c *config.Cluster) { c.Kubelet.Config = state.FromGo(map[string]any{"maxpods": 1}) },
		`cannot read the KubeProxyConfiguration: json: cannot unmarshal number into Go struct field KubeProxyConfiguration.mode of type v1alpha1.ProxyMode`: func(c *config.Cluster) { c.KubeProxy.Config = state.FromGo(map[string]any{"mode": 1}) },
		"cannot set the proxies' environment of kube-proxy: a patch removed its containers": func(c *config.Cluster) {
			c.KubernetesVersion, c.ProxyEnv = "1.37.1", map[string]string{"https_proxy": "http://proxy:3128"}
			patch("kubeproxydaemonset", "json", `[{"op":"remove","path":"/spec/template/spec/containers"}]`)(c)
		},
		"cannot use tlsCurvePreferences of KubeletConfiguration: the kubelet of Kubernetes 1.34 does not support it": func(c *config.Cluster) {
			c.KubernetesVersion = "1.34.9"
			c.Kubelet.Config = state.FromGo(map[string]any{"tlsCurvePreferences": []any{29}})
		},
		"json patch of kube-apiserver": patch("kube-apiserver", "json", `[{"op":"remove","path":"/spec/nothing"}]`),
		`cannot apply the other patch of etcd: unknown type "other", must be json, merge or strategic`: patch("etcd", "other", "{}"),
		"patch of kube-scheduler":       patch("kube-scheduler", "", "a: [\n"),
		"patched manifest of etcd":      patch("etcd", "merge", "spec: {priority: high}"),
		"patched Deployment coredns":    patch("corednsdeployment", "merge", "spec: {replicas: many}"),
		"patch of kubeletconfiguration": patch("kubeletconfiguration", "json", "{}"),
		"cannot read the patched KubeletConfiguration: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods": patch("kubeletconfiguration", "json", `[{"op":"add","path":"/maxPods","value":"many"}]`),
		`cannot read the patched KubeletConfiguration: unknown field "maxPodz"`:                                                         patch("kubeletconfiguration", "json", `[{"op":"add","path":"/maxPodz","value":5}]`),
	} {
		in := plane("1.36.3")
		change(in.Cluster)
		if err := kubeadm.Check(in); err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("want an error with %q, once, got %v", want, err)
		}
	}
}

// TestRenderingKeepsConfiguration checks that rendering does not modify the configuration.
func TestRenderingKeepsConfiguration(t *testing.T) {
	t.Parallel()
	in := plane("1.36.3")
	in.Cluster.APIServer.CertSANs = []string{"UPPER.example.test"}
	in.Cluster.APIServer.Args = []config.Arg{{Name: "z", Value: "1"}, {Name: "a", Value: "2"}}
	in.Cluster.Patches = append(make([]config.Patch, 0, 8), config.Patch{Target: "etcd", Type: "merge", Content: "metadata: {labels: {a: b}}"})
	in.Node.Patches = []config.Patch{{Target: "etcd", Type: "merge", Content: "metadata: {labels: {a: c}}"}}
	for range 2 {
		if err := kubeadm.Check(in); err != nil {
			t.Fatal(err)
		}
	}
	if in.Cluster.APIServer.CertSANs[0] != "UPPER.example.test" || in.Cluster.APIServer.Args[0].Name != "z" || len(in.Cluster.Patches) != 1 || in.Cluster.BindPort != 0 {
		t.Errorf("the configuration was changed: %+v", in.Cluster)
	}
}

// TestPublicKeysECDSAGateTakesPrecedence checks that the deprecated gate PublicKeysECDSA takes precedence whenever it
// is set, even to false (observed with kubeadm 1.36.3).
func TestPublicKeysECDSAGateTakesPrecedence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version string
		gates   map[string]bool
		want    string
	}{
		{"1.36.3", nil, "RSA-3072"},
		{"1.36.3", map[string]bool{"PublicKeysECDSA": false}, "RSA-2048"},
		{"1.36.3", map[string]bool{"PublicKeysECDSA": true}, "ECDSA-P256"},
		{"1.37.1", map[string]bool{"PublicKeysECDSA": false}, "RSA-3072"},
	} {
		c := config.NewCluster("prod", tt.version)
		c.Certificates.Algorithm, c.FeatureGates = "RSA-3072", tt.gates
		if got := kubeadm.ServiceAccountKeys(kubeadm.Input{Cluster: c}).Algorithm; got != tt.want {
			t.Errorf("%s with %v: %s, want %s", tt.version, tt.gates, got, tt.want)
		}
	}
}
