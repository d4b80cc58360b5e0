package snapshots

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"
)

// full is a disk that accepts a limited number of bytes.
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

func TestFullDiskNamesRemedy(t *testing.T) {
	t.Parallel()
	f := &full{room: 1000}
	_, err := fill(f, bytes.NewReader(make([]byte, 100_000)), nil)
	if !errors.Is(err, ErrDisk) || !errors.Is(err, syscall.ENOSPC) || f.named {
		t.Fatalf("error %v, named %v", err, f.named)
	}
	if text, want := err.Error(), "cannot write to the disk: write /x/prod.db: no space left on device. Nothing was kept. Make room there, or name another folder"; text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	denied := diskError(&os.PathError{Op: "open", Path: "/x/.prod.db", Err: os.ErrPermission})
	if want := "cannot write to the disk: open /x/.prod.db: permission denied. Nothing was kept. Give the folder to who runs this, or name another one"; denied.Error() != want {
		t.Errorf("got  %v\nwant %s", denied, want)
	}
}
