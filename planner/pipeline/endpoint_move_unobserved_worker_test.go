package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
)

// TestEndpointMoveKeepsOldNameForUnobservedWorker checks that the API servers' certificates keep the old name of an
// endpoint that moves while a worker is away, until the worker was observed to use the new one, even if
// it was removed from the configuration.
func TestEndpointMoveKeepsOldNameForUnobservedWorker(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]bool{"stays in the configuration": false, "is taken out of it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 2, 2)
			old, _, _ := strings.Cut(o.config.Clusters[0].ControlPlaneEndpoint, ":")
			o.config.Clusters[0].ControlPlaneEndpoint = "moved.example.com:6443"
			o.allowUnreachable = true
			away := o.config.Nodes[3]
			o.edit(away.Address, "condition unreachable on")
			known := func(want bool) {
				t.Helper()
				for _, n := range o.config.NodesOf("prod", config.ControlPlane) {
					f := o.observe().Reports[n.Target].Files["/etc/kubernetes/pki/apiserver.crt"]
					if slices.Contains(f.Certificates[0].DNSNames, old) != want {
						t.Errorf("%s has the names %v, want %s among them: %v", n.Target, f.Certificates[0].DNSNames, old, want)
					}
				}
			}
			o.must(o.apply())
			known(true)
			o.wantNothing()
			_, diags := o.planOf(o.observe(), planner.Options{})
			show(t, diags...)
			if !slices.ContainsFunc(diags, func(d *diag.Diagnostic) bool {
				return d.Summary == "Old endpoint is still in use" && strings.Contains(d.Detail, away.Target.String()) && strings.Contains(d.Detail, old)
			}) {
				t.Errorf("no warning about the name that stays: %v", diags)
			}
			if gone {
				o.config.Nodes = slices.DeleteFunc(slices.Clone(o.config.Nodes), func(n *config.Node) bool { return n == away })
				o.must(o.apply())
				known(true)
			}
			o.edit(away.Address, "condition unreachable off")
			o.must(o.apply())
			o.wantNothing()
			known(false)
		})
	}
}
