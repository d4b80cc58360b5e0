package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

// samples has a file of every format that was ever written, named after the format's version. All
// of them come from one simulated cluster: its state after a second apply, a plan that changes
// maxPods of its kubelet, saved and as JSON, and the journal of an apply of that plan which was
// killed. Files are added and never changed: who raises the version of a format keeps the old
// files, and adds some that the new version wrote.
const samples = "testdata/formats"

// sampleLineage is the lineage of the samples' state.
const sampleLineage = "d6d450d9-be6a-e40d-b280-c8264dac2669"

// sampleStep is the step that the killed apply was in.
const sampleStep = "node.cp/kubelet-start"

// everyFormat runs a test for each version of a format from 1 to the current one.
func everyFormat(t *testing.T, current int, name string, test func(t *testing.T, version int, path string)) {
	t.Helper()
	for version := range current {
		version++
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(samples, fmt.Sprintf(name, version))
			if _, err := os.Stat(path); err != nil {
				t.Fatalf("%v: keep a sample of each version (%s)", err, samples)
			}
			test(t, version, path)
		})
	}
}

// TestStatesOfAllFormats checks that a state of every format is read, with its content.
func TestStatesOfAllFormats(t *testing.T) {
	t.Parallel()
	everyFormat(t, state.FormatVersion, "state-%d.json", func(t *testing.T, _ int, path string) {
		st, err := statefile.Read(statefile.Paths{State: path})
		if err != nil {
			t.Fatal(err)
		}
		checkSampleState(t, st)
	})
}

func checkSampleState(t *testing.T, st *state.State) {
	t.Helper()
	if st.Lineage != sampleLineage || st.Serial != 2 || len(st.Applies) != 2 || st.Applies[1].Who != "root@desk" || state.NewKey(st.FingerprintKey).IsZero() {
		t.Errorf("got lineage %s, serial %d, applies %+v", st.Lineage, st.Serial, st.Applies)
	}
	if c := st.Clusters["one"]; c == nil || c.Version != "v1.36.3" || c.CA == "" || c.Fixed["network.pod_subnet"] != "10.244.0.0/16" {
		t.Errorf("got cluster %+v", c)
	}
	if n := st.Nodes[state.NodeTarget("cp")]; n == nil || n.Name != "cp" || n.Address != "10.77.0.11" || n.Role != "control-plane" {
		t.Errorf("got node %+v", n)
	}
	if got := st.Outputs["endpoint"]; !got.Equal(state.String("api.one.example.com:6443")) {
		t.Errorf("got output %v", got)
	}
	i := slices.IndexFunc(st.Items, func(it state.Item) bool {
		return it.Address.String() == sampleStep+"/file:/var/lib/kubelet/config.yaml"
	})
	if i < 0 || !st.Items[i].Attributes.AsMap()["maxPods"].Equal(state.Int(200)) {
		t.Errorf("of %d items, the kubelet's configuration is number %d", len(st.Items), i)
	}
}

