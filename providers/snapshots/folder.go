package snapshots

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/state/safefile"
)

// File is a snapshot on disk. Its name proves that it was complete.
type File struct {
	Name
	Path string
}

// MakeFolder makes the folder of snapshots, for its owner alone, unless it exists. It fails
// with ErrDisk if the path cannot be such a folder, for example a link to another one.
func MakeFolder(path string) error {
	if err := safefile.MakeFolder(path, 0o700); err != nil {
		return diskError(err)
	}
	return nil
}

// List returns the snapshots of a cluster in a folder, the newest first. An absent folder
// has none; a link, or a folder that every user can write to, is refused.
func List(folder, cluster string) ([]File, error) {
	err := safefile.CheckFolder(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var out []File
	for _, e := range entries {
		if n, ok := ParseName(e.Name()); ok && n.Cluster == cluster && e.Type().IsRegular() {
			out = append(out, File{n, filepath.Join(folder, e.Name())})
		}
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(b.Path, a.Path) })
	return out, nil
}

// Between returns a snapshot of the etcd with the ID that was taken between two times and
// is still intact; false if there is none. Names have a precision of seconds. open decrypts
// those that are encrypted; without it they do not count.
func Between(folder, cluster, etcdID string, from, to time.Time, open func(io.Reader) (io.Reader, error)) (File, bool) {
	files, err := List(folder, cluster)
	if err != nil {
		return File{}, false
	}
	for _, f := range files {
		if f.EtcdID != etcdID || f.Taken.Before(from.Truncate(time.Second)) || f.Taken.After(to) {
			continue
		}
		if f.Sealed && open == nil {
			continue
		}
		how := open
		if !f.Sealed {
			how = nil
		}
		if _, err := verify(f.Path, how); err == nil {
			return f, true
		}
	}
	return File{}, false
}

// Prune removes the oldest snapshots of a cluster until keep are left, and the unfinished
// files of killed processes. A keep of 0 keeps all.
func Prune(folder, cluster string, keep int) error {
	files, err := List(folder, cluster)
	if err != nil {
		return err
	}
	errs := []error{removeUnfinished(folder, cluster)}
	if keep > 0 && len(files) > keep {
		for _, f := range files[keep:] {
			errs = append(errs, os.Remove(f.Path))
		}
	}
	return errors.Join(errs...)
}

// unfinished is how long a file without its final name may belong to a running process.
const unfinished = 24 * time.Hour

func removeUnfinished(folder, cluster string) error {
	left, err := filepath.Glob(filepath.Join(folder, "."+cluster+"-*.db*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > unfinished {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}
