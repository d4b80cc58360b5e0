package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state"
)

// journalBytes returns a journal with a run and n entries.
func journalBytes(t testing.TB, n int) []byte {
	t.Helper()
	m := newMemFS()
	j, err := OpenJournal(on(m))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(state.Entry{Kind: state.EntryRun, Run: "r1", Token: 8}); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := j.Append(entry(i)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := m.ReadFile(memPaths.Journal)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestJournalRoundTrip(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kubewright.journal")
	if entries, err := ReadJournal(Paths{Journal: path}); err != nil || entries != nil {
		t.Fatalf("a journal that is not there = %v, %v", entries, err)
	}
	for round := range 2 {
		j, err := OpenJournal(Paths{Journal: path})
		if err != nil {
			t.Fatal(err)
		}
		if len(j.Entries()) != round {
			t.Errorf("round %d begins with %v", round, j.Entries())
		}
		if err := errors.Join(j.Reserve(100), j.Append(entry(round)), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := ReadJournal(Paths{Journal: path})
	if err != nil || len(entries) != 2 || entries[1].N != 2 {
		t.Fatalf("entries = %v, %v", entries, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() > 1000 {
		t.Errorf("the file is %v, %v", info, err)
	}
	j, err := OpenJournal(Paths{Journal: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Reset(), j.Append(entry(0)), j.Close()); err != nil {
		t.Fatal(err)
	}
	if entries, err := ReadJournal(Paths{Journal: path}); err != nil || len(entries) != 1 || entries[0].N != 1 {
		t.Errorf("after Reset: %v, %v", entries, err)
	}
}

func TestJournalInMissingFolderIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "gone", "kubewright.journal")
	_, err := OpenJournal(Paths{Journal: path})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "cannot open journal "+path+": open: no such file") {
		t.Errorf("error = %v", err)
	}
}

// TestJournalLinesAreJSON checks that any JSON tool can read the journal.
func TestJournalLinesAreJSON(t *testing.T) {
	t.Parallel()
	for line := range bytes.Lines(journalBytes(t, 2)) {
		var keys map[string]any
		if err := json.Unmarshal(line, &keys); err != nil || keys["crc"] == nil || keys["n"] == nil {
			t.Errorf("line %s: %v", line, err)
		}
	}
}

// TestTruncatedJournalKeepsWholeLines checks that the whole lines of a truncated journal are read.
func TestTruncatedJournalKeepsWholeLines(t *testing.T) {
	t.Parallel()
	b := journalBytes(t, 2)
	for n := range len(b) + 1 {
		for _, tail := range []string{"", "\x00\x00\x00"} {
			entries, size, err := (medium{}).scan(append(bytes.Clone(b[:n]), tail...))
			if err != nil || len(entries) != bytes.Count(b[:n], []byte("\n")) {
				t.Fatalf("cut after %d: %d entries, %v", n, len(entries), err)
			}
			if want := bytes.LastIndexByte(b[:n], '\n') + 1; size != int64(want) {
				t.Fatalf("cut after %d: %d bytes are valid, want %d", n, size, want)
			}
		}
	}
}

// TestFlippedBitInJournalIsDetected checks that a flip in the last line drops that line, and that one in
// an earlier line is an error that names the line.
func TestFlippedBitInJournalIsDetected(t *testing.T) {
	t.Parallel()
	b := journalBytes(t, 2)
	last := bytes.LastIndexByte(b[:len(b)-1], '\n')
	for i := range b {
		for bit := range 8 {
			b[i] ^= 1 << bit
			entries, _, err := (medium{}).scan(b)
			if err == nil && (len(entries) == 3 || i <= last) {
				t.Fatalf("bit %d of byte %d flipped is read: %v", bit, i, entries)
			}
			if err != nil && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "line ")) {
				t.Fatalf("bit %d of byte %d flipped: error %v", bit, i, err)
			}
			b[i] ^= 1 << bit
		}
	}
}

func TestJournalRefuses(t *testing.T) {
	t.Parallel()
	b := journalBytes(t, 3)
	lines := bytes.SplitAfter(b, []byte("\n"))
	newer, err := (medium{}).encodeLine(state.Entry{N: 1, Kind: state.EntryRun, Format: 2})
	if err != nil {
		t.Fatal(err)
	}
	checked := func(body string) []byte {
		return fmt.Appendf([]byte(strings.TrimSuffix(body, "}")), crcFormat, checksum([]byte(body)))
	}
	for name, c := range map[string]struct {
		lines [][]byte
		kind  error
		want  string
	}{
		"newer, with a key of another type": {
			[][]byte{checked(`{"n":"1","event":"run","format_version":2}`)},
			ErrNewer,
			"line 1 was written by a newer kubewright (journal format 2; this one knows formats up to 1)",
		},
		"a key of another type":            {[][]byte{lines[0], checked(`{"n":2,"event":"done","step":7}`)}, ErrNewer, "line 2 holds what this kubewright does not know"},
		"a key that is unknown":            {[][]byte{lines[0], checked(`{"n":2,"event":"done","learned":{"pools":["a"]}}`)}, ErrNewer, `so a newer one wrote it: json: unknown field "pools"`},
		"a last event that is unknown":     {[][]byte{lines[0], checked(`{"n":2,"event":"undone"}`)}, ErrNewer, `line 2 has the event "undone", which this kubewright does not know`},
		"an earlier event that is unknown": {[][]byte{lines[0], checked(`{"n":2,"event":"undone"}`), lines[2]}, ErrNewer, "; use that version of kubewright or a later one"},
		"a line is missing":                {[][]byte{lines[0], lines[2], lines[3]}, ErrDamaged, "line 2 is broken: it has number 3, so lines are missing or were moved; move the journal away and plan: the hosts are observed again, and they know what kubewright owns"},
		"a line is edited":                 {[][]byte{lines[0], bytes.Replace(lines[1], []byte("begin"), []byte("done"), 1), lines[2]}, ErrDamaged, "line 2 is broken: it is not as it was written: its checksum does not fit"},
		"a line is short":                  {[][]byte{lines[0], []byte("{}\n"), lines[2]}, ErrDamaged, "it is too short"},
		"newer":                            {[][]byte{newer}, ErrNewer, "newer kubewright (journal format 2"},
	} {
		m := newMemFS()
		m.put(memPaths.Journal, bytes.Join(c.lines, nil))
		before := bytes.Clone(m.names[memPaths.Journal].data)
		_, err := OpenJournal(on(m))
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "cannot read journal "+memPaths.Journal) {
			t.Errorf("%s: error = %v, want one with %q", name, err, c.want)
		}
		if !bytes.Equal(m.names[memPaths.Journal].data, before) {
			t.Errorf("%s: the journal was changed", name)
		}
	}
}

// FuzzScan checks that no input panics, and that the valid part of an input scans to the same
// entries: the input as it is, and the input with matching checksums.
func FuzzScan(f *testing.F) {
	for _, b := range journals(f, medium{}) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, input := range [][]byte{b, rechecked(b)} {
			entries, size, err := (medium{}).scan(input)
			if err != nil {
				continue
			}
			if again, n, err := (medium{}).scan(input[:size]); err != nil || n != size || len(again) != len(entries) {
				t.Fatalf("the valid part is read as %d entries of %d, %v", len(again), len(entries), err)
			}
		}
	})
}

// rechecked returns a journal with matching checksums.
func rechecked(b []byte) []byte {
	var out []byte
	for line := range bytes.Lines(b) {
		body, _, _ := bytes.Cut(bytes.TrimRight(line, "}\n"), []byte(`,"crc":"`))
		out = append(out, body...)
		out = fmt.Appendf(out, crcFormat, checksum(append(bytes.Clone(body), '}')))
	}
	return out
}
