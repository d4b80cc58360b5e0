package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/providers/sim"
)

// TestVerificationWaitsForRestarts checks that the final verification of an apply waits for a
// control plane component that is briefly down, and reports it only if it does not come back.
// An interrupt ends the wait, and nothing else.
func TestVerificationWaitsForRestarts(t *testing.T) {
	t.Parallel()
	const file = "/etc/audit/policy.yaml"
	from := changedFolder(t)
	from.replace(t, `arg "audit-log-maxage" { value = "30" }`, `arg "audit-policy-file" { value = "`+file+`" }
    extra_volume "audit" {
      host_path  = "/etc/audit"
      mount_path = "/etc/audit"
    }`)
	for name, c := range map[string]struct {
		returns, interrupted bool
		waited               int // seconds
	}{
		"returns":     {returns: true, waited: 1},
		"stays down":  {waited: 60},
		"interrupted": {interrupted: true, waited: 1},
	} {
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
			down, waited := false, 0
			interrupts, heeded := make(chan os.Signal), make(chan struct{})
			env.Interrupts, env.Heeded = interrupts, func() { close(heeded) }
			out := env.Stdout.(*watched)
			out.at, out.then = "[5/5] ", func() {
				down = true
				edit("file " + file + " delete")
				edit("power reboot")
			}
			env.OpenWorld = func(path string) (w *sim.World, err error) {
				world, err = sim.Open(path)
				world.Pace = func(context.Context, time.Duration) {
					if !down {
						return
					}
					if waited++; c.returns {
						edit("file " + file + " content {}")
					}
					if c.interrupted {
						interrupts <- os.Interrupt
						<-heeded
					}
				}
				return world, err
			}
			if code := cli.Main(env); code != 0 || !down || !strings.Contains(printed(), "Apply complete!") {
				t.Fatalf("exit code %d, down after the last step: %t\n%s", code, down, printed())
			}
			if warned := strings.Contains(printed(), "Warning: Not everything runs yet"); warned == c.returns {
				t.Errorf("warned: %t\n%s", warned, printed())
			}
			if told := strings.Count(printed(), "Waiting until what the steps disturbed"); told != 1 || waited != c.waited {
				t.Errorf("the wait is reported %d times, want once; waited %d s, want %d\n%s", told, waited, c.waited, printed())
			}
		})
	}
}
