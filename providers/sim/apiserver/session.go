package apiserver

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
)

// Session is an authenticated connection to an API server.
type Session struct {
	On      *machine.Machine
	Cluster *etcd.Cluster
	User    string
	Groups  []string
}

// Dial connects with a kubeconfig on a machine.
func (s *Servers) Dial(m *machine.Machine, conf *file.File) (*Session, error) {
	if conf == nil || conf.Record == nil || conf.Record.Kubeconfig == nil {
		return nil, errors.New("invalid kubeconfig")
	}
	u, err := url.Parse(conf.Record.Kubeconfig.Server)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("invalid server %q", conf.Record.Kubeconfig.Server)
	}
	servers := s.Behind(m, u.Hostname())
	last := fmt.Errorf("dial tcp %s: connect: connection refused", u.Host)
	for _, server := range servers {
		_, p := server.Processes().Pod(staticpod.APIServer)
		if p == nil || s.Find(u.Hostname()) != nil && p.Flag("secure-port", "6443") != u.Port() {
			continue
		}
		if err := s.Fault(server, staticpod.APIServer); err != nil {
			last = err
			continue
		}
		session, err := s.handshake(m, server, u.Hostname(), conf.Record)
		if err == nil {
			return session, nil
		}
		last = err
	}
	return nil, last
}

// Behind returns the machines that a name leads to: one, or, if no machine has the name,
// all that run static pods, as through a load balancer.
func (s *Servers) Behind(m *machine.Machine, name string) []*machine.Machine {
	if loopback(name) {
		return []*machine.Machine{m}
	}
	if one := s.Find(name); one != nil {
		return []*machine.Machine{one}
	}
	return s.StaticPodHosts()
}

// handshake checks both sides' credentials.
func (s *Servers) handshake(m, server *machine.Machine, name string, r *file.Record) (*Session, error) {
	_, p := server.Processes().Pod(staticpod.APIServer)
	cert, err := server.Certificates().At(p.Flag("tls-cert-file", ""), "")
	if err != nil {
		return nil, err
	}
	if err := m.Certificates().Verify(r.Kubeconfig.CAs, cert); err != nil {
		return nil, err
	}
	if !covers(cert, name) {
		return nil, notFor(cert, name)
	}
	c, err := s.StorageOf(server, p)
	if err != nil {
		return nil, err
	}
	out := &Session{On: server, Cluster: c}
	if r.Token != "" {
		if out.User, out.Groups, err = s.API(c).tokenUser(r.Token); err != nil {
			return nil, err
		}
		return out, nil
	}
	client := m.Certificates().OfKubeconfig(r.Kubeconfig)
	if client == nil {
		return nil, errors.New("no client certificate")
	}
	if err := server.Certificates().CheckTime(client); err != nil {
		return nil, err
	}
	if !server.Certificates().StillTrusts(p.Flag("client-ca-file", ""), client) {
		return nil, errors.New("unauthorized: x509: certificate signed by unknown authority")
	}
	out.User, out.Groups = client.CommonName, client.Organizations
	return out, nil
}

// covers reports whether a certificate is valid for a name or an IP address.
func covers(c *state.CertificateInfo, name string) bool {
	if slices.Contains(c.IPAddresses, name) {
		return true
	}
	return slices.ContainsFunc(c.DNSNames, func(pattern string) bool {
		if _, rest, _ := strings.Cut(name, "."); strings.HasPrefix(pattern, "*.") && pattern[2:] == rest {
			return true
		}
		return pattern == name
	})
}

// MayAdminister reports whether the user is an administrator of the cluster.
func (s *Session) MayAdminister() bool {
	return slices.Contains(s.Groups, "system:masters") ||
		slices.Contains(s.Groups, "kubeadm:cluster-admins") && s.Cluster.Has(store.ClusterRoleBinding("kubeadm:cluster-admins"))
}

// HandshakeTo connects to a server by a name in its certificate: the administrator's client
// dials the host, whatever its kubeconfig names.
func (s *Servers) HandshakeTo(m, server *machine.Machine, r *file.Record) (*Session, error) {
	_, p := server.Processes().Pod(staticpod.APIServer)
	cert, err := server.Certificates().At(p.Flag("tls-cert-file", ""), "")
	if err != nil {
		return nil, err
	}
	names := append(slices.Clone(cert.IPAddresses), cert.DNSNames...)
	if len(names) == 0 {
		return nil, errors.New("x509: certificate is not valid for any names")
	}
	return s.handshake(m, server, names[0], r)
}

// loopback reports whether a name leads to the calling host itself: so does the unspecified
// address, at which Linux connects to itself.
func loopback(name string) bool {
	return slices.Contains([]string{"127.0.0.1", "::1", "localhost", "0.0.0.0", "::"}, name)
}

func notFor(c *state.CertificateInfo, name string) error {
	return fmt.Errorf("x509: certificate is valid for %s, not %s", strings.Join(slices.Concat(c.DNSNames, c.IPAddresses), ", "), name)
}
