package attack

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// killedAttacks kill an apply at some time after its start. Each holds if the next apply
// continues and nothing is left to do after it.
func killedAttacks() []attack {
	random := rand.New(rand.NewPCG(5, 60))
	var out []attack
	for i := range 60 {
		at := random.Float64()
		out = append(out, attack{name: fmt.Sprintf("kill -9, moment %d", i+1), long: i >= 2, run: func(a *arena) {
			dir := newArena(a.T)
			dir.quickstart()
			a.write("main.hcl", dir.read("main.hcl"))
			a.kill(time.Duration(at * float64(1500*time.Millisecond)))
			if o := a.kubewright("apply", "-auto-approve"); o.code != 0 {
				a.Fatalf("the next apply: exit code %d\n%s", o.code, clip(o.stderr))
			}
			if o := a.kubewright("plan", "-detailed-exitcode"); o.code != 0 {
				a.Errorf("changes are left: exit code %d\n%s%s", o.code, clip(o.stdout), clip(o.stderr))
			}
		}})
	}
	return out
}

// kill runs apply and kills it after a time, unless it has ended.
func (a *arena) kill(after time.Duration) {
	a.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	cmd, _, _ := a.command(ctx, []string{"apply", "-auto-approve"})
	a.must(cmd.Start())
	_ = cmd.Wait()
}
