package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state/statefile"
)

// The variables that tell a process of kubewright-crash or kubewright-signal at
// which moment to do what, and where to list the moments that it passed.
const (
	momentAt   = "MOMENT_AT"
	momentList = "MOMENT_LIST"
	signals    = "MOMENT_SIGNALS"
)

// runCrash is the command in a process that is killed, with SIGKILL, at one of
// its moments: before any call that changes state or journal, in the middle of
// each write to them, and before and after each effect on a host, etcd or API.
func runCrash() {
	os.Exit(cli.Main(atMoments(cli.System(os.Args[1:]), func() {
		if err := kill(os.Kill); err != nil {
			panic(err)
		}
		select {} // the kernel ends us here
	})))
}

// atMoments has a command pass its moments, and do something at one of them.
// Its simulated hosts keep every effect, as real ones do.
func atMoments(env *cli.Env, then func()) *cli.Env {
	at, _ := strconv.Atoi(os.Getenv(momentAt))
	m := &moments{at: at, then: then, list: io.Discard}
	if name := os.Getenv(momentList); name != "" {
		f, err := os.Create(name)
		if err != nil {
			panic(err)
		}
		m.list = f
	}
	env.Files = crashFS{statefile.OS(), m}
	env.OpenWorld = func(path string) (*sim.World, error) {
		w, err := sim.Open(path)
		if err != nil {
			return nil, err
		}
		w.Durable = true
		w.OnEffect = func(e sim.Effect) error {
			when := "before"
			if e.Done {
				when = "after"
			}
			m.pass(fmt.Sprintf("%s effect: %s %s on %s", when, e.Op, e.Detail, e.Host))
			return nil
		}
		return w, nil
	}
	env.Who = operatorName // as who runs the command again
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

// moments counts the moments of a process and does something at one of them.
type moments struct {
	mu   sync.Mutex
	n    int
	at   int
	then func()
	list io.Writer
}

func (m *moments) pass(what string) { m.passWith(what, func() {}) }

// passWith does something more where this is the moment.
func (m *moments) passWith(what string, dying func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	fmt.Fprintln(m.list, what)
	if m.n == m.at {
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
	f.m.pass("before create " + filepath.Base(name))
	file, err := f.FS.Create(name)
	return crashFile{file, filepath.Base(name), f.m}, err
}

func (f crashFS) Open(name string) (statefile.File, error) {
	f.m.pass("before open " + filepath.Base(name))
	file, err := f.FS.Open(name)
	return crashFile{file, filepath.Base(name), f.m}, err
}

func (f crashFS) Rename(from, to string) error {
	f.m.pass("before rename to " + filepath.Base(to))
	return f.FS.Rename(from, to)
}

func (f crashFS) Remove(name string) error {
	f.m.pass("before remove " + filepath.Base(name))
	return f.FS.Remove(name)
}

func (f crashFS) SyncDir(dir string) error {
	f.m.pass("before sync of the folder")
	return f.FS.SyncDir(dir)
}

type crashFile struct {
	statefile.File
	name string
	m    *moments
}

func (f crashFile) WriteAt(b []byte, off int64) (int, error) {
	f.m.pass("before write " + f.name)
	f.m.passWith("in the middle of write "+f.name, func() { _, _ = f.File.WriteAt(b[:len(b)/2], off) })
	return f.File.WriteAt(b, off)
}

func (f crashFile) Truncate(size int64) error {
	f.m.pass("before truncate " + f.name)
	return f.File.Truncate(size)
}

func (f crashFile) Sync() error {
	f.m.pass("before sync " + f.name)
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

// TestKilledAnywhere kills the command with SIGKILL at its moments, while it
// founds a cluster, changes it and its members, upgrades it, renews its
// certificates and destroys it; the same command again converges. With
// KUBEWRIGHT_LONG set at every moment, otherwise at one of many kinds of moment.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	blank := newFolder(t, crashConfig)
	founded := blank.copy(t)
	founded.must(t, "apply", "-auto-approve")
	changed := founded.copy(t)
	changed.replace(t, `"general"`, `"batch"`)
	changed.replace(t, `cert_sans = ["api.example.com"]`, "cert_sans = [\"api.example.com\"]\n    arg \"audit-log-maxage\" { value = \"30\" }")
	raised := newFolder(t, strings.Replace(crashConfig, "1.36.3", "1.35.8", 1))
	raised.kubelets(t, "1.35.8")
	raised.must(t, "apply", "-auto-approve")
	raised.replace(t, "1.35.8", "1.36.3")
	raised.kubelets(t, "1.36.3")
	replaced := founded.copy(t)
	replaced.replace(t, "role    = \"worker\"", "role    = \"control-plane\"") // one comes, as another host
	replaced.replace(t, `cp1 = "10.0.0.11", `, "")
	due, ended := founded.copy(t), founded.copy(t)
	due.must(t, "sim", "edit", "10.0.0.11", "time", "8040h")
	ended.must(t, "sim", "edit", "10.0.0.11", "time", "9000h")
	for _, tt := range []struct {
		name    string
		from    folder
		command string
		// every is how many kinds of moments there are for one that is tried.
		every int
	}{
		{"found", blank, "apply", 4},
		{"change", changed, "apply", 8},
		{"upgrade", raised, "apply", 20},
		{"roles", replaced, "apply", 20},
		{"replace", founded, `apply -replace=node.cp["cp1"]`, 20},
		{"renew", due, "apply", 25},
		{"renew what has ended", ended, "apply", 25},
		{"rotate", founded, "apply " + strings.Join(rotateAll, " "), 30},
		{"destroy", founded, "destroy", 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := tt.from.copy(t).moments(t, tt.command)
			chosen := oneOfEachKind(all, tt.every)
			if os.Getenv("KUBEWRIGHT_LONG") != "" {
				chosen = nil
				for n := range all {
					chosen = append(chosen, n)
				}
			}
			for _, n := range chosen {
				tt.from.copy(t).killedAt(t, tt.command, n+1, all[n])
			}
			t.Logf("%s: killed at %d of %d moments", tt.name, len(chosen), len(all))
		})
	}
}

// oneOfEachKind chooses from every nth kind of moment the one in the middle.
func oneOfEachKind(all []string, every int) []int {
	kinds := map[string][]int{}
	for n, what := range all {
		kind, _, _ := strings.Cut(what, ":")
		kinds[kind] = append(kinds[kind], n)
	}
	var out []int
	for i, kind := range slices.Sorted(maps.Keys(kinds)) {
		if of := kinds[kind]; i%every == 0 {
			out = append(out, of[len(of)/2])
		}
	}
	slices.Sort(out)
	return out
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

// kubelets installs the kubelet of a version on every host, as a package does.
func (f folder) kubelets(t *testing.T, version string) {
	t.Helper()
	for _, host := range crashHosts {
		f.must(t, "sim", "edit", host, "install", "kubelet="+version)
	}
}

// env is an operator's machine in this process, and all that the command printed there.
func (f folder) env(args ...string) (*cli.Env, func() string) {
	var out bytes.Buffer
	printed := &watched{Writer: &out}
	ids := 0
	return &cli.Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: printed, Stderr: printed, Getenv: func(string) string { return "" },
		Dir: string(f), Size: func() (int, int) { return 0, 0 }, Now: time.Now, Who: operatorName,
		NewID: func() string { ids++; return fmt.Sprintf("%032x", ids) },
	}, out.String
}

// run runs a command in this process and returns its exit code and all that it printed.
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

// process is the command in a process of its own.
func (f folder) process(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = string(f)
	return cmd
}

// arguments are those of a command that nobody is asked about.
func arguments(command string, more ...string) []string {
	return append(append(strings.Fields(command), "-auto-approve"), more...)
}

// moments lists the moments of a command that nobody kills.
func (f folder) moments(t *testing.T, command string) []string {
	t.Helper()
	list := filepath.Join(t.TempDir(), "moments")
	cmd := f.process("kubewright-crash", arguments(command, "-parallelism=1")...)
	cmd.Env = append(os.Environ(), momentList+"="+list)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// kill runs a command that is killed at its nth moment.
func (f folder) kill(t *testing.T, command string, n int) {
	t.Helper()
	cmd := f.process("kubewright-crash", arguments(command, "-parallelism=1")...)
	cmd.Env = append(os.Environ(), momentAt+"="+strconv.Itoa(n))
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("moment %d: the command was not killed: %v\n%s", n, err, out)
	}
}

// killedAt kills the command at its nth moment and runs it again.
func (f folder) killedAt(t *testing.T, command string, n int, what string) {
	t.Helper()
	f.kill(t, command, n)
	if _, err := statefile.Load(statefile.DirPaths(string(f))); err != nil {
		t.Errorf("moment %d (%s): the state cannot be read: %v", n, what, err)
	}
	if code, out := f.run(arguments(command)...); code != 0 {
		t.Errorf("moment %d (%s): the same command again: exit code %d\n%s", n, what, code, out)
		return
	}
	if command == "destroy" {
		f.wantBlank(t, n, what)
		return
	}
	if code, out := f.run("plan", "-detailed-exitcode"); code != 0 || !strings.Contains(out, "No changes.") {
		t.Errorf("moment %d (%s): it does not converge: exit code %d\n%s", n, what, code, out)
	}
}

// wantBlank wants hosts on which nothing ever was.
func (f folder) wantBlank(t *testing.T, n int, what string) {
	t.Helper()
	w, err := sim.Open(filepath.Join(string(f), "kubewright.sim.json"))
	if err != nil {
		t.Fatal(err)
	}
	fresh := sim.New(1, sim.DefaultProfile())
	for _, host := range crashHosts {
		if got, want := w.Listing(host), fresh.Listing(host); got != want {
			t.Errorf("moment %d (%s): %s is not as it was:\n%s\nwant:\n%s", n, what, host, got, want)
		}
	}
}
