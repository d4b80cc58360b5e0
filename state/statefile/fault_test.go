package statefile

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/kubewright/kubewright/state"
)

const memPath = "/c/kubewright.state.json"

var memPaths = NewPaths(memPath)

// sample returns a state with an example of everything in it.
func sample() *state.State {
	address, err := state.ParseAddress(`node.cp["cp1"]/certs/file:/etc/kubernetes/pki/ca.crt`)
	if err != nil {
		panic(err)
	}
	return &state.State{
		FormatVersion: 1, Lineage: "l1", ToolVersion: "0.1.0", RunToken: 7,
		Clusters: map[string]*state.RecordedCluster{"prod": {CA: "9f2c", Version: "1.36.3"}},
		Nodes: map[state.Target]*state.RecordedNode{state.NodeKeyTarget("cp", "cp1"): {
			Cluster: "prod", Role: "control-plane", Name: "cp1", Address: "10.77.0.11",
			Connection: state.Map(map[string]state.Value{"type": state.String("ssh"), "port": state.Int(22)}),
		}},
		Items: []state.Item{{
			Address: address, Kind: state.KindCertificate,
			Attributes: state.Map(map[string]state.Value{"sha256": state.String("41d0"), "note": state.String("a < b & c\u2028é")}),
		}},
		Outputs:   map[string]state.Value{"endpoint": state.String("api.example.com:6443")},
		Durations: map[string]float64{"certs/create": 1.25},
	}
}

// wantState fails unless the state on the disk is whole and has one of the serials; 0 stands for
// none.
func wantState(t *testing.T, m *memFS, serials ...int64) int64 {
	t.Helper()
	st, err := Read(on(m))
	if err != nil {
		t.Fatalf("the state cannot be read: %v", err)
	}
	serial := int64(0)
	if st != nil {
		serial = st.Serial
		want := sample()
		want.Serial, want.RunToken = serial, st.RunToken
		if !reflect.DeepEqual(st, want) {
			t.Fatalf("the state is a mixture: %+v", st)
		}
	}
	for _, s := range serials {
		if s == serial {
			return serial
		}
	}
	t.Fatalf("the state on the disk has serial %d, want one of %v", serial, serials)
	return 0
}

// written returns a disk that holds a state with this serial.
func written(t *testing.T, serial int64) (*memFS, *state.State) {
	t.Helper()
	m, st := newMemFS(), sample()
	for range serial {
		if err := Write(on(m), st); err != nil {
			t.Fatal(err)
		}
	}
	m.calls, m.log = 0, nil
	return m, st
}

// TestWriteFailsAtEveryCall checks that the file holds the old or the new state, whichever call
// fails, and that a new run succeeds.
func TestWriteFailsAtEveryCall(t *testing.T) {
	t.Parallel()
	for name, failure := range failures {
		for _, serial := range []int64{0, 3, 12} {
			for failAt := 1; ; failAt++ {
				m, st := written(t, serial)
				m.failAt, m.failWith = failAt, failure
				err := Write(on(m), st)
				if m.calls < failAt {
					break
				}
				what := fmt.Sprintf("%s at call %d (%s), serial %d", name, failAt, m.log[failAt-1], serial)
				now := wantState(t, m, serial, serial+1)
				if err == nil && now != serial+1 {
					t.Fatalf("%s: reported as written, but is not", what)
				}
				if err != nil && !errors.Is(err, failure) {
					t.Fatalf("%s: error %v does not wrap the cause", what, err)
				}
				if err != nil && st.Serial != serial {
					t.Fatalf("%s: the serial grew to %d", what, st.Serial)
				}
				again, err := Read(on(m))
				if err != nil {
					t.Fatal(err)
				}
				if again == nil {
					again = sample()
				}
				if err := Write(on(m), again); err != nil {
					t.Fatalf("%s: the next write fails: %v", what, err)
				}
				if left := m.leftovers(); len(left) > 0 {
					t.Fatalf("%s: left behind %v", what, left)
				}
			}
		}
	}
}

// TestWriteCrashesAtEveryCall checks that after a power cut at any call the disk holds the old or
// the new state, and everything that was reported as written.
func TestWriteCrashesAtEveryCall(t *testing.T) {
	t.Parallel()
	for _, serial := range []int64{0, 3, 12} {
		for crashAt := 1; ; crashAt++ {
			m, st := written(t, serial)
			m.crashAt = crashAt
			err := Write(on(m), st)
			for _, lucky := range []bool{false, true} {
				after := m.reboot(lucky)
				now := wantState(t, after, serial, serial+1)
				if err == nil && now != serial+1 {
					t.Fatalf("power cut at call %d: reported as written, but is not", crashAt)
				}
			}
			if m.calls < crashAt {
				break
			}
		}
	}
}

