package pipeline_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubewright/kubewright/state"
)

// TestAddressNotationMakesNoDifference checks that a control plane whose address is not in Go's notation can
// leave, be replaced and be forgotten like any other one, and that another notation of the same address
// changes nothing.
func TestAddressNotationMakesNoDifference(t *testing.T) {
	t.Parallel()
	cfg := cluster(4, 1)
	cfg.Clusters[0].Network.PodSubnet, cfg.Clusters[0].Network.ServiceSubnet = "fd00:10:244::/56", "fd00:10:96::/112"
	for i, n := range cfg.Nodes {
		n.Address = fmt.Sprintf("FD00:77::0:1%d", i+1)
		n.Name = n.Target.Key
	}
	o := newOperator(t, cfg)
	o.must(o.apply())
	o.wantNothing()

	// The state has the notation of an earlier release, the configuration another one.
	first := cfg.Nodes[0]
	o.recorded.Nodes[first.Target].Address = "FD00:77::0:11"
	first.Connection.Host, first.AdvertiseAddresses = first.Address, []string{"fd00:77:0::11"}
	o.wantNothing()

	replaced := state.NodeKeyTarget("cp", "cp2")
	o.recorded.Nodes[replaced].Address = "FD00:77::0:12"
	o.replace = []state.Target{replaced}
	o.must(o.apply())
	o.wantNothing()
	o.wantVoters(4)

	for _, key := range []string{"cp3", "cp4"} {
		o.recorded.Nodes[state.NodeKeyTarget("cp", key)].Address = "FD00:77::0:1" + key[2:]
	}
	o.leave("cp3")
	o.must(o.apply())
	o.wantVoters(3)

	gone := state.NodeKeyTarget("cp", "cp4")
	o.edit("FD00:77::0:14", "power off")
	o.world.Advance(time.Minute)
	o.leave("cp4")
	o.forget = []state.Target{gone}
	o.config.Clusters[0].Upgrade.AllowDowntime = true
	o.must(o.apply())
	o.wantNothing()
	o.wantVoters(2)
}
