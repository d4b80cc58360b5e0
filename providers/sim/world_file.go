package sim

import (
	"fmt"
	"os"
	"time"

	"github.com/kubewright/kubewright/state/safefile"
)

// worldFile is the file of a world; its path is empty for a world without one.
type worldFile struct {
	path string
	// kept is the version that this world has read or written last.
	kept version
}

// version identifies one write of a file.
type version struct {
	at   time.Time
	size int64
}

// written returns the current version of a file, zero if there is none.
func written(path string) version {
	info, err := os.Stat(path)
	if err != nil {
		return version{}
	}
	return version{info.ModTime(), info.Size()}
}

// unchanged fails if another command has written the file in the meantime.
func (f *worldFile) unchanged() error {
	if written(f.path) != f.kept {
		return fmt.Errorf("another command has changed its hosts meanwhile, and %s stays as that left it", f.path)
	}
	return nil
}

// write replaces the file, and waits for the disk.
func (f *worldFile) write(b []byte) error {
	err := safefile.WriteFile(f.path, b, 0o600)
	if err == nil {
		f.kept = written(f.path)
	}
	return err
}

// writeSoon replaces the file without waiting for the disk: the write survives the death of
// the process, but maybe not a loss of power.
func (f *worldFile) writeSoon(b []byte) error {
	if err := safefile.Overwrite(f.path+".new", b); err != nil {
		return err
	}
	if err := safefile.Rename(f.path+".new", f.path); err != nil {
		return err
	}
	f.kept = written(f.path)
	return nil
}
