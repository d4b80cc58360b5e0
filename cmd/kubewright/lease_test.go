package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/providers/sim"
)

// shared is one fleet of simulated hosts with several operators, each with a copy of the
// configuration and the state.
type shared struct {
	t     *testing.T
	world *sim.World
	from  folder
}

// newShared returns a running cluster and a change to it that is not applied yet.
func newShared(t *testing.T) *shared {
	t.Helper()
	f := changedFolder(t)
	w, err := sim.Open(filepath.Join(string(f), "kubewright.sim.json"))
	if err != nil {
		t.Fatal(err)
	}
	return &shared{t, w, f}
}

// operator returns a command of the named operator on the shared hosts.
func (s *shared) operator(f folder, who string, args ...string) (*console.Env, func() string) {
	env, printed := f.env(args...)
	env.Who = who
	env.OpenWorld = func(string) (*sim.World, error) { return s.world, nil }
	return env, printed
}

func (s *shared) want(f folder, who string, code int, text string, args ...string) {
	s.t.Helper()
	env, printed := s.operator(f, who, args...)
	got := cli.Main(env)
	if words := strings.Join(strings.Fields(printed()), " "); got != code || !strings.Contains(words, text) {
		s.t.Errorf("%s of %s: exit code %d, want %d and %q:\n%s", args[0], who, got, code, text, printed())
	}
}

func stateOf(t *testing.T, f folder) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(string(f), "kubewright.state.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestLeaseRefusesSecondOperator checks that, during an apply, another operator with a copy of the state is
// refused with the reason and changes nothing.
func TestLeaseRefusesSecondOperator(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	ada, grace := s.from, s.from.copy(t)
	before := stateOf(t, grace)
	env, printed := s.operator(ada, "ada@laptop", "apply", "-auto-approve", "-parallelism=1")
	met := false
	once(env, "[1/5]", func() {
		met = true
		if l := s.world.Leases(); len(l) != 1 || !strings.HasPrefix(l[0], "ada@laptop ") {
			t.Errorf("the lease is %v", l)
		}
		s.want(grace, "grace@desk", 1, "Error: Cluster is being changed by another run", "apply", "-auto-approve")
		s.want(grace, "grace@desk", 1, "ada@laptop has been changing it since", "apply", "-auto-approve")
		s.want(grace, "grace@desk", 2, "Plan: ", "plan", "-detailed-exitcode")
	})
	if code := cli.Main(env); code != 0 || !met {
		t.Fatalf("exit code %d, met %v\n%s", code, met, printed())
	}
	if stateOf(t, grace) != before {
		t.Error("the state of the refused operator has changed")
	}
	if l := s.world.Leases(); len(l) != 0 {
		t.Errorf("the lease was not given back: %v", l)
	}
	s.want(ada, "ada@laptop", 0, "No changes.", "plan", "-detailed-exitcode")
}

// TestApplyRefusesPlanOvertakenByAnother checks that of two operators with the same plan the one who approves
// first applies it, and that the other's plan is refused at its first conflict.
func TestApplyRefusesPlanOvertakenByAnother(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	ada, grace := s.from, s.from.copy(t)
	effects := 0
	env, printed := s.operator(grace, "grace@desk", "apply")
	answersYes(env, func() {
		s.want(ada, "ada@laptop", 0, "Apply complete!", "apply", "-auto-approve")
		s.world.OnEffect = func(e sim.Effect) error {
			if !strings.HasSuffix(e.Op, "_lease") {
				effects++
			}
			return nil
		}
	})
	if code := cli.Main(env); code != 1 {
		t.Errorf("exit code %d\n%s", code, printed())
	}
	if effects != 0 {
		t.Errorf("the second had %d effects", effects)
	}
	out := strings.Join(strings.Fields(printed()), " ")
	if !strings.Contains(out, "planned at the same time") && !strings.Contains(out, "changed since the plan was made") {
		t.Errorf("the output does not say why:\n%s", printed())
	}
	s.want(ada, "ada@laptop", 0, "No changes.", "plan", "-detailed-exitcode")
}

// TestBootstrapByOneOperatorOnly checks that only one of two operators bootstraps on the same blank hosts.
func TestBootstrapByOneOperatorOnly(t *testing.T) {
	t.Parallel()
	s := &shared{t, sim.New(1, sim.DefaultProfile()), newFolder(t, crashConfig)}
	s.world = mustOpen(t)
	ada, grace := s.from, s.from.copy(t)
	env, printed := s.operator(grace, "grace@desk", "apply")
	answersYes(env, func() { s.want(ada, "ada@laptop", 0, "Apply complete!", "apply", "-auto-approve") })
	if code := cli.Main(env); code != 1 || !strings.Contains(printed(), "belongs to the state with") {
		t.Errorf("exit code %d\n%s", code, printed())
	}
	s.want(ada, "ada@laptop", 0, "No changes.", "plan", "-detailed-exitcode")
}

// TestBootstrapRefusedWhenHostIsClaimed checks that a bootstrap that finds a host on which another one has
// started claims none of the hosts that the other has not reached yet.
func TestBootstrapRefusedWhenHostIsClaimed(t *testing.T) {
	t.Parallel()
	s := &shared{t, mustOpen(t), newFolder(t, crashConfig)}
	ada, grace := s.from, s.from.copy(t)
	first := s.pausing("[ 1/", ada, "ada@laptop", "apply", "-auto-approve", "-parallelism=1")
	second, printed := s.operator(grace, "grace@desk", "apply", "-parallelism=1")
	effects := 0
	answersYes(second, func() {
		first.begin(t)
		s.world.OnEffect = func(sim.Effect) error { effects++; return nil }
	})
	code := cli.Main(second)
	s.world.OnEffect = nil
	first.end(t)
	out := strings.Join(strings.Fields(printed()), " ")
	for _, want := range []string{"it belongs to the state with lineage", "Apply stopped: ", "Another run has begun, or was let in."} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, and the output does not contain %q\n%s", code, want, printed())
		}
	}
	if effects != 0 {
		t.Errorf("the second had %d effects", effects)
	}
	s.want(ada, "ada@laptop", 0, "No changes.", "plan", "-detailed-exitcode")
}

