package main

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/providers/sim"
)

// TestGateRefusesStepWhenMemberFails checks that, when another etcd member fails while the API server of
// a control plane stops, the gate refuses the step before etcd is stopped, and the error
// reports the condition of the node.
func TestGateRefusesStepWhenMemberFails(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t)
	f.replace(t, "  api_server {", "  etcd {\n    arg \"snapshot-count\" { value = \"20000\" }\n  }\n  api_server {")
	env, printed := f.env("apply", "-auto-approve", "-detailed-exitcode")
	var world *sim.World
	env.OpenWorld = func(path string) (w *sim.World, err error) {
		if world, err = sim.Open(path); err == nil {
			world.Fault(sim.Fault{Host: "10.0.0.11", Op: "http", Detail: "https://10.0.0.11:6443/livez", Kind: sim.FaultHang})
		}
		return world, err
	}
	once(env, "waiting; last seen: cannot http https://10.0.0.11:6443/livez", func() {
		if err := sim.Edit(world, "10.0.0.12", "power off"); err != nil {
			t.Error(err)
		}
	})
	code := cli.Main(env)
	out := strings.Join(strings.Fields(printed()), " ")
	for _, part := range []string{
		"refused: etcd has 3 voters of which 2 are healthy (not host-10-0-0-12); this step would leave 1, quorum is 2. Bring host-10-0-0-12 back first",
		"Etcd keeps running here; kube-apiserver was stopped for this step and starts again as it was. The same command continues from there",
	} {
		if code != 4 || !strings.Contains(out, part) {
			t.Fatalf("exit code %d, and %q is not in\n%s", code, part, out)
		}
	}
	f.must(t, "sim", "edit", "10.0.0.12", "power", "on")
	f.must(t, "apply", "-auto-approve")
	f.must(t, "plan", "-detailed-exitcode")
}

// TestSecondInterruptEndsGate checks that a second interrupt ends a gate's wait, here for a failed etcd
// member, and that no host is queried after it.
func TestSecondInterruptEndsGate(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t)
	f.replace(t, "  api_server {", "  etcd {\n    arg \"snapshot-count\" { value = \"20000\" }\n  }\n  api_server {")
	env, printed := f.env("apply", "-auto-approve", "-parallelism=1")
	signals := make(chan os.Signal)
	heard := &spoken{Writer: env.Stdout}
	heard.changed = sync.NewCond(&heard.mu)
	env.Stdout, env.Interrupts = heard, signals
	var waits atomic.Int64
	env.OpenWorld = func(path string) (*sim.World, error) {
		w, err := sim.Open(path)
		if err != nil {
			return nil, err
		}
		w.Fault(sim.Fault{Host: "10.0.0.11", Op: "http", Detail: "https://10.0.0.11:6443/livez", Kind: sim.FaultHang})
		off := sync.OnceFunc(func() {
			if err := sim.Edit(w, "10.0.0.12", "power off"); err != nil {
				t.Error(err)
			}
		})
		w.Pace = func(ctx context.Context, d time.Duration) {
			off()
			if d != 500*time.Millisecond || waits.Add(1) > 1 { // the gate's interval
				return
			}
			for _, says := range []string{"Interrupted. ", "Interrupted again. "} {
				signals <- os.Interrupt
				heard.wait(says)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
				t.Error("the gate continues to wait")
			}
		}
		return w, nil
	}
	if code := cli.Main(env); code != 130 || waits.Load() != 1 {
		t.Errorf("exit code %d, and the gate has waited %d times\n%s", code, waits.Load(), printed())
	}
}
