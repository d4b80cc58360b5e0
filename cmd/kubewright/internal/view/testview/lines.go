package testview

import "github.com/kubewright/kubewright/cmd/kubewright/internal/view/jsonlines"

// Lines shows results to programs, as JSON lines.
type Lines struct {
	*jsonlines.Stream
	Source func(file string) []byte
}

// Begin implements Display.
func (l Lines) Begin(string) error { return nil }

// Run implements Display.
func (l Lines) Run(file string, r Run) error {
	l.TestRun(file, r.Name, string(r.Status), r.Took.Seconds())
	l.Diagnostics(r.Findings, l.Source)
	return l.Close()
}

// End implements Display.
func (l Lines) End(f File) error {
	l.TestFile(f.Name, string(f.Status()))
	return l.Close()
}

// Summary implements Display.
func (l Lines) Summary(files []File) error {
	status := Pass
	if Failed(files) {
		status = Fail
	}
	l.TestSummary(string(status), Count(files, Pass), Count(files, Fail)+Count(files, Error), Count(files, Skip), summary(files))
	return l.Close()
}
