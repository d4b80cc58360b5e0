package conformance

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Verdict is the outcome of one test.
type Verdict struct {
	Test    string    `json:"test"` // full name
	Passed  bool      `json:"passed"`
	Reason  string    `json:"reason,omitempty"` // of a failure
	Seconds float64   `json:"seconds"`
	When    time.Time `json:"when"`
}

// Verdicts is a file of verdicts, one JSON object a line. A later line about a test replaces an
// earlier one. Its methods may be called concurrently.
type Verdicts struct {
	file   *os.File
	mutex  sync.Mutex
	byTest map[string]Verdict
}

// OpenVerdicts opens a file of verdicts, and creates a missing one. A last line that was cut off
// is dropped: its part runs again.
func OpenVerdicts(name string) (*Verdicts, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	v := &Verdicts{byTest: map[string]Verdict{}}
	whole, err := v.read(name)
	if err != nil {
		return nil, err
	}
	if v.file, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	if err := v.file.Truncate(whole); err != nil {
		v.file.Close()
		return nil, err
	}
	return v, nil
}

// read reads a file of verdicts, and returns the length of its whole lines.
func (v *Verdicts) read(name string) (whole int64, err error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the end, or a line without one
			return whole, nil
		}
		var one Verdict
		if err := json.Unmarshal(line, &one); err != nil || one.Test == "" {
			return 0, fmt.Errorf("cannot read verdicts: %s, line %d is none; remove the file to run all tests again", name, n)
		}
		v.byTest[one.Test] = one
		whole += int64(len(line))
	}
}

// Add writes verdicts to disk.
func (v *Verdicts) Add(all ...Verdict) error {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	for _, one := range all {
		line, err := json.Marshal(one)
		if err != nil {
			return err
		}
		if _, err := v.file.Write(append(line, '\n')); err != nil {
			return err
		}
		v.byTest[one.Test] = one
	}
	return v.file.Sync()
}

// Of returns the verdict on a test; ok reports whether there is one.
func (v *Verdicts) Of(test string) (verdict Verdict, ok bool) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	verdict, ok = v.byTest[test]
	return verdict, ok
}

// Close closes the file.
func (v *Verdicts) Close() error { return v.file.Close() }
