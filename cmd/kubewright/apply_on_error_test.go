package main

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/providers/sim"
)

// TestApplyOnErrorModes checks what each value of -on-error does with the steps that do not depend on a
// failed one, and that the same command continues after the failure in every case.
func TestApplyOnErrorModes(t *testing.T) {
	t.Parallel()
	from := changedFolder(t)
	from.replace(t, "node \"cp\" {", "node \"cp\" {\n  kubelet { config = { maxPods = 200 } }\n  labels = { \"node.example.com/pool\" = \"control\" }")
	for _, tt := range []struct {
		flag string
		// done are the nodes with steps that complete after the failure on cp2: by then steps on all
		// control planes have started, and none on the worker. The kubelet of cp3 is not restarted.
		done string
	}{
		{"", "cp1 worker"}, {"-on-error=continue", "cp1 worker"}, {"-on-error=finish-node", "cp1"}, {"-on-error=stop", ""},
	} {
		t.Run(tt.flag, func(t *testing.T) {
			t.Parallel()
			f := from.copy(t)
			args := []string{"apply", "-auto-approve", "-parallelism=1"}
			if tt.flag != "" {
				args = append(args, tt.flag)
			}
			env, printed := f.env(args...)
			env.OpenWorld = func(path string) (*sim.World, error) {
				w, err := sim.Open(path)
				if err != nil {
					return nil, err
				}
				var written atomic.Int32
				w.OnEffect = func(e sim.Effect) (err error) {
					if !e.Done && strings.Contains(e.Detail, "/var/lib/kubelet/config.yaml") && written.Add(1) == 2 {
						err = errors.New("the disk is full")
					}
					return err
				}
				return w, nil
			}
			if code := cli.Main(env); code != 1 {
				t.Fatalf("exit code %d\n%s", code, printed())
			}
			_, behind, found := strings.Cut(printed(), `node.cp["cp2"]/kubelet-start: failed after`)
			var done []string
			for _, m := range regexp.MustCompile(`(?m)^\[.*\] node\.(?:cp\["(.*)"\]|(worker))/\S+: done after`).FindAllStringSubmatch(behind, -1) {
				done = append(done, m[1]+m[2])
			}
			if got := strings.Join(slices.Compact(done), " "); !found || got != tt.done {
				t.Errorf("after the failure steps are done on %q, want %q\n%s", got, tt.done, printed())
			}
			f.must(t, "apply", "-auto-approve")
			f.must(t, "plan", "-detailed-exitcode")
		})
	}
}
