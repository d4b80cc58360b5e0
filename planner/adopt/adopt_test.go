package adopt_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/config/hclwriter"
	"github.com/kubewright/kubewright/planner/adopt"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/kubeadm/kubeadmtest"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
	"github.com/kubewright/kubewright/state"
)

// TestAdoptReproducesKubeadmFiles reads the files that real kubeadm wrote for each configuration of the
// oracle into a configuration, renders that, and checks that the result is what kubeadm wrote.
func TestAdoptReproducesKubeadmFiles(t *testing.T) {
	goldens := kubeadmtest.NewGoldens(filepath.Join("..", "kubeadm", "testdata", "oracle"))
	runs := 0
	for i, run := range kubeadmtest.Runs() {
		if os.Getenv("KUBEWRIGHT_LONG") == "" && i%6 != 0 && !slices.Contains([]string{"everything-worker", "environment"}, run.Case.Name) {
			continue // a sample
		}
		golden, err := goldens.Read(run.Version, run.Case.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the oracle's own test reports it
		}
		if err != nil {
			t.Fatal(err)
		}
		runs++
		t.Run(run.Version+"/"+run.Case.Name, func(t *testing.T) {
			x := returning{t: t, c: run.Case, golden: golden}
			x.run()
		})
	}
	if runs < 50 {
		t.Errorf("only %d configurations were read", runs)
	}
}

// The manifests of a host.
const (
	api  = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	etcd = "/etc/kubernetes/manifests/etcd.yaml"
)

// returning is a case of the oracle that is read back into a configuration.
type returning struct {
	t      *testing.T
	c      kubeadmtest.Case
	golden *kubeadmtest.Golden
}

func (x *returning) run() {
	hosts := []adopt.Host{x.host(x.c.Founder, x.golden.Init)}
	files := []*kubeadmtest.HostFiles{x.golden.Init}
	was := []kubeadmtest.Host{x.c.Founder}
	if x.c.Joiner != nil {
		hosts, files, was = append(hosts, x.host(*x.c.Joiner, x.golden.Join)), append(files, x.golden.Join), append(was, *x.c.Joiner)
	}
	seen := adopt.Seen{Label: "prod", Objects: x.objects(), Hosts: hosts}
	found, err := adopt.Read(seen)
	if err != nil {
		x.t.Fatal(err)
	}
	if found.ExternalCA != x.c.ExternalCA {
		x.t.Errorf("external CA: %v, want %v", found.ExternalCA, x.c.ExternalCA)
	}
	if kubeadmtest.Refused[x.c.Name] != "" {
		return
	}
	loaded := x.reload(found.Config)
	cluster := loaded.Clusters[0]
	for i := range hosts {
		n := x.node(loaded, hosts[i].Target.Key)
		in := kubeadm.Input{
			Cluster: cluster, Node: n, NodeName: hosts[i].Name, Facts: &hosts[i].Facts, ExternalCA: found.ExternalCA,
			SharedAddress: hosts[0].Addresses[0],
		}
		x.files(in, files[i])
		before := in
		before.Cluster, before.Node = x.c.Cluster, was[i].Node
		if n.Role == config.ControlPlane {
			x.same("certificates", kubeadm.Leaves(in), kubeadm.Leaves(before))
			x.same("kubeconfigs", kubeadm.Kubeconfigs(in, true), kubeadm.Kubeconfigs(before, true))
			x.same("marks", kubeadm.NodeMarks(in), kubeadm.NodeMarks(before))
		}
		if i == 0 {
			x.rendered(kubeadm.Objects(in), seen.Objects)
		}
	}
}

// reload writes the configuration as HCL, and parses the result.
func (x *returning) reload(c *config.Config) *config.Config {
	x.t.Helper()
	text := hclwriter.Write(c)
	loaded, diags := hclconfig.Load(hclconfig.Options{FS: fstest.MapFS{"cluster.hcl": &fstest.MapFile{Data: text}}})
	errs := diags.Errors()
	if past := kubeadmtest.RefusedFor[x.c.Name]; past != "" {
		if len(errs) != 1 || !strings.Contains(errs[0].Detail, past) {
			x.t.Fatalf("%s is refused for %s alone: %v", x.c.Name, past, errs)
		}
		errs = nil
	}
	if len(errs) > 0 || loaded == nil {
		x.t.Fatalf("%s\n%v", text, diags)
	}
	if os.Getenv("SHOW") != "" {
		x.t.Logf("%s", text)
	}
	return loaded
}

