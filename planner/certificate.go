package planner

import (
	"slices"
	"time"

	"github.com/kubewright/kubewright/state"
)

// CertificateEnd says when a certificate ends that a host held when the plan was
// made: one in a file of its own, or the one inside a kubeconfig.
type CertificateEnd struct {
	Cluster state.Target `json:"cluster"`
	Node    state.Target `json:"node"`
	// Host is the node's name.
	Host string `json:"host"`
	Path string `json:"path"`
	// Kind is ca, certificate or kubeconfig.
	Kind     string    `json:"kind"`
	NotAfter time.Time `json:"not_after"`
	// DaysLeft are whole days from when the plan was made; negative when it had ended.
	DaysLeft  int     `json:"days_left"`
	RenewedBy Renewer `json:"renewed_by"`
	// Due reports whether it is time to renew it.
	Due bool `json:"due,omitempty"`
	// Changed reports whether this plan issues another one, or gives the host back.
	Changed bool `json:"changed,omitempty"`
}

// Renewer is who renews a certificate.
type Renewer string

// The renewers.
const (
	// ByApply: kubewright, with the next apply once it is due.
	ByApply Renewer = "apply"
	// ByKubelet: the kubelet by itself, while it runs.
	ByKubelet Renewer = "kubelet"
	// ByOperator: whoever supplies it.
	ByOperator Renewer = "operator"
	// ByRotation: an apply that is asked to rotate it: a CA that kubewright has made.
	ByRotation Renewer = "rotation"
	// ByNobody: nothing renews it, and nobody verifies it.
	ByNobody Renewer = "nobody"
)

// FirstEnds are, per cluster, the certificate that ends first of those that stay
// as they are with this plan. One that the kubelet renews in time is left out, and
// one that nobody verifies. Of several that end on one day it is the first.
func (p *Plan) FirstEnds() []CertificateEnd {
	var out []CertificateEnd
	for _, c := range p.Certificates {
		if c.Changed || c.RenewedBy == ByNobody || c.RenewedBy == ByKubelet && !c.Due {
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
