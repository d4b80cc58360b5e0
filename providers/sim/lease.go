package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/apiserver"
)

// Lease returns a lease, or nil.
func (a *api) Lease(ctx context.Context, name string) (*providers.Lease, error) {
	var out *providers.Lease
	err := a.read(ctx, "api.lease", name, func(s *apiserver.Session) error {
		out = a.h.w.servers.API(s.Cluster).Lease(name)
		return nil
	})
	return out, err
}

// PutLease creates a lease, or replaces exactly one version of it.
func (a *api) PutLease(ctx context.Context, l providers.Lease) (string, error) {
	version := ""
	err := a.act(ctx, "put_lease", l.Name, func(api apiserver.API) (err error) {
		version, err = api.PutLease(l)
		return err
	})
	return version, err
}

// DeleteLease deletes exactly that version of a lease.
func (a *api) DeleteLease(ctx context.Context, l providers.Lease) error {
	return a.act(ctx, "delete_lease", l.Name, func(api apiserver.API) error { return api.DeleteLease(l) })
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

// TakeLeases transfers all leases to another holder, as if a lease was deleted by hand and
// another run began.
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
		return errors.New("the lease has no holder")
	}
	return nil
}
