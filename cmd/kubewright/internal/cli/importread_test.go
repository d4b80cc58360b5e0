package cli

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
)

// TestImportThroughBastions: what the command line says of keys holds on the whole way.
func TestImportThroughBastions(t *testing.T) {
	t.Parallel()
	o := importOptions{keys: []string{"k"}, knownHosts: []string{"kh"}, bastions: []string{"jump@gate:2222", "inner"}, acceptNew: true}
	got, err := o.connection("ssh://root@cp1")
	if err != nil {
		t.Fatal(err)
	}
	hop := config.Connection{Type: "ssh", Agent: true, PrivateKeys: []string{"k"}, KnownHosts: []string{"kh"}, AcceptNewHostKey: true}
	gate, inner, want := hop, hop, hop
	gate.Host, gate.Port, gate.User, inner.Host = "gate", 2222, "jump", "inner"
	want.Host, want.User, want.Bastions = "cp1", "root", []config.Connection{gate, inner}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("it is reached by\n%+v, want\n%+v", got, want)
	}
}

// TestSilentAPI: what to do about an API server that could not be asked follows from why.
func TestSilentAPI(t *testing.T) {
	t.Parallel()
	d := discovery{first: config.Connection{Host: "cp1"}}
	for why, want := range map[string]string{
		"tls: failed to verify certificate: x509: certificate has expired or is not yet valid": "kubeadm certs renew all",
		"Unauthorized": "kubeadm certs renew all",
		"dial tcp 10.77.0.11:6443: connect: connection refused": "Start it (systemctl status kubelet",
	} {
		refused, _ := errors.AsType[*diagError](d.silent(errors.New(why)))
		got := refused.list[0].Detail
		if !strings.Contains(got, "The API server on cp1 did not answer, and a cluster is imported while it runs: "+why) || !strings.Contains(got, want) {
			t.Errorf("want %q in %s", want, got)
		}
	}
}
