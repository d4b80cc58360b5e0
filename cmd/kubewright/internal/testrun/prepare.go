package testrun

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// prepare makes the hosts that a run needs and that no run before it had, and disturbs them as the
// run says. If the configuration is refused, the command of the run reports why.
func (b *bench) prepare(run *hclconfig.TestRun) (diag.Diagnostics, error) {
	c, diags := b.configuration(run)
	switch {
	case diags.HasErrors() && run.Disturbs:
		return append(diags.Errors(), diag.Errorf("Edits and faults cannot be applied", "The configuration of this run is refused, so that its hosts are not known. Move its edit and fault blocks into a run of their own.").At(run.Source)), nil
	case diags.HasErrors():
		return nil, nil
	}
	defer c.Close()
	edits, faults, diags := c.Disturbances()
	if diags.HasErrors() {
		return diags, nil
	}
	w, err := b.open()
	if err == nil {
		err = createHosts(w, c.Config())
	}
	if err != nil {
		return nil, err
	}
	d := disturber{w, c.Config()}
	for _, e := range edits {
		diags.Append(d.edit(e)...)
	}
	b.faults = nil
	for _, f := range faults {
		diags.Append(d.fault(f)...)
		b.faults = append(b.faults, planned{max(1, len(f.Hosts)), f.Source})
	}
	return diags, w.Save()
}

// open opens the hosts as the last command, or edit, left them.
func (b *bench) open() (*sim.World, error) {
	opened, err := hosts.OpenSimulated(session.HostOptions(b.workspace(&bytes.Buffer{}), nil))
	return opened.World, err
}

// createHosts makes the hosts of nodes that have none yet: with a runtime and the kubelet of the
// cluster's version, or with nothing if the cluster installs them.
func createHosts(w *sim.World, cfg *config.Config) error {
	there := w.Hosts()
	for _, n := range cfg.Nodes {
		i := slices.IndexFunc(cfg.Clusters, func(c *config.Cluster) bool { return c.Label == n.Cluster })
		if i < 0 || slices.Contains(there, hostOf(n)) {
			continue
		}
		change := "install kubelet=" + cfg.Clusters[i].KubernetesVersion
		if in := cfg.Clusters[i].Install; in.Packages != nil || in.Artifacts != "" {
			change = "profile bare"
		}
		if err := sim.Edit(w, hostOf(n), change); err != nil {
			return err
		}
	}
	return nil
}

// hostOf returns the address at which a simulated host is reached.
func hostOf(n *config.Node) string { return cmp.Or(n.Connection.Host, n.AdvertiseAddress()) }

// disturber changes simulated hosts as a run says.
type disturber struct {
	*sim.World
	cfg *config.Config
}

// edit makes a change by hand.
func (d disturber) edit(e hclconfig.TestEdit) diag.Diagnostics {
	addresses, diags := d.addresses(e.Hosts, e.Source)
	for _, address := range addresses {
		if err := sim.Edit(d.World, address, e.Change); err != nil {
			diags.Append(diag.Errorf("Edit cannot be made", "%s The changes that there are: kubewright sim edit -help.", console.Sentence(err.Error())).At(e.Source))
		}
	}
	return diags
}

// fault plans a fault, for each of its hosts.
func (d disturber) fault(f hclconfig.TestFault) diag.Diagnostics {
	if !slices.Contains(sim.FaultKinds, sim.FaultKind(f.Kind)) {
		return diag.Diagnostics{diag.Errorf("Unknown kind of fault", "There is no fault %q. There are %s.", f.Kind, list(sim.FaultKinds)).At(f.Source)}
	}
	if f.Skip < 0 || f.Times == 0 {
		return diag.Diagnostics{diag.Errorf("Fault hits no call", "skip is how many calls succeed first, 0 or more, and times how many then fail: 1 or more, or -1 for all.").At(f.Source)}
	}
	addresses, diags := d.addresses(f.Hosts, f.Source)
	if len(f.Hosts) == 0 {
		addresses = []string{""}
	}
	for _, address := range addresses {
		d.Fault(sim.Fault{Host: address, Op: f.Operation, Detail: f.Subject, Skip: f.Skip, Times: f.Times, Kind: sim.FaultKind(f.Kind)})
	}
	return diags
}

// addresses returns the addresses of simulated hosts that are given by address or node. A host of
// a node that has left the configuration is known by its address alone.
func (d disturber) addresses(given []string, at state.Source) ([]string, diag.Diagnostics) {
	var out []string
	var diags diag.Diagnostics
	for _, name := range given {
		i := slices.IndexFunc(d.cfg.Nodes, func(n *config.Node) bool {
			return slices.Contains([]string{hostOf(n), n.Address, n.Name, n.Target.String()}, name)
		})
		switch {
		case i >= 0:
			out = append(out, hostOf(d.cfg.Nodes[i]))
		case slices.Contains(d.Hosts(), name):
			out = append(out, name)
		default:
			diags.Append(diag.Errorf("No such simulated host", "%q is none of the hosts, which are %s.", name, list(d.Hosts())).At(at))
		}
	}
	return out, diags
}

// planned is a fault block of a run.
type planned struct {
	// hosts is on how many hosts it was planned.
	hosts  int
	source state.Source
}

// clear ends the faults of a run, and reports those that hit no call: such a run tests less than it
// says.
func (b *bench) clear() (diag.Diagnostics, error) {
	if len(b.faults) == 0 {
		return nil, nil
	}
	// A plan does not save the hosts: what its calls met is known only to the hosts that it has opened.
	cleared := b.world.ClearFaults()
	var diags diag.Diagnostics
	for _, p := range b.faults {
		if !slices.ContainsFunc(cleared[:p.hosts], (*sim.Fault).Happened) {
			diags.Append(diag.Errorf("Fault hit no call", "The command made no call that this fault is about. Compare operation and subject with what the plan does, and hosts with where it does it.").At(p.source))
		}
		cleared = cleared[p.hosts:]
	}
	b.faults = nil
	w, err := b.open()
	if err != nil {
		return nil, err
	}
	w.ClearFaults()
	return diags, w.Save()
}

// list joins words with commas.
func list[T ~string](words []T) string {
	var out []string
	for _, w := range words {
		out = append(out, string(w))
	}
	return strings.Join(out, ", ")
}
