package config

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/hostrules"
	"github.com/kubewright/kubewright/state"
)

// Unit is a unit of systemd on hosts: a unit file, or what a configuration says of a unit that the
// host has.
type Unit struct {
	// Name has the kind as its suffix: app.service.
	Name string
	// Content is the unit file; empty for a unit of the host.
	Content string
	DropIns []DropIn
	// Enabled and Running are nil where the host's own state is left alone.
	Enabled, Running *bool
	// Roles choose the nodes of a cluster's unit; all of them if empty.
	Roles  []string `json:",omitempty"`
	Source state.Source
}

// DropIn is a file in a unit's folder NAME.d.
type DropIn struct {
	// Name is the file's name without .conf.
	Name    string
	Content string
	Source  state.Source
}

// UnitsOf returns the units of a node of the cluster, sorted by name: the cluster's, and the node's
// in place of those with the same name.
func (cl *Cluster) UnitsOf(n *Node) []Unit {
	byName := map[string]Unit{}
	for _, u := range slices.Concat(cl.Units, n.Units) {
		if selects(u.Roles, "", n) {
			byName[u.Name] = u
		}
	}
	out := make([]Unit, 0, len(byName))
	for _, name := range keys(byName) {
		out = append(out, byName[name])
	}
	return out
}

// maxUnit bounds a unit file; systemd refuses larger ones.
const maxUnit = 256 << 10

// checkUnits checks the units of a cluster or a node.
func checkUnits(c checker, units []Unit) {
	for _, u := range units {
		path := `unit["` + u.Name + `"]`
		checkUnit(c, path, u)
		for _, d := range u.DropIns {
			at := path + `.drop_in["` + d.Name + `"]`
			if !hostrules.IsDropInName(d.Name) {
				c.errorf(at, "Invalid name of a drop-in", "%q is no name of a drop-in: letters, digits and _.-, without .conf, which is added.", d.Name)
			}
			if err := hostrules.CheckDropIn(d.Content); err != nil || len(d.Content) > maxUnit {
				c.errorf(at+".content", "Invalid drop-in", "The drop-in %s of %s cannot be used: %s.", d.Name, u.Name, unitFault(err))
			}
		}
	}
}

func unitFault(err error) string {
	if err == nil {
		return "it is larger than 256 KiB"
	}
	return err.Error()
}

func checkUnit(c checker, path string, u Unit) {
	on := func(b *bool) bool { return b != nil && *b }
	if err := hostrules.CheckUnitName(u.Name); err != nil {
		c.errorf(path, "Invalid unit", "The unit cannot be used: %s.", err)
		return
	}
	if why := hostrules.ForeignUnit(u.Name); why != "" {
		c.errorf(path, "Unit belongs to another", "%s cannot be a unit of the configuration: %s. Remove the block.", u.Name, why)
		return
	}
	if u.Content != "" {
		if err := hostrules.CheckUnitFile(u.Name, u.Content, on(u.Enabled), on(u.Running)); err != nil || len(u.Content) > maxUnit {
			c.errorf(path+".content", "Invalid unit file", "%s cannot be used: %s.", u.Name, unitFault(err))
		}
	}
	switch {
	case hostrules.IsTemplate(u.Name) && (u.Enabled != nil || u.Running != nil):
		c.errorf(path, "Template cannot run", "%s is a template: only its instances are enabled and run. Set enabled and running in the block of an instance, such as %q.", u.Name, strings.Replace(u.Name, "@.", "@one.", 1))
	case u.Content == "" && len(u.DropIns) == 0 && u.Enabled == nil && u.Running == nil:
		c.errorf(path, "Unit without effect", "The block changes nothing of %s. Give it content, a drop_in, enabled or running.", u.Name)
	}
}

// units returns units with their secrets replaced.
func (t *substitution) units(units []Unit) []Unit {
	out := slices.Clone(units)
	for i, u := range units {
		path := `unit["` + u.Name + `"]`
		out[i].Content = t.text(path+".content", u.Content)
		out[i].DropIns = slices.Clone(u.DropIns)
		for k, d := range u.DropIns {
			out[i].DropIns[k].Content = t.text(path+`.drop_in["`+d.Name+`"].content`, d.Content)
		}
	}
	return out
}
