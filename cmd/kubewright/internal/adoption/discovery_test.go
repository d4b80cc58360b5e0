package adoption

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config"
)

// TestUnreachableAPIRemedyDependsOnError checks that the remedy for an API server that could not be queried depends on
// the error.
func TestUnreachableAPIRemedyDependsOnError(t *testing.T) {
	t.Parallel()
	d := discovery{first: config.Connection{Host: "cp1"}}
	for why, want := range map[string]string{
		"tls: failed to verify certificate: x509: certificate has expired or is not yet valid": "kubeadm certs renew all",
		"Unauthorized": "kubeadm certs renew all",
		"dial tcp 10.77.0.11:6443: connect: connection refused": "Start it (systemctl status kubelet",
	} {
		refused, _ := errors.AsType[*console.FindingsError](d.silent(errors.New(why)))
		got := refused.List[0].Detail
		if !strings.Contains(got, "The API server on cp1 did not answer, and a cluster is imported while it runs: "+why) || !strings.Contains(got, want) {
			t.Errorf("want %q in %s", want, got)
		}
	}
}
