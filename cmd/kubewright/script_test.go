package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	jq "github.com/itchyny/gojq/cli"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/artifacts/artifactstest"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/http/httptestserver"
	"github.com/kubewright/kubewright/state/statefile"
)

// TestMain lets tests run the command in its own process, for shells and in order to kill it;
// in scripts it runs in this process.
func TestMain(m *testing.M) {
	// A process built with the race detector waits a second at exit for races in goroutines that
	// are still running; the processes that tests start have none.
	if err := os.Setenv(raceOptions, noWaiting); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"kubewright-process": func() { os.Exit(cli.Main(console.System(os.Args[1:]))) },
		"kubewright-killed":  runKilled, "kubewright-crash": runCrash, "kubewright-signal": runSignal, "kubewright-unread": runUnread, "kubewright-stopped": runStopped, "kubewright-held": runHeld, "kubewright-hung": runHung,
		// The jq filters of the pages are tested wherever Go is installed.
		"jq": func() { os.Exit(jq.Run()) },
	})
}

// These variables are set for the processes that tests start.
const (
	raceOptions = "GORACE"
	noWaiting   = "atexit_sleep_ms=0"
)

// TestScripts runs testdata/script/*.txtar over simulated hosts. UPDATE=1 rewrites their golden
// sections. Besides testscript's own commands there are
//
//	kubewright ARG…       run the command; ! expects failure
//	each N HOST EDIT…     edit N simulated hosts, as sim edit does; % in HOST is the number
//	short LINES BYTES     the last stdout has at most so many lines and, if given, bytes
//	code N                the last exit code was N
//	example NAME          copy an example's main.hcl here
//	artifacts DIR ARCH [containerd-VERSION | images-VERSION]...
//	                      create small artifacts for hosts of ARCH in a folder, with the images of
//	                      another version of Kubernetes besides the others
//	publish               serve releases and images for bundle at $PLACE
//	quickstart            copy the quickstart's main.hcl here
//	founded               create what a first apply of main.hcl leaves here, without its output
//	answer TEXT…          the next kubewright can ask, and gets these answers
//	secret TEXT           the next kubewright can ask with a hidden prompt, and gets this answer
//	jsonlines             the last stdout has only JSON objects, one per line
//	picture TEXT F=T…     the code block in the docs that contains TEXT is the last output, with T
//	                      instead of F
//	planschema            the last stdout is a plan that conforms to docs/plan.schema.json
//	feed FILE             the next kubewright reads this file on stdin
//	clock TEXT TIME       the operator's clock shows TIME once the next kubewright has printed TEXT
//	replace TEXT FILE NEW FILE becomes a copy of NEW once the next kubewright has printed TEXT
//	backupof LABEL SNAPSHOT RECIPIENT FILE [KEYS]   make a backup of a cluster with a snapshot, with CAs and keys of its own,
//	                      and with the file KEYS, or that of a host for host:HOST
//	agekey NAME           generate an age key: the private key in NAME.key, the public key in $NAME
//	interrupt TEXT        the next kubewright is interrupted once it has printed TEXT
//	meanwhile TEXT HOST EDIT…
//	                      edit a simulated host, as sim edit does, once the next kubewright has
//	                      printed TEXT
//	readme                the README's first code block is the end of the last stdout
//	mode FILE BITS        the file has these permissions
//	edit FILE OLD NEW     replace OLD, which must be there, with NEW (\n is a line break)
//	serve                 serve a state at $STATE_URL, to user ann with password secret
//	served FILE, plant FILE
//	                      write the served state to a file, or replace it with one
//	remotelock ID [WHO OPERATION]
//	                      hold the lock of the served state as the run with this ID, and set $HOLDER
//	bucket FILE…          serve the bucket "states" at $BUCKET_URL, with these files in it
//	lock FILE, unlock     hold a state's lock as another run does
//	poison FILE TOKEN     set another run token in the state in FILE
//	durations FILE PHASE/ACTION=SECONDS…
//	                      set how long steps took before, in the state in FILE
//	ca NAME               create a CA: NAME.crt and NAME.key, and $NAME in upper case, in base64
//	supply CA DATE [FILE…] sign what certificates.supplied requires, valid until DATE
//
// The environment variable NOW is the time of the operator's clock.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values[operatorKey{}] = &operator{}
			env.Setenv("NOW", "2026-03-02T09:00:00Z")
			env.Setenv(raceOptions, noWaiting)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"kubewright": runCommand, "each": editEach, "short": isShort, "code": checkCode, "quickstart": putQuickstart, "founded": putFounded, "edit": editFile, "mode": hasMode,
			"ca": scriptCA(t), "supply": scriptSupply(t), "serve": serveState(t), "remotelock": holdRemotely, "bucket": serveBucket(t), "served": served, "plant": plant,
			"answer":    func(ts *testscript.TestScript, _ bool, args []string) { of(ts).answers = args },
			"secret":    func(ts *testscript.TestScript, _ bool, args []string) { of(ts).secret = &args[0] },
			"jsonlines": onlyJSON, "planschema": followsSchema, "digest": keepDigest, "readme": isPicture, "picture": isPictured,
			"example": putExample, "artifacts": makeArtifacts, "publish": publish,
			"feed":      func(ts *testscript.TestScript, _ bool, args []string) { of(ts).stdin = ts.ReadFile(args[0]) },
			"interrupt": func(ts *testscript.TestScript, _ bool, args []string) { of(ts).interruptAt = args[0] },
			"meanwhile": func(ts *testscript.TestScript, _ bool, args []string) { of(ts).meanwhile = args },
			"clock":     func(ts *testscript.TestScript, _ bool, args []string) { of(ts).clockAt = args },
			"replace":   func(ts *testscript.TestScript, _ bool, args []string) { of(ts).replaced = args },
			"agekey":    makeAgeKey, "backupof": makeBackup, "poison": poisonState, "durations": setDurations,
			"lock": holdLock, "unlock": func(ts *testscript.TestScript, _ bool, _ []string) { of(ts).release() },
		},
	})
}

