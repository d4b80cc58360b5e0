package phases_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/kubeadm/kubeadmtest"
	"github.com/kubewright/kubewright/providers"
	keys "github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
)

// TestIssuedCertificates issues what the plan of a founding asks for and wants
// each certificate, whole, to be the one that real kubeadm issued: all but its
// key, its serial number and its moments.
func TestIssuedCertificates(t *testing.T) {
	t.Parallel()
	goldens := kubeadmtest.NewGoldens(filepath.Join("kubeadm", "testdata", "oracle"))
	issued := map[string]bool{}
	for _, run := range kubeadmtest.Runs() {
		name := run.Case.Name
		if everyVersion, ok := issuedCases[name]; !ok || !everyVersion && run.Version != "1.36.3" {
			continue
		}
		golden, err := goldens.Read(run.Version, name)
		if err != nil {
			t.Fatal(err)
		}
		issued[name] = true
		t.Run(run.Version+"/"+name, func(t *testing.T) {
			t.Parallel()
			wantIssued(t, issueFounding(t, run.Case), golden.Init)
		})
	}
	for name := range issuedCases {
		if !issued[name] {
			t.Errorf("there is no configuration %q any more", name)
		}
	}
}

// issuedCases are the configurations that say something of certificates, and
// whether they are asked of every version: who may do what by a client's
// certificate depends on it.
var issuedCases = map[string]bool{
	"default": true, "everything-control-plane": true,
	"rsa-2048": false, "ecdsa-p384": false, "validity": false, "certificates-dir": false,
	"cert-sans": false, "etcd-sans": false, "ipv6": false, "host-name-upper": false, "external-etcd": false,
}

// issueFounding plans the case on a blank host and has the issuer do what that
// says of keys. It returns the host's files.
func issueFounding(t *testing.T, c kubeadmtest.Case) map[string][]byte {
	t.Helper()
	cfg := &config.Config{Clusters: []*config.Cluster{c.Cluster}, Nodes: []*config.Node{c.Founder.Node}}
	v := blankHosts(cfg)
	facts := &v.Reports[c.Founder.Node.Target].Facts
	facts.Hostname, facts.KubeletVersion = c.Founder.Facts.Hostname, c.Cluster.KubernetesVersion
	var requests []providers.KeyRequest
	for _, s := range plan(t, v).Steps {
		for _, op := range s.Operations {
			switch op.(type) {
			case planner.IssueCA, planner.IssueKeyPair, planner.IssueCertificate, planner.WriteKubeconfig:
				requests = append(requests, providers.KeyRequest{Operation: op})
			}
		}
	}
	host := &safe{files: map[string][]byte{}}
	if _, err := keys.New(keys.Options{}).IssueAll(t.Context(), host, requests, providers.Batch{Token: 1}); err != nil {
		t.Fatal(err)
	}
	return host.files
}

// wantIssued compares certificates and those in kubeconfigs, file by file.
func wantIssued(t *testing.T, files map[string][]byte, golden *kubeadmtest.HostFiles) {
	t.Helper()
	same := func(path string, got, want any, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: issued\n  %+v\nkubeadm's\n  %+v\n%v", path, got, want, err)
		}
	}
	for path, want := range golden.Certificates {
		got, err := kubeadmtest.ParseCertificate(files[path])
		same(path, got, want, err)
	}
	for path, want := range golden.Kubeconfigs {
		got, err := kubeadmtest.ParseKubeconfig(files[path])
		if err != nil || got.CA == nil || got.Client == nil {
			t.Errorf("%s: %+v, %v", path, got, err)
			continue
		}
		same(path+": CA", *got.CA, *want.CA, nil)
		same(path+": client", *got.Client, *want.Client, nil)
	}
	for path := range files {
		if _, ok := golden.Certificates[path]; !ok && strings.HasSuffix(path, ".crt") {
			t.Errorf("%s: kubeadm has no such certificate", path)
		}
	}
}

// safe is a host that keeps files in memory and does nothing else.
type safe struct {
	providers.Host
	files map[string][]byte
}

func (s *safe) Perform(_ context.Context, batch providers.Batch) ([]providers.Outcome, error) {
	out := make([]providers.Outcome, 0, len(batch.Operations))
	for _, op := range batch.Operations {
		w, ok := op.(planner.WriteFile)
		if !ok {
			return out, errors.New("unexpected operation " + op.Op())
		}
		s.files[w.Path] = batch.Contents[w.Content.Ref].Reveal()
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
