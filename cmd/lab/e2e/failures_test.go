//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// A reporter is a test whose failures are printed again at its end and after all tests: their
// first report is among thousands of lines.
type reporter struct{ *testing.T }

// failures are the failures of all tests.
var failures struct {
	sync.Mutex
	said []string
}

func (r reporter) Error(args ...any) {
	r.Helper()
	r.keep(fmt.Sprint(args...))
	r.T.Error(args...)
}

func (r reporter) Errorf(format string, args ...any) {
	r.Helper()
	r.keep(fmt.Sprintf(format, args...))
	r.T.Errorf(format, args...)
}

func (r reporter) Fatal(args ...any) {
	r.Helper()
	r.keep(fmt.Sprint(args...))
	r.T.Fatal(args...)
}

func (r reporter) Fatalf(format string, args ...any) {
	r.Helper()
	r.keep(fmt.Sprintf(format, args...))
	r.T.Fatalf(format, args...)
}

func (r reporter) keep(text string) {
	failures.Lock()
	defer failures.Unlock()
	failures.said = append(failures.said, r.Name()+": "+text)
}

// sayFailures prints the failures of the sites' tests whose names have this prefix.
func sayFailures(to io.Writer, name string) {
	failures.Lock()
	defer failures.Unlock()
	head := "\nFailures again:\n"
	for _, f := range failures.said {
		if strings.HasPrefix(f, name) {
			fmt.Fprintf(to, "%s\n%s\n", head, strings.TrimSpace(f))
			head = ""
		}
	}
}
