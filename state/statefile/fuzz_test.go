package statefile

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
)

// journals returns journals as runs leave them: with every kind of line, truncated within a line,
// with a length that was written before the content, and with missing and repeated lines.
func journals(t testing.TB, m medium) [][]byte {
	t.Helper()
	at := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	op := 3
	var whole []byte
	var lines [][]byte
	for i, e := range []state.Entry{
		{Kind: state.EntryRun, Format: JournalFormat, Run: "b71e", Token: 8, Lineage: "00000000-0000-0000-0000-000000000001", Serial: 3, Who: "ada@laptop", Plan: strings.Repeat("3a", 32)},
		{Kind: state.EntryBegin, Step: `node.cp["cp1"]/control-plane`, Op: new(0)},
		{Kind: state.EntryBegin, Step: `node.cp["cp1"]/control-plane`, Op: &op},
		{Kind: state.EntryDone, Step: `node.cp["cp1"]/control-plane`, Seconds: 12.5},
		{Kind: state.EntryDone, Lineage: "00000000-0000-0000-0000-000000000001", Learned: state.Learned{Left: []state.Target{state.NodeKeyTarget("worker", "w1")}}},
	} {
		e.N, e.Time = int64(i+1), at.Add(time.Duration(i)*time.Second)
		line, err := m.encodeLine(e)
		if err != nil {
			t.Fatal(err)
		}
		lines, whole = append(lines, line), append(whole, line...)
	}
	out := [][]byte{nil, whole, whole[:len(whole)-1], whole[:len(whole)-20], append(bytes.Clone(whole), make([]byte, 64)...)}
	for i := range lines {
		out = append(out, bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil), bytes.Join(slices.Insert(slices.Clone(lines), i, lines[0]), nil))
	}
	return out
}

// wrapped is a codec that hides nothing, so the fuzzer varies the line and not the cipher:
// encryption.Codec has its own tests.
type wrapped struct{}

const wrappedHead = "wrapped:"

func (wrapped) Seal(plain []byte) ([]byte, error) {
	return base64.StdEncoding.AppendEncode([]byte(wrappedHead), plain), nil
}

func (wrapped) Open(kept []byte) ([]byte, error) {
	body, ok := bytes.CutPrefix(kept, []byte(wrappedHead))
	switch {
	case !ok && bytes.HasPrefix(kept, []byte("other:")):
		return nil, &state.CodecError{Kind: state.ErrSealed, Problem: "it is encrypted to others"}
	case !ok:
		return nil, &state.CodecError{Kind: state.ErrPlain, Problem: "it is not encrypted"}
	}
	return base64.StdEncoding.AppendDecode(nil, body)
}

// FuzzScanSealed is FuzzScan for encrypted journals: no input panics, a plain line is never
// accepted as an encrypted one, and the valid part of an input scans to the same entries.
func FuzzScanSealed(f *testing.F) {
	m := medium{codec: wrapped{}}
	for _, b := range append(journals(f, m), journals(f, medium{})...) {
		f.Add(b)
	}
	f.Add(rechecked([]byte(`{"sealed":"other:AAAA","crc":"00000000"}` + "\n")))
	f.Add(rechecked([]byte(`{"sealed":7,"crc":"00000000"}` + "\n")))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, input := range [][]byte{b, rechecked(b)} {
			entries, size, err := m.scan(input)
			if err != nil {
				continue
			}
			if n := bytes.Count(input[:size], []byte(`{"sealed":`)); n < len(entries) {
				t.Fatalf("%d entries are read of %d lines that are encrypted", len(entries), n)
			}
			if again, n, err := m.scan(input[:size]); err != nil || n != size || len(again) != len(entries) {
				t.Fatalf("the valid part is read as %d entries of %d, %v", len(again), len(entries), err)
			}
		}
	})
}

// FuzzReadLockInfo checks that any content of a lock file can be read, and that what was read
// survives being written and read again.
func FuzzReadLockInfo(f *testing.F) {
	path := filepath.Join(f.TempDir(), "lock")
	info := LockInfo{ID: "b71e", Who: "ada@laptop", PID: 4711, Operation: "apply", Time: time.Date(2026, time.March, 2, 9, 0, 0, 1, time.UTC), File: "8:1:42"}
	for _, r := range []record{{}, {LockInfo: info}, {LockInfo: info, Before: []string{"3f1c", "9e1c"}}} {
		if err := writeTo(path, r); err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, s := range []string{"", "null", "{", `{"id":7}`, `{"id":"a","time":"0000-01-01T00:00:00Z"}`, `{"id":"a","pid":-1,"renewed":"2026-03-02T09:00:00+14:00"}`, "[]", "\x00\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "lock")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		read := readRecord(path)
		if err := writeTo(path, read); err != nil {
			t.Fatalf("the record read from %q cannot be written: %v", b, err)
		}
		if again := readRecord(path); again.String() != read.String() || again.File != read.File || !again.Renewed.Equal(read.Renewed) || !slices.Equal(again.Before, read.Before) {
			t.Errorf("%+v is read from %q, and %+v after writing that", read, b, again)
		}
	})
}

// writeTo writes a record into a lock file.
func writeTo(path string, r record) error {
	f, err := safefile.Edit(path)
	if err != nil {
		return err
	}
	return errors.Join((&Lock{file: f}).write(r), f.Close())
}