// operator is the user who runs the commands of one script.
type operator struct {
	answers     []string
	secret      *string
	stdin       string
	interruptAt string
	clockAt     []string
	meanwhile   []string
	replaced    []string
	code        int
	ids         int
	held        *statefile.Lock
	states      backend.Backend
	server      *httptestserver.Server
	cas         map[string]*pkitest.CA
}

type operatorKey struct{}

func of(ts *testscript.TestScript) *operator { return ts.Value(operatorKey{}).(*operator) }

// runCommand runs kubewright in this process.
func runCommand(ts *testscript.TestScript, neg bool, args []string) {
	o := of(ts)
	now, err := time.Parse(time.RFC3339, ts.Getenv("NOW"))
	ts.Check(err)
	interrupts, heeded := make(chan os.Signal), make(chan struct{}, 1)
	var failed strings.Builder
	stdout := &watched{Writer: ts.Stdout(), at: o.interruptAt, then: func() {
		interrupts <- os.Interrupt
		<-heeded
	}}
	var clock atomic.Pointer[time.Time]
	clock.Store(&now)
	if at := o.clockAt; at != nil {
		later, err := time.Parse(time.RFC3339, at[1])
		ts.Check(err)
		stdout.at, stdout.then = at[0], func() { clock.Store(&later) }
	}
	env := &console.Env{
		Args: args, Stdin: strings.NewReader(o.stdin), Stdout: stdout, Stderr: &watched{Writer: io.MultiWriter(ts.Stderr(), &failed)},
		Getenv: ts.Getenv, Dir: ts.MkAbs("."),
		Size: func() (int, int) { return 0, 0 }, Now: func() time.Time { return *clock.Load() },
		NewID: func() string { o.ids++; return fmt.Sprintf("%032x", o.ids) },
		Who:   "ada@laptop", Interrupts: interrupts, Heeded: func() { heeded <- struct{}{} },
	}
	if v := ts.Getenv("KUBEWRIGHT_VAR_kubernetes_version"); v != "" {
		env.Environ = []string{"KUBEWRIGHT_VAR_kubernetes_version=" + v}
	}
	if o.answers != nil {
		env.Stdin, env.Interactive = strings.NewReader(strings.Join(o.answers, "\n")+"\n"), true
	}
	if secret := o.secret; secret != nil {
		env.Secret = func(context.Context, string) ([]byte, error) { return []byte(*secret), nil }
	}
	if edit := o.meanwhile; edit != nil {
		var world *sim.World
		env.OpenWorld = func(path string) (w *sim.World, err error) { world, err = sim.Open(path); return world, err }
		stdout.at, stdout.then = edit[0], func() { ts.Check(sim.Edit(world, edit[1], strings.Join(edit[2:], " "))) }
	}
	if file := o.replaced; file != nil {
		stdout.at, stdout.then = file[0], func() { ts.Check(os.WriteFile(ts.MkAbs(file[1]), []byte(ts.ReadFile(file[2])), 0o600)) }
	}
	o.answers, o.secret, o.stdin, o.interruptAt, o.clockAt, o.meanwhile, o.replaced = nil, nil, "", "", nil, nil, nil
	o.code = cli.Main(env)
	if strings.Contains(failed.String(), "Hosts differ from the configuration after the apply") {
		ts.Fatalf("hosts differ after the apply")
	}
	if (o.code != 0) != neg {
		ts.Fatalf("exit code %d", o.code)
	}
}

// makeAgeKey generates a key pair.
func makeAgeKey(ts *testscript.TestScript, _ bool, args []string) {
	id, err := age.GenerateX25519Identity()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".key"), []byte(id.String()+"\n"), 0o600))
	ts.Setenv(args[0], id.Recipient().String())
}

// watched is a stream that several goroutines may write to, and that calls a function once a
// text has been written.
type watched struct {
	io.Writer
	at   string
	then func()

	mu   sync.Mutex
	seen bytes.Buffer
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.Writer.Write(b)
	if w.at != "" {
		w.seen.Write(b)
		if strings.Contains(w.seen.String(), w.at) {
			w.at = ""
			w.then()
		}
	}
	return n, err
}

