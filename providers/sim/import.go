package sim

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

// importRecord turns PEM or a kubeconfig of the operator's into a record, which
// holds no key material. It is nil for anything else. Who signed a certificate
// shows when its CA is among cas, or in the same kubeconfig.
func importRecord(content []byte, cas []*x509.Certificate) (*record, error) {
	if r := decodeRecord(content); r != nil {
		return r, nil
	}
	var r *record
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if r == nil {
			r = &record{}
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
	return importKubeconfig(content)
}

// add takes one PEM block into the record.
func (r *record) add(block *pem.Block, cas []*x509.Certificate) error {
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
			r.Further = append(r.Further, sum(block.Bytes))
		} else {
			r.Public = sum(block.Bytes)
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
	r.Key = sum(der)
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

// authorities returns the certificates of CAs in PEM.
func authorities(content []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" && c.IsCA {
			out = append(out, c)
		}
	}
	return out
}

// importKubeconfig reads a kubeconfig's present context, without its key.
func importKubeconfig(content []byte) (*record, error) {
	tree, err := parseYAML(content)
	if err != nil || tree["kind"] != "Config" {
		return nil, nil //nolint:nilerr // not a kubeconfig, which is no error
	}
	v := state.FromGo(tree)
	context := named(v.Get("contexts"), v.Get("current-context").AsString()).Get("context")
	k := &state.KubeconfigInfo{
		Context: v.Get("current-context").AsString(), Cluster: context.Get("cluster").AsString(), User: context.Get("user").AsString(),
	}
	r := &record{Kubeconfig: k, Foreign: foreign(content)}
	var cas []*x509.Certificate
	cluster, user := named(v.Get("clusters"), k.Cluster).Get("cluster"), named(v.Get("users"), k.User).Get("user")
	k.Server = cluster.Get("server").AsString()
	for _, part := range []struct {
		data string
		use  func(*record)
	}{
		{cluster.Get("certificate-authority-data").AsString(), func(ca *record) {
			k.CAs = ca.Certificates
		}},
		{user.Get("client-certificate-data").AsString(), func(c *record) {
			if len(c.Certificates) > 0 {
				k.Client = &c.Certificates[0]
			}
		}},
		{user.Get("client-key-data").AsString(), func(key *record) { r.ClientKey = key.Key }},
	} {
		plain, err := base64.StdEncoding.DecodeString(part.data)
		if err != nil {
			return nil, err
		}
		inner, err := importRecord(plain, cas)
		if err != nil {
			return nil, err
		}
		cas = append(cas, authorities(plain)...)
		if inner != nil {
			part.use(inner)
		}
	}
	return r, nil
}

// foreign returns what a kubeconfig sets besides what kubeadm writes there.
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

// infoCAs returns the CAs in cluster-info.
func infoCAs(object state.Value) []state.CertificateInfo {
	conf, err := importKubeconfig([]byte(object.Get("data").AsMap()[state.ClusterInfoKey].AsString()))
	if err != nil || conf == nil {
		return nil
	}
	return conf.Kubeconfig.CAs
}

func named(list state.Value, name string) state.Value {
	for _, e := range list.AsList() {
		if e.Get("name").AsString() == name {
			return e
		}
	}
	return state.Value{}
}
