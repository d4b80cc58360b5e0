package state

import "errors"

// Codec converts between plain bytes and the form in which a file or a backend stores them.
// State, journal and saved plans use the same codec; nil stands for none.
type Codec interface {
	// Seal returns the bytes to store: encrypted, or unchanged.
	Seal(plain []byte) ([]byte, error)
	// Open reverses Seal. Bytes that it refuses are a *CodecError; any other error means that
	// they are truncated or changed.
	Open(kept []byte) ([]byte, error)
}

// Reasons why a Codec refuses bytes; test for them with errors.Is.
var (
	// ErrPlain: the bytes should be encrypted and are not, or would be written unencrypted.
	ErrPlain = errors.New("not encrypted")
	// ErrSealed: the bytes are encrypted, and none of the available identities can decrypt them.
	ErrSealed = errors.New("encrypted to others")
)

// CodecError is the reason why a Codec refuses bytes. They are intact, and stay as they are.
type CodecError struct {
	// Kind is ErrPlain or ErrSealed.
	Kind error
	// Problem says what is wrong and why, Remedy what to do about it.
	Problem, Remedy string
}

// Error returns problem and remedy.
func (e *CodecError) Error() string {
	if e.Remedy == "" {
		return e.Problem
	}
	return e.Problem + "; " + e.Remedy
}

// Unwrap makes the kind visible to errors.Is.
func (e *CodecError) Unwrap() error { return e.Kind }
