package apiserver

import (
	"errors"
	"fmt"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/store"
)

// Lease returns a lease, or nil.
func (a API) Lease(name string) *providers.Lease {
	if l := a.c.Leases[store.LeaseRef(name)]; l != nil {
		return &providers.Lease{
			Name: name, Lineage: l.Lineage, Run: l.Run, Who: l.Who, Token: l.Token, Since: l.Since, Renewed: l.Renewed, Duration: l.Duration, Version: l.Version,
		}
	}
	return nil
}

// PutLease creates a lease, or replaces exactly one version of it, and returns the new
// version.
func (a API) PutLease(l providers.Lease) (string, error) {
	there := a.c.Leases[store.LeaseRef(l.Name)]
	if there == nil && l.Version != "" || there != nil && there.Version != l.Version {
		return "", &providers.Error{Kind: providers.ErrMoved, Do: "take lease " + l.Name, Cause: errors.New("the object has been modified")}
	}
	a.c.Leased++
	version := fmt.Sprint(a.c.Leased)
	if a.c.Leases == nil {
		a.c.Leases = map[string]*store.Lease{}
	}
	a.c.Leases[store.LeaseRef(l.Name)] = &store.Lease{
		Lineage: l.Lineage, Run: l.Run, Who: l.Who, Token: l.Token, Since: l.Since, Renewed: l.Renewed, Duration: l.Duration, Version: version,
	}
	return version, nil
}

// DeleteLease deletes exactly that version of a lease.
func (a API) DeleteLease(l providers.Lease) error {
	if there := a.c.Leases[store.LeaseRef(l.Name)]; there != nil && there.Version == l.Version {
		delete(a.c.Leases, store.LeaseRef(l.Name))
	}
	return nil
}
