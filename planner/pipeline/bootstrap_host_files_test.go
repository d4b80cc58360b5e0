package pipeline_test

import (
	"bytes"
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm/kubeadmtest"
	"github.com/kubewright/kubewright/providers"
	keys "github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
)

// TestBootstrapFilesMatchKubeadm carries out the operations on files of the plan that bootstraps each configuration,
// and checks that each complete certificate equals the one that real kubeadm issued: except for its
// key, its serial number and its times. A kubeconfig trusts the CA beside it, and files and folders
// have kubeadm's modes.
func TestBootstrapFilesMatchKubeadm(t *testing.T) {
	t.Parallel()
	goldens := kubeadmtest.NewGoldens(filepath.Join("..", "kubeadm", "testdata", "oracle"))
	for _, run := range kubeadmtest.Runs() {
		if !long() && run.Version != "1.36.3" && !slices.Contains(ofEveryVersion, run.Case.Name) {
			continue
		}
		if run.Case.Name == "etcd-image-3.5" && run.Version >= "1.36" {
			continue // in givenOtherwise
		}
		golden, err := goldens.Read(run.Version, run.Case.Name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(run.Version+"/"+run.Case.Name, func(t *testing.T) {
			t.Parallel()
			f := found(t, run.Case, golden.Images)
			ca := run.Case.Cluster.Certificates.Dir + "/ca.crt"
			wantFiles(t, f.hosts[run.Case.Founder.Node.Target], golden.Init, ca)
			if run.Case.Joiner != nil {
				wantFiles(t, f.hosts[run.Case.Joiner.Node.Target], golden.Join, ca)
			}
		})
	}
	for _, row := range givenOtherwise {
		t.Logf("not compared: %s: %s", row.what, row.why)
	}
}

// ofEveryVersion lists the configurations that are compared for every version, even if the others are
// not: the rights of client certificates depend on the version.
var ofEveryVersion = []string{"default", "second-control-plane", "everything-control-plane", "everything-worker"}

// givenOtherwise lists the intended differences between the files of a plan and those of kubeadm.
var givenOtherwise = []struct{ what, why string }{
	{"server and context of bootstrap-kubelet.conf", "it is there until the kubelet has its certificate; a control plane's kubelet asks the founder's API, since its own comes up only after the kubelet"},
	{"etcd 3.5 from Kubernetes 1.36 on", "kubeadm gives it arguments that it does not know, and a plan refuses that"},
}

// founding is a cluster whose hosts only keep files in memory.
type founding struct {
	t      *testing.T
	issuer *keys.Issuer
	hosts  map[state.Target]*safe
}

// found plans the case on hosts that have only the images, and carries out the operations on keys and
// files.
func found(t *testing.T, c kubeadmtest.Case, images []string) *founding {
	t.Helper()
	cfg := &config.Config{Clusters: []*config.Cluster{c.Cluster}, Nodes: []*config.Node{c.Founder.Node}}
	hosts := []kubeadmtest.Host{c.Founder}
	if c.Joiner != nil {
		cfg.Nodes, hosts = append(cfg.Nodes, c.Joiner.Node), append(hosts, *c.Joiner)
	}
	v := blankHosts(cfg)
	f := &founding{t: t, issuer: keys.New(keys.Options{NewKey: keyOf}), hosts: map[state.Target]*safe{}}
	for _, h := range hosts {
		report := v.Reports[h.Node.Target]
		report.Images = images
		facts := &report.Facts
		facts.Hostname, facts.KubeletVersion = h.Facts.Hostname, c.Cluster.KubernetesVersion
		if h.Node.CRISocket != "" {
			facts.CRISockets = []string{h.Node.CRISocket}
		}
		f.hosts[h.Node.Target] = &safe{files: map[string][]byte{}, modes: map[string]string{}}
	}
	for _, s := range plan(t, v).Steps {
		for _, op := range s.Operations {
			f.do(f.hosts[s.Target], op)
		}
	}
	return f
}

// do carries out an operation that writes files.
func (f *founding) do(on *safe, op planner.Operation) {
	f.t.Helper()
	r := providers.KeyRequest{Operation: op}
	switch op := op.(type) {
	case planner.EnsureDirectory:
		on.folder(op.Path, op.Mode)
		return
	case planner.WriteFile:
		on.modes[op.Path] = op.Mode
		return
	case planner.RenderEtcdManifest:
		on.modes[op.Path] = op.Mode
		return
	case planner.IssueCertificate:
		r.Source = f.signer(on, op.CA)
	case planner.CopySecrets:
		r.Source = f.hosts[op.From]
	case planner.WriteKubeconfig:
		r.Source, r.Token = f.signer(on, op.CA), state.NewSecret([]byte(kubeadmtest.Token))
	case planner.IssueCA, planner.IssueKeyPair:
	default:
		return
	}
	if _, err := f.issuer.IssueAll(f.t.Context(), on, []providers.KeyRequest{r}, providers.Batch{Token: 1}); err != nil {
		f.t.Fatal(err)
	}
}

// signer returns the host with the CA's key; the operation's own host where the signer names none.
func (f *founding) signer(on *safe, ca planner.Signer) providers.Host {
	if ca.On.IsZero() {
		return on
	}
	return f.hosts[ca.On]
}

// wantFiles compares certificates, kubeconfigs and modes. ca is the path of the CA's certificate.
func wantFiles(t *testing.T, host *safe, golden *kubeadmtest.HostFiles, ca string) {
	t.Helper()
	same := func(path string, got, want any, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: ours\n%s\nkubeadm's\n%s\n%v", path, shown(t, got), shown(t, want), err)
		}
	}
	for path, want := range golden.Certificates {
		got, err := kubeadmtest.ParseCertificate(host.files[path])
		same(path, got, want, err)
	}
	for path, want := range golden.Kubeconfigs {
		got, err := kubeadmtest.ParseKubeconfig(host.files[path])
		if want.HasToken {
			got.Server, got.Context, got.Current = want.Server, want.Context, want.Current
		}
		same(path, got, want, err)
		same(path+": CA", want.CA, new(golden.Certificates[ca]), nil)
		if !bytes.Contains(host.files[path], []byte(base64.StdEncoding.EncodeToString(host.files[ca]))) {
			t.Errorf("%s does not trust what is in %s", path, ca)
		}
	}
	for path := range host.files {
		if _, ok := golden.Certificates[path]; !ok && strings.HasSuffix(path, ".crt") {
			t.Errorf("%s: kubeadm does not issue this certificate", path)
		}
	}
	for path, want := range golden.Modes {
		same("mode of "+path, host.modes[path], want, nil)
	}
}

