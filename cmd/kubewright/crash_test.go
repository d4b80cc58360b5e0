package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state/statefile"
)

// These variables tell a process of kubewright-crash or kubewright-signal at which moment to act.
const (
	momentAt = "MOMENT_AT"
	signals  = "MOMENT_SIGNALS"
)

// moment is a moment of a command: the nth one whose name contains a text.
type moment struct {
	nth  int
	text string
}

func (m moment) String() string { return fmt.Sprintf("%d %s", m.nth, m.text) }

// runCrash is the command in a process that is killed with SIGKILL at one of its moments:
// before any call that changes state or journal, in the middle of each write to them, and
// before and after each effect on a host, etcd or API.
func runCrash() {
	os.Exit(cli.Main(atMoment(console.System(os.Args[1:]), func() {
		if err := kill(os.Kill); err != nil {
			panic(err)
		}
		select {} // the process is killed here
	})))
}

// atMoment has a command in its own process do something at the moment that its environment
// names. Its simulated hosts keep every effect, as real ones do.
func atMoment(env *console.Env, then func()) *console.Env {
	nth, text, _ := strings.Cut(os.Getenv(momentAt), " ")
	left, err := strconv.Atoi(nth)
	if err != nil {
		panic(err)
	}
	env.Who = operatorName // the operator who runs the command again
	return passing(env, true, &moments{pass: func(what string) bool {
		if strings.Contains(what, text) {
			left--
		}
		return left == 0 && strings.Contains(what, text)
	}, then: then})
}

// passing has a command report its moments to m.
func passing(env *console.Env, durable bool, m *moments) *console.Env {
	env.Files = crashFS{statefile.OS(), m}
	env.OpenWorld = func(path string) (*sim.World, error) {
		w, err := sim.Open(path)
		if err != nil {
			return nil, err
		}
		w.Durable = durable
		w.OnEffect = func(e sim.Effect) error {
			when := "before"
			if e.Done {
				when = "after"
			}
			m.at(fmt.Sprintf("%s effect: %s %s on %s", when, e.Op, e.Detail, e.Host))
			return nil
		}
		return w, nil
	}
	return env
}

const operatorName = "ada@laptop"

func kill(signal os.Signal) error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Signal(signal)
}

// moments acts at the selected moments of a command.
type moments struct {
	mu   sync.Mutex
	pass func(what string) bool
	then func()
}

func (m *moments) at(what string) { m.with(what, func() {}) }

// with acts if this is a selected moment; dying also runs then.
func (m *moments) with(what string, dying func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pass(what) {
		dying()
		m.then()
	}
}

// crashFS is a file system with a moment before each change.
type crashFS struct {
	statefile.FS
	m *moments
}

func (f crashFS) Create(name string) (statefile.File, error) {
	f.m.at("before create " + filepath.Base(name))
	file, err := f.FS.Create(name)
	return crashFile{file, filepath.Base(name), f.m}, err
}

func (f crashFS) Open(name string) (statefile.File, error) {
	f.m.at("before open " + filepath.Base(name))
	file, err := f.FS.Open(name)
	return crashFile{file, filepath.Base(name), f.m}, err
}

func (f crashFS) Rename(from, to string) error {
	f.m.at("before rename to " + filepath.Base(to))
	return f.FS.Rename(from, to)
}

func (f crashFS) Remove(name string) error {
	f.m.at("before remove " + filepath.Base(name))
	return f.FS.Remove(name)
}

func (f crashFS) SyncDir(dir string) error {
	f.m.at("before sync of the folder")
	return f.FS.SyncDir(dir)
}

type crashFile struct {
	statefile.File
	name string
	m    *moments
}

func (f crashFile) WriteAt(b []byte, off int64) (int, error) {
	f.m.at("before write " + f.name)
	f.m.with("in the middle of write "+f.name, func() { _, _ = f.File.WriteAt(b[:len(b)/2], off) })
	return f.File.WriteAt(b, off)
}

func (f crashFile) Truncate(size int64) error {
	f.m.at("before truncate " + f.name)
	return f.File.Truncate(size)
}

func (f crashFile) Sync() error {
	f.m.at("before sync " + f.name)
	return f.File.Sync()
}

