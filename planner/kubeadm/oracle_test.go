package kubeadm_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/kubeadm/kubeadmtest"
	"github.com/kubewright/kubewright/state"
)

// TestOracle compares the rendered files with what real kubeadm wrote for the same configuration;
// cmd/lab/oracle makes the goldens.
func TestOracle(t *testing.T) {
	var total tally
	goldens := kubeadmtest.NewGoldens(filepath.Join("testdata", "oracle"))
	for _, r := range kubeadmtest.Runs() {
		name := r.Version + "/" + r.Case.Name
		golden, err := goldens.Read(r.Version, r.Case.Name)
		if errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: no golden. As root on Linux: go run ./cmd/lab build --only kubeadm --kubernetes v%s; CGO_ENABLED=0 go build -o /tmp/oracle ./cmd/lab/oracle; /tmp/oracle -version %[2]s -case %[3]s", name, r.Version, r.Case.Name)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			x := comparison{t: t, c: r.Case, golden: golden}
			x.run()
			total.add(x.tally)
		})
	}
	t.Logf("rendered here and by kubeadm: %d of %d equal (%d of %d texts byte for byte), of %d configurations", total.equal, total.all, total.bytes, total.texts, total.runs)
	for _, row := range notCompared {
		t.Logf("not compared: %s: %s", row.what, row.why)
	}
	if total.runs == len(kubeadmtest.Runs()) { // and not some of them, by -run
		total.wantInDocs(t)
	}
}

// wantInDocs checks that the page of supported features has the current figures.
func (s *tally) wantInDocs(t *testing.T) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "status.md"))
	if err != nil {
		t.Fatal(err)
	}
	cases := len(kubeadmtest.Cases())
	for _, want := range []string{
		fmt.Sprintf("%d of %d certificates, kubeconfigs, manifests, kubelet files and objects equal", s.equal, s.all),
		fmt.Sprintf("writes over %d configurations", cases), fmt.Sprintf("wrote for %d configurations", cases),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/status.md does not contain %q", want)
		}
	}
}

// notCompared is everything in kubeadm's output without a counterpart here.
var notCompared = []struct{ what, why string }{
	{"keys, serial numbers and moments of certificates", "random, or of the time of the run; lifetimes are compared"},
	{"sa.key, sa.pub", "random; that they are made is compared"},
	{"signature algorithm, version, key identifiers, path length and basic constraints of certificates", "set by the issuer: TestFilesOfHosts in planner/phases compares whole ones"},
	{"CAs in kubeconfigs, modes of files and folders", "set by the writer: the same test compares them"},
	{"Secrets bootstrap-token-*, kubeadm-certs", "random, or of the time of the run, but for a token that is given; made by operations of their own"},
	{"resourceVersion of the Service kube-dns", "kubeadm's way to overwrite an object without reading it; here objects are applied"},
	{"etcd.yaml of a joining control plane", "kubeadm writes it only against a running etcd; its two arguments that differ have a test"},
	{"the resolver of a joining host that has none while the founder has one (until 1.36)", "kubeadm hands the founder's on by accident (fixed in 1.37)"},
	{"images where skipPhases names an addon", "kubeadm config images list ignores skipPhases, unlike init"},
	{"feature gate RootlessControlPlane", "not supported"},
}

type tally struct{ equal, all, texts, bytes, runs int }

func (s *tally) add(o tally) {
	s.equal, s.all, s.texts, s.bytes, s.runs = s.equal+o.equal, s.all+o.all, s.texts+o.texts, s.bytes+o.bytes, s.runs+1
}

// comparison is one golden being compared.
type comparison struct {
	tally
	t      *testing.T
	c      kubeadmtest.Case
	golden *kubeadmtest.Golden
}

func (x *comparison) input(h kubeadmtest.Host) kubeadm.Input {
	return kubeadm.Input{Cluster: x.c.Cluster, Node: h.Node, NodeName: h.Name(), Facts: &h.Facts, ExternalCA: x.c.ExternalCA, SharedAddress: x.c.Founder.Node.AdvertiseAddress()}
}

