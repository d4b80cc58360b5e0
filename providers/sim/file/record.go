package file

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"github.com/kubewright/kubewright/state"
)

// Record stands for key material, certificates and kubeconfigs.
type Record struct {
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

// Records are shown to whoever reads the file in an armour, so that content
// that travelled through memory becomes the same record again.
const (
	armourHead = "-----BEGIN SIMULATED RECORD-----\n"
	armourFoot = "\n-----END SIMULATED RECORD-----\n"
)

// Encode returns the record as content of a file.
func (r *Record) Encode() []byte {
	body, err := json.Marshal(r)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return []byte(armourHead + base64.StdEncoding.EncodeToString(body) + armourFoot)
}

// Decode reads what encode wrote; several records in one content become
// one, as certificates of a bundle do.
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