// onlyJSON checks that stdout consists of machine-readable JSON lines.
func onlyJSON(ts *testscript.TestScript, _ bool, _ []string) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	for _, line := range lines {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil || object["type"] == nil || object["@message"] == nil {
			ts.Fatalf("not a line of JSON with a type and a message: %s", line)
		}
	}
	if len(lines) < 2 {
		ts.Fatalf("only %d lines", len(lines))
	}
}

// keepDigest sets DIGEST to the short digest of the plan that plan -json has printed.
func keepDigest(ts *testscript.TestScript, _ bool, _ []string) {
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var l struct{ Plan struct{ Digest string } }
		if json.Unmarshal([]byte(line), &l) == nil && l.Plan.Digest != "" {
			ts.Setenv("DIGEST", l.Plan.Digest[:planfile.ShortDigest])
			return
		}
	}
	ts.Fatalf("no line has a plan with a digest")
}

// isPicture checks that the plan in the README is the printed one.
func isPicture(ts *testscript.TestScript, _ bool, _ []string) {
	readme, err := os.ReadFile(filepath.Join(examples, "..", "README.md"))
	ts.Check(err)
	_, rest, _ := strings.Cut(string(readme), "```\n")
	picture, _, found := strings.Cut(rest, "```\n")
	if !found || !strings.Contains(ts.ReadFile("stdout"), "\n"+picture+"\n") {
		ts.Fatalf("the README shows another plan:\n%s", picture)
	}
}

func checkCode(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if (of(ts).code == want) == neg {
		ts.Fatalf("exit code %d", of(ts).code)
	}
}

func putQuickstart(ts *testscript.TestScript, neg bool, _ []string) {
	putExample(ts, neg, []string{"quickstart"})
}

// siteImage is an image of the test artifacts besides those of Kubernetes.
const siteImage = "registry.example.internal/network:1.0"

func makeArtifacts(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(bringArtifacts(ts.MkAbs(args[0]), args[1], args[2:]...))
}

// bringArtifacts creates a folder with everything that a bare host of the architecture needs;
// others name another version of containerd, or versions whose images are added.
func bringArtifacts(dir, arch string, others ...string) error {
	imagesOf := func(version string) []string {
		return kubeadm.Images(kubeadm.Input{Cluster: config.NewCluster("prod", version), Node: &config.Node{Role: config.ControlPlane}, Facts: &state.Facts{}})
	}
	images := append(imagesOf("1.36.3"), siteImage)
	for _, name := range others {
		if version, ok := strings.CutPrefix(name, "images-"); ok {
			images = append(images, imagesOf(version)...)
		}
	}
	folder := artifactstest.New(arch, "1.36.3", images...)
	for _, name := range others {
		if strings.HasPrefix(name, "containerd-") {
			delete(folder, "containerd-2.1.4-linux-"+arch+".tar.gz")
			folder[name+"-linux-"+arch+".tar.gz"] = artifactstest.Archive(map[string][]byte{"bin/containerd": artifactstest.Program(arch, name)})
		}
	}
	return folder.Write(dir)
}

func putExample(ts *testscript.TestScript, _ bool, args []string) {
	b, err := os.ReadFile(filepath.Join(examples, args[0], "main.hcl"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("main.hcl"), b, 0o600))
}

var examples = must(filepath.Abs(filepath.Join("..", "..", "examples")))

func must(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

func editFile(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], strings.ReplaceAll(args[2], `\n`, "\n"), 1)), 0o600))
}

func hasMode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := strconv.FormatUint(uint64(info.Mode().Perm()), 8); got != args[1] {
		ts.Fatalf("%s has mode %s", args[0], got)
	}
}

func holdLock(ts *testscript.TestScript, _ bool, args []string) {
	info := statefile.LockInfo{
		ID: "42", Who: "grace@desk", PID: 4711, Operation: "apply",
		Time: time.Date(2026, time.March, 2, 8, 59, 0, 0, time.UTC),
	}
	l, err := statefile.Acquire(context.Background(), ts.MkAbs(args[0]), info, 0)
	ts.Check(err)
	of(ts).held = l
	ts.Defer(of(ts).release)
}

func (o *operator) release() {
	if o.held != nil {
		_ = o.held.Release()
	}
	o.held = nil
}

// runKilled is the command in a process that ends without output, as after kill -9 or a loss of
// power, once it has printed the text in KILLED_AT.
func runKilled() {
	env := console.System(os.Args[1:])
	env.OpenWorld = func(path string) (*sim.World, error) {
		w, err := sim.Open(path)
		if err == nil {
			// What was done to hosts persists then, as on real ones.
			w.Durable = os.Getenv("KILLED_DURABLE") != ""
		}
		return w, err
	}
	if who := os.Getenv("KILLED_AS"); who != "" {
		env.Who = who
	}
	env.Stdout = &watched{Writer: os.Stdout, at: os.Getenv("KILLED_AT"), then: func() { os.Exit(137) }}
	os.Exit(cli.Main(env))
}
