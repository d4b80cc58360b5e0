package kubeadm_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/kubeadm/kubeadmtest"
	"github.com/kubewright/kubewright/state"
)

const manifests = "testdata/oracle/1.36.3/default/init/etc/kubernetes/manifests/"

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func attributes(t *testing.T, manifest []byte) state.Value {
	t.Helper()
	v, err := kubeadm.StaticPodAttributes(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestStaticPodAttributes(t *testing.T) {
	t.Parallel()
	v := attributes(t, read(t, manifests+"kube-apiserver.yaml"))
	for path, want := range map[string]string{
		"image":                            "registry.k8s.io/kube-apiserver:v1.36.3",
		"command":                          "kube-apiserver",
		"args.secure-port":                 "6443",
		"args.requestheader-allowed-names": "front-proxy-client",
		"labels.tier":                      "control-plane",
		"mounts.k8s-certs.mountPath":       "/etc/kubernetes/pki",
		"volumes.k8s-certs.hostPath.type":  "DirectoryOrCreate",
		"probes.liveness.httpGet.path":     "/livez",
		"resources.requests.cpu":           "250m",
		"pod.metadata.name":                "kube-apiserver",
		"pod.spec.priorityClassName":       "system-node-critical",
		"pod.spec.container.name":          "kube-apiserver",
	} {
		if got := v.Get(path).AsString(); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
}

// TestStaticPodAttributesIgnoreFormatting checks that other formatting of a manifest gives equal attributes.
func TestStaticPodAttributesIgnoreFormatting(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		content := read(t, manifests+name+".yaml")
		want := attributes(t, content)
		compact, err := yaml.YAMLToJSON(content)
		if err != nil {
			t.Fatal(err)
		}
		for how, other := range map[string]string{
			"JSON":          string(compact),
			"comments":      "# edited\n" + strings.ReplaceAll(string(content), "\n", " # x\n"),
			"document mark": "---\n" + string(content),
			"no status":     strings.TrimSuffix(string(content), "status: {}\n"),
			"older encoder": strings.Replace(string(content), "metadata:\n", "metadata:\n  creationTimestamp: null\n", 1),
		} {
			if got := attributes(t, []byte(other)); !got.Equal(want) {
				t.Errorf("%s with %s differs", name, how)
			}
		}
	}
}

// TestStaticPodAttributesShowEveryEdit checks that changing, dropping or adding a value at any place of a manifest
// changes its attributes.
func TestStaticPodAttributesShowEveryEdit(t *testing.T) {
	t.Parallel()
	edits := 0
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		content := read(t, manifests+name+".yaml")
		want := attributes(t, content)
		for i := 0; ; i++ {
			var tree any
			if err := yaml.Unmarshal(content, &tree); err != nil {
				t.Fatal(err)
			}
			n, what := i, ""
			if tree = edit(tree, &n, &what, ""); what == "" {
				break
			}
			edits++
			changed, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			got, err := kubeadm.StaticPodAttributes(changed)
			if err == nil && got.Equal(want) {
				t.Errorf("%s: %s does not change the attributes", name, what)
			}
		}
	}
	t.Logf("%d edits show", edits)
}

// edit makes the n-th possible edit of a tree and describes it.
func edit(v any, n *int, what *string, path string) any {
	try := func(how string) bool {
		if *n == 0 && *what == "" {
			*what = how + " " + path
			return true
		}
		*n--
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			if path+"."+k != ".status" && try("dropping "+k+" of") {
				delete(v, k)
				return v
			}
			if v[k] = edit(v[k], n, what, path+"."+k); *what != "" {
				return v
			}
		}
		if try("adding to") {
			v["added"] = "x"
		}
		return v
	case []any:
		if len(v) > 1 && !strings.HasSuffix(path, "olumes") && !strings.HasSuffix(path, "Mounts") && try("turning round") {
			v[0], v[1] = v[1], v[0]
			return v
		}
		if try("repeating in") {
			return append(v, v[0])
		}
		for i := range v {
			if try("dropping an element of") {
				return slices.Delete(v, i, i+1)
			}
			if v[i] = edit(v[i], n, what, fmt.Sprint(path, "[", i, "]")); *what != "" {
				return v
			}
		}
		return v
	}
	if try("changing") {
		return fmt.Sprint(v, "x")
	}
	if _, text := v.(string); !text && try("quoting") {
		return fmt.Sprint(v)
	}
	return v
}

