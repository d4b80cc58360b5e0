package planner

import (
	"slices"
	"time"

	"github.com/kubewright/kubewright/state"
)

// CertificateEnd says when a certificate expires that a host held when the plan was made: one in a
// file of its own, or the one inside a kubeconfig.
type CertificateEnd struct {
	Cluster state.Target `json:"cluster"`
	Node    state.Target `json:"node"`
	// Host is the node's name.
	Host string `json:"host"`
	Path string `json:"path"`
	// Kind is ca, certificate or kubeconfig.
	Kind     string    `json:"kind"`
	NotAfter time.Time `json:"not_after"`
	// DaysLeft is in whole days from when the plan was made; negative when it had expired.
	DaysLeft  int     `json:"days_left"`
	RenewedBy Renewer `json:"renewed_by"`
	// Due reports whether it is time to renew it.
	Due bool `json:"due,omitempty"`
	// Changed reports whether this plan reissues the certificate, or removes the node.
	Changed bool `json:"changed,omitempty"`
}

// Renewer says who renews a certificate.
type Renewer string

// The renewers.
const (
	// ByApply means that kubewright renews it, with the next apply once it is due.
	ByApply Renewer = "apply"
	// ByKubelet means that the kubelet renews it by itself while it runs.
	ByKubelet Renewer = "kubelet"
	// ByOperator means that the operator who supplies it renews it.
	ByOperator Renewer = "operator"
	// ByRotation means that an apply replaces it when asked to rotate it: a CA made by kubewright.
	ByRotation Renewer = "rotation"
	// NotRenewed means that nothing renews it, and no component verifies it.
	NotRenewed Renewer = "nobody"
)

// FirstEnds returns, per cluster, the certificate that expires first among those that the plan
// leaves unchanged. Certificates that the kubelet renews in time and those that no component
// verifies are skipped. Of several that expire on the same day it returns the first.
func (p *Plan) FirstEnds() []CertificateEnd {
	var out []CertificateEnd
	for _, c := range p.Certificates {
		if c.Changed || c.RenewedBy == NotRenewed || c.RenewedBy == ByKubelet && !c.Due {
			continue
		}
		i := slices.IndexFunc(out, func(o CertificateEnd) bool { return o.Cluster == c.Cluster })
		switch {
		case i < 0:
			out = append(out, c)
		case day(c.NotAfter).Before(day(out[i].NotAfter)):
			out[i] = c
		}
	}
	return out
}

func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
