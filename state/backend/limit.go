package backend

import (
	"errors"
	"fmt"
	"io"
)

// MaxState is the most bytes that a state may have, and any other file of kubewright's
// that is read whole: no place gets more read into memory, or written to it.
const MaxState = 64 << 20

// errLarge is the failure to read more than MaxState bytes.
var errLarge = errors.New("too much")

// ReadAll reads up to MaxState bytes. Where size is what the server announces (negative
// for unknown), more than that is refused unread, and nothing is read twice into memory.
// IsLarge reports whether the error is about the size.
func ReadAll(r io.Reader, size int64) ([]byte, error) {
	switch {
	case size > MaxState:
		return nil, errLarge
	case size >= 0:
		data := make([]byte, size)
		_, err := io.ReadFull(r, data)
		if err == nil {
			err = ended(r)
		}
		return data, err
	}
	data, err := io.ReadAll(io.LimitReader(r, MaxState+1))
	if err == nil && len(data) > MaxState {
		err = errLarge
	}
	return data, err
}

// ended fails when something follows behind the announced end.
func ended(r io.Reader) error {
	var one [1]byte
	switch n, err := r.Read(one[:]); {
	case n > 0:
		return errors.New("more follows than was announced")
	case err == nil || errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

// IsLarge reports whether ReadAll has refused the size.
func IsLarge(err error) bool { return errors.Is(err, errLarge) }

// TooLarge is the error of a place that holds more than MaxState bytes.
func TooLarge(op, place string) error {
	return &Error{
		Op: op, Place: place, Kind: ErrTooLarge,
		Problem: fmt.Sprintf("it has more than %d MiB, the most that is read of a state", MaxState>>20),
		Remedy:  "see whether something else than a state lies there, and put an older version of it back",
	}
}
