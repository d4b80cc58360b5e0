package main

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/providers/sim"
)

// TestMemberGoneMeanwhile: while the API server of a control plane takes its time to
// stop, another member of etcd goes down. The step is refused in the gate's words before
// etcd is stopped, and says how it leaves the node.
func TestMemberGoneMeanwhile(t *testing.T) {
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
		"Etcd goes on here; kube-apiserver was stopped for this step and starts again as it was. The same command goes on from there",
	} {
		if code != 4 || !strings.Contains(out, part) {
			t.Fatalf("exit code %d, and %q is not in\n%s", code, part, out)
		}
	}
	f.must(t, "sim", "edit", "10.0.0.12", "power", "on")
	f.must(t, "apply", "-auto-approve")
	f.must(t, "plan", "-detailed-exitcode")
}