func TestStaticPodAttributesOfOddManifests(t *testing.T) {
	t.Parallel()
	const none = "the manifest has no containers"
	for text, want := range map[string]string{"": "", "[]": "", "a: [": "", "kind: Pod": none, "kind: Pod\nspec: {}": none, "kind: Pod\nspec: {containers: []}": none, "spec: 1": ""} {
		if v, err := kubeadm.StaticPodAttributes([]byte(text)); err == nil || want != "" && err.Error() != want {
			t.Errorf("%q gives %v and %v, want %s", text, v, err, want)
		}
	}
	v := attributes(t, []byte(`{kind: Pod, spec: {containers: [{name: x, command: [run, --a, b, --c=d=e, "--=f", "", -g=h]}]}}`))
	want := []state.Arg{{Name: `"--a"`}, {Name: `"b"`}, {Name: "c", Value: "d=e"}, {Name: `"--=f"`}, {Name: `""`}, {Name: `"-g=h"`}}
	if got := v.Get("args").AsArgs(); !slices.Equal(got, want) {
		t.Errorf("args are %q, want %q", got, want)
	}
}

func TestKubeletFlagsAttributes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                            `{"args":{"$args":[]}}`,
		"KUBELET_KUBEADM_ARGS=\"\"\n": `{"args":{"$args":[]}}`,
		"KUBELET_KUBEADM_ARGS=\"--a=1 --b=\\\"x\\\"\"\n": `{"args":{"$args":[["a","1"],["b","\"x\""]]}}`,
		"# c\nKUBELET_KUBEADM_ARGS='--a=1  --a=2'":       `{"args":{"$args":[["a","1"],["a","2"]]}}`,
		"KUBELET_KUBEADM_ARGS=--a=1\nOTHER=x\n":          `{"args":{"$args":[["a","1"]]},"other":["OTHER=x"]}`,
		"KUBELET_KUBEADM_ARGS=\"--v 4\"\n":               `{"args":{"$args":[["\"--v\"",""],["\"4\"",""]]}}`,
	} {
		v, err := kubeadm.KubeletFlagsAttributes([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, _ := json.Marshal(v); string(got) != want {
			t.Errorf("%q gives %s, want %s", text, got, want)
		}
	}
	if _, err := kubeadm.KubeletFlagsAttributes([]byte(`KUBELET_KUBEADM_ARGS="--a`)); err == nil || err.Error() != "cannot read the value of KUBELET_KUBEADM_ARGS: the quotes do not match" {
		t.Errorf("quotes that do not match are %v", err)
	}
}

func FuzzStaticPodAttributes(f *testing.F) {
	files, _ := filepath.Glob(manifests + "*.yaml")
	for _, path := range files {
		content, _ := os.ReadFile(path)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if v, err := kubeadm.StaticPodAttributes(content); err == nil && v.Kind() != state.KindMap {
			t.Errorf("attributes are not a map: %v", v)
		}
		kubeadm.StaticPodHash(content, "/x", "n", "1.36.3")
		_, _ = kubeadm.KubeletFlagsAttributes(content)
	})
}

// TestClusterConfigurationPathsAreShortened checks that a trailing slash of a folder, which kubeadm accepts, is
// removed.
func TestClusterConfigurationPathsAreShortened(t *testing.T) {
	t.Parallel()
	c, err := kubeadm.ReadClusterConfiguration("prod", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.3\n"+
		"certificatesDir: /srv/pki/\netcd: {local: {dataDir: /srv//etcd/}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Certificates.Dir + " " + c.Etcd.DataDir; got != "/srv/pki /srv/etcd" {
		t.Errorf("the folders are %s", got)
	}
	if got := kubeadm.ShortestPath("") + kubeadm.ShortestPath("a/"); got != "a/" {
		t.Errorf("a relative path is read as %q", got)
	}
}