const crashConfig = `
cluster "prod" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.example.com:6443"
  api_server {
    cert_sans = ["api.example.com"]
  }
}

connection { type = "sim" }

node "cp" {
  for_each = { cp1 = "10.0.0.11", cp2 = "10.0.0.12", cp3 = "10.0.0.13" }
  cluster  = cluster.prod
  role     = "control-plane"
  address  = each.value
}

node "worker" {
  cluster = cluster.prod
  role    = "worker"
  address = "10.0.0.21"
  labels  = { "node.example.com/pool" = "general" }
}
`

// killing is a command that is killed at some of its moments, both as such and as a saved
// plan.
type killing struct {
	name    string
	from    func(t *testing.T) folder
	command string
	some    []moment
	// saved are the moments for the saved plan; none if only the long form tries it.
	saved []moment
}

func killings() []killing {
	return []killing{
		{"found", blankFolder, "apply", []moment{{88, "after effect"}, {131, "before write kubewright.journal"}}, []moment{{110, "after effect"}, {150, "after effect"}}},
		// The smallest case covers the files of the state.
		{"change", changedFolder, "apply", []moment{
			{4, "after effect"},
			{5, "before sync kubewright.journal"},
			{1, "before write kubewright.state.json.backup"},
			{1, "in the middle of write kubewright.state.json.tmp"},
			{1, "before rename to kubewright.state.json"},
			{1, "before remove kubewright.state.json.tmp"},
		}, nil},
		{"upgrade", raisedFolder, "apply", []moment{{60, "after effect"}}, []moment{{40, "after effect"}}},
		{"upgrade twice", raisedTwiceFolder, "apply", []moment{{45, "after effect"}}, nil},
		{"roles", rolesFolder, "apply", []moment{{100, "after effect"}}, nil},
		{"replace", foundedFolder, `apply -replace=node.cp["cp1"]`, []moment{{50, "after effect"}, {70, "in the middle of write kubewright.journal"}}, []moment{{60, "after effect"}}},
		{"renew", after("8040h"), "apply", []moment{{50, "after effect"}}, nil},
		{"renew what has ended", after("9000h"), "apply", []moment{{20, "after effect"}}, nil},
		{"rotate", foundedFolder, "apply " + strings.Join(rotateAll, " "), []moment{{100, "after effect"}}, []moment{{150, "after effect"}}},
		{"upgrade one", raisedOneFolder, "apply", []moment{{1, "after effect: remove_path"}, {4, "after effect: remove_path"}, {6, "after effect"}}, nil},
		{"change etcd of one", tunedOneFolder, "apply", []moment{{1, "after effect: remove_path"}, {2, "after effect: remove_path"}}, nil},
		{"destroy", foundedFolder, "destroy", []moment{{98, "after effect"}, {1, "before open kubewright.journal"}, {1, "before rename to kubewright.state.json"}}, []moment{{1, "before rename to kubewright.state.json"}}},
	}
}

// TestApplyConvergesAfterKill kills the command with SIGKILL while it bootstraps a cluster, changes it
// and its members, upgrades it, renews its certificates and destroys it; running the same
// command again converges. With KUBEWRIGHT_LONG set each command is killed at every moment,
// otherwise at some of them.
func TestApplyConvergesAfterKill(t *testing.T) {
	t.Parallel()
	for _, tt := range killings() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from := tt.from(t)
			if os.Getenv("KUBEWRIGHT_LONG") != "" {
				tt.some = from.copy(t).moments(t, tt.command)
			}
			for _, at := range tt.some {
				from.onCopy(t, func(f folder) { f.killedAt(t, tt.command, at) })
			}
			t.Logf("%s: killed at %d moments", tt.name, len(tt.some))
		})
	}
}

// savedPlan is the apply of a saved plan.
const savedPlan = "apply plan.kwplan"

