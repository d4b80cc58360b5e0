package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/store"
)

// Lease reads a lease; nil when there is none.
func (a *api) Lease(ctx context.Context, name string) (*providers.Lease, error) {
	var out *providers.Lease
	err := a.read(ctx, "api.lease", name, func(s *apiserver.Session) error {
		if l := s.Cluster.Leases[store.LeaseRef(name)]; l != nil {
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
	err := a.act(ctx, "put_lease", l.Name, func(_ *World, c *etcd.Cluster) error {
		there := c.Leases[store.LeaseRef(l.Name)]
		if there == nil && l.Version != "" || there != nil && there.Version != l.Version {
			return &providers.Error{Kind: providers.ErrMoved, Do: "take lease " + l.Name, Cause: errors.New("the object has been modified")}
		}
		c.Leased++
		version = fmt.Sprint(c.Leased)
		if c.Leases == nil {
			c.Leases = map[string]*store.Lease{}
		}
		c.Leases[store.LeaseRef(l.Name)] = &store.Lease{
			Lineage: l.Lineage, Run: l.Run, Who: l.Who, Token: l.Token, Since: l.Since, Renewed: l.Renewed, Duration: l.Duration, Version: version,
		}
		return nil
	})
	return version, err
}

// DeleteLease deletes that version of a lease.
func (a *api) DeleteLease(ctx context.Context, l providers.Lease) error {
	return a.act(ctx, "delete_lease", l.Name, func(_ *World, c *etcd.Cluster) error {
		if there := c.Leases[store.LeaseRef(l.Name)]; there != nil && there.Version == l.Version {
			delete(c.Leases, store.LeaseRef(l.Name))
		}
		return nil
	})
}

// Leases lists the leases of all clusters, as WHO RUN NAME.
func (w *World) Leases() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, c := range w.etcds.List() {
		for _, name := range slices.Sorted(maps.Keys(c.Leases)) {
			l := c.Leases[name]
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
	for _, c := range w.etcds.ByID {
		for _, l := range c.Leases {
			c.Leased++
			l.Who, l.Run, l.Version = who, "another", fmt.Sprint(c.Leased)
			taken++
		}
	}
	if taken == 0 {
		return errors.New("nobody holds a lease")
	}
	return nil
}
