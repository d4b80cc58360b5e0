package file

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"time"
)

// File is the content at one path. Defaults are omitted: a regular file, mode 0644 (0755 of
// a directory), owner root:root.
type File struct {
	Type  string `json:"type,omitempty"` // "" for a regular file, directory, link
	Mode  string `json:"mode,omitempty"`
	Owner string `json:"owner,omitempty"`
	// Modified is when a record, a link, or a file that is read only at a start was written.
	Modified time.Time `json:"modified,omitzero"`
	// SHA256 is the digest of the content; the world holds the bytes unless they are
	// opaque.
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Link   string `json:"link,omitempty"`
	// Record is set instead of content for keys, certificates and kubeconfigs.
	Record *Record `json:"record,omitempty"`
	// Member marks etcd's data.
	Member *EtcdData `json:"member,omitempty"`
	// Gone marks a file of the host's profile that was removed.
	Gone bool `json:"gone,omitempty"`
}

// EtcdData names the member whose data a folder holds.
type EtcdData struct {
	Cluster string `json:"cluster"`
	ID      string `json:"id"`
}

const (
	Directory = "directory"
	Link      = "link"

	RootOwner = "root:root"
)

// IsRegular reports whether f is a regular file. It may be nil.
func (f *File) IsRegular() bool { return f != nil && f.Type == "" }

// IsDir reports whether f is a folder. It may be nil.
func (f *File) IsDir() bool { return f != nil && f.Type == Directory }

// EffectiveMode returns the mode, or its default.
func (f *File) EffectiveMode() string {
	switch {
	case f.Mode != "":
		return f.Mode
	case f.Type == Directory:
		return "0755"
	case f.Type == Link:
		return "0777"
	}
	return "0644"
}

// EffectiveOwner returns the owner, or root:root.
func (f *File) EffectiveOwner() string {
	if f.Owner != "" {
		return f.Owner
	}
	return RootOwner
}

// WithAccess returns f with mode and owner in their short form.
func (f File) WithAccess(mode, owner string) *File {
	f.Mode, f.Owner = "", ""
	if mode != "" && mode != f.EffectiveMode() {
		f.Mode = mode
	}
	if owner != "" && owner != RootOwner && owner != "0:0" {
		f.Owner = owner
	}
	return &f
}

// Digest returns the SHA-256 of content in hex.
func Digest(content []byte) string {
	h := sha256.Sum256(content)
	return hex.EncodeToString(h[:])
}

// MaxKept bounds the content that is kept; longer content is only a digest.
const MaxKept = 1 << 20

// Clean is path.Clean with /var/run resolved, as on every current system.
func Clean(p string) string {
	if !strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/") || strings.Contains(p, "//") || strings.Contains(p, "/.") {
		p = path.Clean("/" + p) // most paths are clean already
	}
	if rest, ok := strings.CutPrefix(p, "/var/run/"); ok {
		return "/run/" + rest
	}
	return p
}

// Below reports whether p lies below dir.
func Below(p, dir string) bool {
	return dir == "/" || strings.HasPrefix(p, dir+"/")
}

// Parent returns the folder of a path.
func Parent(p string) string {
	i := strings.LastIndexByte(p, '/')
	if i <= 0 {
		return "/"
	}
	return p[:i]
}

// Opaque returns a file of which only the digest is known.
func Opaque(what, mode string) *File {
	f := File{SHA256: Digest([]byte(what)), Size: int64(1000 * len(what))}
	return f.WithAccess(mode, "")
}

// Same reports whether two files are equal except for the time of their last change.
func Same(a, b *File) bool {
	return a.Type == b.Type && a.EffectiveMode() == b.EffectiveMode() && a.EffectiveOwner() == b.EffectiveOwner() &&
		a.SHA256 == b.SHA256 && a.Link == b.Link && a.Gone == b.Gone
}
