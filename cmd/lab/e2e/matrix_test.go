//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/ledger"
)

// Variables of the environment: all asks for the long tests, too; shard asks for one of several
// parts of all tests, as in 2/4; repeat asks for tests that have passed with the same code.
const (
	allVariable    = "KUBEWRIGHT_E2E_ALL"
	shardVariable  = "KUBEWRIGHT_E2E_SHARD"
	repeatVariable = "KUBEWRIGHT_E2E_REPEAT"
)

// A test is what begin has to know of a test.
type test struct {
	// usual is its duration on two cores, for a parallel test in parallel with others.
	usual time.Duration
	// long reports whether it runs with make e2e-all alone, or where unless is set.
	long   bool
	unless string
	// alone reports whether it runs by itself. Tests of durations, and of effects on the users of
	// a cluster, do: when several clusters share the cores, etcd and the API server drop requests
	// for reasons unrelated to the test.
	alone bool
	// reads are what it reads of the repository, besides code and what is in this folder.
	reads []string
}

// tests are all tests but TestConformance, which takes hours and keeps verdicts of its own.
var tests = map[string]test{
	"TestAdopt":                     {usual: 2 * time.Minute},
	"TestAdoptAll":                  {usual: 25 * time.Minute, long: true},
	"TestAdoptOthers":               {usual: 20 * time.Minute, long: true},
	"TestAlarm":                     {usual: 4 * time.Minute, long: true},
	"TestBackup":                    {usual: 6 * time.Minute, long: true},
	"TestCauses":                    {usual: 30 * time.Minute, long: true},
	"TestCertificates":              {usual: 5 * time.Minute, long: true, alone: true},
	"TestChanges":                   {usual: 5 * time.Minute},
	"TestChangesOfNodes":            {usual: 6 * time.Minute, long: true},
	"TestCheckpoints":               {usual: 6 * time.Minute, long: true},
	"TestConformanceAfterAdoption":  {usual: 30 * time.Minute, long: true, alone: true},
	"TestConformanceAfterRotation":  {usual: 30 * time.Minute, long: true, alone: true},
	"TestConformanceAfterUpgrade":   {usual: 30 * time.Minute, long: true, alone: true},
	"TestConformanceHardened":       {usual: 30 * time.Minute, long: true, alone: true},
	"TestConformanceOf134":          {usual: 30 * time.Minute, long: true, alone: true},
	"TestConformanceOf135":          {usual: 30 * time.Minute, long: true, alone: true},
	"TestConformanceOf137":          {usual: 30 * time.Minute, long: true, alone: true},
	"TestEncryptionAtRest":          {usual: 20 * time.Minute, long: true, alone: true},
	"TestEncryptionByPlugin":        {usual: 20 * time.Minute, long: true, alone: true},
	"TestEndedCAs":                  {usual: 14 * time.Minute, long: true},
	"TestEtcdCare":                  {usual: 5 * time.Minute, long: true},
	"TestEtcdRotation":              {usual: 8 * time.Minute, long: true, alone: true},
	"TestExamples":                  {usual: 40 * time.Minute, long: true, reads: []string{"examples"}},
	"TestExamplesAreListed":         {alone: true, reads: []string{"examples"}},
	"TestExternalCA":                {usual: 15 * time.Minute, long: true},
	"TestFirstLight":                {usual: 4 * time.Minute, alone: true},
	"TestFiveControlPlanes":         {usual: 8 * time.Minute, long: true, alone: true},
	"TestGone":                      {usual: 6 * time.Minute, long: true},
	"TestHostSettings":              {usual: 8 * time.Minute, long: true},
	"TestHops":                      {usual: 15 * time.Minute, long: true, alone: true},
	"TestIPv6":                      {usual: 8 * time.Minute, long: true},
	"TestIdle":                      {usual: idle + 2*time.Minute, long: true},
	"TestInstall":                   {usual: 8 * time.Minute, long: true},
	"TestKilled":                    {usual: 10 * time.Minute, long: true},
	"TestKilledCare":                {usual: 9 * time.Minute, long: true},
	"TestKilledUpgrade":             {usual: 7 * time.Minute, long: true},
	"TestKubeadmJoinsAControlPlane": {usual: 3 * time.Minute, long: true},
	"TestKubeadmKnowsTheCluster":    {usual: time.Minute},
	"TestKubeBench":                 {usual: 8 * time.Minute},
	"TestKubeBenchAdopted":          {usual: 6 * time.Minute, long: true},
	"TestKubeBenchUpgraded":         {usual: 20 * time.Minute, long: true},
	"TestKubeletServing":            {usual: 6 * time.Minute, long: true},
	"TestMembership":                {usual: 4 * time.Minute},
	"TestOracle":                    {usual: 3 * time.Minute, reads: []string{"planner/kubeadm/testdata"}},
	"TestOutside":                   {usual: 5 * time.Minute, long: true},
	"TestPackages":                  {usual: 4 * time.Minute, long: true},
	"TestPools":                     {usual: 6 * time.Minute, long: true},
	"TestPull":                      {usual: 3 * time.Minute, long: true},
	"TestReboot":                    {usual: 3 * time.Minute, long: true},
	"TestRelease":                   {usual: 5 * time.Minute, long: true, unless: "KUBEWRIGHT_DIST", reads: []string{"tools", "docs", "examples", "LICENSE"}},
	"TestRotation":                  {usual: 10 * time.Minute, long: true, alone: true},
	"TestRuntime":                   {usual: 8 * time.Minute, long: true},
	"TestSaved":                     {usual: 3 * time.Minute, long: true},
	"TestSeatIsDown":                {usual: 4 * time.Minute, long: true},
	"TestTimeBesideKubeadm":         {usual: 10 * time.Minute, long: true, alone: true},
	"TestTrace":                     {usual: 5 * time.Minute, long: true},
	"TestTwoOperators":              {usual: 3 * time.Minute},
	"TestUpgrade":                   {usual: 9 * time.Minute, alone: true},
	"TestVerdicts":                  {usual: 8 * time.Minute, long: true},
	"TestVerbs":                     {usual: 5 * time.Minute, long: true},
	"TestVersions":                  {usual: 45 * time.Minute, long: true},
}

