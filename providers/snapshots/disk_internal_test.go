package snapshots

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// full is a disk that takes so many bytes.
type full struct {
	room  int
	named bool
}

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.room {
		return f.room, &os.PathError{Op: "write", Path: "/x/prod.db", Err: syscall.ENOSPC}
	}
	f.room -= len(b)
	return len(b), nil
}

func (f *full) CloseAtomicallyReplace() error { f.named = true; return nil }

func TestFullDisk(t *testing.T) {
	t.Parallel()
	f := &full{room: 1000}
	_, err := fill(f, bytes.NewReader(make([]byte, 100_000)))
	if !errors.Is(err, ErrDisk) || !errors.Is(err, syscall.ENOSPC) || f.named {
		t.Fatalf("error %v, named %v", err, f.named)
	}
	if text := err.Error(); !strings.Contains(text, "no space left on device") || !strings.Contains(text, "Make room there") {
		t.Errorf("got %s", text)
	}
}
