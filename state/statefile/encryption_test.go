package statefile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/encryption"
)

// agent is a user with a key.
type agent struct{ public, file string }

func newAgent(t testing.TB) agent {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return agent{id.Recipient().String(), file}
}

// codec returns a codec that decrypts with the agent's key, and encrypts to the recipients.
func (a agent) codec(t testing.TB, recipients ...agent) *encryption.Codec {
	t.Helper()
	o := encryption.Options{Identities: []string{a.file}}
	for _, r := range recipients {
		o.Recipients = append(o.Recipients, r.public)
	}
	c, err := encryption.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sealedOn returns the paths of encrypted files on a disk in memory.
func sealedOn(m *memFS, c state.Codec) Paths {
	p := on(m)
	p.Codec = c
	return p
}

// TestEncryptedStateSurvivesCrash checks that an encrypted state is the old or the new one after a power
// cut at any call, and that no file can be read without the key.
func TestEncryptedStateSurvivesCrash(t *testing.T) {
	t.Parallel()
	ann := newAgent(t)
	for crashAt := 1; ; crashAt++ {
		m := newMemFS()
		sealed := sealedOn(m, ann.codec(t, ann))
		st := sample()
		if err := Write(sealed, st); err != nil {
			t.Fatal(err)
		}
		m.calls, m.crashAt = 0, crashAt
		err := Write(sealed, st)
		for _, lucky := range []bool{false, true} {
			after := m.reboot(lucky)
			now, readErr := Read(sealedOn(after, ann.codec(t, ann)))
			if readErr != nil || now.Serial != 1 && now.Serial != 2 || err == nil && now.Serial != 2 {
				t.Fatalf("power cut at call %d: %+v, %v", crashAt, now, readErr)
			}
			for name, node := range after.names {
				if bytes.Contains(node.data, []byte("lineage")) {
					t.Errorf("power cut at call %d: %s is not encrypted", crashAt, name)
				}
			}
		}
		if m.calls < crashAt {
			break
		}
	}
}

// sealedJournal returns an encrypted journal of n entries.
func sealedJournal(t testing.TB, c state.Codec, n int) []byte {
	t.Helper()
	m := newMemFS()
	j, err := OpenJournal(sealedOn(m, c))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := j.Append(entry(i)); err != nil {
			t.Fatal(err)
		}
	}
	return m.names[memPaths.Journal].data
}

