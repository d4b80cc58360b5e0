package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxFile bounds a file of an archive besides the snapshot, maxFiles their number.
const (
	maxFile  = 1 << 20
	maxFiles = 2000
)

// Archive is a decrypted backup without its snapshot.
type Archive struct {
	Manifest
	// Content is the content of the files of the control plane, by their paths there.
	Content map[string][]byte
	// SnapshotSHA256 is the digest of the snapshot.
	SnapshotSHA256 string
}

// Read reads a decrypted archive, and writes its snapshot. Everything is compared with the digests of
// the manifest.
func Read(r io.Reader, snapshot io.Writer) (Archive, error) {
	out := Archive{Content: map[string][]byte{}}
	sums := map[string]string{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Archive{}, fmt.Errorf("it is damaged, or no backup: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := out.file(h.Name, archive, snapshot, sums); err != nil {
			return Archive{}, err
		}
	}
	if _, err := io.Copy(io.Discard, r); err != nil { // to its end: age authenticates that too
		return Archive{}, fmt.Errorf("it is damaged: %w", err)
	}
	if err := out.Check(); err != nil {
		return Archive{}, err
	}
	for f, want := range out.Files {
		switch got, there := sums[f]; {
		case !there:
			return Archive{}, fmt.Errorf("it is damaged: %s is missing", f)
		case got != want:
			return Archive{}, fmt.Errorf("it is damaged: the digest of %s is %s and should be %s", f, got, want)
		}
	}
	out.SnapshotSHA256 = sums[SnapshotFile]
	return out, nil
}

// file reads one file of the archive.
func (a *Archive) file(name string, r io.Reader, snapshot io.Writer, sums map[string]string) error {
	name = strings.TrimPrefix(name, "./")
	sum := sha256.New()
	switch {
	case name == SnapshotFile:
		disk := &disk{Writer: snapshot}
		switch _, err := io.Copy(io.MultiWriter(disk, sum), r); {
		case disk.err != nil:
			return fmt.Errorf("its snapshot cannot be written: %w", disk.err)
		case err != nil:
			return fmt.Errorf("it is damaged: its snapshot ends early: %w", err)
		}
		sums[name] = hex.EncodeToString(sum.Sum(nil))
		return nil
	case len(a.Content) >= maxFiles:
		return errors.New("it holds too many files for a backup")
	}
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return fmt.Errorf("it is damaged: %w", err)
	case len(b) > maxFile:
		return fmt.Errorf("it is no backup: %q is too large", name)
	case name == ManifestFile:
		if err := json.Unmarshal(b, &a.Manifest); err != nil {
			return fmt.Errorf("its manifest is damaged: %w", err)
		}
		return nil
	}
	p, ok := strings.CutPrefix(name, FilesFolder)
	if !ok {
		return fmt.Errorf("it is no backup: it holds %q", name)
	}
	sum.Write(b)
	a.Content["/"+p], sums[p] = b, hex.EncodeToString(sum.Sum(nil))
	return nil
}

// disk remembers why it could not be written to.
type disk struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (d *disk) Write(b []byte) (int, error) {
	n, err := d.Writer.Write(b)
	d.err = err
	return n, err
}
