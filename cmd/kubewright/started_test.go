package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/providers/sim"
)

// TestWhatStartsIsNoDifference: a component of a control plane that is down for a
// moment when an apply is through is waited for by the look that ends it, and is
// told of only when it does not come.
func TestWhatStartsIsNoDifference(t *testing.T) {
	t.Parallel()
	const file = "/etc/audit.yaml"
	from := changedFolder(t)
	from.replace(t, `arg "audit-log-maxage" { value = "30" }`, `arg "audit-policy-file" { value = "`+file+`" }`)
	for name, returns := range map[string]bool{"returns": true, "stays down": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := from.copy(t)
			for _, address := range []string{"10.0.0.11", "10.0.0.12", "10.0.0.13"} {
				f.must(t, "sim", "edit", address, "file "+file+" content {}")
			}
			var world *sim.World
			edit := func(expr string) {
				if err := sim.Edit(world, "10.0.0.11", expr); err != nil {
					t.Error(err)
				}
			}
			env, printed := f.env("apply", "-auto-approve", "-parallelism=1")
			down := false
			out := env.Stdout.(*watched)
			out.at, out.then = "[5/5] ", func() {
				down = true
				edit("file " + file + " delete")
				edit("power reboot")
			}
			env.OpenWorld = func(path string) (w *sim.World, err error) {
				world, err = sim.Open(path)
				world.Pace = func(context.Context, time.Duration) {
					if down && returns {
						edit("file " + file + " content {}")
					}
				}
				return world, err
			}
			if code := cli.Main(env); code != 0 || !down || !strings.Contains(printed(), "Apply complete!") {
				t.Fatalf("exit code %d, down behind the last step: %t\n%s", code, down, printed())
			}
			if warned := strings.Contains(printed(), "Warning: Hosts differ"); warned == returns {
				t.Errorf("warned: %t\n%s", warned, printed())
			}
		})
	}
}