// TestSavedPlanConvergesAfterKill kills the apply of a saved plan: applying the same file again
// continues and converges, whatever the first part has changed, and the file is refused from
// then on. With KUBEWRIGHT_LONG set each command is killed at every moment, otherwise some at one.
func TestSavedPlanConvergesAfterKill(t *testing.T) {
	t.Parallel()
	for _, tt := range killings() {
		if len(tt.saved) == 0 && os.Getenv("KUBEWRIGHT_LONG") == "" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from := tt.from(t)
			verb, flags, _ := strings.Cut(tt.command, " ")
			args := append([]string{"plan", "-out=plan.kwplan"}, strings.Fields(flags)...)
			if verb == "destroy" {
				args = append(args, "-destroy")
			}
			from.must(t, args...)
			if os.Getenv("KUBEWRIGHT_LONG") != "" {
				tt.saved = from.copy(t).moments(t, savedPlan)
			}
			for _, at := range tt.saved {
				from.onCopy(t, func(f folder) { f.savedKilledAt(t, at, verb == "destroy") })
			}
			t.Logf("%s: killed at %d moments", tt.name, len(tt.saved))
		})
	}
}

// appliedToItsEnd is printed when a completed saved plan is applied again.
const appliedToItsEnd = "applied already, to its end"

// savedKilledAt kills the apply of a saved plan at a moment and applies it again until it is
// refused as completed. While the only control plane is stopped it cannot be observed, so one
// more apply may not be enough.
func (f folder) savedKilledAt(t *testing.T, at moment, destroys bool) {
	t.Helper()
	f.kill(t, savedPlan, at)
	ended := false
	for n := 0; n < 4 && !ended; n++ {
		code, out := f.run(arguments(savedPlan)...)
		ended = strings.Contains(strings.Join(strings.Fields(out), " "), appliedToItsEnd)
		if code != 0 && !ended {
			t.Errorf("moment %s: the same file again: exit code %d\n%s", at, code, out)
			return
		}
		f.must(t, "sim", "edit", crashHosts[0], "time", "1m") // what it has started last gets ready
	}
	if !ended {
		t.Errorf("moment %s: the saved plan is never refused", at)
	}
	if destroys {
		f.wantBlank(t, at)
		f.wantForgotten(t, at)
	} else if code, out := f.run("plan", "-detailed-exitcode"); code != 0 || !strings.Contains(out, "No changes.") {
		t.Errorf("moment %s: the saved plan does not converge: exit code %d\n%s", at, code, out)
	}
}

// folder is a configuration folder with its state and its simulated hosts.
type folder string

