package backups

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/providers/snapshots"
	"github.com/kubewright/kubewright/state/encryption"
	"github.com/kubewright/kubewright/state/safefile"
)

// OpenSnapshot verifies a snapshot of etcd, and returns the path of its file. An encrypted one is decrypted
// into a folder of its own, which end removes.
func OpenSnapshot(a *workspace.Workspace, file string) (path string, d snapshots.Digest, end func(), err error) {
	end = func() {}
	f, err := safefile.Open(file)
	if err != nil {
		d, err = snapshots.Verify(file)
		return file, d, end, err
	}
	defer f.Close()
	begin := make([]byte, 64)
	n, _ := io.ReadFull(f, begin)
	if !encryption.Sealed(begin[:n]) && !bytes.HasPrefix(begin[:n], []byte("age-encryption.org/")) {
		d, err = snapshots.Verify(file)
		return file, d, end, err
	}
	r, err := a.DecryptStream(io.MultiReader(bytes.NewReader(begin[:n]), f))
	if err != nil {
		return "", d, end, fmt.Errorf("%v", err) //nolint:errorlint // its kind is for the state
	}
	folder, err := os.MkdirTemp("", "kubewright-restore-")
	if err != nil {
		return "", d, end, err
	}
	end = func() { _ = os.RemoveAll(folder) }
	path = filepath.Join(folder, filepath.Base(file))
	d, err = snapshots.Write(path, r)
	return path, d, end, err
}
