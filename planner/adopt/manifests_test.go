package adopt_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hclwriter"
	"github.com/kubewright/kubewright/planner/adopt"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/kubeadm/kubeadmtest"
	"github.com/kubewright/kubewright/state"
)

// made returns the case of the oracle with the files that kubeadm 1.36.3 wrote.
func made(t *testing.T, name string) *returning {
	t.Helper()
	return madeBy(t, "1.36.3", name)
}

// madeBy returns the case of the oracle with the files that a version of kubeadm wrote.
func madeBy(t *testing.T, version, name string) *returning {
	t.Helper()
	golden, err := kubeadmtest.NewGoldens(filepath.Join("..", "kubeadm", "testdata", "oracle")).Read(version, name)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(kubeadmtest.Runs(), func(r kubeadmtest.Run) bool { return r.Version == version && r.Case.Name == name })
	return &returning{t: t, c: kubeadmtest.Runs()[i].Case, golden: golden}
}

// edit changes a file of a host.
func (x *returning) edit(files *kubeadmtest.HostFiles, file, from, to string) {
	x.t.Helper()
	if !strings.Contains(files.Texts[file], from) {
		x.t.Fatalf("%s has no %q:\n%s", file, from, files.Texts[file])
	}
	files.Texts[file] = strings.ReplaceAll(files.Texts[file], from, to)
}

// read reads a cluster of these hosts, and returns the configuration as HCL and after a reload.
func (x *returning) read(hosts ...adopt.Host) (string, *config.Config) {
	x.t.Helper()
	found, err := adopt.Read(adopt.Seen{Label: "prod", Objects: x.objects(), Hosts: hosts})
	if err != nil {
		x.t.Fatal(err)
	}
	return string(hclwriter.Write(found.Config)), x.reload(found.Config)
}

// TestAdoptNeverPatchesStaticPodImages checks that images of static pods never become patches, which would pin them
// through every upgrade: the plan shows the differences. The configuration sets images only if all
// have the expected ones from another repository, or if etcd is newer.
func TestAdoptNeverPatchesStaticPodImages(t *testing.T) {
	mirror := func(x *returning) {
		for _, files := range []*kubeadmtest.HostFiles{x.golden.Init, x.golden.Join} {
			for path := range files.Texts {
				if strings.Contains(path, "/manifests/") {
					x.edit(files, path, "image: registry.k8s.io/", "image: mirror.example.test:5000/k8s/")
				}
			}
		}
	}
	for _, tt := range []struct {
		name string
		edit func(x *returning)
		// written is what the configuration has to contain about images; empty for nothing.
		written string
		// api and etcd are the expected images on the second host and the first.
		api, etcd string
	}{
		{
			"one is not upgraded yet", func(x *returning) { x.edit(x.golden.Join, api, "kube-apiserver:v1.36.3", "kube-apiserver:v1.35.8") }, "",
			"registry.k8s.io/kube-apiserver:v1.36.3", "registry.k8s.io/etcd:3.6.8-0",
		},
		{
			"etcd is not upgraded yet", func(x *returning) { x.edit(x.golden.Init, etcd, "etcd:3.6.8-0", "etcd:3.6.6-0") }, "",
			"registry.k8s.io/kube-apiserver:v1.36.3", "registry.k8s.io/etcd:3.6.8-0",
		},
		{
			"etcd is newer than is known", func(x *returning) { x.edit(x.golden.Init, etcd, "etcd:3.6.8-0", "etcd:3.7.0-0") }, `image_tag = "3.7.0-0"`,
			"registry.k8s.io/kube-apiserver:v1.36.3", "registry.k8s.io/etcd:3.7.0-0",
		},
		{
			"etcd is something else", func(x *returning) { x.edit(x.golden.Init, etcd, "etcd:3.6.8-0", "etcd:mine") }, "",
			"registry.k8s.io/kube-apiserver:v1.36.3", "registry.k8s.io/etcd:3.6.8-0",
		},
		{
			"a mirror", mirror, `"mirror.example.test:5000/k8s"`,
			"mirror.example.test:5000/k8s/kube-apiserver:v1.36.3", "mirror.example.test:5000/k8s/etcd:3.6.8-0",
		},
		{
			"a mirror, and one is not upgraded yet", func(x *returning) { mirror(x); x.edit(x.golden.Join, api, ":v1.36.3", ":v1.35.8") }, "",
			"registry.k8s.io/kube-apiserver:v1.36.3", "registry.k8s.io/etcd:3.6.8-0",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := made(t, "second-control-plane")
			tt.edit(x)
			first, second := x.host(x.c.Founder, x.golden.Init), x.host(*x.c.Joiner, x.golden.Join)
			text, loaded := x.read(first, second)
			if !strings.Contains(text, tt.written) || strings.Contains(text, "image") != (tt.written != "") || strings.Contains(text, "patch") {
				t.Errorf("the configuration does not contain %q, or contains more than that:\n%s", tt.written, text)
			}
			rendered := func(h adopt.Host) kubeadm.Input {
				return kubeadm.Input{Cluster: loaded.Clusters[0], Node: x.node(loaded, h.Name), NodeName: h.Name, Facts: &h.Facts}
			}
			if got := x.must(kubeadm.StaticPod(rendered(second), "kube-apiserver")); !strings.Contains(string(got), "image: "+tt.api+"\n") {
				t.Errorf("want %s:\n%s", tt.api, got)
			}
			if got := x.must(kubeadm.EtcdPod(rendered(first), "", true)); !strings.Contains(string(got), "image: "+tt.etcd+"\n") {
				t.Errorf("want %s:\n%s", tt.etcd, got)
			}
		})
	}
}

