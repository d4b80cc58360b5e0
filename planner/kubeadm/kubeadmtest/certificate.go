package kubeadmtest

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"
)

// Certificate is the comparable part of a certificate: without its key, its serial number and its
// time of creation.
type Certificate struct {
	CommonName    string   `json:"common_name"`
	Organizations []string `json:"organizations,omitempty"`
	DNSNames      []string `json:"dns_names,omitempty"`
	IPAddresses   []string `json:"ip_addresses,omitempty"`
	Usages        []string `json:"usages"`
	Issuer        string   `json:"issuer"`
	Algorithm     string   `json:"algorithm"`
	Signature     string   `json:"signature"`
	// Lifetime is the validity period in whole minutes: the certificate in a kubeconfig becomes
	// valid with its CA, which is some seconds older on a joining host.
	Lifetime         string `json:"lifetime"`
	IsCA             bool   `json:"is_ca"`
	BasicConstraints bool   `json:"basic_constraints"`
	MaxPathLen       int    `json:"max_path_len"`
	SubjectKeyID     bool   `json:"subject_key_id"`
	AuthorityKeyID   bool   `json:"authority_key_id"`
	Version          int    `json:"version"`
}

var keyUsages = []struct {
	bit  x509.KeyUsage
	name string
}{
	{x509.KeyUsageDigitalSignature, "digital signature"},
	{x509.KeyUsageContentCommitment, "content commitment"},
	{x509.KeyUsageKeyEncipherment, "key encipherment"},
	{x509.KeyUsageDataEncipherment, "data encipherment"},
	{x509.KeyUsageKeyAgreement, "key agreement"},
	{x509.KeyUsageCertSign, "cert sign"},
	{x509.KeyUsageCRLSign, "crl sign"},
}

// ParseCertificate parses the first certificate of a PEM file.
func ParseCertificate(content []byte) (Certificate, error) {
	block, _ := pem.Decode(content)
	if block == nil || block.Type != "CERTIFICATE" {
		return Certificate{}, errors.New("no PEM certificate")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Certificate{}, err
	}
	out := Certificate{
		CommonName: c.Subject.CommonName, Organizations: c.Subject.Organization, DNSNames: c.DNSNames,
		Issuer: c.Issuer.CommonName, Algorithm: algorithm(c.PublicKey), Signature: c.SignatureAlgorithm.String(),
		Lifetime: c.NotAfter.Sub(c.NotBefore).Truncate(time.Minute).String(), IsCA: c.IsCA, BasicConstraints: c.BasicConstraintsValid,
		MaxPathLen: c.MaxPathLen, SubjectKeyID: len(c.SubjectKeyId) > 0, AuthorityKeyID: len(c.AuthorityKeyId) > 0, Version: c.Version,
	}
	for _, ip := range c.IPAddresses {
		out.IPAddresses = append(out.IPAddresses, ip.String())
	}
	for _, u := range keyUsages {
		if c.KeyUsage&u.bit != 0 {
			out.Usages = append(out.Usages, u.name)
		}
	}
	for _, u := range c.ExtKeyUsage {
		switch u {
		case x509.ExtKeyUsageServerAuth:
			out.Usages = append(out.Usages, "server auth")
		case x509.ExtKeyUsageClientAuth:
			out.Usages = append(out.Usages, "client auth")
		default:
			out.Usages = append(out.Usages, fmt.Sprint("extended ", u))
		}
	}
	return out, nil
}

func algorithm(key any) string {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA-%d", k.N.BitLen())
	case *ecdsa.PublicKey:
		return fmt.Sprintf("ECDSA-P%d", k.Params().BitSize)
	}
	return fmt.Sprintf("%T", key)
}

// Kubeconfig is the comparable part of a kubeconfig.
type Kubeconfig struct {
	Server    string       `json:"server"`
	Cluster   string       `json:"cluster"`
	User      string       `json:"user"`
	Context   string       `json:"context"`
	Namespace string       `json:"namespace,omitempty"`
	Current   string       `json:"current"`
	CA        *Certificate `json:"ca,omitempty"`
	Client    *Certificate `json:"client,omitempty"`
	HasKey    bool         `json:"has_key"`
	HasToken  bool         `json:"has_token"`
}

// ParseKubeconfig parses a kubeconfig with one cluster, user and context.
func ParseKubeconfig(content []byte) (Kubeconfig, error) {
	var f struct {
		Clusters []struct {
			Name    string
			Cluster struct {
				Server string
				CA     []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			Name string
			User struct {
				Certificate []byte `json:"client-certificate-data"`
				Key         []byte `json:"client-key-data"`
				Token       string
			}
		}
		Contexts []struct {
			Name    string
			Context struct{ Cluster, User, Namespace string }
		}
		Current string `json:"current-context"`
	}
	if err := yaml.Unmarshal(content, &f); err != nil {
		return Kubeconfig{}, err
	}
	if len(f.Clusters) != 1 || len(f.Users) != 1 || len(f.Contexts) != 1 {
		return Kubeconfig{}, errors.New("not one cluster, user and context")
	}
	cluster, user, context := f.Clusters[0], f.Users[0], f.Contexts[0]
	if context.Context.Cluster != cluster.Name || context.Context.User != user.Name {
		return Kubeconfig{}, errors.New("the context refers to another cluster or user")
	}
	out := Kubeconfig{
		Server: cluster.Cluster.Server, Cluster: cluster.Name, User: user.Name, Context: context.Name,
		Namespace: context.Context.Namespace, Current: f.Current,
		HasKey: len(user.User.Key) > 0, HasToken: user.User.Token != "",
	}
	for _, c := range []struct {
		content []byte
		into    **Certificate
	}{{cluster.Cluster.CA, &out.CA}, {user.User.Certificate, &out.Client}} {
		if len(c.content) == 0 {
			continue
		}
		parsed, err := ParseCertificate(c.content)
		if err != nil {
			return out, err
		}
		*c.into = &parsed
	}
	return out, nil
}