// same counts one comparison.
func (x *comparison) same(what string, got, want any) {
	x.t.Helper()
	x.all++
	if reflect.DeepEqual(got, want) { // then their JSON is
		x.equal++
		return
	}
	g, w := normal(got), normal(want)
	if g == w {
		x.equal++
		return
	}
	x.t.Errorf("%s differs:\n%s", what, diffLines(g, w))
}

// diffLines lists the lines that only one side has.
func diffLines(got, want string) string {
	count := map[string]int{}
	for l := range strings.Lines(got) {
		count[l]++
	}
	for l := range strings.Lines(want) {
		count[l]--
	}
	var out strings.Builder
	for _, l := range slices.Sorted(maps.Keys(count)) {
		switch {
		case count[l] > 0:
			fmt.Fprintf(&out, "  only got:  %s", l)
		case count[l] < 0:
			fmt.Fprintf(&out, "  only want: %s", l)
		}
	}
	return out.String()
}

// normal returns the one JSON text of a value, with sorted keys.
func normal(v any) string {
	content, err := json.MarshalIndent(plain(v), "", "  ")
	if err != nil {
		panic(err)
	}
	return string(content)
}

// plain returns a value after a round trip through JSON.
func plain(v any) any {
	content, err := json.Marshal(v)
	var out any
	if err == nil {
		err = json.Unmarshal(content, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func (x *comparison) run() {
	founder := x.input(x.c.Founder)
	if len(x.c.Cluster.SkipPhases) == 0 {
		x.same("images", kubeadm.Images(founder), x.golden.Images)
	}
	x.host(founder, x.golden.Init, true)
	x.objects(kubeadm.Objects(founder))
	x.marks(founder)
	if x.c.Joiner != nil {
		joiner := x.input(*x.c.Joiner)
		x.host(joiner, x.golden.Join, false)
	}
}

// host compares all files of a host; a file that only one side has is a difference.
func (x *comparison) host(in kubeadm.Input, files *kubeadmtest.HostFiles, founder bool) {
	plane := in.Node.Role == config.ControlPlane
	var specs []kubeadm.Certificate
	if plane {
		specs = append(kubeadm.CAs(in), kubeadm.Leaves(in)...)
	} else {
		specs = kubeadm.CAs(in)[:1]
	}
	certificates := map[string]any{}
	for _, s := range specs {
		certificates[s.Base+".crt"] = comparableCertificate(s)
	}
	want := map[string]any{}
	for path, c := range files.Certificates {
		want[path] = comparableGolden(c)
	}
	x.each("certificate", certificates, want)
	x.kubeconfigs(in, files, founder)
	x.texts(in, files, founder)
	if keys := kubeadm.ServiceAccountKeys(in); plane {
		x.same("service account keys", keys.Base+".key "+keys.Base+".pub", strings.Join(serviceAccountFiles(files.Modes), " "))
	}
}

func serviceAccountFiles(modes map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(modes)), func(p string) bool {
		return filepath.Base(p) != "sa.key" && filepath.Base(p) != "sa.pub"
	})
}

// each compares two maps entry by entry.
func (x *comparison) each(kind string, got, want map[string]any) {
	x.t.Helper()
	keys := slices.Compact(slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(got)), slices.Collect(maps.Keys(want))...))))
	for _, k := range keys {
		x.same(kind+" "+k, got[k], want[k])
	}
}

// backdated is how long before its creation a certificate becomes valid.
const backdated = 5 * time.Minute

func comparableCertificate(c kubeadm.Certificate) any {
	return kubeadmtest.Certificate{
		CommonName: c.CommonName, Organizations: c.Organizations, DNSNames: c.DNSNames, IPAddresses: c.IPAddresses,
		Usages: c.Usages, Issuer: c.CAName, Algorithm: c.Algorithm, Lifetime: (c.Validity + backdated).String(), IsCA: c.IsCA(),
	}
}

