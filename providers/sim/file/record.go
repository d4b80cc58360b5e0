package file

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"github.com/kubewright/kubewright/state"
)

// Record takes the place of key material, certificates and kubeconfigs.
type Record struct {
	Certificates []state.CertificateInfo `json:"certificates,omitempty"`
	// Key is the digest of the public half of the private key in the file.
	Key string `json:"key,omitempty"`
	// Public is the digest of a public key.
	Public string `json:"public,omitempty"`
	// Further are the digests of later public keys in the same file.
	Further    []string              `json:"further,omitempty"`
	Kubeconfig *state.KubeconfigInfo `json:"kubeconfig,omitempty"`
	// ClientKey is the digest of a kubeconfig's inlined key.
	ClientKey string `json:"client_key,omitempty"`
	// Foreign are the fields of a kubeconfig that kubeadm does not write.
	Foreign []string `json:"foreign,omitempty"`
	// Token is a kubeconfig's bootstrap token.
	Token string `json:"token,omitempty"`
	// PEM is the certificate of a CA that an operator gave, as text: it is public, and is
	// read when the cluster is adopted.
	PEM string `json:"pem,omitempty"`
}

// The armour in which readers of a file see a record, so that content that travelled
// through memory becomes the same record again.
const (
	armourHead = "-----BEGIN SIMULATED RECORD-----\n"
	armourFoot = "\n-----END SIMULATED RECORD-----\n"
)

// Encode returns the record as file content.
func (r *Record) Encode() []byte {
	body, err := json.Marshal(r)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return []byte(armourHead + base64.StdEncoding.EncodeToString(body) + armourFoot)
}

// Decode parses the output of Encode; several records in one content become one, like the
// certificates of a bundle.
func Decode(content []byte) *Record {
	var out *Record
	for {
		_, rest, ok := bytes.Cut(content, []byte(armourHead))
		if !ok {
			return out
		}
		body, rest, ok := bytes.Cut(rest, []byte(armourFoot))
		if !ok {
			return out
		}
		var r Record
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

// PublicKeys returns the public keys in the record.
func (r *Record) PublicKeys() []string {
	if r == nil || r.Public == "" {
		return nil
	}
	return append([]string{r.Public}, r.Further...)
}

// OfRecord returns a file with a record.
func OfRecord(r *Record, mode, owner string) *File {
	content := r.Encode()
	f := File{Record: r, SHA256: Digest(content), Size: int64(len(content))}
	return f.WithAccess(mode, owner)
}
