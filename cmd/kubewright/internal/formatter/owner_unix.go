//go:build unix

package formatter

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner and group of the one that it replaces.
func keepOwner(f *os.File, was fs.FileInfo) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	old, known := was.Sys().(*syscall.Stat_t)
	if now, ok := is.Sys().(*syscall.Stat_t); !ok || !known || now.Uid == old.Uid && now.Gid == old.Gid {
		return nil
	}
	return f.Chown(int(old.Uid), int(old.Gid))
}