// begin skips a test that was not asked for, or that has passed with code that is the same as far
// as it can affect the test. Otherwise it waits until it is the test's turn, and records when the
// test passes.
func begin(t *testing.T) {
	t.Helper()
	row, ok := tests[t.Name()]
	if !ok {
		t.Fatalf("%s is not in the table of tests", t.Name())
	}
	if row.long && (row.unless == "" || os.Getenv(row.unless) == "") {
		long(t)
	}
	if os.Getenv(allVariable) != "" {
		inShard(t)
		remember(t, row)
	}
	if !row.alone {
		beside(t, row.usual)
	}
}

// long skips a test, or part of one, of the long matrices unless they are requested.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv(allVariable) == "" {
		t.Skip("one of the long matrices: runs with make e2e-all")
	}
}

// inShard skips a test that is in another shard.
func inShard(t *testing.T) {
	t.Helper()
	asked, err := ledger.ParseShard(os.Getenv(shardVariable))
	if err != nil {
		t.Fatal(err)
	}
	usual := map[string]time.Duration{}
	for name, row := range tests {
		usual[name] = row.usual
		if !row.alone { // two of them run at the same time
			usual[name] /= 2
		}
	}
	if shard := ledger.Divide(usual, asked.Of)[t.Name()]; shard != asked {
		t.Skipf("in shard %s", shard)
	}
}

// code is the repository's code, read once.
var code = sync.OnceValues(func() (*ledger.Code, error) { return ledger.Read("../../..") })

// remember skips a test that has passed with code that is the same as far as it can affect the
// test, and otherwise records when it passes.
func remember(t *testing.T, row test) {
	t.Helper()
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	code, err := code()
	if err != nil {
		t.Fatal(err)
	}
	folder := cache.Path("passed")
	last, passed, err := ledger.Load(folder, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	if passed {
		changed, err := code.Affected(last)
		switch {
		case err != nil:
			t.Fatal(err)
		case len(changed) > 0:
			t.Logf("passed at %s; %d parts of the code that can affect it have changed, such as %s", last.Commit, len(changed), changed[0])
		case os.Getenv(repeatVariable) == "":
			t.Skipf("passed at %s on %s, and nothing that can affect it has changed; with %s=1 it runs again", last.Commit, last.Passed.Format(time.DateOnly), repeatVariable)
		}
	}
	if err := ledger.Remove(folder, t.Name()); err != nil {
		t.Fatal(err)
	}
	coverage := t.TempDir()
	here := &run{folder: coverage}
	runs.Store(t.Name(), here)
	start := time.Now()
	t.Cleanup(func() {
		if t.Failed() || t.Skipped() {
			return
		}
		e := ledger.Entry{Test: t.Name(), Commit: commit(t), Passed: time.Now().UTC(), Seconds: int(time.Since(start).Seconds()), Reads: row.reads}
		if e.Ran, err = code.Ran(coverage, here.count()); err != nil {
			t.Fatal(err)
		}
		if e.Parts, err = code.Parts(e.Test, e.Ran, e.Reads); err != nil {
			t.Fatal(err)
		}
		if err := ledger.Store(folder, e); err != nil {
			t.Fatal(err)
		}
	})
}

// commit returns the commit that is checked out, with "-dirty" behind it where the work tree
// differs.
func commit(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output()
	if err != nil {
		t.Fatalf("git describe: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// runs are the runs of kubewright, by the name of their test.
var runs sync.Map

// A run is where the processes of kubewright in one test write their coverage, and their number.
type run struct {
	mu        sync.Mutex
	folder    string
	processes int
}

func (r *run) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.processes
}

// program returns the path of the program that a test runs: in make e2e-all, one that writes its
// coverage.
func program(t testing.TB) string {
	t.Helper()
	if _, ok := runOf(t); !ok {
		return binary(t)
	}
	path, err := filepath.Abs(coveredPath)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("build the program with coverage first (make e2e-all does): %v", err)
	}
	return path
}

// covered returns the program for another process, and the variable of its environment that says
// where it writes its coverage.
func covered(t testing.TB) (path string, env []string) {
	t.Helper()
	if r, ok := runOf(t); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.processes++
		env = append(env, "GOCOVERDIR="+r.folder)
	}
	return program(t), env
}

// runOf returns the run of a test or of the one that it is a part of.
func runOf(t testing.TB) (*run, bool) {
	name, _, _ := strings.Cut(t.Name(), "/")
	r, ok := runs.Load(name)
	if !ok {
		return nil, false
	}
	return r.(*run), true
}
