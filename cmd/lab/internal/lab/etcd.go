package lab

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// Etcd is an etcd that the operator provides: its members run on the machine, beside the hosts,
// and end with the lab.
type Etcd struct {
	// Endpoints are the members' client URLs.
	Endpoints []string
	// CA, Cert and Key are PEM files for a client of the operator: the trusted CA and the
	// client's own certificate and key.
	CA, Cert, Key string
}

// etcdOctet precedes the number of the first member.
const etcdOctet = 30

const (
	etcdClientPort = 2379
	etcdPeerPort   = 2380
)

// StartEtcd starts an etcd of the lab's release with a number of members, each at its own
// address, and returns when it has a leader. Clients and members authenticate with certificates
// of a separate CA.
func (l *Lab) StartEtcd(ctx context.Context, members int) (Etcd, error) {
	programs, err := l.cache.Programs(ctx, l.Release(), "etcd")
	if err != nil {
		return Etcd{}, err
	}
	e := Etcd{CA: l.path("etcd", "ca.crt"), Cert: l.path("etcd", "client.crt"), Key: l.path("etcd", "client.key")}
	var all []etcdMember
	for i := 1; i <= members; i++ {
		m := etcdMember{name: fmt.Sprintf("etcd%d", i), address: l.addresses(etcdOctet + i)[0]}
		if err := ipBatch(ctx, "", familyOf(m.address), addressAdd(m.address, l.names().bridge())); err != nil {
			return Etcd{}, err
		}
		all = append(all, m)
		e.Endpoints = append(e.Endpoints, m.url(etcdClientPort))
	}
	if err := l.writeEtcdKeys(all); err != nil {
		return Etcd{}, err
	}
	for _, m := range all {
		env := []string{"PATH=" + searchPath, "HOME=/"}
		argv := append([]string{programs["etcd"]}, l.etcdArgs(m, all)...)
		if _, err := detach(l.names().cgroup(m.name), l.path("etcd", m.name+".log"), env, argv...); err != nil {
			return Etcd{}, fmt.Errorf("cannot start %s: %w", m.name, err)
		}
	}
	client, err := e.client()
	if err != nil {
		return Etcd{}, err
	}
	for i, m := range all {
		err := process.Until(ctx, 30*time.Second, 50*time.Millisecond, m.name, func(ctx context.Context) error {
			return healthy(ctx, client, e.Endpoints[i]+"/health")
		})
		if err != nil {
			text, _ := os.ReadFile(l.path("etcd", m.name+".log"))
			return Etcd{}, fmt.Errorf("%w\nit says:\n%s", err, process.Tail(string(text), process.TailLines))
		}
	}
	return e, nil
}

type etcdMember struct {
	name    string
	address netip.Addr
}

func etcdAddresses(members []etcdMember) []netip.Addr {
	var all []netip.Addr
	for _, m := range members {
		all = append(all, m.address)
	}
	return all
}

func (m etcdMember) url(port uint16) string {
	return "https://" + netip.AddrPortFrom(m.address, port).String()
}

func (l *Lab) etcdArgs(m etcdMember, all []etcdMember) []string {
	var cluster []string
	for _, other := range all {
		cluster = append(cluster, other.name+"="+other.url(etcdPeerPort))
	}
	args := []string{
		"--name=" + m.name, "--data-dir=" + l.path("etcd", m.name), "--initial-cluster=" + strings.Join(cluster, ","),
		"--listen-client-urls=" + m.url(etcdClientPort), "--advertise-client-urls=" + m.url(etcdClientPort),
		"--listen-peer-urls=" + m.url(etcdPeerPort), "--initial-advertise-peer-urls=" + m.url(etcdPeerPort),
		"--client-cert-auth", "--peer-client-cert-auth",
	}
	for _, kind := range []string{"", "peer-"} {
		args = append(args, "--"+kind+"trusted-ca-file="+l.path("etcd", "ca.crt"),
			"--"+kind+"cert-file="+l.path("etcd", "member.crt"), "--"+kind+"key-file="+l.path("etcd", "member.key"))
	}
	return args
}

// writeEtcdKeys creates a CA, one certificate for all members, and a client's.
func (l *Lab) writeEtcdKeys(members []etcdMember) error {
	if err := os.MkdirAll(l.path("etcd"), 0o700); err != nil {
		return err
	}
	ca := &x509.Certificate{Subject: pkix.Name{CommonName: "etcd of lab " + l.record.Name}, IsCA: true, KeyUsage: x509.KeyUsageCertSign}
	key, err := writePair(l.path("etcd", "ca"), ca, ca, nil)
	if err != nil {
		return err
	}
	member := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "etcd"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	// Members call each other from the machine's own address.
	for _, a := range append(etcdAddresses(members), l.addresses(machineOctet)[0]) {
		member.IPAddresses = append(member.IPAddresses, net.IP(a.AsSlice()))
	}
	client := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kubernetes"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for name, c := range map[string]*x509.Certificate{"member": member, "client": client} {
		if _, err := writePair(l.path("etcd", name), c, ca, key); err != nil {
			return err
		}
	}
	return nil
}

// writePair writes BASE.crt and BASE.key, signed by the CA's key; without one, self-signed.
func writePair(base string, c, ca *x509.Certificate, signer *ecdsa.PrivateKey) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if signer == nil {
		signer = key
	}
	if c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return nil, err
	}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
	c.BasicConstraintsValid, c.KeyUsage = true, c.KeyUsage|x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, c, ca, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(base+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		return nil, err
	}
	return key, os.WriteFile(base+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), 0o600)
}

// client returns an HTTP client that authenticates with the operator's certificate.
func (e Etcd) client() (*http.Client, error) {
	pair, err := tls.LoadX509KeyPair(e.Cert, e.Key)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(e.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots},
	}}, nil
}

func healthy(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 512))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return err
}
