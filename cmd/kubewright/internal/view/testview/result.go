package testview

import (
	"time"

	"github.com/kubewright/kubewright/config/diag"
)

// Status is how a run, or a file of runs, ended.
type Status string

// The statuses, from the best.
const (
	Pass Status = "pass"
	// Skip: it was not carried out, because a run before it ended with an error.
	Skip Status = "skip"
	// Fail: an assertion does not hold, or a finding is not as expected.
	Fail Status = "fail"
	// Error: the command failed, or an assertion cannot be evaluated.
	Error Status = "error"
)

// Run is the result of a run.
type Run struct {
	Name   string
	Line   int
	Status Status
	// Findings say why it did not pass, and are its warnings otherwise.
	Findings diag.Diagnostics
	Took     time.Duration
}

// File is the result of a test file.
type File struct {
	Name string
	Runs []Run
}

// Status returns the worst status of the file's runs.
func (f File) Status() Status {
	worst := Pass
	for _, r := range f.Runs {
		if r.Status == Error || r.Status == Fail && worst != Error {
			worst = r.Status
		}
	}
	return worst
}

// Count returns the number of runs in files that ended so.
func Count(files []File, s Status) int {
	n := 0
	for _, f := range files {
		for _, r := range f.Runs {
			if r.Status == s {
				n++
			}
		}
	}
	return n
}

// Failed reports whether a run did not pass.
func Failed(files []File) bool { return Count(files, Pass) < total(files) }

func total(files []File) int {
	n := 0
	for _, f := range files {
		n += len(f.Runs)
	}
	return n
}

// Display shows results as they come.
type Display interface {
	// Begin shows that a file begins.
	Begin(file string) error
	// Run shows the result of a run.
	Run(file string, r Run) error
	// End shows the result of a file.
	End(File) error
	// Summary shows the result of all files.
	Summary([]File) error
}

// summary returns how many runs ended how: Failure! 3 passed, 1 failed.
func summary(files []File) string {
	text := "Success! "
	if Failed(files) {
		text = "Failure! "
	}
	text += plainCount(Count(files, Pass), "passed") + ", " + plainCount(Count(files, Fail)+Count(files, Error), "failed")
	if n := Count(files, Skip); n > 0 {
		text += ", " + plainCount(n, "skipped")
	}
	return text + "."
}
