package pipeline_test

import (
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
)

// TestRotationReloadsDefaultPathGivenAsFlag checks that a flag with the path of its default does not count as
// another file: its component loads the new CA like all others.
func TestRotationReloadsDefaultPathGivenAsFlag(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	c := o.config.Clusters[0]
	c.Etcd.Args = []config.Arg{{Name: "trusted-ca-file", Value: pkiDir + "etcd/ca.crt"}, {Name: "peer-trusted-ca-file", Value: pkiDir + "etcd/ca.crt"}}
	c.APIServer.Args = []config.Arg{{Name: "etcd-cafile", Value: pkiDir + "etcd/ca.crt"}}
	o.must(o.apply())
	o.rotate = []topology.Rotation{rotationOf(t, "etcd-ca")}
	o.world.OnEffect = func(e sim.Effect) error {
		if e.Done {
			for _, d := range o.world.Distrust() {
				t.Errorf("%v: %s", e, d)
			}
		}
		return nil
	}
	o.must(o.apply())
}

// TestRotationContinuesWithChangedFlags checks that a rotation that has begun continues even if flags have
// changed.
func TestRotationContinuesWithChangedFlags(t *testing.T) {
	t.Parallel()
	o := rotating(t, founded(t, 2, 0), "front-proxy-ca", "reissue", "certs")
	argued(apiServer, "api_server", "requestheader-client-ca-file", "/etc/mine.crt")(o, nil)
	if _, diags := o.planOf(o.observe(), planner.Options{}); diags.HasErrors() {
		t.Error(diags)
	}
}
