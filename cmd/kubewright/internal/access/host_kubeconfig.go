package access

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/kubeconfig"
)

// A host does not decide what happens on the operator's machine. Only the CA, the certificate
// and the key of its admin.conf reach the operator; the CA has to be the recorded one, and any
// other content is refused.

// adminAccess returns the credentials in a control plane's admin.conf, and whether its server
// is the endpoint of the last apply, which the configuration is about to replace.
func adminAccess(ctx context.Context, s *session.Session, c *config.Cluster, t state.Target, h providers.Host) (a providers.ClientAccess, moving bool, err error) {
	a, err = s.Hosts.World.Issuer().ReadKubeconfig(ctx, h, pki.AdminKubeconfig)
	if foreign := (*kubeconfig.ForeignError)(nil); errors.As(err, &foreign) {
		return a, false, refusedFile(c, t, pki.AdminKubeconfig, "%s. Neither kubeadm nor kubewright writes that there, and a client would run a program, open a file or call another server because of it. "+
			"Find out who did. To have the file made again, move it away on that host and run kubewright apply.", foreign)
	}
	if err != nil {
		return a, false, err
	}
	server, applied := pki.AdminServers(s.Config, s.Recorded, c.Label)
	moving = a.Server != server
	if moving && !slices.Contains(applied, a.Server) {
		return a, false, refusedFile(c, t, pki.AdminKubeconfig, "it names the server %q, and the cluster's endpoint is %s. kubewright plan shows the difference, and kubewright apply corrects it.", a.Server, server)
	}
	return a, moving, nil
}

// refusedFile is the error about a file on a host with content that it must not have.
func refusedFile(c *config.Cluster, t state.Target, file, format string, args ...any) error {
	return console.Failure(diag.Diagnostics{diag.Errorf("Kubeconfig of a host is refused", "Nothing of %s on %s was taken over: "+format,
		slices.Concat([]any{file, t}, args)...).At(c.Source).For(t)})
}

// authorities are the CAs of a cluster as one of its control planes shows them.
type authorities struct{ own, next []state.CertificateInfo }

// authoritiesOn returns the CAs of a cluster on a host, with the report they were read from.
func authoritiesOn(ctx context.Context, s *session.Session, c *config.Cluster, h providers.Host) (authorities, *state.Report, error) {
	ca, next := pki.CAFile(c), pki.NextCAFile(c)
	r, err := h.Observe(ctx, state.Query{Files: []state.FileQuery{
		{Path: ca, Read: state.ReadCertificate}, {Path: next, Read: state.ReadCertificate}, {Path: pki.AdminKubeconfig, Read: state.ReadKubeconfig},
	}})
	if err != nil {
		return authorities{}, nil, err
	}
	return authorities{r.Files[ca].Certificates, r.Files[next].Certificates}, r, nil
}

func (a authorities) hold(ca string) bool { return holds(a.own, ca) || holds(a.next, ca) }

// recordedCA returns the digest of the cluster's recorded CA; empty if none is recorded.
func recordedCA(s *session.Session, c *config.Cluster) string {
	if s.Recorded == nil || s.Recorded.Clusters[c.Label] == nil {
		return ""
	}
	return s.Recorded.Clusters[c.Label].CA
}

// trustworthy fails if credentials from a file on a host trust a CA that is not the cluster's:
// the recorded one or, during its rotation, the successor that every reachable control plane
// holds. If no CA is recorded, the CA on the control plane counts.
func trustworthy(ctx context.Context, s *session.Session, c *config.Cluster, t state.Target, file string, shown authorities, trusted []state.CertificateInfo) error {
	known := recordedCA(s, c)
	if known != "" && !holds(trusted, known) {
		return refusedFile(c, t, file, "it does not trust the CA of cluster %q that the state has recorded. kubewright plan shows what is different on that host.", c.Label)
	}
	for _, ca := range trusted {
		switch {
		case ca.KeyDigest == known:
			continue
		case !shown.hold(ca.KeyDigest):
			return refusedFile(c, t, file, "it trusts a CA %q (SHA-256 of its key %s), which is neither recorded nor in %s. Find out who added it. To have the file made again, move it away on that host and run kubewright apply.",
				ca.CommonName, ca.KeyDigest, pki.CAFile(c))
		}
		for _, n := range s.Config.NodesOf(c.Label, config.ControlPlane) {
			if n.Target == t {
				continue
			}
			h, err := s.Hosts.Host(ctx, n.Target)
			if err != nil {
				continue // the host cannot confirm it
			}
			if others, _, err := authoritiesOn(ctx, s, c, h); err == nil && len(others.own) > 0 && !others.hold(ca.KeyDigest) {
				return fmt.Errorf("it trusts a CA %q (SHA-256 of its key %s) that is not recorded and that %s does not hold: where a CA is being rotated, kubewright apply continues the rotation",
					ca.CommonName, ca.KeyDigest, n.Target)
			}
		}
	}
	return nil
}
