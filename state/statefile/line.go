package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/kubewright/kubewright/state"
)

// A line is the JSON of an entry with one more key at its end, the CRC-32C of the JSON without
// that key. So any JSON tool can read a line.
const (
	crcFormat = `,"crc":"%08x"}` + "\n"
	crcLength = len(`,"crc":"00000000"}`)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(body []byte) uint32 { return crc32.Checksum(body, castagnoli) }

// sealedLine is a line of an encrypted journal: an entry as text. Each line is encrypted
// separately, so a synced line is never rewritten, and a truncated one is detected by its
// checksum, without a key.
type sealedLine struct {
	Sealed string `json:"sealed"`
}

func (m medium) encodeLine(e state.Entry) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	kept, err := m.seal(body)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(kept, body) {
		if body, err = json.Marshal(sealedLine{string(kept)}); err != nil {
			return nil, err
		}
	}
	return fmt.Appendf(body[:len(body)-1:len(body)-1], crcFormat, checksum(body)), nil
}

// decodeLine decodes a line. An *Error means that it is intact, but cannot be read here.
func (m medium) decodeLine(line []byte) (state.Entry, error) {
	cut := len(line) - crcLength
	if cut < 1 {
		return state.Entry{}, errors.New("it is too short")
	}
	body := append(bytes.Clone(line[:cut]), '}')
	want := fmt.Sprintf(crcFormat, checksum(body))
	if string(line[cut:])+"\n" != want {
		return state.Entry{}, errors.New("its checksum does not fit")
	}
	if bytes.HasPrefix(body, []byte(`{"sealed":`)) {
		var line sealedLine
		if err := json.Unmarshal(body, &line); err != nil {
			return state.Entry{}, err
		}
		body = []byte(line.Sealed)
	}
	body, err := m.unseal(body)
	if err != nil {
		return state.Entry{}, err
	}
	return decodeEntry(body)
}

// decodeEntry decodes the JSON of an entry. The line has its checksum, so what is not understood
// in it was not cut off: a newer version wrote it, and dropping it would lose data of that version.
func decodeEntry(body []byte) (state.Entry, error) {
	newer := func(format string, args ...any) (state.Entry, error) {
		return state.Entry{}, &Error{Kind: ErrNewer, Remedy: "use that version of kubewright or a later one", Problem: fmt.Sprintf(format, args...)}
	}
	var head struct {
		Format int `json:"format_version"`
	}
	if err := json.Unmarshal(body, &head); errors.As(err, new(*json.SyntaxError)) {
		return state.Entry{}, err
	}
	if head.Format > JournalFormat {
		return newer("was written by a newer kubewright (journal format %d; this one knows formats up to %d)", head.Format, JournalFormat)
	}
	var e state.Entry
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return newer("holds what this kubewright does not know, so a newer one wrote it: %v", err)
	}
	switch e.Kind {
	case state.EntryRun, state.EntryBegin, state.EntryDone, state.EntryFailed:
		return e, nil
	}
	return newer("has the event %q, which this kubewright does not know, so a newer one wrote it", e.Kind)
}

// scan returns the entries of a journal and their length in bytes. Only the last line can be
// unsynced: if it is broken, it was never acknowledged.
func (m medium) scan(b []byte) ([]state.Entry, int64, error) {
	b = bytes.TrimRight(b, "\x00") // the length reached the disk before the content
	var entries []state.Entry
	size := 0
	for size < len(b) {
		line, rest, whole := bytes.Cut(b[size:], []byte("\n"))
		e, err := m.decodeLine(line)
		n := int64(len(entries)) + 1
		refused := (*Error)(nil)
		switch {
		case errors.As(err, &refused) && refused.Kind == ErrDamaged:
			return nil, 0, brokenLine(n, refused.Problem, refused.Err)
		case errors.As(err, &refused) && refused.Kind == ErrNewer:
			refused.Line, refused.Problem = int(n), fmt.Sprintf("line %d %s", n, refused.Problem)
			return nil, 0, refused
		case errors.As(err, &refused):
			refused.Line = int(n)
			return nil, 0, refused
		case (!whole || err != nil && len(rest) == 0) && !overlong(line):
			return entries, int64(size), nil
		case !whole, err != nil:
			return nil, 0, brokenLine(n, "it is not as it was written", err)
		case e.N != n:
			return nil, 0, brokenLine(n, fmt.Sprintf("it has number %d, so lines are missing or were moved", e.N), nil)
		}
		entries = append(entries, e)
		size += len(line) + 1
	}
	return entries, int64(size), nil
}

// overlong reports whether data follows an entry's end within the line: a line end was lost,
// which truncation cannot cause.
func overlong(line []byte) bool {
	at := bytes.Index(line, []byte(`,"crc":"`))
	return at >= 0 && len(line) > at+crcLength
}

func brokenLine(n int64, problem string, cause error) *Error {
	return &Error{
		Line: int(n), Kind: ErrDamaged, Err: cause,
		Problem: fmt.Sprintf("line %d is broken: %s", n, problem),
		Remedy:  "move the journal away and plan: the hosts are observed again, and they know what kubewright owns",
	}
}