// node returns the node with the name.
func (x *returning) node(c *config.Config, name string) *config.Node {
	x.t.Helper()
	i := slices.IndexFunc(c.Nodes, func(n *config.Node) bool {
		return n.Target.Key == name || n.Name == name || n.Target.Name == strings.ReplaceAll(name, ".", "_")
	})
	if i < 0 {
		x.t.Fatalf("no node is named %s", name)
	}
	return c.Nodes[i]
}

// host returns a host of the case as it would be read.
func (x *returning) host(h kubeadmtest.Host, files *kubeadmtest.HostFiles) adopt.Host {
	in := kubeadm.Input{Cluster: x.c.Cluster, Node: h.Node, NodeName: h.Name(), Facts: &h.Facts}
	marks := kubeadm.NodeMarks(in)
	taints := marks.Taints
	if h.Node.Role == config.Worker {
		taints = h.Node.Taints
	}
	labels := map[string]string{"kubernetes.io/hostname": h.Name(), "kubernetes.io/os": "linux"}
	maps.Copy(labels, marks.Labels)
	out := adopt.Host{
		Target: state.NodeKeyTarget(map[config.Role]string{config.ControlPlane: "cp", config.Worker: "worker"}[h.Node.Role], h.Name()),
		Name:   h.Name(), Addresses: []string{h.Node.AdvertiseAddress()}, Facts: h.Facts, Files: map[string]state.FileReport{},
		Node: state.NodeReport{Labels: labels, Taints: taints},
	}
	for path, text := range files.Texts {
		out.Files[path] = state.FileReport{Exists: true, Content: []byte(text)}
	}
	if _, there := files.Modes[x.c.Cluster.Certificates.Dir+"/ca.key"]; there && !x.c.ExternalCA {
		out.Files[x.c.Cluster.Certificates.Dir+"/ca.key"] = state.FileReport{Exists: true}
	}
	return out
}

func (x *returning) objects() map[state.ObjectRef]state.Value {
	out := map[state.ObjectRef]state.Value{}
	for _, o := range x.golden.Objects {
		metadata := o["metadata"].(map[string]any)
		namespace, _ := metadata["namespace"].(string)
		out[state.ObjectRef{APIVersion: o["apiVersion"].(string), Kind: o["kind"].(string), Namespace: namespace, Name: metadata["name"].(string)}] = state.FromGo(o)
	}
	return out
}

// files compares what is rendered for a host with what is there.
func (x *returning) files(in kubeadm.Input, files *kubeadmtest.HostFiles) {
	x.t.Helper()
	got := map[string][]byte{
		"/var/lib/kubelet/config.yaml":       x.must(kubeadm.KubeletConfig(in)),
		"/var/lib/kubelet/kubeadm-flags.env": kubeadm.KubeletFlags(in),
	}
	if instance := kubeadm.InstanceConfig(in); instance != nil {
		got["/var/lib/kubelet/instance-config.yaml"] = instance
	}
	for _, c := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"} {
		path := "/etc/kubernetes/manifests/" + c + ".yaml"
		switch {
		case files.Texts[path] == "":
		case c == "etcd":
			got[path] = x.must(kubeadm.EtcdPod(in, "", false))
		default:
			got[path] = x.must(kubeadm.StaticPod(in, c))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files.Texts)) {
		x.same(path, parse(path, got[path]), parse(path, []byte(files.Texts[path])))
	}
}

func parse(path string, content []byte) any {
	read := kubeadm.YAMLAttributes
	switch {
	case strings.HasSuffix(path, ".env"):
		read = kubeadm.KubeletFlagsAttributes
	case strings.Contains(path, "/manifests/"):
		read = kubeadm.StaticPodAttributes
	}
	v, err := read(content)
	if err != nil {
		return err.Error()
	}
	return v
}

func (x *returning) must(content []byte, err error) []byte {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
	return content
}

// rendered compares the objects that hold configuration, document by document.
func (x *returning) rendered(objects []kubeadm.Object, seen map[state.ObjectRef]state.Value) {
	x.t.Helper()
	for _, o := range objects {
		if o.Ref.Kind != "ConfigMap" && o.Ref.Kind != "DaemonSet" && o.Ref.Kind != "Deployment" {
			continue
		}
		if o.Ref.Kind != "ConfigMap" && slices.ContainsFunc(x.c.Cluster.Patches, func(p config.Patch) bool { return p.Target == "corednsdeployment" || p.Target == "kubeproxydaemonset" }) {
			x.part(o.Ref.String(), o.Object, seen[o.Ref])
			continue
		}
		x.same(o.Ref.String(), documents(o.Object), documents(seen[o.Ref]))
	}
}