// comparableGolden reduces a golden to the fields of a specification.
func comparableGolden(c kubeadmtest.Certificate) any {
	return kubeadmtest.Certificate{
		CommonName: c.CommonName, Organizations: c.Organizations, DNSNames: c.DNSNames, IPAddresses: c.IPAddresses,
		Usages: c.Usages, Issuer: c.Issuer, Algorithm: c.Algorithm, Lifetime: c.Lifetime, IsCA: c.IsCA,
	}
}

func (x *comparison) kubeconfigs(in kubeadm.Input, files *kubeadmtest.HostFiles, founder bool) {
	got := map[string]any{}
	if in.Node.Role == config.ControlPlane {
		for _, k := range kubeadm.Kubeconfigs(in, founder) {
			client := &kubeadmtest.Certificate{
				CommonName: k.CommonName, Organizations: k.Organizations, Issuer: "kubernetes", Algorithm: kubeadm.ServiceAccountKeys(in).Algorithm,
				Usages: []string{"digital signature", "key encipherment", "client auth"}, Lifetime: (in.Cluster.Certificates.Validity + backdated).String(),
			}
			got[k.Path] = kubeadmtest.Kubeconfig{
				Server: k.Server, Cluster: k.Cluster, User: k.User, Context: k.Context, Current: k.Context, Namespace: k.Namespace, Client: client, HasKey: true,
			}
		}
	}
	if !founder {
		k := kubeadm.BootstrapKubeconfig(in)
		got[k.Path] = kubeadmtest.Kubeconfig{Server: k.Server, Cluster: k.Cluster, User: k.User, Context: k.Context, Current: k.Context, HasToken: true}
	}
	want := map[string]any{}
	for path, k := range files.Kubeconfigs {
		k.CA = nil
		if k.Client != nil {
			c := comparableGolden(*k.Client).(kubeadmtest.Certificate)
			k.Client = &c
		}
		want[path] = k
	}
	x.each("kubeconfig", got, want)
}

// texts compares manifests and the kubelet's files in parsed form.
func (x *comparison) texts(in kubeadm.Input, files *kubeadmtest.HostFiles, founder bool) {
	got := map[string][]byte{
		"/var/lib/kubelet/config.yaml":       x.must(kubeadm.KubeletConfig(in)),
		"/var/lib/kubelet/kubeadm-flags.env": kubeadm.KubeletFlags(in),
	}
	if instance := kubeadm.InstanceConfig(in); instance != nil {
		got["/var/lib/kubelet/instance-config.yaml"] = instance
	}
	const manifests = "/etc/kubernetes/manifests/"
	if in.Node.Role == config.ControlPlane {
		for _, c := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
			got[manifests+c+".yaml"] = x.must(kubeadm.StaticPod(in, c))
		}
		if founder && in.Cluster.Etcd.External == nil {
			got[manifests+"etcd.yaml"] = x.must(kubeadm.EtcdPod(in, "", false))
		}
	}
	gotTrees, wantTrees := map[string]any{}, map[string]any{}
	for path, text := range got {
		x.tally.texts++
		if string(text) == files.Texts[path] {
			x.tally.bytes++
			gotTrees[path], wantTrees[path] = "same bytes", "same bytes"
			continue
		}
		gotTrees[path] = x.parse(path, text)
	}
	for path, text := range files.Texts {
		if wantTrees[path] == nil {
			wantTrees[path] = x.parse(path, []byte(text))
		}
	}
	x.each("file", gotTrees, wantTrees)
}

func (x *comparison) must(content []byte, err error) []byte {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
	return content
}

func (x *comparison) parse(path string, content []byte) any {
	x.t.Helper()
	parse := kubeadm.YAMLAttributes
	switch {
	case strings.HasSuffix(path, ".env"):
		parse = kubeadm.KubeletFlagsAttributes
	case strings.Contains(path, "/manifests/"):
		parse = kubeadm.StaticPodAttributes
	}
	v, err := parse(content)
	if err != nil {
		x.t.Fatalf("%s: %v", path, err)
	}
	return v
}

