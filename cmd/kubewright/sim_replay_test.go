package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/trace"
)

// TestSimulationReplaysRecordedRuns runs on simulated hosts the life cycle that was recorded on real ones and checks
// that the plans are the same: otherwise the simulation differs from real hosts.
func TestSimulationReplaysRecordedRuns(t *testing.T) {
	t.Parallel()
	place := trace.Place{
		Endpoint: "api.prod.example.com", PodSubnet: "10.244.0.0/16", Connection: "connection {\n  type = \"sim\"\n}",
		Addresses: map[string]string{"cp1": "10.77.0.11", "cp2": "10.77.0.12", "cp3": "10.77.0.13", "w1": "10.77.0.21", "w2": "10.77.0.22"},
	}
	r := replayer{t, place, folder(t.TempDir())}
	for name := range place.Addresses { // the host names of the lab
		r.Do(trace.Deed{Host: name, Edit: []string{"hardware", "hostname=" + name}})
	}
	life, err := trace.Lead(place, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range trace.Differences(trace.Recorded, life) {
		t.Error(line)
	}
}

// replayer runs a life cycle on simulated hosts.
type replayer struct {
	t *testing.T
	trace.Place
	folder
}

func (r replayer) Do(d trace.Deed) {
	r.must(r.t, append([]string{"sim", "edit", r.Addresses[d.Host]}, d.Edit...)...)
}

// Write writes the configuration and advances the clock, so that what the previous act has
// restarted becomes ready.
func (r replayer) Write(configuration string) {
	r.Do(trace.Deed{Host: "cp1", Edit: []string{"time", "2m"}})
	if err := os.WriteFile(filepath.Join(string(r.folder), "main.hcl"), []byte(configuration), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r replayer) Run(args ...string) string { return r.must(r.t, args...) }
