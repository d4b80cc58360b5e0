package planfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
)

// FormatVersion is the version of the format that this program writes. A file of format 1 can be
// read but not authenticated.
const FormatVersion = 2

// File is a saved plan: the plan, and the options of its command line that are not part of it.
type File struct {
	Plan *planner.Plan `json:"plan"`
	// AllowUnreachable is the flag of that name.
	AllowUnreachable bool `json:"allow_unreachable,omitempty"`
	// GivenAgain are NAME=VALUE of the other flags that affect the plan, for variables only the
	// names, to print the command that makes the same plan.
	GivenAgain []string `json:"given_again,omitempty"`
	// PriorOutputs are the state's outputs, to show how they change.
	PriorOutputs map[string]state.Value `json:"prior_outputs,omitempty"`
	// Durations are those in the state, and Parallelism the flag, to show how long the plan takes.
	Durations   map[string]float64 `json:"durations,omitempty"`
	Parallelism int                `json:"parallelism,omitempty"`
	// Key is the key of the state, which authenticates the file that Write creates; with the zero
	// Key the file has no authentication code. Read leaves Key zero.
	Key state.Key `json:"-"`
	// read is the envelope that Read has read.
	read envelope
}

// envelope is the file format. The checksum detects damage, but anyone with write access can
// recompute it. The MAC detects any other change: see File.Authenticate.
type envelope struct {
	FormatVersion int             `json:"format_version"`
	ToolVersion   string          `json:"kubewright_version"`
	SHA256        string          `json:"sha256"`
	MAC           string          `json:"mac,omitempty"`
	Saved         json.RawMessage `json:"saved"`
}

// The kinds of errors of Read.
var (
	// ErrNoPlan: the file is not a saved plan.
	ErrNoPlan = errors.New("this is not a saved plan")
	// ErrDamaged: the saved plan was truncated or changed.
	ErrDamaged = errors.New("the saved plan was cut off or changed since it was written")
	// ErrNewer: a later version of the tool wrote it.
	ErrNewer = errors.New("the saved plan was written by a later version of kubewright")
)

// Write writes a plan atomically to a file that only its owner may read, sealed with the codec
// unless it is nil.
func Write(path string, f File, codec state.Codec) error {
	saved, err := json.Marshal(f)
	if err != nil {
		return err
	}
	e := envelope{FormatVersion: FormatVersion, ToolVersion: f.Plan.ToolVersion, SHA256: sum(saved), Saved: saved}
	if e.MAC, err = e.mac(f.Key); err != nil {
		return err
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if codec != nil {
		if b, err = codec.Seal(b); err != nil {
			return fmt.Errorf("cannot save the plan: %w", err)
		}
	}
	if err := safefile.WriteFile(path, b, 0o600); err != nil {
		return fmt.Errorf("cannot save the plan: %w", err)
	}
	return nil
}

// maxFile is the maximum size in bytes of a saved plan to read.
const maxFile = 256 << 20

// Read reads a saved plan. Errors are ErrNoPlan, ErrDamaged, ErrNewer, a
// *state.CodecError, or the file system's.
func Read(path string, codec state.Codec) (File, error) {
	b, err := safefile.Read(path, maxFile)
	if err != nil {
		return File{}, err
	}
	fail := func(kind error) (File, error) { return File{}, &fs.PathError{Op: "read plan", Path: path, Err: kind} }
	if codec != nil {
		plain, err := codec.Open(b)
		switch {
		case errors.As(err, new(*state.CodecError)):
			return File{}, err
		case err != nil:
			return fail(ErrDamaged)
		}
		b = plain
	}
	// Of a newer format, only the beginning may be what it was.
	var head envelope
	if _ = json.Unmarshal(b, &head); head.FormatVersion > FormatVersion && head.ToolVersion != "" {
		return fail(fmt.Errorf("%w (%s, format %d)", ErrNewer, head.ToolVersion, head.FormatVersion))
	}
	var e envelope
	switch err := json.Unmarshal(b, &e); {
	case err != nil && bytes.HasPrefix(b, []byte(`{"format_version":`)):
		return fail(ErrDamaged)
	case err != nil, e.FormatVersion == 0, e.Saved == nil:
		return fail(ErrNoPlan)
	case sum(e.Saved) != e.SHA256:
		return fail(ErrDamaged)
	}
	// The checksum is right, so what is not understood was not damaged. Without it, the plan would
	// be shown as less than it is.
	var f File
	dec := json.NewDecoder(bytes.NewReader(e.Saved))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return fail(fmt.Errorf("%w (%s): %w", ErrNewer, e.ToolVersion, err))
	}
	if f.Plan == nil {
		return fail(ErrDamaged)
	}
	f.read = e
	return f, nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