// objects compares the created API objects, in order. Documents in ConfigMaps are compared as trees
// if their bytes differ.
func (x *comparison) objects(objects []kubeadm.Object) {
	got, want := map[string]any{}, map[string]any{}
	var gotOrder, wantOrder []string
	for _, o := range objects {
		tree, _ := plain(o.Object).(map[string]any)
		key := refOf(tree).String()
		if key != o.Ref.String() {
			x.t.Errorf("object %s has the reference %s", key, o.Ref)
		}
		gotOrder, got[key] = append(gotOrder, key), kubeadmtest.Plain(tree)
	}
	for _, o := range x.golden.Objects {
		key := refOf(o).String()
		o = maps.Clone(o)
		metadata := maps.Clone(o["metadata"].(map[string]any))
		delete(metadata, "resourceVersion")
		o["metadata"] = metadata
		wantOrder, want[key] = append(wantOrder, key), o
	}
	x.same("order of objects", gotOrder, wantOrder)
	for key := range got {
		if want[key] != nil && !reflect.DeepEqual(got[key], want[key]) && normal(got[key]) != normal(want[key]) {
			got[key], want[key] = documents(got[key].(map[string]any)), documents(want[key].(map[string]any))
		}
	}
	x.each("object", got, want)
}

func refOf(o map[string]any) state.ObjectRef {
	metadata := o["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	return state.ObjectRef{APIVersion: o["apiVersion"].(string), Kind: o["kind"].(string), Namespace: namespace, Name: metadata["name"].(string)}
}

// documents parses the content of a ConfigMap as YAML.
func documents(o map[string]any) map[string]any {
	data, _ := o["data"].(map[string]any)
	parsed := maps.Clone(data)
	for k, text := range data {
		var tree map[string]any
		if s, ok := text.(string); ok && yaml.Unmarshal([]byte(s), &tree) == nil && len(tree) > 0 {
			parsed[k] = tree
		}
	}
	if parsed != nil {
		o = maps.Clone(o)
		o["data"] = parsed
	}
	return o
}

func (x *comparison) marks(in kubeadm.Input) {
	marks := kubeadm.NodeMarks(in)
	patch := map[string]any{"metadata": map[string]any{"labels": marks.Labels}}
	if len(marks.Taints) > 0 {
		taints := slices.SortedFunc(slices.Values(marks.Taints), func(a, b state.Taint) int { return cmp.Compare(a.Key, b.Key) })
		patch["spec"] = map[string]any{"taints": taints}
	}
	x.same("marks of the node", patch, x.golden.Patches["/api/v1/nodes/"+in.NodeName])
}

// TestOracleComparisonReportsDifferences checks that the comparison of goldens reports a text, a mode and an
// object that differ.
func TestOracleComparisonReportsDifferences(t *testing.T) {
	t.Parallel()
	goldens := kubeadmtest.NewGoldens(filepath.Join("testdata", "oracle"))
	for _, name := range []string{"default", "dual-stack"} {
		golden, err := goldens.Read("1.35.8", name)
		if err != nil {
			t.Fatal(err)
		}
		files, differing, err := goldens.Compare("1.35.8", name, golden)
		if err != nil || files == 0 || len(differing) > 0 {
			t.Errorf("%s: of %d files as they are kept %v differ, %v", name, files, differing, err)
		}
		golden.Init.Texts["/var/lib/kubelet/config.yaml"] += "# more\n"
		golden.Init.Modes["/etc/kubernetes/admin.conf"] = "0644"
		golden.Objects = golden.Objects[1:]
		_, differing, err = goldens.Compare("1.35.8", name, golden)
		want := []string{"init/modes", "init/var/lib/kubelet/config.yaml", "objects/ClusterRoleBinding-kubeadm.cluster-admins.yaml", "order"}
		if err != nil || !slices.Equal(differing, want) {
			t.Errorf("%s: %v differ, want %v; %v", name, differing, want, err)
		}
	}
}
