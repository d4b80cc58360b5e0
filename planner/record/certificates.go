package record

import (
	"slices"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// CertificateQueries returns the queries to list the certificates of all nodes of the
// configuration.
func CertificateQueries(cfg *config.Config, recorded *state.State) map[state.Target]state.Query {
	v := resolve.NewFleet(&topology.Fleet{Config: cfg, Recorded: recorded})
	out := map[state.Target]state.Query{}
	for _, c := range v.Clusters {
		for _, n := range c.Nodes {
			var q state.Query
			for _, f := range pki.CertificateFiles(n) {
				q.Files = append(q.Files, state.FileQuery{Path: f.Path, Read: f.Read})
			}
			out[n.Target] = observe.NormalQuery(q)
		}
	}
	return out
}

// Certificates lists the certificates on the hosts, by node in the order of the configuration. It
// skips missing files.
func Certificates(v *topology.Fleet) []pki.HeldCertificate {
	var out []pki.HeldCertificate
	for _, c := range resolve.NewFleet(v).Clusters {
		for _, n := range c.Nodes {
			out = append(out, pki.Certificates(n)...)
		}
	}
	return out
}

// Expiring returns those of the certificates that the operator has to act on within a duration from
// now.
func Expiring(list []pki.HeldCertificate, d time.Duration, now time.Time) []pki.HeldCertificate {
	return slices.DeleteFunc(slices.Clone(list), func(h pki.HeldCertificate) bool { return !h.ExpiresWithin(d, now) })
}

// AnyDue reports whether any of the certificates has to be renewed now, or cannot be read.
func AnyDue(list []pki.HeldCertificate) bool {
	return slices.ContainsFunc(list, func(h pki.HeldCertificate) bool { return h.Due || h.Invalid != "" })
}
