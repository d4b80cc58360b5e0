package kubelet

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// The files of the kubelet's unit belong to packages or to the host's image, which bring them with a
// mode of theirs. Only their mode is managed, and only for the control that asks for it: as an attribute
// of the unit. Where install brings the files, their mode is that of its items.

const (
	unitControl   = "4.1.1"
	configControl = "4.1.9"
	unitModeAttr  = "mode"
	// packagedMode is the mode of files of units in packages.
	packagedMode = "0644"
)

// unitFiles are the files of the kubelet's unit: its own, and kubeadm's drop-in.
var unitFiles = []string{
	"/etc/systemd/system/kubelet.service", "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
	"/usr/lib/systemd/system/kubelet.service", "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
}

// managesUnitFiles reports whether the mode of the unit's files is an attribute of the unit.
func managesUnitFiles(n *topology.Node) bool {
	return n.Cluster.Hardening.Enforces(unitControl) && !host.Software(n).Has(host.Units+topology.KubeletUnit)
}

// withUnitMode adds the mode of its files to the desired unit.
func withUnitMode(n *topology.Node, it state.Item) state.Item {
	if !managesUnitFiles(n) {
		return it
	}
	it.Attributes = topology.WithAttribute(it.Attributes, unitModeAttr, pki.KeyMode)
	origin := map[string]state.Source{unitModeAttr: provenance.ClusterOrigin(n.Cluster, config.ControlKey(unitControl))}
	if version, ok := it.Origin["version"]; ok {
		origin["version"] = version
	}
	it.Origin = origin
	return it
}

// UnitFilesQuery queries the files of the unit where their mode is managed or was.
func UnitFilesQuery(n *topology.Node, q *state.Query) {
	if !managesUnitFiles(n) && recordedUnitMode(n.Cluster.Fleet, unitAddress(n.Target)).IsNull() {
		return
	}
	for _, p := range unitFiles {
		q.Files = append(q.Files, state.FileQuery{Path: p})
	}
}

func unitAddress(t state.Target) state.Address {
	return topology.ItemAddress(t, topology.KubeletStartPhase, "unit", topology.KubeletUnit)
}

func recordedUnitMode(v *topology.Fleet, a state.Address) state.Value {
	return pki.ImplicitAttribute(v, a, unitModeAttr)
}

// observeUnitMode adds the mode of its files to an observed unit where that is desired or recorded: of
// several modes the first that allows more than is desired.
func observeUnitMode(n *topology.Node, it *state.Item, seen state.Value) state.Value {
	if n.Report == nil || it.Attributes.Get(unitModeAttr).IsNull() && recordedUnitMode(n.Cluster.Fleet, it.Address).IsNull() {
		return seen
	}
	mode := ""
	for _, p := range unitFiles {
		f := n.Report.Files[p]
		switch {
		case !f.Exists || f.Type != "file":
		case !pki.Within(f.Mode, pki.KeyMode):
			return topology.WithAttribute(seen, unitModeAttr, f.Mode)
		default:
			mode = pki.KeyMode
		}
	}
	if mode == "" {
		return seen // brought later
	}
	return topology.WithAttribute(seen, unitModeAttr, mode)
}

// unitAccess sets the mode of the unit's files: to the desired one, or where that is not managed any
// more to the one of packages. A package that is installed or upgraded in the same plan brings its own.
func unitAccess(n *topology.Node) []planner.Operation {
	switch {
	case managesUnitFiles(n):
		return setUnitFiles(pki.KeyMode)
	case !recordedUnitMode(n.Cluster.Fleet, unitAddress(n.Target)).IsNull() && !host.Software(n).Has(host.Units+topology.KubeletUnit):
		return setUnitFiles(packagedMode)
	}
	return nil
}

func setUnitFiles(mode string) []planner.Operation {
	var out []planner.Operation
	for _, p := range unitFiles {
		out = append(out, planner.SetAccess{Path: p, Mode: mode, Owner: topology.Root, IfPresent: true})
	}
	return out
}

// RestoreUnitFiles gives the files of the unit the mode of packages again, when a host is given back.
func RestoreUnitFiles(l topology.Departure) []planner.Operation {
	managed := l.Cluster != nil && l.Cluster.Hardening.Enforces(unitControl)
	for _, it := range topology.RecordedItems(l.Recorded, l.Target) {
		managed = managed || it.Address == unitAddress(l.Target) && !it.Attributes.Get(unitModeAttr).IsNull()
	}
	if !managed {
		return nil
	}
	return setUnitFiles(packagedMode)
}

// configMode returns the mode of the kubelet's configuration.
func configMode(n *topology.Node) string {
	if n.Cluster.Hardening.Enforces(configControl) {
		return pki.KeyMode
	}
	return packagedMode
}

// withConfigOrigin names the control that sets the mode of the kubelet's configuration.
func withConfigOrigin(n *topology.Node, it *state.Item) {
	if it.Origin != nil && n.Cluster.Hardening.Enforces(configControl) {
		it.Origin["mode"] = provenance.ClusterOrigin(n.Cluster, config.ControlKey(configControl))
	}
}

// onlyAccess reports whether a change of the kubelet affects only the modes of its files, for which it
// does not restart.
func onlyAccess(w topology.PhaseWork) bool {
	return !slices.ContainsFunc(w.Changes, Restarts)
}

// Restarts reports whether a change of kubelet-start restarts the kubelet: it reads everything at its
// start, except who may read its configuration and the files of its unit.
func Restarts(c planner.Change) bool {
	switch {
	case c.Action != planner.Update:
		return true
	case c.Kind == state.KindUnit:
		return len(c.Attributes) != 1 || c.Attributes[0].Path != unitModeAttr
	}
	return c.Address.ID() != topology.KubeletConfig || !host.OnlyHostAccess(c)
}

// fileAccess sets the modes of the unit's files and, where it changes, of the kubelet's configuration.
func fileAccess(n *topology.Node, w topology.PhaseWork) []planner.Operation {
	ops := unitAccess(n)
	for _, c := range w.Changes {
		it := w.Find(c)
		if it == nil || c.Action != planner.Update || c.Address.ID() != topology.KubeletConfig {
			continue
		}
		if slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool { return a.Path == unitModeAttr }) {
			ops = append(ops, planner.SetAccess{Path: c.Address.ID(), Mode: it.Attributes.Get("mode").AsString(), Owner: it.Attributes.Get("owner").AsString()})
		}
	}
	return ops
}
