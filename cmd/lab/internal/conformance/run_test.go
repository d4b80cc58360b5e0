package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fakeSuite is the environment variable that makes this test binary the suite: a file of all
// tests, one a line.
const fakeSuite = "KUBEWRIGHT_TEST_FAKE_SUITE"

func TestMain(m *testing.M) {
	if file := os.Getenv(fakeSuite); file != "" {
		if err := runFakeSuite(file, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runFakeSuite does as e2e.test: it runs the tests that a focus matches. A word in the name of a
// test says what becomes of it; each test that runs is noted in FILE.ran.
func runFakeSuite(file string, args []string) error {
	var report string
	var focus []*regexp.Regexp
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, "-ginkgo.json-report="); ok {
			report = value
		}
		if value, ok := strings.CutPrefix(arg, "-ginkgo.focus="); ok {
			focus = append(focus, regexp.MustCompile(value))
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	ran, err := os.OpenFile(file+".ran", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer ran.Close()
	specs := []map[string]any{{"LeafNodeType": "SynchronizedBeforeSuite", "State": "passed"}}
	failed := false
	for _, name := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		group, leaf, _ := strings.Cut(name, " ")
		one := map[string]any{"ContainerHierarchyTexts": []string{group}, "LeafNodeText": leaf, "LeafNodeType": "It", "State": "skipped"}
		if slices.ContainsFunc(focus, func(re *regexp.Regexp) bool { return re.MatchString("suite " + name) }) {
			fmt.Fprintln(ran, name)
			switch {
			case strings.Contains(name, "panics"):
				return errors.New("panic")
			case strings.Contains(name, "is left out"):
				continue
			case strings.Contains(name, "fails"):
				failed = true
				one["State"], one["Failure"] = "failed", map[string]any{"Message": "expected a pod", "Location": map[string]any{"FileName": "pods.go", "LineNumber": 7}}
			default:
				one["State"], one["RunTime"] = "passed", 2_000_000_000
			}
		}
		specs = append(specs, one)
	}
	out, err := json.Marshal([]any{map[string]any{"SpecReports": specs}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(report, out, 0o600); err != nil {
		return err
	}
	if failed {
		return errors.New("Test Suite Failed")
	}
	return nil
}

// suite is a fake suite, with a file of verdicts.
type suite struct {
	t        *testing.T
	file     string
	verdicts string
	alive    error
}

func newSuite(t *testing.T, tests ...string) *suite {
	t.Helper()
	dir := t.TempDir()
	s := &suite{t: t, file: filepath.Join(dir, "tests"), verdicts: filepath.Join(dir, "kept", "verdicts.jsonl")}
	s.write(tests...)
	t.Setenv(fakeSuite, s.file)
	return s
}

func (s *suite) write(tests ...string) {
	s.t.Helper()
	if err := os.WriteFile(s.file, []byte(strings.Join(tests, "\n")), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// run runs tests, and returns those that the suite was made to run and the verdicts.
func (s *suite) run(tests ...string) (ran []string, kept *Verdicts, err error) {
	s.t.Helper()
	if err := os.RemoveAll(s.file + ".ran"); err != nil {
		s.t.Fatal(err)
	}
	kept, err = OpenVerdicts(s.verdicts)
	if err != nil {
		s.t.Fatal(err)
	}
	defer kept.Close()
	r := Runner{
		Program: os.Args[0], Folder: s.t.TempDir(), Processes: 2, Log: s.t.Output(),
		Alive: func(context.Context) error { return s.alive },
	}
	err = r.Run(s.t.Context(), tests, kept)
	text, _ := os.ReadFile(s.file + ".ran")
	ran = strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(ran)
	return ran, kept, err
}

func TestRunContinuesWhereItWas(t *testing.T) {
	tests := []string{"pods (a|b) [Conformance]", "pods one fails [Conformance]", "pods two [Serial] [Conformance]"}
	s := newSuite(t, append(tests, "pods two", "pods (a|b) [Conformance] x", "pods pods (a|b) [Conformance]")...)
	if _, _, err := s.run(tests...); err == nil { // the last of the suite's tests ends as the first one does
		t.Fatal("a focus that matches another test is no error")
	}
	s.write(append(tests, "pods two", "pods (a|b) [Conformance] x")...)
	ran, kept, err := s.run(tests...)
	if err != nil || !slices.Equal(ran, tests) {
		t.Fatalf("ran %q, %v; want %q", ran, err, tests)
	}
	if v, ok := kept.Of(tests[0]); !ok || !v.Passed || v.Seconds != 2 {
		t.Errorf("verdict of the first test: %+v, %v", v, ok)
	}
	if v, ok := kept.Of(tests[1]); !ok || v.Passed || v.Reason != "failed: expected a pod (pods.go:7)" {
		t.Errorf("verdict of the failed test: %+v, %v", v, ok)
	}
	if ran, _, err = s.run(tests...); err != nil || !slices.Equal(ran, tests[1:2]) {
		t.Errorf("the second run ran %q, %v; want only what failed", ran, err)
	}
}

func TestRunWithoutVerdictIsAnError(t *testing.T) {
	for _, name := range []string{"pods panics [Conformance]", "pods is left out [Conformance]", "pods nowhere [Conformance]"} {
		s := newSuite(t, "pods panics [Conformance]", "pods is left out [Conformance]")
		if _, kept, err := s.run(name); err == nil {
			t.Errorf("%q: no error, although there is no verdict", name)
		} else if _, ok := kept.Of(name); ok {
			t.Errorf("%q has a verdict", name)
		}
	}
}

func TestFailuresWithoutClusterAreNoVerdicts(t *testing.T) {
	const passes, fails = "pods passes [Conformance]", "pods fails [Serial] [Conformance]"
	s := newSuite(t, passes, fails)
	s.alive = errors.New("connection refused")
	_, kept, err := s.run(passes, fails)
	if !errors.Is(err, ErrClusterLost) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v, want that the cluster is lost", err)
	}
	if _, ok := kept.Of(fails); ok {
		t.Error("the failure is kept as a verdict of the test")
	}
	if v, ok := kept.Of(passes); !ok || !v.Passed {
		t.Error("the verdict from before is lost")
	}
}

func TestVerdictsSurviveInterruption(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "verdicts.jsonl")
	if err := os.WriteFile(file, []byte(`{"test":"a","passed":true}`+"\n"+`{"test":"b","pas`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		v, err := OpenVerdicts(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := v.Of("b"); ok {
			t.Error("a line that was cut off counts")
		}
		if err := errors.Join(v.Add(Verdict{Test: "c"}), v.Add(Verdict{Test: "c", Passed: true}), v.Close()); err != nil {
			t.Fatal(err)
		}
	}
	v, err := OpenVerdicts(file)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, test := range []string{"a", "c"} {
		if one, ok := v.Of(test); !ok || !one.Passed {
			t.Errorf("verdict of %s: %+v, %v", test, one, ok)
		}
	}
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenVerdicts(file); err == nil {
		t.Error("a line that is no verdict is no error")
	}
}

func TestPartsHoldEachTestOnce(t *testing.T) {
	t.Parallel()
	var tests []string
	for n := range 40 {
		tests = append(tests, fmt.Sprintf("pods %d [Conformance]", n), fmt.Sprintf("nodes %d [Serial] [Conformance]", n))
	}
	parallel, alone := parts(tests)
	for _, part := range parallel {
		if slices.ContainsFunc(part, serial) {
			t.Errorf("a serial test runs beside others: %q", part)
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(slices.Concat(parallel...), slices.Concat(alone...))))
	if slices.Sort(tests); !slices.Equal(all, tests) {
		t.Error("the parts do not hold each test once")
	}
	if n := len(Tenth(tests)); n < 4 || n > 16 {
		t.Errorf("a tenth of 80 tests has %d", n)
	}
}