// entry returns the i-th entry that a test appends.
func entry(i int) state.Entry {
	return state.Entry{Kind: state.EntryBegin, Step: fmt.Sprintf("node.n/p%d", i), Op: new(0)}
}

// wantEntries fails unless the journal holds the acknowledged entries and at most some of the
// unacknowledged ones, in order.
func wantEntries(t *testing.T, what string, m *memFS, acknowledged, tried int) {
	t.Helper()
	entries, _, err := readJournal(on(m).medium(), memPaths.Journal)
	if err != nil {
		t.Fatalf("%s: the journal cannot be read: %v", what, err)
	}
	if len(entries) < acknowledged || len(entries) > tried {
		t.Fatalf("%s: %d entries, acknowledged %d of %d", what, len(entries), acknowledged, tried)
	}
	for i, e := range entries {
		if e.N != int64(i+1) || e.Step != entry(i).Step {
			t.Fatalf("%s: entry %d is %+v", what, i, e)
		}
	}
}

// appendSome opens the journal, reserves and appends until a call fails.
func appendSome(m *memFS, count int) (acknowledged int, err error) {
	j, err := OpenJournal(on(m))
	if err != nil {
		return 0, err
	}
	if err := j.Reserve(count); err != nil {
		return 0, err
	}
	for i := range count {
		if err := j.Append(entry(i)); err != nil {
			// A disk that works again after a failure is not trusted.
			if again := j.Append(entry(i + 1)); again == nil {
				return acknowledged, errors.New("an append after a failure succeeded")
			}
			return acknowledged, err
		}
		acknowledged++
	}
	return acknowledged, j.Close()
}

func TestJournalFailsAtEveryCall(t *testing.T) {
	t.Parallel()
	for name, failure := range failures {
		for failAt := 1; ; failAt++ {
			m := newMemFS()
			m.failAt, m.failWith = failAt, failure
			n, err := appendSome(m, 3)
			if m.calls < failAt {
				break
			}
			what := fmt.Sprintf("%s at call %d (%s)", name, failAt, m.log[failAt-1])
			if !errors.Is(err, failure) {
				t.Fatalf("%s: error %v", what, err)
			}
			wantEntries(t, what, m, n, 3)
			if _, err := OpenJournal(on(m)); err != nil {
				t.Fatalf("%s: the journal cannot be opened again: %v", what, err)
			}
			wantEntries(t, what+", opened again", m, n, 3)
		}
	}
}

func TestJournalCrashesAtEveryCall(t *testing.T) {
	t.Parallel()
	for crashAt := 1; ; crashAt++ {
		m := newMemFS()
		m.crashAt = crashAt
		n, _ := appendSome(m, 3)
		for _, lucky := range []bool{false, true} {
			wantEntries(t, fmt.Sprintf("power cut at call %d, lucky %v", crashAt, lucky), m.reboot(lucky), n, 3)
		}
		if m.calls < crashAt {
			break
		}
	}
}

// TestSaveCrashesAtEveryCall checks that state and journal together never lose an acknowledged
// entry, at whichever call the power is cut.
func TestSaveCrashesAtEveryCall(t *testing.T) {
	t.Parallel()
	run := state.Entry{Kind: state.EntryRun, Run: "r1", Lineage: "l1", Token: 8, Steps: 1}
	for crashAt := 1; ; crashAt++ {
		m, st := written(t, 2)
		j, err := OpenJournal(on(m))
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Append(run); err != nil {
			t.Fatal(err)
		}
		folded, err := Fold(st, []state.Entry{run})
		if err != nil {
			t.Fatal(err)
		}
		m.calls, m.crashAt = 0, crashAt
		saved := saveOn(m, folded, j)
		for _, lucky := range []bool{false, true} {
			after, err := Load(on(m.reboot(lucky)))
			if err != nil || after.State.RunToken != 8 || len(after.State.Applies) != 1 {
				t.Fatalf("power cut at call %d: %+v, %v", crashAt, after.State, err)
			}
			if saved == nil && len(after.Recovered) > 0 {
				t.Fatalf("power cut at call %d: saved, and the journal still has %v", crashAt, after.Recovered)
			}
		}
		if m.calls < crashAt {
			break
		}
	}
}

func saveOn(m *memFS, st *state.State, j *Journal) error {
	if j.medium.FS != FS(m) {
		panic("the journal is on another disk")
	}
	return Save(on(m), st, j)
}

// on returns the paths on a disk in memory.
func on(m *memFS) Paths {
	p := memPaths
	p.FS = m
	return p
}
