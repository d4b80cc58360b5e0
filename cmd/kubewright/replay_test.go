package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/trace"
)

// TestReplay leads on simulated hosts the life that was led on real ones, and wants
// the same plans: else what is simulated is not what hosts do.
func TestReplay(t *testing.T) {
	t.Parallel()
	place := trace.Place{
		Endpoint: "api.prod.example.com", PodSubnet: "10.244.0.0/16", Connection: "connection {\n  type = \"sim\"\n}",
		Addresses: map[string]string{"cp1": "10.77.0.11", "cp2": "10.77.0.12", "cp3": "10.77.0.13", "w1": "10.77.0.21", "w2": "10.77.0.22"},
	}
	r := replayer{t, place, folder(t.TempDir())}
	for name := range place.Addresses { // as hosts of a lab are called
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

// replayer leads a life on simulated hosts.
type replayer struct {
	t *testing.T
	trace.Place
	folder
}

func (r replayer) Do(d trace.Deed) {
	r.must(r.t, append([]string{"sim", "edit", r.Addresses[d.Host]}, d.Edit...)...)
}

// Write lets time pass as well, in which what the act before has restarted gets ready.
func (r replayer) Write(configuration string) {
	r.Do(trace.Deed{Host: "cp1", Edit: []string{"time", "2m"}})
	if err := os.WriteFile(filepath.Join(string(r.folder), "main.hcl"), []byte(configuration), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r replayer) Run(args ...string) string { return r.must(r.t, args...) }
