package snapshots

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kubewright/kubewright/state/safefile"
)

// pageSize divides the size of every database.
const pageSize = 512

// ErrInvalid: the file or stream is not a complete snapshot: it was cut off, or changed.
var ErrInvalid = errors.New("not a whole snapshot of etcd")

// ErrDisk: the operator's disk did not accept the file. A retry does not help.
var ErrDisk = errors.New("cannot write to the disk")

// Digest describes a complete snapshot.
type Digest struct {
	// Size is that of the file in bytes, including the hash at its end.
	Size int64 `json:"size"`
	// SHA256 is the hex digest of the whole file.
	SHA256 string `json:"sha256"`
}

// Write stores a stream in a file, and gives the file its name once it is complete. A
// stream that ends early, or a full disk, leaves nothing; an existing file of that name
// stays as it was.
func Write(path string, stream io.Reader) (Digest, error) { return WriteSealed(path, stream, nil) }

// WriteSealed does what Write does, with a file that is encrypted by seal; nil for none. Nothing
// else reaches the disk. The digest is that of the snapshot.
func WriteSealed(path string, stream io.Reader, seal func(io.Writer) (io.WriteCloser, error)) (Digest, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Digest{}, diskError(err)
	}
	f, err := safefile.Replace(path, 0o600)
	if err != nil {
		return Digest{}, diskError(err)
	}
	defer f.Cleanup() //nolint:errcheck // nothing can be done about a failure
	return fill(f, stream, seal)
}

// pending is a file that has no name yet.
type pending interface {
	io.Writer
	// CloseAtomicallyReplace syncs it to disk and gives it its name.
	CloseAtomicallyReplace() error
}

func fill(f pending, stream io.Reader, seal func(io.Writer) (io.WriteCloser, error)) (Digest, error) {
	v := newVerifier()
	to := io.WriteCloser(plain{diskWriter{f}})
	if seal != nil {
		var err error
		if to, err = seal(diskWriter{f}); err != nil {
			return Digest{}, err
		}
	}
	if _, err := io.Copy(io.MultiWriter(to, v), stream); err != nil {
		if errors.Is(err, ErrDisk) {
			return Digest{}, err
		}
		return Digest{}, fmt.Errorf("the stream of the snapshot was cut off after %d bytes, and nothing of it was kept: %w", v.size, err)
	}
	d, err := v.digest()
	if err != nil {
		return Digest{}, err
	}
	if err := to.Close(); err != nil {
		return Digest{}, err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return Digest{}, diskError(err)
	}
	return d, nil
}

// plain is a writer without an end of its own.
type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// Verify checks that a file is a complete snapshot, and fails with ErrInvalid otherwise.
func Verify(path string) (Digest, error) { return verify(path, nil) }

// verify does what Verify does, with a file that open decrypts, unless that is nil.
func verify(path string, open func(io.Reader) (io.Reader, error)) (Digest, error) {
	f, err := safefile.Open(path)
	if kind, isNone := errors.AsType[*safefile.NotRegular](err); isNone {
		err = fmt.Errorf("%s: %w: %w", path, kind, ErrInvalid)
	}
	if err != nil {
		return Digest{}, err
	}
	defer f.Close()
	v, from := newVerifier(), io.Reader(f)
	if open != nil {
		if from, err = open(f); err != nil {
			return Digest{}, err
		}
	}
	if _, err := io.Copy(v, from); err != nil {
		return Digest{}, err
	}
	d, err := v.digest()
	if err != nil {
		return Digest{}, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// verifier compares the hash of the written data with the hash at its end.
type verifier struct {
	// database is the hash of everything except the last bytes, which are in tail; all is
	// the hash of everything.
	database, all hash.Hash
	tail          []byte
	size          int64
}

func newVerifier() *verifier { return &verifier{database: sha256.New(), all: sha256.New()} }

// Write implements io.Writer. It never fails.
func (v *verifier) Write(b []byte) (int, error) {
	v.size += int64(len(b))
	v.all.Write(b)
	v.tail = append(v.tail, b...)
	if over := len(v.tail) - sha256.Size; over > 0 {
		v.database.Write(v.tail[:over])
		v.tail = append(v.tail[:0], v.tail[over:]...)
	}
	return len(b), nil
}

func (v *verifier) digest() (Digest, error) {
	switch {
	case v.size <= sha256.Size || v.size%pageSize != sha256.Size:
		return Digest{}, fmt.Errorf("it has %d bytes, which is no database with its hash behind it; it was cut off, or copied from a data folder: %w", v.size, ErrInvalid)
	case !bytes.Equal(v.database.Sum(nil), v.tail):
		return Digest{}, fmt.Errorf("its content does not fit the hash at its end; it was changed on the way or on the disk: %w", ErrInvalid)
	}
	return Digest{Size: v.size, SHA256: hex.EncodeToString(v.all.Sum(nil))}, nil
}

// diskWriter marks errors of the disk, to distinguish them from those of the stream.
type diskWriter struct{ to io.Writer }

func (w diskWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if err != nil {
		err = diskError(err)
	}
	return n, err
}

func diskError(err error) error {
	todo := "Nothing was kept"
	switch {
	case safefile.Cause(err) != nil:
		todo = "Nothing was kept. Put that right, or name another file with -out"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		todo = "Nothing was kept. Make room there, or name another folder"
	case errors.Is(err, fs.ErrPermission):
		todo = "Nothing was kept. Give the folder to who runs this, or name another one"
	}
	return fmt.Errorf("%w: %w. %s", ErrDisk, err, todo)
}
