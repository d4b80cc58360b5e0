package pipeline_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state"
)

const apiManifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"

// TestAPIServerPortDriftIsCorrected checks that where the state does not record the port of API servers, a
// single one that was changed by hand does not count as the cluster's port: it is corrected.
func TestAPIServerPortDriftIsCorrected(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	o.know(func(c *state.RecordedCluster) {
		c.Fixed = maps.Clone(c.Fixed)
		delete(c.Fixed, "bind_port")
	})
	o.edit("10.0.0.11", "file "+apiManifest+" set-arg secure-port=7443")
	p, err := o.plan()
	o.must(err)
	if text := describe(p); !strings.Contains(text, `"7443" -> "6443"`) || strings.Contains(text, `cp["cp2"]`) {
		t.Errorf("want that only cp1's port is restored:\n%s", text)
	}
	for _, address := range []string{"10.0.0.12", "10.0.0.13"} {
		o.edit(address, "file "+apiManifest+" set-arg secure-port=7443")
	}
	if _, err := o.planShown(); err == nil || !strings.Contains(err.Error(), `created with bind_port = "7443", and the configuration has "6443"`) {
		t.Errorf("a cluster with another port everywhere gives %v", err)
	}
}
