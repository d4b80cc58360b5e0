//go:build race

package state_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// racing is the variable that names the race that a child process of this test runs.
const racing = "KUBEWRIGHT_TEST_RACE"

// shared is a value that one goroutine changes while another one passes it to a parser.
type shared struct {
	Number int               `json:"number"`
	Text   string            `json:"text"`
	Words  []string          `json:"words"`
	Table  map[string]string `json:"table"`
	Inner  *shared           `json:"inner,omitempty"`
}

var (
	// touches change a value without synchronization.
	touches = map[string]func(*shared){
		"number":  func(v *shared) { v.Number++ },
		"text":    func(v *shared) { v.Text = "other" },
		"slice":   func(v *shared) { v.Words = nil },
		"element": func(v *shared) { v.Words[0] = "other" },
		"map":     func(v *shared) { v.Table["key"] = "other" },
		"pointer": func(v *shared) { v.Inner = nil },
		"inside":  func(v *shared) { v.Inner.Text = "other" },
	}
	readers = map[string]func(*shared) error{
		"json": func(v *shared) error { _, err := json.Marshal(v); return err },
		"yaml": func(v *shared) error { _, err := yaml.Marshal(v); return err },
	}
	writers = map[string]func(*shared) error{
		"json":        func(v *shared) error { return json.Unmarshal([]byte(text), v) },
		"strict json": func(v *shared) error { _, err := sigsjson.UnmarshalStrict([]byte(text), v); return err },
		"yaml":        func(v *shared) error { return yaml.Unmarshal([]byte(text), v) },
	}
)

const text = `{"number": 2, "text": "new", "words": ["new"], "table": {"key": "new"}, "inner": {"text": "new"}}`

// TestRacesAreSeenThroughParsers checks that races on values that a parser reads or writes are
// detected, although the Makefile switches the detector off in the parsers themselves.
func TestRacesAreSeenThroughParsers(t *testing.T) {
	races := map[string]func(){}
	for name, touch := range touches {
		for parser, read := range readers {
			races[parser+" reads "+name] = func() { race(touch, read) }
		}
		for parser, write := range writers {
			races[parser+" writes "+name] = func() { race(touch, write) }
		}
	}
	if run := os.Getenv(racing); run != "" {
		races[run]()
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range races {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(self, "-test.run=^TestRacesAreSeenThroughParsers$")
			cmd.Env = append(os.Environ(), racing+"="+name, "GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), "WARNING: DATA RACE") {
				t.Errorf("the race was not detected: %v\n%s", err, out)
			}
		})
	}
}

// race changes a value while a parser uses it. The detector does not depend on the order.
func race(touch func(*shared), parse func(*shared) error) {
	v := &shared{Words: []string{"old"}, Table: map[string]string{"key": "old"}, Inner: &shared{}}
	var both sync.WaitGroup
	both.Go(func() {
		if err := parse(v); err != nil {
			panic(err)
		}
	})
	both.Go(func() { touch(v) })
	both.Wait()
}
