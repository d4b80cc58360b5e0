package state

import "errors"

// Codec turns what is kept into what is written to a file or sent to a backend, and
// back. State, journal and saved plans go through the same one; nil stands for
// none.
type Codec interface {
	// Seal is how bytes are written: encrypted, or as they are.
	Seal(plain []byte) ([]byte, error)
	// Open is what Seal was given. Bytes that it refuses are a *CodecError; any other
	// error says that they were cut or changed.
	Open(kept []byte) ([]byte, error)
}

// Why a Codec refuses bytes, to be tested with errors.Is.
var (
	// ErrPlain: what should be encrypted is not, or would not be any more.
	ErrPlain = errors.New("not encrypted")
	// ErrSealed: it is encrypted, and none of the identities at hand can read it.
	ErrSealed = errors.New("encrypted to others")
)

// CodecError is why a Codec refuses bytes. They are whole, and stay as they are.
type CodecError struct {
	// Kind is ErrPlain or ErrSealed.
	Kind error
	// Problem says what is wrong and why, Remedy what to do about it.
	Problem, Remedy string
}

// Error says both.
func (e *CodecError) Error() string {
	if e.Remedy == "" {
		return e.Problem
	}
	return e.Problem + "; " + e.Remedy
}

// Unwrap makes the kind visible to errors.Is.
func (e *CodecError) Unwrap() error { return e.Kind }
