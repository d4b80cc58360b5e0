package config

import (
	"cmp"
	"errors"
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
	// Roles and Selector choose the nodes of a cluster's unit; all of them if both are empty.
	Roles    []string `json:",omitempty"`
	Selector string   `json:",omitempty"`
	Source   state.Source
}

// DropIn is a file in a unit's folder NAME.d.
type DropIn struct {
	// Name is the file's name without .conf.
	Name    string
	Content string
	Source  state.Source
}

// UnitsOf returns the units of a node of the cluster, sorted by name: the cluster's, and the node's
// in place of those with the same name. Those of the kubelet and of runtimes are not among them: ComponentDropIns.
func (cl *Cluster) UnitsOf(n *Node) []Unit {
	return slices.DeleteFunc(cl.unitsOn(n), func(u Unit) bool { return hostrules.ComponentOf(u.Name) != "" })
}

func (cl *Cluster) unitsOn(n *Node) []Unit {
	byName := map[string]Unit{}
	for _, u := range slices.Concat(cl.Units, n.Units) {
		if selects(u.Roles, u.Selector, n) {
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
		checkSelection(c, path, u.Roles, u.Selector)
		for _, d := range u.DropIns {
			at := path + `.drop_in["` + d.Name + `"]`
			if !hostrules.IsDropInName(d.Name) {
				c.errorf(at, "Invalid name of a drop-in", "%q is no name of a drop-in: letters, digits and _.-, without .conf, which is added.", d.Name)
			}
			if err := hostrules.CheckDropIn(d.Content); err != nil || len(d.Content) > maxUnit {
				c.errorf(at+".content", "Invalid drop-in", "The drop-in %s of %s cannot be used: %s.", d.Name, u.Name, cmp.Or(err, errLarge))
			}
		}
	}
}

var errLarge = errors.New("it is larger than 256 KiB")

func checkUnit(c checker, path string, u Unit) {
	on := func(b *bool) bool { return b != nil && *b }
	if err := hostrules.CheckUnitName(u.Name); err != nil {
		c.errorf(path, "Invalid unit", "The unit cannot be used: %s.", err)
		return
	}
	if component := hostrules.ComponentOf(u.Name); component != "" {
		checkComponentUnit(c, path, component, u)
		return
	}
	if why := hostrules.ForeignUnit(u.Name); why != "" {
		c.errorf(path, "Unit belongs to another", "%s cannot be a unit of the configuration: %s. Remove the block.", u.Name, why)
		return
	}
	if u.Content != "" {
		if err := hostrules.CheckUnitFile(u.Name, u.Content, on(u.Enabled), on(u.Running)); err != nil || len(u.Content) > maxUnit {
			c.errorf(path+".content", "Invalid unit file", "%s cannot be used: %s.", u.Name, cmp.Or(err, errLarge))
		}
	}
	switch {
	case hostrules.IsTemplate(u.Name) && (u.Enabled != nil || u.Running != nil):
		c.errorf(path, "Template cannot run", "%s is a template: only its instances are enabled and run. Set enabled and running in the block of an instance, such as %q.", u.Name, strings.Replace(u.Name, "@.", "@one.", 1))
	case u.Content == "" && len(u.DropIns) == 0 && u.Enabled == nil && u.Running == nil:
		c.errorf(path, "Unit without effect", "The block changes nothing of %s. Give it content, a drop_in, enabled or running.", u.Name)
	}
}

// checkComponentUnit checks the block of the unit of the kubelet or a runtime, which has drop-ins alone.
func checkComponentUnit(c checker, path, component string, u Unit) {
	if u.Content != "" || u.Enabled != nil || u.Running != nil || len(u.DropIns) == 0 {
		c.errorf(path, "Unit belongs to another", "%s cannot be a unit of the configuration: kubewright starts %s itself, and restarts it node by node. Write drop_in blocks alone into the block.", u.Name, component)
		return
	}
	for _, d := range u.DropIns {
		if why := hostrules.RefusedDropIn(u.Name, d.Name, d.Content); why != "" {
			c.errorf(path+`.drop_in["`+d.Name+`"]`, "Drop-in belongs to another", "The drop-in %s of %s %s", d.Name, u.Name, why)
		}
	}
}

// ComponentDropIns returns the drop-ins of the kubelet and of runtimes on a node of the cluster, as files for
// which these restart, sorted by path.
func (cl *Cluster) ComponentDropIns(n *Node) []File {
	var out []File
	for _, u := range cl.unitsOn(n) {
		component, secrets := hostrules.ComponentOf(u.Name), cl.Sensitive
		if component == "" {
			continue
		}
		if slices.ContainsFunc(n.Units, func(o Unit) bool { return o.Name == u.Name }) {
			secrets = n.Sensitive
		}
		for _, d := range u.DropIns {
			f := File{Path: hostrules.DropInPath(u.Name, d.Name), Content: d.Content, Mode: "0644", Owner: DefaultFileOwner, Restarts: []string{component}, Source: d.Source}
			if secrets[`unit["`+u.Name+`"].drop_in["`+d.Name+`"].content`] {
				f.Mode = DefaultFileMode(true)
			}
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out
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
