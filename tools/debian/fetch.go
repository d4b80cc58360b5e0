package debian

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// MirrorVariable names the environment variable for another mirror of Debian than DefaultMirror.
const (
	MirrorVariable = "KUBEWRIGHT_DEBIAN_MIRROR"
	DefaultMirror  = "http://deb.debian.org"
)

// A Source gets package files from a mirror, and keeps them in a folder. The lock's digests, and
// not the connection, say that they are the right ones.
type Source struct {
	Mirror string
	Folder string
	Client *http.Client
}

// Fetch returns the content of a package file.
func (s Source) Fetch(ctx context.Context, p Package) ([]byte, error) {
	kept := filepath.Join(s.Folder, p.SHA256+".deb")
	if b, err := os.ReadFile(kept); err == nil && digest(b) == p.SHA256 {
		return b, nil
	}
	b, err := s.download(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name(), err)
	}
	if got := digest(b); got != p.SHA256 {
		return nil, fmt.Errorf("%s: the file that %s sent has SHA-256 %s instead of %s, as the lock says", p.Name(), s.Mirror, got, p.SHA256)
	}
	if err := os.MkdirAll(s.Folder, 0o755); err != nil {
		return nil, err
	}
	part := kept + ".part"
	if err := os.WriteFile(part, b, 0o644); err != nil {
		return nil, err
	}
	return b, os.Rename(part, kept)
}

func (s Source) download(ctx context.Context, p Package) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Mirror+"/"+p.Path, nil)
	if err != nil {
		return nil, err
	}
	res, err := s.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, fmt.Errorf("%s no longer has %s. Update the lock with make image-lock, or set %s to a mirror that keeps old packages", s.Mirror, p.Path, MirrorVariable)
	default:
		return nil, fmt.Errorf("%s answers %s for %s", s.Mirror, res.Status, p.Path)
	}
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(res.Body, p.Size+1)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
