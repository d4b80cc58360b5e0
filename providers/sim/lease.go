package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// lease is a Lease object of a simulated cluster: the fields that are looked at.
type lease struct {
	Lineage  string        `json:"lineage"`
	Run      string        `json:"run"`
	Who      string        `json:"who"`
	Token    int64         `json:"token"`
	Since    time.Time     `json:"since"`
	Renewed  time.Time     `json:"renewed"`
	Duration time.Duration `json:"duration"`
	Version  string        `json:"version"`
}

// leaseRef names a lease as objects are named.
func leaseRef(name string) string {
	return state.ObjectRef{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: "kube-system", Name: name}.String()
}

// Lease reads a lease; nil when there is none.
func (a *api) Lease(ctx context.Context, name string) (*providers.Lease, error) {
	var out *providers.Lease
	err := a.read(ctx, "api.lease", name, func(s *session) error {
		if l := s.cluster.Leases[leaseRef(name)]; l != nil {
			out = &providers.Lease{
				Name: name, Lineage: l.Lineage, Run: l.Run, Who: l.Who, Token: l.Token, Since: l.Since, Renewed: l.Renewed, Duration: l.Duration, Version: l.Version,
			}
		}
		return nil
	})
	return out, err
}

// PutLease makes a lease, or replaces one version of it.
func (a *api) PutLease(ctx context.Context, l providers.Lease) (string, error) {
	version := ""
	err := a.act(ctx, "put_lease", l.Name, func(_ *World, c *cluster) error {
		there := c.Leases[leaseRef(l.Name)]
		if there == nil && l.Version != "" || there != nil && there.Version != l.Version {
			return &providers.Error{Kind: providers.ErrMoved, Do: "take lease " + l.Name, Cause: errText("the object has been modified")}
		}
		c.Leased++
		version = fmt.Sprint(c.Leased)
		if c.Leases == nil {
			c.Leases = map[string]*lease{}
		}
		c.Leases[leaseRef(l.Name)] = &lease{
			Lineage: l.Lineage, Run: l.Run, Who: l.Who, Token: l.Token, Since: l.Since, Renewed: l.Renewed, Duration: l.Duration, Version: version,
		}
		return nil
	})
	return version, err
}

// DeleteLease deletes that version of a lease.
func (a *api) DeleteLease(ctx context.Context, l providers.Lease) error {
	return a.act(ctx, "delete_lease", l.Name, func(_ *World, c *cluster) error {
		if there := c.Leases[leaseRef(l.Name)]; there != nil && there.Version == l.Version {
			delete(c.Leases, leaseRef(l.Name))
		}
		return nil
	})
}

// Leases lists the leases of all clusters, as WHO RUN NAME.
func (w *World) Leases() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, id := range sortedKeys(w.d.Clusters) {
		for _, name := range sortedKeys(w.d.Clusters[id].Leases) {
			l := w.d.Clusters[id].Leases[name]
			out = append(out, l.Who+" "+l.Run+" "+name)
		}
	}
	return out
}

// TakeLeases gives all leases to somebody else, as one who deletes a lease by
// hand and begins a run of his own.
func (w *World) TakeLeases(who string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := 0
	for _, c := range w.d.Clusters {
		for _, l := range c.Leases {
			c.Leased++
			l.Who, l.Run, l.Version = who, "another", fmt.Sprint(c.Leased)
			taken++
		}
	}
	if taken == 0 {
		return errText("nobody holds a lease")
	}
	return nil
}
