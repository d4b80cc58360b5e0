package pipeline_test

import (
	"testing"
	"time"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// readdress gives a node of the configuration another address.
func (o *operator) readdress(i int, address string) state.Target {
	n := o.config.Nodes[i]
	n.Address, n.AdvertiseAddresses = address, []string{address}
	return n.Target
}

// TestNewHostRefusedWhileOldHostRuns checks that a node gets no other host while the old one, at the previous address,
// still runs as that node, even if the flags ask for it. Once the old host is silent the flags are
// enough.
func TestNewHostRefusedWhileOldHostRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		planes, node       int
		address, was, line string
	}{
		"worker":        {1, 1, "10.0.0.41", "10.0.0.21", "main.hcl:12"},
		"control plane": {3, 1, "10.0.0.42", "10.0.0.12", "main.hcl:12"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, c.planes, 1)
			places(o.config)
			n := o.readdress(c.node, c.address)
			want := finding{diag.Error, "Old host still runs the node", c.line, n.String(), []string{
				"the host that joined, at " + c.was + ", still runs that node", "neither drained nor reset", "out of the configuration and apply", "then add it back with the new address",
				"+replace=" + n.String() + " +new-host=" + n.String() + "⟩",
			}}
			wantFindings(t, o.diagnose(), want)
			o.replace, o.accept = []state.Target{n}, []state.Target{n}
			wantFindings(t, o.diagnose(), want)
			o.edit(c.was, "power off")
			o.world.Advance(time.Minute)
			_, err := o.planShown()
			o.must(err)
		})
	}
}

// TestNewHostOfAnotherNodeIsRefused checks that a node that is given the host of another node is refused with the
// other's name, whatever happens to that one and whatever the flags say: neither node may be removed
// from its host.
func TestNewHostOfAnotherNodeIsRefused(t *testing.T) {
	t.Parallel()
	const cp1, cp2, w1, w2 = `node.cp["cp1"]`, `node.cp["cp2"]`, `node.worker["w1"]`, `node.worker["w2"]`
	says := func(t *testing.T, node, address, was, other, at string) finding {
		t.Helper()
		return finding{diag.Error, "Host is another node", "main.hcl:" + map[string]string{cp1: "11", w1: "14", w2: "15"}[node], node, []string{
			node + " now has the address " + address + ", and the machine there is the host of " + other + ".",
			"The state records " + node + " at " + was + ", and " + other + " at " + at + ".",
			"apply without " + other + ", and with " + node + " at the address that the state records",
		}}
	}
	t.Run("a key written for another", func(t *testing.T) {
		t.Parallel()
		o := founded(t, 3, 2)
		places(o.config)
		n := o.readdress(0, "10.0.0.12")
		o.leave("cp2")
		want := says(t, cp1, "10.0.0.12", "10.0.0.11", cp2, "10.0.0.12")
		wantFindings(t, o.diagnose(), want)
		o.replace, o.accept = []state.Target{n}, []state.Target{n}
		wantFindings(t, o.diagnose(), want)
	})
	t.Run("addresses are exchanged", func(t *testing.T) {
		t.Parallel()
		o := founded(t, 3, 2)
		places(o.config)
		o.readdress(3, "10.0.0.22")
		o.readdress(4, "10.0.0.21")
		wantFindings(t, o.diagnose(), says(t, w1, "10.0.0.22", "10.0.0.21", w2, "10.0.0.22"), says(t, w2, "10.0.0.21", "10.0.0.22", w1, "10.0.0.21"))
	})
}

// TestOnlyControlPlaneRemovalIsNotRecommended checks that the text does not recommend removing the block of the only control
// plane, which would remove the cluster.
func TestOnlyControlPlaneRemovalIsNotRecommended(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	o.readdress(0, "10.0.0.41")
	for _, d := range o.diagnose() {
		if d.Summary == "Old host still runs the node" {
			t.Errorf("got %s", d.Detail)
		}
	}
}