// pausing is a command that pauses after printing a text, until it is ended.
type pausing struct {
	env         *console.Env
	said        func() string
	begun, over chan struct{}
	ended       chan int
}

func (s *shared) pausing(at string, f folder, who string, args ...string) *pausing {
	p := &pausing{begun: make(chan struct{}), over: make(chan struct{}), ended: make(chan int, 1)}
	p.env, p.said = s.operator(f, who, args...)
	once(p.env, at, func() { close(p.begun); <-p.over })
	return p
}

// begin starts the command and returns when it has printed the text.
func (p *pausing) begin(t *testing.T) {
	t.Helper()
	go func() { p.ended <- cli.Main(p.env) }()
	select {
	case <-p.begun:
	case code := <-p.ended:
		t.Errorf("the first ended with %d\n%s", code, p.said())
		p.ended <- code
	}
}

// end lets the command continue and requires that it succeeds.
func (p *pausing) end(t *testing.T) {
	t.Helper()
	close(p.over)
	if code := <-p.ended; code != 0 {
		t.Errorf("the first ended with %d\n%s", code, p.said())
	}
}

// mustOpen returns an empty world with a file, which is saved after every command.
func mustOpen(t *testing.T) *sim.World {
	t.Helper()
	w, err := sim.Open(filepath.Join(t.TempDir(), "world"))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestLeaseRefusesSecondImporter checks that, when two operators have imported the same cluster into two
// states, which most of its hosts do not know, one is refused while the other changes it.
func TestLeaseRefusesSecondImporter(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	ada := s.from
	if err := os.Remove(filepath.Join(string(ada), "kubewright.state.json")); err != nil {
		t.Fatal(err)
	}
	for _, host := range s.world.Hosts() {
		if err := sim.Edit(s.world, host, "foreign"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(string(ada), "import.hcl"), []byte("import {\n  to = cluster.prod\n  id = \"sim://10.0.0.11\"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	grace := ada.copy(t)
	first := s.pausing("[1/", ada, "ada@laptop", "apply", "-auto-approve", "-parallelism=1")
	second, printed := s.operator(grace, "grace@desk", "apply")
	answersYes(second, func() { first.begin(t) })
	code := cli.Main(second)
	first.end(t)
	if out := strings.Join(strings.Fields(printed()), " "); code != 1 || !strings.Contains(out, "Cluster is being changed by another run") || !strings.Contains(out, "ada@laptop has been changing it since") {
		t.Errorf("exit code %d\n%s", code, printed())
	}
	s.want(grace, "grace@desk", 1, "already belong to a state of kubewright", "apply", "-auto-approve")
	s.want(ada, "ada@laptop", 0, "No changes.", "plan", "-detailed-exitcode")
}

// TestLeaseOfKilledRunIsTakenOver checks that the lease of a killed run is not drift: the operator who ran
// it continues at once, others after the lease has expired.
func TestLeaseOfKilledRunIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	for _, tt := range []struct {
		name, who string
		later     time.Duration
		code      int
		text      string
	}{
		{"the same operator", operatorName, 0, 0, "Apply complete!"},
		{"another", "grace@desk", 0, 1, "Cluster is being changed by another run"},
		{"another, later", "grace@desk", 5 * time.Minute, 0, "Apply complete!"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ada := s.from.copy(t)
			ada.kill(t, "apply", moment{1, "before effect: write_file /etc/kubernetes/manifests/kube-apiserver.yaml"})
			w, err := sim.Open(filepath.Join(string(ada), "kubewright.sim.json"))
			if err != nil {
				t.Fatal(err)
			}
			if l := w.Leases(); len(l) != 1 {
				t.Fatalf("leases: %v", l)
			}
			next := &shared{t, w, ada}
			f := ada
			if tt.who != operatorName {
				f = ada.copy(t)
			}
			w.Advance(tt.later)
			next.want(f, tt.who, tt.code, tt.text, "apply", "-auto-approve")
			if tt.code != 0 {
				return
			}
			if l := w.Leases(); len(l) != 0 {
				t.Errorf("the lease was not given back: %v", l)
			}
			next.want(f, tt.who, 0, "No changes.", "plan", "-detailed-exitcode")
		})
	}
}

// TestPlanKeepsLeaseOfKilledRun checks that a plan, and an apply without approval, leave it to the
// next apply to take over the lease of a killed run.
func TestPlanKeepsLeaseOfKilledRun(t *testing.T) {
	t.Parallel()
	ada := newShared(t).from
	ada.kill(t, "apply", moment{1, "before effect: write_file /etc/kubernetes/manifests/kube-apiserver.yaml"})
	w, err := sim.Open(filepath.Join(string(ada), "kubewright.sim.json"))
	if err != nil {
		t.Fatal(err)
	}
	next := &shared{t, w, ada}
	next.want(ada, operatorName, 2, "Plan:", "plan", "-detailed-exitcode")
	next.want(ada, operatorName, 1, "Approval is missing", "apply")
	next.want(ada, operatorName, 0, "Apply complete!", "apply", "-auto-approve")
	if l := w.Leases(); len(l) != 0 {
		t.Errorf("the lease was not given back: %v", l)
	}
}

// TestApplyStopsWhenLeaseIsTaken checks that a run whose lease another operator has taken starts no further
// step, and that its exit code reports that the cluster is held by another run.
func TestApplyStopsWhenLeaseIsTaken(t *testing.T) {
	t.Parallel()
	for want, more := range map[int][]string{1: nil, 5: {"-detailed-exitcode"}} {
		s := newShared(t)
		env, printed := s.operator(s.from, "ada@laptop", append([]string{"apply", "-auto-approve", "-parallelism=1"}, more...)...)
		once(env, "[1/5]", func() {
			s.world.Advance(time.Minute)
			if err := s.world.TakeLeases("eve@elsewhere"); err != nil {
				t.Error(err)
			}
		})
		code := cli.Main(env)
		out := strings.Join(strings.Fields(printed()), " ")
		if code != want || !strings.Contains(out, "eve@elsewhere has taken its lease") {
			t.Errorf("exit code %d, want %d\n%s", code, want, printed())
		}
		if n := strings.Count(out, ": done after"); n > 2 {
			t.Errorf("%d steps were done\n%s", n, printed())
		}
	}
}

// TestApplyWithoutStepsTakesNoLease checks that an apply without steps has no effect on any host.
func TestApplyWithoutStepsTakesNoLease(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.want(s.from, "ada@laptop", 0, "Apply complete!", "apply", "-auto-approve")
	s.world.OnEffect = func(e sim.Effect) error { t.Errorf("effect %s", e); return nil }
	s.want(s.from, "ada@laptop", 0, "No changes.", "apply", "-auto-approve")
	s.world.OnEffect = nil
	s.want(s.from, "ada@laptop", 0, "Destroy complete!", "destroy", "-auto-approve")
	if l := s.world.Leases(); len(l) != 0 {
		t.Errorf("leases: %v", l)
	}
}
