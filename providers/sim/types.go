package sim

import (
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/edit"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/store"
)

// The types with which a world is set up.
type (
	// Profile is the hardware and software of a new host.
	Profile = machine.Profile
	// Conditions are the faulty conditions of a host.
	Conditions = machine.Conditions
	// Pod is a pod of a workload.
	Pod = store.Pod
	// PDB is a PodDisruptionBudget.
	PDB = store.PDB
)

// EditHelp lists the expressions of Edit.
const EditHelp = edit.Help

// DefaultProfile returns a prepared Debian machine.
func DefaultProfile() Profile { return machine.DefaultProfile() }

var (
	_ providers.Access       = Access{}
	_ providers.API          = (*api)(nil)
	_ providers.ObjectReader = (*api)(nil)
	_ providers.Etcd         = (*etcdClient)(nil)
	_ providers.Host         = (*Host)(nil)
	_ providers.Issuer       = Issuer{}
)
