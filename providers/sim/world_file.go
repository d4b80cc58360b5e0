package sim

import (
	"fmt"
	"os"
	"time"

	"github.com/kubewright/kubewright/state/safefile"
)

// worldFile is where a world is kept; its path is empty for one that is kept nowhere.
type worldFile struct {
	path string
	// kept is what this world has read or written last.
	kept version
}

// version identifies one writing of a file.
type version struct {
	at   time.Time
	size int64
}

// written returns the version of a file that is there now, zero of none.
func written(path string) version {
	info, err := os.Stat(path)
	if err != nil {
		return version{}
	}
	return version{info.ModTime(), info.Size()}
}

// unchanged returns an error where another command has written the file meanwhile.
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

// writeSoon replaces the file without waiting for the disk: it survives when the process
// is killed, and a loss of power may lose it.
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
