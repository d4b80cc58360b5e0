package file

import (
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/kubeconfig"
)

// Import turns the operator's PEM or kubeconfig into a record, which holds no key material.
// It is nil for anything else. The signer of a certificate is known if its CA is among cas,
// or in the same kubeconfig.
func Import(content []byte, cas []*x509.Certificate) (*Record, error) {
	if r := Decode(content); r != nil {
		return r, nil
	}
	var r *Record
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if r == nil {
			r = &Record{}
		}
		if err := r.add(block, cas); err != nil {
			return nil, err
		}
	}
	if r != nil {
		if r.Key == "" && len(r.Certificates) > 0 && r.Certificates[0].IsCA {
			r.PEM = string(content)
		}
		return r, nil
	}
	return ImportKubeconfig(content)
}

// add adds one PEM block to the record.
func (r *Record) add(block *pem.Block, cas []*x509.Certificate) error {
	switch block.Type {
	case "CERTIFICATE":
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err
		}
		r.Certificates = append(r.Certificates, infoOf(c, cas))
		return nil
	case "PUBLIC KEY":
		if r.Public != "" {
			r.Further = append(r.Further, Digest(block.Bytes))
		} else {
			r.Public = Digest(block.Bytes)
		}
		return nil
	}
	if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		return nil // such as OpenSSL's EC PARAMETERS
	}
	key, err := parseKey(block)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	r.Key = Digest(der)
	return err
}

func parseKey(block *pem.Block) (crypto.Signer, error) {
	switch block.Type {
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(block.Bytes)
	case "PRIVATE KEY":
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, err
	}
	return nil, errors.New("unknown PEM block " + block.Type)
}

func infoOf(c *x509.Certificate, cas []*x509.Certificate) state.CertificateInfo {
	info := state.CertificateInfoOf(c)
	for _, ca := range append([]*x509.Certificate{c}, cas...) {
		if ca.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil {
			info.IssuerKeyDigest = state.KeyDigest(ca)
		}
	}
	return info
}

// CAs returns the certificates of CAs in PEM.
func CAs(content []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" && c.IsCA {
			out = append(out, c)
		}
	}
	return out
}

// ImportKubeconfig reads a kubeconfig's current context, without its key.
func ImportKubeconfig(content []byte) (*Record, error) {
	tree, err := ParseYAML(content)
	if err != nil || tree["kind"] != "Config" {
		return nil, nil //nolint:nilerr // not a kubeconfig, which is no error
	}
	v := state.FromGo(tree)
	context := named(v.Get("contexts"), v.Get("current-context").AsString()).Get("context")
	k := &state.KubeconfigInfo{
		Context: v.Get("current-context").AsString(), Cluster: context.Get("cluster").AsString(), User: context.Get("user").AsString(),
	}
	r := &Record{Kubeconfig: k, Foreign: foreign(content)}
	var cas []*x509.Certificate
	cluster, user := named(v.Get("clusters"), k.Cluster).Get("cluster"), named(v.Get("users"), k.User).Get("user")
	k.Server = cluster.Get("server").AsString()
	for _, part := range []struct {
		data string
		use  func(*Record)
	}{
		{cluster.Get("certificate-authority-data").AsString(), func(ca *Record) {
			k.CAs = ca.Certificates
		}},
		{user.Get("client-certificate-data").AsString(), func(c *Record) {
			if len(c.Certificates) > 0 {
				k.Client = &c.Certificates[0]
			}
		}},
		{user.Get("client-key-data").AsString(), func(key *Record) { r.ClientKey = key.Key }},
	} {
		plain, err := base64.StdEncoding.DecodeString(part.data)
		if err != nil {
			return nil, err
		}
		inner, err := Import(plain, cas)
		if err != nil {
			return nil, err
		}
		cas = append(cas, CAs(plain)...)
		if inner != nil {
			part.use(inner)
		}
	}
	return r, nil
}

// foreign returns the fields of a kubeconfig that kubeadm does not write.
func foreign(content []byte) []string {
	f, err := kubeconfig.Parse(content)
	if err != nil {
		return nil
	}
	if err := (*kubeconfig.ForeignError)(nil); errors.As(f.OnlyAdmin(), &err) {
		return err.Fields
	}
	return nil
}

func named(list state.Value, name string) state.Value {
	for _, e := range list.AsList() {
		if e.Get("name").AsString() == name {
			return e
		}
	}
	return state.Value{}
}