func newFolder(t *testing.T, config string) folder {
	t.Helper()
	f := folder(t.TempDir())
	if err := os.WriteFile(filepath.Join(string(f), "main.hcl"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f folder) copy(t *testing.T) folder {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(string(f))); err != nil {
		t.Fatal(err)
	}
	return folder(to)
}

// onCopy runs do in a copy of the folder and removes the copy afterwards: a thousand copies
// at once would fill the disk.
func (f folder) onCopy(t *testing.T, do func(folder)) {
	t.Helper()
	c := f.copy(t)
	do(c)
	if err := os.RemoveAll(string(c)); err != nil {
		t.Error(err)
	}
}

func (f folder) replace(t *testing.T, old, text string) {
	t.Helper()
	name := filepath.Join(string(f), "main.hcl")
	b, err := os.ReadFile(name)
	if err != nil || !bytes.Contains(b, []byte(old)) {
		t.Fatalf("%s has no %q: %v", name, old, err)
	}
	if err := os.WriteFile(name, bytes.Replace(b, []byte(old), []byte(text), 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

// crashHosts are the hosts of crashConfig.
var crashHosts = []string{"10.0.0.11", "10.0.0.12", "10.0.0.13", "10.0.0.21"}

// kubelets installs a kubelet version on every host of the configuration, as a package does.
func (f folder) kubelets(t *testing.T, version string) {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(string(f), "main.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range crashHosts {
		if strings.Contains(string(config), host) {
			f.must(t, "sim", "edit", host, "install", "kubelet="+version)
		}
	}
}

// ids are the IDs of runs in this process, unique across runs.
var ids atomic.Int64

// env returns an operator's environment in this process, and a function that returns the output.
func (f folder) env(args ...string) (*console.Env, func() string) {
	var out bytes.Buffer
	printed := &watched{Writer: &out}
	return &console.Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: printed, Stderr: printed, Getenv: func(string) string { return "" },
		Dir: string(f), Size: func() (int, int) { return 0, 0 }, Now: time.Now, Who: operatorName,
		NewID: func() string { return fmt.Sprintf("%016x%016x", os.Getpid(), ids.Add(1)) },
	}, out.String
}

// run runs a command in this process and returns its exit code and its output.
func (f folder) run(args ...string) (int, string) {
	env, printed := f.env(args...)
	return cli.Main(env), printed()
}

func (f folder) must(t *testing.T, args ...string) string {
	t.Helper()
	code, out := f.run(args...)
	if code != 0 {
		t.Fatalf("kubewright %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// process returns the command in its own process.
func (f folder) process(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = string(f)
	return cmd
}

// arguments returns the arguments of a command that asks no question.
func arguments(command string, more ...string) []string {
	return append(append(strings.Fields(command), "-auto-approve"), more...)
}

// moments lists the moments of a command that runs to its end.
func (f folder) moments(t *testing.T, command string) []moment {
	t.Helper()
	var all []string
	env, printed := f.env(arguments(command, "-parallelism=1")...)
	passing(env, false, &moments{pass: func(what string) bool { all = append(all, what); return false }})
	if code := cli.Main(env); code != 0 {
		t.Fatalf("exit code %d\n%s", code, printed())
	}
	var out []moment
	for n, what := range all {
		// After the colon there may be an ID, which differs from run to run.
		kind, _, _ := strings.Cut(what, ":")
		at := moment{0, kind}
		for _, what := range all[:n+1] {
			if strings.Contains(what, kind) {
				at.nth++
			}
		}
		out = append(out, at)
	}
	return out
}

// kill runs a command and kills it at a moment.
func (f folder) kill(t *testing.T, command string, at moment) {
	t.Helper()
	cmd := f.process("kubewright-crash", arguments(command, "-parallelism=1")...)
	cmd.Env = append(os.Environ(), momentAt+"="+at.String())
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("moment %s: the command was not killed: %v\n%s", at, err, out)
	}
}

// killedAt kills the command at a moment and runs it again, and once more if it reports that
// something was skipped: while the only control plane is stopped it cannot be observed.
func (f folder) killedAt(t *testing.T, command string, at moment) {
	t.Helper()
	f.kill(t, command, at)
	if _, err := statefile.Load(statefile.DirPaths(string(f))); err != nil {
		t.Errorf("moment %s: the state cannot be read: %v", at, err)
	}
	if _, out := f.run("plan"); strings.Contains(out, "outside of kubewright") {
		t.Errorf("moment %s: the command's own changes count as drift:\n%s", at, out)
	}
	for range 3 {
		code, out := f.run(arguments(command)...)
		if code != 0 {
			t.Errorf("moment %s: the same command again: exit code %d\n%s", at, code, out)
			return
		}
		// The components that the command started last become ready.
		f.must(t, "sim", "edit", crashHosts[0], "time", "1m")
		if !strings.Contains(out, "Some changes are pending") && !strings.Contains(out, "could not be observed") {
			break
		}
	}
	if command == "destroy" {
		f.wantBlank(t, at)
		f.wantForgotten(t, at)
		return
	}
	if code, out := f.run("plan", "-detailed-exitcode"); code != 0 || !strings.Contains(out, "No changes.") {
		t.Errorf("moment %s: the command does not converge: exit code %d\n%s", at, code, out)
	}
}

// wantBlank checks that the hosts are in their initial state.
func (f folder) wantBlank(t *testing.T, at moment) {
	t.Helper()
	w, err := sim.Open(filepath.Join(string(f), "kubewright.sim.json"))
	if err != nil {
		t.Fatal(err)
	}
	fresh := sim.New(1, sim.DefaultProfile())
	for _, host := range crashHosts {
		if got, want := w.Listing(host), fresh.Listing(host); got != want {
			t.Errorf("moment %s: %s is not in its initial state:\n%s\nwant:\n%s", at, host, got, want)
		}
	}
}

// TestDestroyAfterLostStateWrite checks that, after an apply that creates a cluster and the destroy
// after it both lose their last write, the next destroy lists what it removes and a further
// one, also one restricted to this cluster, reports that nothing is left.
func TestDestroyAfterLostStateWrite(t *testing.T) {
	t.Parallel()
	lost := moment{1, "before rename to kubewright.state.json"}
	f := newFolder(t, crashConfig)
	f.kill(t, "apply", lost)
	f.kill(t, "destroy", lost)
	alone := f.copy(t)
	if code, out := f.run("plan", "-destroy", "-detailed-exitcode"); code != 2 || !strings.Contains(out, "Plan: 0 to add, 0 to change, 1 to destroy.") {
		t.Errorf("the plan of what is left: exit code %d\n%s", code, out)
	}
	for _, tt := range []struct {
		f    folder
		args []string
	}{{f, nil}, {alone, []string{"-target=cluster.prod"}}} {
		for _, want := range []string{"1 destroyed.", "0 destroyed."} {
			out := tt.f.must(t, append([]string{"destroy", "-auto-approve"}, tt.args...)...)
			if !strings.Contains(out, "Destroy complete! Resources: "+want) || strings.Contains(out, "No changes.") != (want == "0 destroyed.") {
				t.Errorf("destroy %v is to say %s\n%s", tt.args, want, out)
			}
		}
		tt.f.wantForgotten(t, lost)
	}
}

// TestRefreshAfterLostStateWrite checks that after an apply whose last write was lost a refresh-only
// plan does not claim to know what that apply left on the nodes.
func TestRefreshAfterLostStateWrite(t *testing.T) {
	t.Parallel()
	f := newFolder(t, crashConfig)
	f.kill(t, "apply", moment{1, "before rename to kubewright.state.json"})
	f.must(t, "sim", "edit", "10.0.0.21", "yaml", "/var/lib/kubelet/config.yaml", "set", "maxPods=50")
	out := strings.Join(strings.Fields(f.must(t, "plan", "-refresh-only", "-out=found.kwplan")), " ")
	for _, want := range []string{"No changes. What the state knows is still so.", "The next apply writes what it finds."} {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not contain %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "found what the last apply left") || !strings.Contains(out, `left on node.cp["cp1"], node.cp["cp2"], node.cp["cp3"], node.worker. What`) {
		t.Errorf("the output does not report what the last apply left:\n%s", out)
	}
	if shown := strings.Join(strings.Fields(f.must(t, "show", "found.kwplan")), " "); !strings.Contains(shown, "What the state knows is still so. The state does not know") {
		t.Errorf("the saved plan does not report it:\n%s", shown)
	}
	if out := f.must(t, "plan"); !strings.Contains(out, "maxPods") {
		t.Errorf("the plan hides the difference:\n%s", out)
	}
	f.must(t, "apply", "-auto-approve")
	if out := f.must(t, "plan", "-refresh-only"); !strings.Contains(out, "Your clusters still match the state.") {
		t.Errorf("after the apply the state does not match the clusters:\n%s", out)
	}
}

// TestDestroyKeepsClusterOfUnmanagedHosts checks that the state keeps its records of a cluster while
// hosts that were removed from the state still hold that cluster.
func TestDestroyKeepsClusterOfUnmanagedHosts(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t).copy(t)
	f.must(t, "state", "rm", "-auto-approve", `node.cp["cp1"]`, `node.cp["cp2"]`, `node.cp["cp3"]`, "node.worker")
	out := f.must(t, "destroy", "-auto-approve")
	if !strings.Contains(out, "No changes.") || !strings.Contains(out, "0 destroyed.") || !strings.Contains(f.must(t, "state", "list"), "cluster.prod") {
		t.Errorf("the cluster runs but its records are gone:\n%s", out)
	}
}

// wantForgotten checks that the state has no record of what was destroyed.
func (f folder) wantForgotten(t *testing.T, at moment) {
	t.Helper()
	loaded, err := statefile.Load(statefile.DirPaths(string(f)))
	if err != nil {
		t.Fatal(err)
	}
	if st := loaded.State; len(st.Clusters)+len(st.Nodes)+len(st.Items)+len(st.Unseen) > 0 {
		t.Errorf("moment %s: the state still has %d clusters, %d nodes, %d items and %d steps", at, len(st.Clusters), len(st.Nodes), len(st.Items), len(st.Unseen))
	}
}
