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
	return readDoubling(r)
}

// readDoubling reads up to MaxState bytes of unknown size. Its buffer doubles until it has room for
// one byte more than that, so that all its buffers together take little more than twice MaxState.
// io.ReadAll takes more under the race detector.
func readDoubling(r io.Reader) ([]byte, error) {
	data := make([]byte, 0, MaxState>>14+1)
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case len(data) > MaxState:
			return nil, errLarge
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		}
		if size := cap(data); len(data) == size {
			data = append(make([]byte, 0, 2*size-1), data...)
		}
	}
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
