package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kubewright/kubewright/state"
)

// file is what stands at one path. Defaults are left out: a regular file, mode
// 0644 (0755 of a directory), owner root:root.
type file struct {
	Type  string `json:"type,omitempty"` // "" for a regular file, directory, link
	Mode  string `json:"mode,omitempty"`
	Owner string `json:"owner,omitempty"`
	// Modified is when a record or link was written.
	Modified time.Time `json:"modified,omitzero"`
	// SHA256 is of the content; the world holds the bytes unless they are opaque.
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Link   string `json:"link,omitempty"`
	// Record is set instead of content for keys, certificates and kubeconfigs.
	Record *record `json:"record,omitempty"`
	// Member marks etcd's data.
	Member *memberRef `json:"member,omitempty"`
	// Gone marks a file of the host's profile that was removed.
	Gone bool `json:"gone,omitempty"`
}

// record stands for key material and what is made with it.
type record struct {
	Certificates []state.CertificateInfo `json:"certificates,omitempty"`
	// Key is the digest of the public half of the private key in the file.
	Key string `json:"key,omitempty"`
	// Public is the digest of a public key.
	Public string `json:"public,omitempty"`
	// Further are those behind it in the same file.
	Further    []string              `json:"further,omitempty"`
	Kubeconfig *state.KubeconfigInfo `json:"kubeconfig,omitempty"`
	// ClientKey is the digest of a kubeconfig's inlined key.
	ClientKey string `json:"client_key,omitempty"`
	// Foreign are the fields of a kubeconfig that kubeadm does not write.
	Foreign []string `json:"foreign,omitempty"`
	// Token is a kubeconfig's bootstrap token.
	Token string `json:"token,omitempty"`
	// PEM is the text of a CA's certificate that an operator gave: it is public, and
	// whoever adopts the cluster reads it.
	PEM string `json:"pem,omitempty"`
}

// memberRef says whose data a data directory holds.
type memberRef struct {
	Cluster string `json:"cluster"`
	ID      string `json:"id"`
}

const (
	typeDirectory = "directory"
	typeLink      = "link"

	rootOwner = "root:root"
)

func (f *file) isRegular() bool { return f != nil && f.Type == "" }
func (f *file) isDir() bool     { return f != nil && f.Type == typeDirectory }

func (f *file) mode() string {
	switch {
	case f.Mode != "":
		return f.Mode
	case f.Type == typeDirectory:
		return "0755"
	case f.Type == typeLink:
		return "0777"
	}
	return "0644"
}

func (f *file) owner() string {
	if f.Owner != "" {
		return f.Owner
	}
	return rootOwner
}

// withMode returns f with mode and owner in their short form.
func (f file) withMode(mode, owner string) *file {
	f.Mode, f.Owner = "", ""
	if mode != "" && mode != f.mode() {
		f.Mode = mode
	}
	if owner != "" && owner != rootOwner {
		f.Owner = owner
	}
	return &f
}

// Records are shown to whoever reads the file in an armour, so that content
// that travelled through memory becomes the same record again.
const (
	armourHead = "-----BEGIN SIMULATED RECORD-----\n"
	armourFoot = "\n-----END SIMULATED RECORD-----\n"
)

func (r *record) encode() []byte {
	body, err := json.Marshal(r)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return []byte(armourHead + base64.StdEncoding.EncodeToString(body) + armourFoot)
}

// decodeRecord reads what encode wrote; several records in one content become
// one, as certificates of a bundle do.
func decodeRecord(content []byte) *record {
	var out *record
	for {
		_, rest, ok := bytes.Cut(content, []byte(armourHead))
		if !ok {
			return out
		}
		body, rest, ok := bytes.Cut(rest, []byte(armourFoot))
		if !ok {
			return out
		}
		var r record
		plain, err := base64.StdEncoding.DecodeString(string(body))
		if err != nil || json.Unmarshal(plain, &r) != nil {
			return out
		}
		if out == nil {
			out = &r
		} else {
			out.Certificates = append(out.Certificates, r.Certificates...)
		}
		content = rest
	}
}

// publics returns the public keys in the record.
func (r *record) publics() []string {
	if r == nil || r.Public == "" {
		return nil
	}
	return append([]string{r.Public}, r.Further...)
}

func sum(content []byte) string {
	h := sha256.Sum256(content)
	return hex.EncodeToString(h[:])
}

// recordFile returns a file with a record.
func recordFile(r *record, mode, owner string) *file {
	content := r.encode()
	f := file{Record: r, SHA256: sum(content), Size: int64(len(content))}
	return f.withMode(mode, owner)
}

// contentFile returns a file with content, which the world keeps.
func (w *World) contentFile(content []byte, mode, owner string) *file {
	if r := decodeRecord(content); r != nil {
		return recordFile(r, mode, owner)
	}
	f := file{SHA256: sum(content), Size: int64(len(content))}
	if len(content) > 0 && len(content) <= maxKept {
		w.d.Blobs[f.SHA256] = blob(content)
	}
	return f.withMode(mode, owner)
}

// maxKept bounds the content that is kept; longer ones are their digest.
const maxKept = 1 << 20

// content returns the bytes of a file; an opaque one has none.
func (w *World) content(f *file) []byte {
	switch {
	case f == nil:
		return nil
	case f.Record != nil:
		return f.Record.encode()
	}
	return []byte(w.d.Blobs[f.SHA256])
}

// text returns a file's content as whoever reads it sees it.
func (w *World) text(f *file) []byte {
	if f.Record != nil && f.Record.PEM != "" {
		return []byte(f.Record.PEM)
	}
	return w.content(f)
}

// blob is content in the world's file: text as it is, anything else in base64.
type blob string

const blobBase64 = "base64:"

func (b blob) MarshalText() ([]byte, error) {
	if utf8.ValidString(string(b)) && !strings.HasPrefix(string(b), blobBase64) {
		return []byte(b), nil
	}
	return []byte(blobBase64 + base64.StdEncoding.EncodeToString([]byte(b))), nil
}

func (b *blob) UnmarshalText(text []byte) error {
	encoded, ok := strings.CutPrefix(string(text), blobBase64)
	if !ok {
		*b = blob(text)
		return nil
	}
	plain, err := base64.StdEncoding.DecodeString(encoded)
	*b = blob(plain)
	return err
}

// clean is path.Clean with /var/run resolved, as on every present system.
func clean(p string) string {
	if !strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/") || strings.Contains(p, "//") || strings.Contains(p, "/.") {
		p = path.Clean("/" + p) // most paths are clean already
	}
	if rest, ok := strings.CutPrefix(p, "/var/run/"); ok {
		return "/run/" + rest
	}
	return p
}

// below reports whether p lies below dir.
func below(p, dir string) bool {
	return dir == "/" || strings.HasPrefix(p, dir+"/")
}