// TestEncryptedJournalDropsOnlyTruncatedLine checks that a truncated line is dropped without a key, that a changed line is
// never taken for a truncated one, and that nothing is dropped when the key is missing.
func TestEncryptedJournalDropsOnlyTruncatedLine(t *testing.T) {
	t.Parallel()
	ann, bob := newAgent(t), newAgent(t)
	mine, others := medium{codec: ann.codec(t, ann)}, medium{codec: bob.codec(t, bob)}
	b := sealedJournal(t, mine.codec, 3)
	if bytes.Contains(b, []byte("node.n")) {
		t.Errorf("the journal is not encrypted: %s", b)
	}
	ends := []int{0}
	for i, c := range b {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	for n := 0; n <= len(b); n += 97 {
		entries, size, err := mine.scan(b[:n])
		whole := 0
		for whole+1 < len(ends) && ends[whole+1] <= n {
			whole++
		}
		if err != nil || len(entries) != whole || int(size) != ends[whole] {
			t.Fatalf("cut at %d of %d: %d entries of %d, %d bytes, %v", n, len(b), len(entries), whole, size, err)
		}
	}
	if _, _, err := others.scan(b); !errors.Is(err, state.ErrSealed) {
		t.Errorf("without the key: %v", err)
	}
	if _, _, err := others.scan(b[:ends[1]]); !errors.Is(err, state.ErrSealed) {
		t.Errorf("one line, without the key: %v", err)
	}
	plain, err := (medium{}).encodeLine(state.Entry{N: 1, Kind: state.EntryRun})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := mine.scan(plain); !errors.Is(err, state.ErrPlain) {
		t.Errorf("a plain line where all are encrypted: %v", err)
	}
	forged := forge(t, b[ends[2]:ends[3]])
	if _, _, err := mine.scan(append(bytes.Clone(b[:ends[2]]), forged...)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "line 3 is broken") {
		t.Errorf("a last line that was changed with its checksum: %v", err)
	}
}

// forge changes the end of an encrypted line and gives it a matching checksum.
func forge(t *testing.T, line []byte) []byte {
	t.Helper()
	at := bytes.LastIndex(line, []byte("-----END"))
	body := append(bytes.Clone(line[:len(line)-1-crcLength]), '}')
	if body[at-8] == 'A' {
		body[at-8] = 'B'
	} else {
		body[at-8] = 'A'
	}
	return fmt.Appendf(bytes.Clone(body[:len(body)-1]), crcFormat, checksum(body))
}

// TestEncryptedJournalSurvivesCrash checks that acknowledged entries survive a power cut at any call.
func TestEncryptedJournalSurvivesCrash(t *testing.T) {
	t.Parallel()
	ann := newAgent(t)
	c := ann.codec(t, ann)
	for crashAt := 1; ; crashAt++ {
		m := newMemFS()
		m.crashAt = crashAt
		done := 0
		if j, err := OpenJournal(sealedOn(m, c)); err == nil {
			for i := 0; i < 2 && err == nil; i++ {
				if err = j.Append(entry(i)); err == nil {
					done++
				}
			}
		}
		for _, lucky := range []bool{false, true} {
			entries, _, err := readJournal(medium{m.reboot(lucky), c}, memPaths.Journal)
			if err != nil || len(entries) < done || len(entries) > 2 {
				t.Fatalf("power cut at call %d: %d entries, %d acknowledged, %v", crashAt, len(entries), done, err)
			}
		}
		if m.calls < crashAt {
			break
		}
	}
}

// TestStateIsEncryptedForNewRecipients checks that the next write is for the new recipients, that a state that no
// available key can decrypt is never written, and that an encrypted state is not written
// unencrypted.
func TestStateIsEncryptedForNewRecipients(t *testing.T) {
	t.Parallel()
	ann, bob := newAgent(t), newAgent(t)
	m := newMemFS()
	st := sample()
	if err := Write(sealedOn(m, ann.codec(t, ann)), st); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		codec state.Codec
		want  error
	}{
		"to others alone":       {ann.codec(t, bob), state.ErrSealed},
		"to no recipient":       {ann.codec(t), state.ErrPlain},
		"who could not read it": {bob.codec(t, bob), state.ErrSealed},
	} {
		before := bytes.Clone(m.names[memPath].data)
		if err := Write(sealedOn(m, c.codec), st); !errors.Is(err, c.want) {
			t.Errorf("%s: error = %v", what, err)
		}
		if !bytes.Equal(before, m.names[memPath].data) {
			t.Errorf("%s: the file was changed", what)
		}
	}
	if err := Write(sealedOn(m, ann.codec(t, ann, bob)), st); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(sealedOn(m, bob.codec(t, bob))); err != nil || got.Serial != 2 {
		t.Errorf("the new recipient reads %+v, %v", got, err)
	}
	j, err := OpenJournal(sealedOn(m, ann.codec(t, bob)))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Reserve(1); !errors.Is(err, state.ErrSealed) {
		t.Errorf("a run may begin without a key for its journal: %v", err)
	}
}

// BenchmarkAppend measures a line of a journal including its sync, plain and encrypted to one and
// five recipients, and reading a thousand lines.
func BenchmarkAppend(b *testing.B) {
	ann := newAgent(b)
	for _, n := range []int{0, 1, 5} {
		var c state.Codec
		if n > 0 {
			to := make([]agent, n)
			for i := range to {
				to[i] = newAgent(b)
			}
			to[n-1] = ann
			c = ann.codec(b, to...)
		}
		b.Run(fmt.Sprintf("recipients=%d", n), func(b *testing.B) {
			j, err := OpenJournal(Paths{Journal: filepath.Join(b.TempDir(), "journal"), Codec: c})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := j.Append(entry(1)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(j.size)/float64(j.n), "B/line")
		})
		b.Run(fmt.Sprintf("read/recipients=%d", n), func(b *testing.B) {
			lines := sealedJournal(b, c, 1000)
			for b.Loop() {
				if _, _, err := (medium{codec: c}).scan(lines); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
