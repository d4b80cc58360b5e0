package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state/backend/http/httptestserver"
)

// backendBlock is a backend block that keeps the state on the test's server.
func backendBlock(s *httptestserver.Server) string {
	return fmt.Sprintf(`
kubewright {
  backend "http" {
    address        = %q
    lock_address   = %q
    username       = %q
    retry_max      = 1
    retry_wait_min = 0
    retry_wait_max = 0
  }
}
`, s.URL, s.URL, s.User)
}

// leaseOver is the time by which a cluster's lease has expired after its run was killed.
const leaseOver = 5 * time.Minute

// team is several operators with a copy of the configuration each, the same hosts, and
// one state on a server.
type team struct {
	*shared
	server *httptestserver.Server
}

// newTeam returns a running cluster and a change to it that is not applied yet.
func newTeam(t *testing.T) *team {
	t.Helper()
	return newTeamAt(t, httptestserver.New(t))
}

func newTeamAt(t *testing.T, server *httptestserver.Server) *team {
	t.Helper()
	m := &team{server: server}
	m.server.Password = "correct-horse-battery"
	f := newFolder(t, backendBlock(m.server)+crashConfig)
	m.shared = &shared{t, mustReopen(t, f), f}
	m.want(f, "ada@laptop", 0, "Apply complete!", "apply", "-auto-approve")
	f.replace(t, `"general"`, `"batch"`)
	f.replace(t, `cert_sans = ["api.example.com"]`, "cert_sans = [\"api.example.com\"]\n    arg \"audit-log-maxage\" { value = \"30\" }")
	return m
}

// as returns a command of the named operator, who knows the server's password.
func (m *team) as(f folder, who string, args ...string) (*console.Env, func() string) {
	env, printed := m.operator(f, who, args...)
	env.Getenv = func(name string) string {
		switch name {
		case "KUBEWRIGHT_HTTP_ADDRESS":
			return m.server.URL
		case "KUBEWRIGHT_HTTP_PASSWORD":
			return m.server.Password
		}
		return ""
	}
	return env, printed
}

func (m *team) want(f folder, who string, code int, text string, args ...string) string {
	m.t.Helper()
	env, printed := m.as(f, who, args...)
	got := cli.Main(env)
	if words := strings.Join(strings.Fields(printed()), " "); got != code || !strings.Contains(words, text) {
		m.t.Errorf("%s of %s: exit code %d, want %d and %q:\n%s", strings.Join(args, " "), who, got, code, text, printed())
	}
	return printed()
}

