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

// FormatVersion is the number of the format that this program writes. A file of format 1
// is read and cannot be authenticated.
const FormatVersion = 2

// File is a saved plan: the plan, and what of the command line it was made with
// that is no part of it.
type File struct {
	Plan *planner.Plan `json:"plan"`
	// AllowUnreachable is the flag of that name.
	AllowUnreachable bool `json:"allow_unreachable,omitempty"`
	// GivenAgain are NAME=VALUE of the other flags without which the same command would
	// plan something else, of variables with their names alone, to show that command.
	GivenAgain []string `json:"given_again,omitempty"`
	// PriorOutputs are the state's, to show how they change.
	PriorOutputs map[string]state.Value `json:"prior_outputs,omitempty"`
	// Durations are the state's, and Parallelism the flag, to show how long it takes.
	Durations   map[string]float64 `json:"durations,omitempty"`
	Parallelism int                `json:"parallelism,omitempty"`
	// Key is the state's, which authenticates the file that Write makes; the zero Key
	// leaves the file without authentication code. Read leaves Key zero.
	Key state.Key `json:"-"`
	// read is the file that Read has read.
	read envelope
}

// envelope is the file as it is written. Its checksum finds damage; who can write the
// file can compute another one. Its MAC finds everything else: see File.Authenticate.
type envelope struct {
	FormatVersion int             `json:"format_version"`
	ToolVersion   string          `json:"kubewright_version"`
	SHA256        string          `json:"sha256"`
	MAC           string          `json:"mac,omitempty"`
	Saved         json.RawMessage `json:"saved"`
}

// The kinds of errors of Read.
var (
	// ErrNoPlan: the file is something else.
	ErrNoPlan = errors.New("this is not a saved plan")
	// ErrDamaged: it was a saved plan, and was cut off or changed.
	ErrDamaged = errors.New("the saved plan was cut off or changed since it was written")
	// ErrNewer: a later version of the tool wrote it.
	ErrNewer = errors.New("the saved plan was written by a later version of kubewright")
)

// Write puts a plan into a file that only its owner may read, in one piece, as the
// codec has it; nil for as it is.
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

// maxFile bounds in bytes what is read of a saved plan.
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
	var e envelope
	switch err := json.Unmarshal(b, &e); {
	case err != nil && bytes.HasPrefix(b, []byte(`{"format_version":`)):
		return fail(ErrDamaged)
	case err != nil, e.FormatVersion == 0, e.Saved == nil:
		return fail(ErrNoPlan)
	case e.FormatVersion > FormatVersion:
		return fail(fmt.Errorf("%w (%s, format %d)", ErrNewer, e.ToolVersion, e.FormatVersion))
	case sum(e.Saved) != e.SHA256:
		return fail(ErrDamaged)
	}
	var f File
	if err := json.Unmarshal(e.Saved, &f); err != nil || f.Plan == nil {
		return fail(ErrDamaged)
	}
	f.read = e
	return f, nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
