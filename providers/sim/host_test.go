package sim_test

import (
	"testing"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/providers/sim"
)

func TestSimulatedHostConformance(t *testing.T) {
	t.Parallel()
	hosttest.Run(t, func(t *testing.T) hosttest.Subject {
		w := sim.New(1, sim.DefaultProfile())
		if err := sim.Edit(w, "10.0.0.1", "condition no-module no_such_module"); err != nil {
			t.Fatal(err)
		}
		return hosttest.Subject{
			Host: w.Host("10.0.0.1"), Owner: "root:root",
			Again: func(*testing.T) providers.Host { return w.Host("10.0.0.1") },
		}
	})
}
