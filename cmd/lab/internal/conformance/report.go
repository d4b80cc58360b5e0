package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// spec is what Ginkgo's report says of one test (types.SpecReport of Ginkgo 2).
type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeText            string
	LeafNodeType            string
	State                   string
	RunTime                 time.Duration
	EndTime                 time.Time
	Failure                 *struct {
		Message  string
		Location struct {
			FileName   string
			LineNumber int
		}
	}
}

func (s spec) name() string {
	return strings.Join(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), " ")
}

// reasonLimit is the length, in bytes, of what is kept of a failure's message.
const reasonLimit = 2000

func (s spec) verdict() Verdict {
	v := Verdict{Test: s.name(), Passed: s.State == "passed", Seconds: s.RunTime.Seconds(), When: s.EndTime.UTC()}
	if v.Passed {
		return v
	}
	v.Reason = s.State
	if f := s.Failure; f != nil {
		message := f.Message
		if len(message) > reasonLimit {
			message = message[:reasonLimit] + " …"
		}
		v.Reason = fmt.Sprintf("%s: %s (%s:%d)", s.State, message, f.Location.FileName, f.Location.LineNumber)
	}
	return v
}

// readReport returns the verdicts of a report on exactly the given tests. It is an error if
// another set of tests ran: a test without a verdict must not be taken for one that passed.
func readReport(file string, tests []string) ([]Verdict, error) {
	ran, err := Report(file)
	if err != nil {
		return nil, err
	}
	var verdicts []Verdict
	missing := slices.Clone(tests)
	for _, v := range ran {
		if v.skipped() && !slices.Contains(tests, v.Test) {
			continue // all other tests of the suite
		}
		at := slices.Index(missing, v.Test)
		if at < 0 {
			return nil, fmt.Errorf("the suite ran %q, which was not asked for", v.Test)
		}
		missing = slices.Delete(missing, at, at+1)
		verdicts = append(verdicts, v)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the suite did not run %d of %d tests, such as %q", len(missing), len(tests), missing[0])
	}
	return verdicts, nil
}

// Report returns the verdicts of a report on all tests but pending ones. A test that the suite has
// skipped did not pass, and its reason begins with the word.
func Report(file string) ([]Verdict, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var suites []struct{ SpecReports []spec }
	if err := json.Unmarshal(text, &suites); err != nil {
		return nil, fmt.Errorf("cannot read the report %s: %w", file, err)
	}
	var out []Verdict
	for _, suite := range suites {
		for _, s := range suite.SpecReports {
			switch {
			case s.LeafNodeType == "It" && s.State != "pending":
				out = append(out, s.verdict())
			case s.LeafNodeType != "It" && slices.Contains([]string{"failed", "panicked", "timedout"}, s.State):
				return nil, fmt.Errorf("%s failed: %s", s.LeafNodeType, s.verdict().Reason)
			}
		}
	}
	return out, nil
}

// skipped reports whether the suite has skipped the test.
func (v Verdict) skipped() bool { return !v.Passed && strings.HasPrefix(v.Reason, skippedState) }

const skippedState = "skipped"
