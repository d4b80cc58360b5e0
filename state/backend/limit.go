package backend

import (
	"errors"
	"fmt"
	"io"
)

// MaxState is the maximum size in bytes of a state, and of any other kubewright file that is read
// whole. Larger files are neither read into memory nor written.
const MaxState = 64 << 20

// errLarge is the failure to read more than MaxState bytes.
var errLarge = errors.New("too much")

// ReadAll reads up to MaxState bytes. size is the size that the server announced, negative if
// unknown: a larger one is refused unread, and the buffer is allocated once. IsLarge reports
// whether the error is about the size.
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

// ended fails when data follows after the announced end.
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

// IsLarge reports whether ReadAll failed because of the size.
func IsLarge(err error) bool { return errors.Is(err, errLarge) }

// TooLarge is the error of a place that holds more than MaxState bytes.
func TooLarge(op, place string) error {
	return &Error{
		Op: op, Place: place, Kind: ErrTooLarge,
		Problem: fmt.Sprintf("it has more than %d MiB, the most that is read of a state", MaxState>>20),
		Remedy:  "see whether something else than a state lies there, and put an older version of it back",
	}
}