// shown returns a value with its pointers dereferenced, as text.
func shown(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "  ", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return "  " + string(text)
}

// keyOf generates keys; keys that take long are generated once.
func keyOf(algorithm string) (crypto.Signer, error) {
	if !strings.HasPrefix(algorithm, "RSA") {
		return keys.NewKey(algorithm)
	}
	once, _ := rsaKeys.LoadOrStore(algorithm, sync.OnceValues(func() (crypto.Signer, error) { return keys.NewKey(algorithm) }))
	return once.(func() (crypto.Signer, error))()
}

// rsaKeys caches keys by algorithm.
var rsaKeys sync.Map

// safe is a host that only keeps files in memory.
type safe struct {
	providers.Host
	files map[string][]byte
	// modes are those of files and folders.
	modes map[string]string
}

// folder creates a folder. Missing parents get the mode 0755, as on any host.
func (s *safe) folder(name, mode string) {
	s.modes[name] = mode
	for up := path.Dir(name); up != "/" && s.modes[up] == ""; up = path.Dir(up) {
		s.modes[up] = "0755"
	}
}

func (s *safe) Perform(_ context.Context, batch providers.Batch) ([]providers.Outcome, error) {
	out := make([]providers.Outcome, 0, len(batch.Operations))
	for _, op := range batch.Operations {
		w, ok := op.(planner.WriteFile)
		if !ok {
			return out, errors.New("unexpected operation " + op.Op())
		}
		s.files[w.Path], s.modes[w.Path] = batch.Contents[w.Content.Ref].Reveal(), w.Mode
		out = append(out, providers.Outcome{Changed: true})
	}
	return out, nil
}

func (s *safe) ReadSecrets(_ context.Context, paths []string) (map[string]state.Secret, error) {
	out := map[string]state.Secret{}
	for _, p := range paths {
		if b, ok := s.files[p]; ok {
			out[p] = state.NewSecret(b)
		}
	}
	return out, nil
}
