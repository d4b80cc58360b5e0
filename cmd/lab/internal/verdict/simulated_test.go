package verdict

import (
	"bytes"
	"compress/gzip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/refusal"
	"github.com/kubewright/kubewright/state"
)

// TestSimulatorHasTheVerdicts compares the verdicts that the simulator reads with the tables. UPDATE=1
// writes them.
func TestSimulatorHasTheVerdicts(t *testing.T) {
	t.Parallel()
	want, err := Simulated()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(want)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("../../../../providers/sim/refusal/verdicts.txt.gz", b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return // what is embedded in this test is older
	}
	if got, err := refusal.Text(); err != nil || got != want {
		t.Errorf("the simulator does not read the verdicts of the tables (%v): run UPDATE=1 go test -run SimulatorHas ./cmd/lab/internal/verdict", err)
	}
}

// TestSimulatedComponentsRefuseTheSame starts simulated components with what the real ones were
// asked: they exit with the same words, and run where the real ones ran.
func TestSimulatedComponentsRefuseTheSame(t *testing.T) {
	t.Parallel()
	versions, err := Versions()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			verdicts, err := Known(version)
			if err != nil {
				t.Fatal(err)
			}
			minor, err := strconv.Atoi(strings.Split(version, ".")[1])
			if err != nil {
				t.Fatal(err)
			}
			left, differ := 0, 0
			for _, v := range verdicts {
				if !v.simulated() {
					left++
					continue
				}
				got := simulate(t, minor, v.Mutation)
				if (got != "") != (v.Answer == Refused) || place.ReplaceAllString(got, "") != place.ReplaceAllString(v.Reason, "") && v.Answer == Refused {
					if differ++; differ < 30 {
						t.Errorf("%s\nthe simulated component: %q", v, got)
					}
				}
			}
			t.Logf("%s: %d verdicts, %d of a host alone, %d differ", version, len(verdicts), left, differ)
		})
	}
}

// simulate returns why a simulated component exits with a mutation.
func simulate(t *testing.T, minor int, m Mutation) string {
	t.Helper()
	s := refusal.Start{Component: m.Component, Minor: minor, Path: "/shared/config.yaml"}
	for _, f := range m.Flags {
		s.Flags = append(s.Flags, "--"+f)
	}
	if m.Config != nil {
		text, err := state.FromGo(m.Config).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		tree, err := file.ParseYAML(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Config = state.FromGo(tree)
	}
	return s.Exits()
}