// TestUnknownFieldsAreIgnored checks that unknown fields are ignored, like in kubeadm, even if only
// the case differs.
func TestUnknownFieldsAreIgnored(t *testing.T) {
	t.Parallel()
	c, err := kubeadm.ReadClusterConfiguration("prod", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.3\n"+
		"apiServer: {timeoutForControlPlane: 4m0s, certSANs: [a]}\ncontrolplaneendpoint: b\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.ControlPlaneEndpoint + strings.Join(c.APIServer.CertSANs, ","); got != "a" {
		t.Errorf("got %q, want a", got)
	}
}

// FuzzReadClusterConfiguration checks that no stored ClusterConfiguration panics, and that what was
// read can be rendered.
func FuzzReadClusterConfiguration(f *testing.F) {
	for _, text := range []string{
		"apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.3\nnetworking: {podSubnet: 10.244.0.0/16}\n",
		"apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\napiServer: {extraArgs: {a: b}, extraVolumes: [{}], certSANs: [x]}\netcd: {local: null}\n",
		"apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\netcd: {external: {endpoints: [a]}}\ncertificateValidityPeriod: 1h\n",
		"kind: ClusterConfiguration\n---\n[]\n", "", "- a", "a: &a [*a]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := kubeadm.ReadClusterConfiguration("prod", text); err == nil && c == nil {
			t.Error("neither a cluster nor an error")
		}
		_, _ = kubeadm.YAMLAttributes([]byte(text))
	})
}

// TestStaticPodHashMatchesKubelet compares with the hashes by the kubelet of each version for the same files:
// cmd/lab/oracle/podtypes prints testdata/hashes.
func TestStaticPodHashMatchesKubelet(t *testing.T) {
	t.Parallel()
	same, all := 0, 0
	goldens := kubeadmtest.NewGoldens(filepath.Join("testdata", "oracle"))
	for _, version := range []string{"1.34.9", "1.35.8", "1.36.3", "1.37.1"} {
		for line := range strings.Lines(string(read(t, "testdata/hashes/"+version))) {
			want, path, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.Contains(path, "environment/init/etc/kubernetes/manifests/kube-controller-manager.yaml") {
				continue // refers to a ConfigMap, which a kubelet refuses in a static pod
			}
			golden := strings.SplitN(path, "/", 3)
			files, err := goldens.Texts(golden[0], golden[1])
			if err != nil {
				t.Fatal(err)
			}
			content, ok := files[golden[2]]
			if !ok {
				t.Fatalf("no golden has %s", path)
			}
			got := kubeadm.StaticPodHash([]byte(content), "/etc/kubernetes/manifests/"+filepath.Base(path), "cp1", version)
			if all++; got == want {
				same++
			} else {
				t.Errorf("%s by kubelet %s: %q, want %q", path, version, got, want)
			}
		}
	}
	t.Logf("%d of %d hashes equal", same, all)
}

func TestStaticPodHashIsUnknownForUnknownFields(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "kind: Pod", "kind: Pod\nspec: {containers: [{name: x, unknown: 1}]}",
		"kind: Pod\nspec: {volumes: [{name: x, nfs: {path: /x}}]}", "kind: Pod\nspec: {affinity: {}, containers: []}",
		"kind: Pod\nmetadata: {creationTimestamp: 2020-01-01T00:00:00Z}\nspec: {}", "kind: Pod\nspec: {containers: [{stdin: yes please}]}",
	} {
		if got := kubeadm.StaticPodHash([]byte(text), "/x", "n", "1.36.3"); got != "" {
			t.Errorf("%q has hash %s", text, got)
		}
	}
	if got := kubeadm.StaticPodHash(read(t, manifests+"etcd.yaml"), "/x", "n", "1.38.0"); got != "" {
		t.Errorf("an unknown kubelet version hashes to %s", got)
	}
	if got := kubeadm.StaticPodHash([]byte("kind: Pod\nmetadata: {uid: own}"), "/x", "n", "1.36.3"); got != "own" {
		t.Errorf("a pod with a UID of its own hashes to %s", got)
	}
}