// TestAdoptInterruptedUpgrade checks that an upgrade that was interrupted before kubeadm-config was
// written is read as the version that API servers have reached. Files of the previous version do
// not become settings.
func TestAdoptInterruptedUpgrade(t *testing.T) {
	for from, to := range map[string]string{"1.35.8": "1.36.3", "1.36.3": "1.37.1"} {
		x := madeBy(t, from, "second-control-plane")
		x.edit(x.golden.Join, api, "kube-apiserver:v"+from, "kube-apiserver:v"+to)
		text, _ := x.read(x.host(x.c.Founder, x.golden.Init), x.host(*x.c.Joiner, x.golden.Join))
		if !strings.Contains(text, `"`+to+`"`) || strings.Contains(text, "patch") || strings.Contains(text, "config") {
			t.Errorf("the configuration does not contain %s, or contains more than that:\n%s", to, text)
		}
	}
}

// TestAdoptIgnoresDefaultSandboxImage checks that a sandbox image passed by kubeadm does not become a setting, and
// that any other one does.
func TestAdoptIgnoresDefaultSandboxImage(t *testing.T) {
	for image, stays := range map[string]bool{
		"registry.k8s.io/pause:3.9": false, "k8s.gcr.io/pause:3.5": false, "registry.k8s.io/pause:3.10.2": false,
		"mirror.example.test/pause:3.9": true, "registry.k8s.io/other": true,
	} {
		x := madeBy(t, "1.34.9", "default")
		x.edit(x.golden.Init, "/var/lib/kubelet/kubeadm-flags.env", "registry.k8s.io/pause:3.10.1", image)
		if text, _ := x.read(x.host(x.c.Founder, x.golden.Init)); strings.Contains(text, image) != stays || strings.Contains(text, "kubelet {") != stays {
			t.Errorf("%s as an argument: want %v. The configuration:\n%s", image, stays, text)
		}
	}
}

// TestAdoptSharesNodeIPSetting checks that nodes whose kubelets have their own address as an argument
// share one setting, which also holds for a single node and for nodes that join later.
func TestAdoptSharesNodeIPSetting(t *testing.T) {
	const flags = "/var/lib/kubelet/kubeadm-flags.env"
	x := made(t, "second-control-plane")
	x.edit(x.golden.Init, flags, `KUBELET_KUBEADM_ARGS="`, `KUBELET_KUBEADM_ARGS="--node-ip=10.77.0.11 --v=2 `)
	x.edit(x.golden.Join, flags, `KUBELET_KUBEADM_ARGS="`, `KUBELET_KUBEADM_ARGS="--node-ip=10.77.0.12 --v=2 `)
	first, second := x.host(x.c.Founder, x.golden.Init), x.host(*x.c.Joiner, x.golden.Join)
	for _, hosts := range [][]adopt.Host{{first}, {first, second}} {
		text, loaded := x.read(hosts...)
		if strings.Count(text, "  kubelet {\n    arg \"node-ip\" { value = each.value }\n") != 1 || strings.Count(text, "kubelet {") != 1 || strings.Count(text, "node \"") != 1 {
			t.Errorf("the configuration does not set the argument once, for all nodes:\n%s", text)
		}
		for _, h := range hosts {
			if got := x.node(loaded, h.Name).Kubelet.Args[0].Value; got != h.Addresses[0] {
				t.Errorf("%s has %s", h.Name, got)
			}
		}
	}
}

// TestAdoptKeepsNodeSpecificPatchesOnTheirNode checks that patches that refer to their own control plane stay with it, even
// while it is the only one: others have their own names and addresses. All other patches become
// patches of the cluster.
func TestAdoptKeepsNodeSpecificPatchesOnTheirNode(t *testing.T) {
	x := made(t, "default")
	x.edit(x.golden.Init, api, "    - --advertise-address=10.77.0.11\n", "    - --advertise-address=10.77.0.11\n    - --profiling=false\n")
	x.edit(x.golden.Init, etcd, "--listen-metrics-urls=http://127.0.0.1:2381", "--listen-metrics-urls=http://127.0.0.1:2381,http://10.77.0.11:2381")
	x.edit(x.golden.Init, etcd, "cpu: 100m", "cpu: 200m")
	host := x.host(x.c.Founder, x.golden.Init)
	_, loaded := x.read(host)
	x.files(kubeadm.Input{Cluster: loaded.Clusters[0], Node: loaded.Nodes[0], NodeName: host.Name, Facts: &host.Facts}, x.golden.Init)
	other := config.NewNode(state.NodeKeyTarget("cp", "cp2"), "prod", config.ControlPlane, "10.77.0.12")
	in := kubeadm.Input{Cluster: loaded.Clusters[0], Node: other, NodeName: "cp2", Facts: &state.Facts{Hostname: "cp2"}}
	for pod, want := range map[string][]string{
		string(x.must(kubeadm.StaticPod(in, "kube-apiserver"))): {"--advertise-address=10.77.0.12", "--profiling=false"},
		string(x.must(kubeadm.EtcdPod(in, "", true))):           {"--name=cp2", "--listen-peer-urls=https://10.77.0.12:2380", "--listen-metrics-urls=http://127.0.0.1:2381\n", "cpu: 200m"},
	} {
		for _, text := range want {
			if !strings.Contains(pod, text) {
				t.Errorf("no %q in\n%s", text, pod)
			}
		}
		if strings.Contains(pod, "10.77.0.11") || strings.Contains(pod, "cp1") {
			t.Errorf("another node's address or name is in\n%s", pod)
		}
	}
}
