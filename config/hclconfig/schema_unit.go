package hclconfig

import "github.com/kubewright/kubewright/config"

// unitBlock returns the row of the units of hosts.
func unitBlock(which string, ofNode bool) *Block {
	return &Block{
		Name: "unit", Label: "NAME", Doc: "A unit of systemd " + which + ", by its name with its kind, such as `node-tuning.service`: a unit file of yours, drop-ins of a unit that the host has, and whether it is enabled and runs. " +
			"A change restarts the unit where it runs. When the block is removed or the host is given back, what is yours is stopped and removed, and what was there before is put back. Units of Kubernetes and of the host's network and logins are refused. Of `kubelet.service`, `containerd.service` and `crio.service` there can be drop-ins alone: the kubelet or the runtime restarts for them as for a `file` with `restarts`.",
		Attributes: append([]Attribute{
			{Name: "content", Type: typeString, NonEmpty: true, Cost: CostObject, Doc: "The unit file, in /etc/systemd/system. Without it the host has to have the unit. May be sensitive."},
			{Name: "enabled", Type: typeBool, Derived: "left alone", Cost: CostObject, Doc: "Whether the unit is started at boot."},
			{Name: "running", Type: typeBool, Derived: "left alone", Cost: CostObject, Doc: "Whether the unit runs. One that stops, or that does not start, is found by the next plan."},
		}, nodesOfFiles(ofNode)...),
		Blocks: []*Block{{
			Name: "drop_in", Label: "NAME", Doc: "A drop-in of the unit: the file NAME.conf in its folder in /etc/systemd/system.",
			Attributes: []Attribute{
				{Name: "content", Type: typeString, Required: true, NonEmpty: true, Cost: CostObject, Doc: "The sections and settings to add to the unit's own, or to replace there. May be sensitive."},
			},
		}},
	}
}

// units builds the units of a cluster or a node.
func units(e *evaluator, b *block, ofNode bool) []config.Unit {
	var out []config.Unit
	for _, u := range e.all(b, "unit") {
		unit := config.Unit{Name: u.label, Content: e.str(u, "content"), Enabled: optional(e, u, "enabled"), Running: optional(e, u, "running"), Source: source(u.at)}
		unit.Roles, unit.Selector = chosen(e, u, ofNode)
		for _, d := range e.all(u, "drop_in") {
			unit.DropIns = append(unit.DropIns, config.DropIn{Name: d.label, Content: e.str(d, "content"), Source: source(d.at)})
		}
		out = append(out, unit)
	}
	return out
}

// optional returns a boolean; nil where it is left out.
func optional(e *evaluator, b *block, name string) *bool {
	if _, ok := e.get(b, name); ok {
		return new(e.boolean(b, name))
	}
	return nil
}