// other returns the folder of another machine: the configuration without any file of the state.
func (f folder) other(t *testing.T) folder {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(string(f), "main.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	return newFolder(t, string(text))
}

func (f folder) has(name string) bool {
	info, err := os.Stat(filepath.Join(string(f), name))
	return err == nil && info.Size() > 0
}

// TestApplyKeepsStateOnServer checks that an apply leaves its state on the server alone, that another
// operator continues from it, and that no file here or there contains the password.
func TestApplyKeepsStateOnServer(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	ada, grace := m.from, m.from.other(t)
	if ada.has("kubewright.state.json") || !bytes.Contains(m.server.State(), []byte(`"lineage"`)) || m.server.Holder() != "" {
		t.Errorf("the state is not on the server, or still locked there by %q", m.server.Holder())
	}
	m.want(grace, "grace@desk", 2, "Plan: 0 to add", "plan", "-detailed-exitcode")
	m.want(grace, "grace@desk", 0, "Apply complete!", "apply", "-auto-approve")
	m.want(ada, "ada@laptop", 0, "No changes.", "plan", "-detailed-exitcode")
	m.want(ada, "ada@laptop", 0, "node.worker", "state", "list")
	m.want(ada, "ada@laptop", 0, "is not locked", "lock", "status")
	m.want(ada, "ada@laptop", 0, "The state is kept at "+m.server.URL, "init")
	for _, f := range []folder{ada, grace} {
		err := filepath.WalkDir(string(f), func(path string, d os.DirEntry, err error) error {
			if b, readErr := os.ReadFile(path); readErr == nil && bytes.Contains(b, []byte(m.server.Password)) {
				t.Errorf("%s contains the password", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	m.server.Password = "another"
	env, printed := m.operator(ada, "ada@laptop", "plan")
	if code := cli.Main(env); code != 1 || !strings.Contains(printed(), "KUBEWRIGHT_HTTP_PASSWORD") {
		t.Errorf("without the password: exit code %d\n%s", code, printed())
	}
	m.want(ada, "ada@laptop", 1, "leave one of them out", "plan", "-state=other.json")
}

// TestApplyKeepsStateLocallyWhenBackendFails checks that a state that the server rejects at the end of an apply is
// kept locally, and that the same command continues from that copy.
func TestApplyKeepsStateLocallyWhenBackendFails(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	env, printed := m.as(m.from, "ada@laptop", "apply", "-auto-approve")
	once(env, "[1/5]", func() {
		gone := make([]int, 100)
		for i := range gone {
			gone[i] = 503
		}
		m.server.Fail(gone...)
	})
	code := cli.Main(env)
	if words := strings.Join(strings.Fields(printed()), " "); code != 1 || !strings.Contains(words, "kubewright.errored.state.json") || !strings.Contains(words, "run the same command again") {
		t.Errorf("exit code %d\n%s", code, printed())
	} else if !strings.Contains(words, "Warning: Lock was not given back") || !strings.Contains(words, "The next command of yours in this folder gives it back; for others it stays until then, or until kubewright force-unlock "+m.server.Holder()+".") {
		t.Errorf("the output does not report that the lock is left:\n%s", printed())
	}
	if !m.from.has("kubewright.errored.state.json") || !m.from.has("kubewright.journal") {
		t.Error("the state that could not be written is not kept locally")
	}
	m.server.Fail()
	m.want(m.from.other(t), "grace@desk", 1, "Error: State is locked", "apply", "-auto-approve")
	m.want(m.from, "ada@laptop", 0, "", "apply", "-auto-approve")
	if m.from.has("kubewright.errored.state.json") || m.from.has("kubewright.journal") || m.server.Holder() != "" {
		t.Errorf("files of the failed write, or its lock, are left: %q", m.server.Holder())
	}
	m.want(m.from.other(t), "grace@desk", 0, "No changes.", "plan", "-detailed-exitcode")
}

// TestKilledRunLeavesRemoteLock checks that a killed run leaves its lock: the same machine takes it over,
// another operator sees the holder, ends the lock and continues. After that the journal on
// the first machine is no longer trusted.
func TestKilledRunLeavesRemoteLock(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	f := m.from
	m.kill(f)
	id := m.server.Holder()
	if id == "" {
		t.Fatal("the lock is gone with the process")
	}
	said := m.want(f.other(t), "grace@desk", 1, "Error: State is locked", "apply", "-auto-approve")
	if !strings.Contains(strings.Join(strings.Fields(said), " "), "kubewright force-unlock "+id) {
		t.Errorf("the output does not say how to end the lock:\n%s", said)
	}
	m.want(f, operatorName, 0, "Apply complete!", "apply", "-auto-approve")
	m.want(f, operatorName, 0, "No changes.", "plan", "-detailed-exitcode")

	f.replace(t, `"batch"`, `"special"`)
	m.kill(f)
	ada, grace := f, f.other(t)
	id = m.server.Holder()
	m.want(grace, "grace@desk", 1, "Error: Another run holds the lock", "force-unlock", "-force", "42")
	m.want(grace, "grace@desk", 1, "There is no terminal to ask on", "force-unlock", id)
	m.want(grace, "grace@desk", 0, "Ended the lock of run "+id, "force-unlock", "-force", id)
	m.want(grace, "grace@desk", 0, "is not locked", "lock", "status")
	m.world.Advance(leaseOver)
	m.want(grace, "grace@desk", 0, "", "apply", "-auto-approve")
	m.want(ada, operatorName, 0, "Journal is obsolete", "apply", "-auto-approve")
	m.want(ada, operatorName, 0, "No changes.", "plan", "-detailed-exitcode")
	if ada.has("kubewright.journal") {
		t.Error("the journal is still there")
	}
	if kept, _ := filepath.Glob(filepath.Join(string(ada), "kubewright.journal.overtaken.*")); len(kept) != 1 {
		t.Errorf("the journal was not kept: %v", kept)
	}
}

// kill runs an apply in a process that ends in the middle of a step.
func (m *team) kill(f folder) {
	m.t.Helper()
	cmd := f.process("kubewright-killed", "apply", "-auto-approve", "-parallelism=1")
	cmd.Env = append(os.Environ(), "KUBEWRIGHT_HTTP_ADDRESS="+m.server.URL, "KUBEWRIGHT_HTTP_PASSWORD="+m.server.Password, "KILLED_AT=[1/", "KILLED_DURABLE=1", "KILLED_AS="+operatorName)
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 137 {
		m.t.Fatalf("the process was not killed: %v\n%s", err, out)
	}
	m.world = mustReopen(m.t, f)
}

func mustReopen(t *testing.T, f folder) *sim.World {
	t.Helper()
	w, err := sim.Open(filepath.Join(string(f), "kubewright.sim.json"))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestApplyStopsWhenLockIsEnded checks that a paused run whose lock another operator has ended, and who has
// applied meanwhile, starts no further step and does not replace the newer state.
func TestApplyStopsWhenLockIsEnded(t *testing.T) {
	t.Parallel()
	for _, remote := range []bool{false, true} {
		t.Run(fmt.Sprintf("remote %v", remote), func(t *testing.T) {
			t.Parallel()
			m := &team{shared: newShared(t), server: httptestserver.New(t)}
			if remote {
				m = newTeam(t)
			}
			ada, grace := m.from, m.from
			if remote {
				grace = m.from.other(t)
			}
			env, printed := m.as(ada, "ada@laptop", "apply", "-auto-approve", "-parallelism=1")
			run, another := "", env.NewID
			env.NewID = func() string {
				id := another()
				run = cmp.Or(run, id) // the first one
				return id
			}
			var between []byte
			once(env, "[1/5]", func() {
				defer m.world.Clock().Suspend()()
				m.want(grace, "grace@desk", 0, "is locked by apply of ada@laptop", "lock", "status")
				m.want(grace, "grace@desk", 0, "Ended the lock", "force-unlock", "-force", run)
				m.world.Advance(leaseOver)
				m.want(grace, "grace@desk", 0, "Apply complete!", "apply", "-auto-approve")
				between = m.stateNow(ada, remote)
			})
			code := cli.Main(env)
			if code == 0 || between == nil || !bytes.Equal(between, m.stateNow(ada, remote)) {
				t.Errorf("exit code %d, or the newer state was replaced\n%s", code, printed())
			}
			if n := strings.Count(printed(), ": done after"); n > 2 {
				t.Errorf("%d steps were done\n%s", n, printed())
			}
			said := strings.Join(strings.Fields(printed()), " ")
			if !ada.has("kubewright.errored.state.json") || !strings.Contains(said, "The state was written to") || strings.Contains(said, "cannot write the journal") {
				t.Errorf("the run's own state is not kept, or the output does not say where\n%s", printed())
			}
			if strings.Contains(said, "run the same command again") || !strings.Contains(said, "kubewright plan") {
				t.Errorf("the output advises undoing the other run's changes\n%s", printed())
			}
			m.want(grace, "grace@desk", 0, "No changes.", "plan", "-detailed-exitcode")
		})
	}
}

func (m *team) stateNow(f folder, remote bool) []byte {
	if remote {
		return m.server.State()
	}
	return []byte(stateOf(m.t, f))
}

// runStopped is the command in a process that stops itself with SIGSTOP at one of its
// moments and continues on SIGCONT. It waits for SIGCONT, because on a busy machine the
// thread that sent SIGSTOP runs for a while before it stops.
func runStopped() {
	os.Exit(cli.Main(atMoment(console.System(os.Args[1:]), func() {
		resumed := make(chan os.Signal, 1)
		signal.Notify(resumed, syscall.SIGCONT)
		if err := kill(syscall.SIGSTOP); err != nil {
			panic(err)
		}
		<-resumed
	})))
}

// TestApplyStopsWhenLockIsLost stops the command with SIGSTOP after planning, right before its first
// change. Its lock is ended and another apply runs; on SIGCONT it changes nothing.
func TestApplyStopsWhenLockIsLost(t *testing.T) {
	t.Parallel()
	f := newShared(t).from
	cmd := f.process("kubewright-stopped", arguments("apply", "-parallelism=1")...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append(os.Environ(), momentAt+"="+moment{1, "before open kubewright.journal"}.String())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the process did not stop: %v %v\n%s", status, err, out.String())
	}
	if code, said := f.run("apply", "-auto-approve"); code != 1 || !strings.Contains(said, "State is locked") {
		t.Errorf("while the process is stopped: exit code %d\n%s", code, said)
	}
	_, said := f.run("lock", "status", "-json")
	_, id, _ := strings.Cut(said, `"id": "`)
	id, _, _ = strings.Cut(id, `"`)
	f.must(t, "force-unlock", "-force", id)
	f.must(t, "apply", "-auto-approve")
	before, world := stateOf(t, f), listing(t, f)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if words := strings.Join(strings.Fields(out.String()), " "); err == nil || !strings.Contains(words, "this run's lock was ended") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if stateOf(t, f) != before || listing(t, f) != world {
		t.Error("the resumed process changed hosts or state")
	}
	f.must(t, "plan", "-detailed-exitcode")
}

// listing returns the content of the hosts of crashConfig.
func listing(t *testing.T, f folder) string {
	t.Helper()
	w, all := mustReopen(t, f), ""
	for _, host := range crashHosts {
		all += w.Listing(host)
	}
	return all
}

// TestInitMigratesState checks that a user who changes the backend is asked what to do with the
// state, that it is copied under both locks, and that a newer state is not overwritten.
func TestInitMigratesState(t *testing.T) {
	t.Parallel()
	first, second := httptestserver.New(t), httptestserver.New(t)
	m := &team{shared: &shared{t, mustOpen(t), newFolder(t, crashConfig)}, server: first}
	f := m.from
	m.want(f, "ada@laptop", 0, "Apply complete!", "apply", "-auto-approve")
	local := stateOf(t, f)
	text, err := os.ReadFile(filepath.Join(string(f), "main.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	keepAt := func(block string) {
		if err := os.WriteFile(filepath.Join(string(f), "main.hcl"), []byte(block+string(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keepAt(backendBlock(first))
	for _, command := range [][]string{{"plan"}, {"apply", "-auto-approve"}, {"show"}, {"init"}, {"lock", "status"}} {
		m.want(f, "ada@laptop", 1, "Error: Backend has changed", command...)
	}
	m.want(f, "ada@laptop", 1, "-force-copy", "init", "-migrate-state")
	m.want(f, "ada@laptop", 0, "Copied the state", "init", "-migrate-state", "-force-copy")
	if string(first.State()) != local || stateOf(t, f) != local {
		t.Error("the state differs at the new place, or is gone from the old one")
	}
	m.want(f, "ada@laptop", 0, "No changes.", "plan", "-detailed-exitcode")
	keepAt(backendBlock(second))
	second.Put([]byte(strings.Replace(local, "x", "y", 1)))
	m.want(f, "ada@laptop", 1, "is not sent to "+strings.TrimSuffix(second.URL, second.Path), "init", "-migrate-state", "-force-copy")
	// The environment names the server to move from, the command line the one to move to.
	move := func(to *httptestserver.Server) []string {
		return []string{"init", "-migrate-state", "-force-copy", "-backend-config=address=" + to.URL}
	}
	m.want(f, "ada@laptop", 1, "State cannot be trusted", move(second)...)
	second.Put(nil)
	m.want(f, "ada@laptop", 0, "Copied the state", move(second)...)
	m.server = second
	m.want(f.other(t), "grace@desk", 0, "No changes.", "plan", "-detailed-exitcode")
	f.replace(t, `"general"`, `"batch"`)
	m.want(f, "ada@laptop", 0, "Apply complete!", "apply", "-auto-approve")
	text = bytes.Replace(text, []byte(`"general"`), []byte(`"batch"`), 1)
	keepAt(backendBlock(first)) // which has an older state
	m.want(f, "ada@laptop", 0, "Copied the state", move(first)...)
	m.server = first
	second.Put(first.State())
	first.Put([]byte(local))
	keepAt(backendBlock(second))
	m.want(f, "ada@laptop", 1, "it holds a newer state", move(second)...)
	m.server = second
	m.want(f, "ada@laptop", 0, "The state is kept at "+second.URL, "init", "-reconfigure")
	keepAt("")
	m.want(f, "ada@laptop", 1, "Error: Backend has changed", "plan")
	m.want(f, "ada@laptop", 0, "Copied the state", "init", "-migrate-state", "-force-copy")
	if stateOf(t, f) != string(second.State()) || f.has(".kubewright/backend.json") {
		t.Error("the state file was not restored")
	}
	m.want(f, "ada@laptop", 0, "No changes.", "plan", "-detailed-exitcode")
}