// part checks that the leaves of an object have the values that were read. It ignores other fields
// and the number of replicas.
func (x *returning) part(what string, got, want state.Value) {
	x.t.Helper()
	for _, path := range got.Leaves() {
		if path != "spec.replicas" && !strings.HasPrefix(path, "spec.template.spec.containers") && !got.Get(path).Equal(want.Get(path)) {
			x.t.Errorf("%s: %s is %v, and was read as %v", what, path, got.Get(path).Go(), want.Get(path).Go())
		}
	}
	for i, c := range got.Get("spec.template.spec.containers").AsList() {
		x.same(what+": resources", c.Get("resources"), want.Get("spec.template.spec.containers").AsList()[i].Get("resources"))
	}
}

// documents returns an object with the YAML inside it parsed.
func documents(o state.Value) any {
	plain, _ := o.Go().(map[string]any)
	content, _ := json.Marshal(plain)
	var out map[string]any
	_ = json.Unmarshal(content, &out)
	out = kubeadmtest.Plain(out)
	data, _ := out["data"].(map[string]any)
	for key, text := range data {
		var tree map[string]any
		if s, ok := text.(string); ok && yaml.Unmarshal([]byte(s), &tree) == nil && len(tree) > 0 {
			data[key] = tree
		}
	}
	return out
}

func (x *returning) same(what string, got, want any) {
	x.t.Helper()
	g, _ := json.MarshalIndent(got, "", " ")
	w, _ := json.MarshalIndent(want, "", " ")
	if string(g) != string(w) {
		x.t.Errorf("%s is not as it was read:\n%s", what, difference(string(g), string(w)))
	}
}

// difference lists the lines that only one side has.
func difference(got, want string) string {
	count := map[string]int{}
	for line := range strings.Lines(got) {
		count[line]++
	}
	for line := range strings.Lines(want) {
		count[line]--
	}
	var b strings.Builder
	for _, line := range slices.Sorted(maps.Keys(count)) {
		switch {
		case count[line] > 0:
			b.WriteString("  rendered: " + line)
		case count[line] < 0:
			b.WriteString("  read:     " + line)
		}
	}
	return b.String()
}

// TestAdoptTurnsManualEditsIntoPatches checks that manual edits on a host become patches and settings of that
// node, and that rendering reproduces them.
func TestAdoptTurnsManualEditsIntoPatches(t *testing.T) {
	goldens := kubeadmtest.NewGoldens(filepath.Join("..", "kubeadm", "testdata", "oracle"))
	const kubelet, flags = "/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env"
	for _, tt := range []struct {
		name, file, from, to string
		// written is what the configuration has to contain.
		written string
	}{
		{"argument changed", api, "--authorization-mode=Node,RBAC", "--authorization-mode=Node,RBAC,Webhook", "op: replace"},
		{"argument gone", api, "    - --enable-bootstrap-token-auth=true\n", "", "op: remove"},
		{"argument added in between", api, "    - --allow-privileged=true\n", "    - --allow-privileged=true\n    - --profiling=false\n    - --v=2\n", "op: add"},
		{"arguments in another order", api, "    - --allow-privileged=true\n    - --authorization-mode=Node,RBAC\n", "    - --authorization-mode=Node,RBAC\n    - --allow-privileged=true\n", "op: add"},
		{"etcd's argument changed", etcd, "--snapshot-count=10000", "--snapshot-count=5000", "op: replace"},
		{"etcd's argument added in between", etcd, "    - --key-file=", "    - --quota-backend-bytes=8589934592\n    - --key-file=", "op: add"},
		{"etcd's argument added before what founds", etcd, "    - --initial-cluster=", "    - --quota-backend-bytes=8589934592\n    - --initial-cluster=", "op: add"},
		{"argument added at the end", etcd, "    - --watch-progress-notify-interval=5s\n", "    - --watch-progress-notify-interval=5s\n    - --auto-compaction-retention=8\n", "op: add"},
		{"resources", api, "cpu: 250m", "cpu: 500m", "cpu: 500m"},
		{"a probe", api, "timeoutSeconds: 15", "timeoutSeconds: 30", "timeoutSeconds: 30"},
		{"an annotation with a template", api, "annotations:\n", "annotations:\n    example.test/x: ${y} %{z}\n", "$${y}"},
		{"a proxy of the API server's alone", api, "    image: ", "    env:\n    - name: HTTPS_PROXY\n      value: http://proxy.example.test:3128\n    image: ", "value: http://proxy.example.test:3128"},
		{"a mount", api, "    volumeMounts:\n", "    volumeMounts:\n    - mountPath: /x\n      name: x\n", "mountPath: /x"},
		{"a kubelet setting", kubelet, "cgroupDriver: systemd\n", "cgroupDriver: cgroupfs\nmaxPods: 20\n", "maxPods"},
		{"a kubelet setting gone", kubelet, "healthzBindAddress: 127.0.0.1\n", "", "kubeletconfiguration"},
		{"etcd's data elsewhere", etcd, "      path: /var/lib/etcd\n", "      path: /data/etcd\n", `data_dir = "/data/etcd"`},
		{"the API server's port", api, "--secure-port=6443", "--secure-port=7443", "= 7443"},
		{"a kubelet flag", flags, `KUBELET_KUBEADM_ARGS="`, `KUBELET_KUBEADM_ARGS="--v=4 `, `arg "v" { value = "4" }`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			golden, err := goldens.Read("1.36.3", "default")
			if err != nil {
				t.Fatal(err)
			}
			run := kubeadmtest.Runs()[slices.IndexFunc(kubeadmtest.Runs(), func(r kubeadmtest.Run) bool { return r.Version == "1.36.3" && r.Case.Name == "default" })]
			if !strings.Contains(golden.Init.Texts[tt.file], tt.from) {
				t.Fatalf("%s has no %q:\n%s", tt.file, tt.from, golden.Init.Texts[tt.file])
			}
			golden.Init.Texts[tt.file] = strings.ReplaceAll(golden.Init.Texts[tt.file], tt.from, tt.to)
			x := returning{t: t, c: run.Case, golden: golden}
			host := x.host(run.Case.Founder, golden.Init)
			found, err := adopt.Read(adopt.Seen{Label: "prod", Objects: x.objects(), Hosts: []adopt.Host{host}})
			if err != nil {
				t.Fatal(err)
			}
			if text := string(hclwriter.Write(found.Config)); !strings.Contains(text, tt.written) || strings.Contains(text, "command:") {
				t.Errorf("the configuration does not contain %q, or contains a whole command line:\n%s", tt.written, text)
			}
			loaded := x.reload(found.Config)
			in := kubeadm.Input{Cluster: loaded.Clusters[0], Node: loaded.Nodes[0], NodeName: host.Name, Facts: &host.Facts}
			x.files(in, golden.Init)
			x.must(kubeadm.EtcdPod(in, "", true)) // as in a plan
		})
	}
}