// TestJournalsOfAllFormats checks that a journal of every format is read, and that a state continues
// from it.
func TestJournalsOfAllFormats(t *testing.T) {
	t.Parallel()
	everyFormat(t, statefile.JournalFormat, "journal-%d", func(t *testing.T, _ int, path string) {
		entries, err := statefile.ReadJournal(statefile.Paths{Journal: path})
		if err != nil || len(entries) != 7 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		run, last := entries[0], entries[6]
		if run.Kind != state.EntryRun || run.Lineage != sampleLineage || run.Serial != 2 || run.Steps != 2 || run.Who != "root@desk" {
			t.Errorf("got run %+v", run)
		}
		if last.Kind != state.EntryDone || last.Step != sampleStep || last.Op == nil || *last.Op != 7 || last.Count != 1 {
			t.Errorf("got last entry %+v", last)
		}
		dir := t.TempDir()
		p := statefile.Paths{State: filepath.Join(dir, "state.json"), Journal: filepath.Join(dir, "journal"), Lock: filepath.Join(dir, "lock")}
		copyFile(t, filepath.Join(samples, fmt.Sprintf("state-%d.json", state.FormatVersion)), p.State)
		copyFile(t, path, p.Journal)
		loaded, err := statefile.Load(p)
		if err != nil || !slices.Contains(loaded.State.Unseen, sampleStep) {
			t.Errorf("the state continues with %+v, %v", loaded.State.Unseen, err)
		}
	})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// savedSample reads the saved plan of a format.
func savedSample(t *testing.T, path string) planfile.File {
	t.Helper()
	f, err := planfile.Read(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSavedPlansOfAllFormats checks that a saved plan of every format is read, with its content, and
// that the state's key authenticates all but those of format 1, which had no code.
func TestSavedPlansOfAllFormats(t *testing.T) {
	t.Parallel()
	everyFormat(t, planfile.FormatVersion, "saved-plan-%d.kwplan", func(t *testing.T, version int, path string) {
		f := savedSample(t, path)
		p := f.Plan
		if p.Lineage != sampleLineage || p.Serial != 2 || len(p.Steps) != 2 || p.Steps[0].ID.String() != sampleStep || len(p.Steps[0].Operations) < 8 {
			t.Errorf("got %+v", p)
		}
		if got, want := planfile.Digest(p), sampleDigest(t); got != want {
			t.Errorf("got digest %s, want that of the journal, %s", got, want)
		}
		if got := f.PriorOutputs["endpoint"]; !got.Equal(state.String("api.one.example.com:6443")) {
			t.Errorf("got output %v", got)
		}
		st, err := statefile.Read(statefile.Paths{State: filepath.Join(samples, fmt.Sprintf("state-%d.json", state.FormatVersion))})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Authenticate(state.NewKey(st.FingerprintKey)); (err != nil) != (version == 1) {
			t.Errorf("authentication: %v", err)
		}
	})
}

// sampleDigest returns the digest of the samples' plan, as the journal recorded it.
func sampleDigest(t *testing.T) string {
	t.Helper()
	entries, err := statefile.ReadJournal(statefile.Paths{Journal: filepath.Join(samples, fmt.Sprintf("journal-%d", statefile.JournalFormat))})
	if err != nil || len(entries) == 0 {
		t.Fatal(err)
	}
	return entries[0].Plan
}

// TestPlansAsJSONOfAllFormats checks that plans as JSON of every version with the current first
// number conform to today's schema, so that nothing was removed, and that the current version has a
// sample.
func TestPlansAsJSONOfAllFormats(t *testing.T) {
	t.Parallel()
	major, _, _ := strings.Cut(ui.JSONVersion, ".")
	files, err := filepath.Glob(filepath.Join(samples, "plan-"+major+".*.json"))
	if err != nil || !slices.Contains(files, filepath.Join(samples, "plan-"+ui.JSONVersion+".json")) {
		t.Fatalf("%v has no sample of %s, %v: keep one of each version", files, ui.JSONVersion, err)
	}
	schema, err := planSchema()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var document any
		var read struct {
			Digest          string
			ResourceChanges []struct {
				Address string
				Change  struct{ Actions []string }
			} `json:"resource_changes"`
		}
		if err := json.Unmarshal(b, &document); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if err := json.Unmarshal(b, &read); err != nil {
			t.Fatal(err)
		}
		changes := map[string]string{}
		for _, r := range read.ResourceChanges {
			changes[r.Address] = strings.Join(r.Change.Actions, " ")
		}
		if read.Digest != sampleDigest(t) || changes["node.cp"] != "update" {
			t.Errorf("%s: got digest %s, changes %v", path, read.Digest, changes)
		}
	}
}

// TestCompatibilityPage checks that the page names the current version of each format.
func TestCompatibilityPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(docsFolder, "reference", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([0-9.]+) \|`).FindAllStringSubmatch(string(page), -1) {
		got[row[1]] = row[2]
	}
	for name, want := range map[string]string{
		"state": fmt.Sprint(state.FormatVersion), "journal": fmt.Sprint(statefile.JournalFormat), "marks on hosts": fmt.Sprint(state.MarksFormat),
		"saved plan": fmt.Sprint(planfile.FormatVersion), "JSON for programs": ui.JSONVersion,
	} {
		if got[name] != want {
			t.Errorf("the page says that %s has version %q, want %s", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("the page has unknown formats: %v", got)
	}
}