// TestAdoptExpectsSuppliedFilesForKeylessCAs checks that for a CA whose key no control plane has, the configuration gets
// the certificate and expects supplied files; the other CAs are as kubeadm makes them.
func TestAdoptExpectsSuppliedFilesForKeylessCAs(t *testing.T) {
	golden, err := kubeadmtest.NewGoldens(filepath.Join("..", "kubeadm", "testdata", "oracle")).Read("1.36.3", "default")
	if err != nil {
		t.Fatal(err)
	}
	run := kubeadmtest.Runs()[slices.IndexFunc(kubeadmtest.Runs(), func(r kubeadmtest.Run) bool { return r.Version == "1.36.3" && r.Case.Name == "default" })]
	x := returning{t: t, c: run.Case, golden: golden}
	host := x.host(run.Case.Founder, golden.Init)
	ca := pkitest.NewCA(t, "Example", "ECDSA", time.Now())
	const pki = "/etc/kubernetes/pki"
	for _, base := range []string{"/ca", "/front-proxy-ca", "/etcd/ca"} {
		host.Files[pki+base+".crt"] = state.FileReport{Exists: true, Content: ca.Certificate}
	}
	host.Files[pki+"/front-proxy-ca.key"] = state.FileReport{Exists: true}
	delete(host.Files, pki+"/ca.key")
	found, err := adopt.Read(adopt.Seen{Label: "prod", Objects: x.objects(), Hosts: []adopt.Host{host}})
	if err != nil {
		t.Fatal(err)
	}
	if !found.ExternalCA || !slices.Equal(found.Keyless, []string{"Example", "Example"}) {
		t.Errorf("external CA: %v, without keys: %v", found.ExternalCA, found.Keyless)
	}
	given := x.reload(found.Config).Clusters[0].Certificates
	if given.CA.Certificate != string(ca.Certificate) || given.EtcdCA.Certificate != string(ca.Certificate) || !given.FrontProxyCA.IsZero() || given.Supplied != adopt.Supplied {
		t.Errorf("after a reload, the certificates are %+v", given)
	}
	host.Files[pki+"/ca.crt"] = state.FileReport{Exists: true, Content: []byte("x")}
	if _, err := adopt.Read(adopt.Seen{Label: "prod", Objects: x.objects(), Hosts: []adopt.Host{host}}); err == nil || !strings.Contains(err.Error(), pki+"/ca.crt on "+host.Name) {
		t.Errorf("got %v", err)
	}
}
