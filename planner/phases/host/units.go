package host

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hostrules"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Prefixes in Marks.Settings: the state of a unit before, as "ENABLED ACTIVE" or "" if there was
// none, and what was at the path of a unit file: kept, or "".
const (
	settingUnit = "unit:"
	settingPath = "path:"
	kept        = "kept"
)

// unitPath returns the path of a unit's own file.
func unitPath(name string) string { return Units + name }

// UnitOfPath returns the unit to which a file of units belongs; "" if it is none.
func UnitOfPath(p string) string {
	rest, ok := strings.CutPrefix(p, Units)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return strings.TrimSuffix(name, ".d")
}

// DropInFolder returns the folder of a drop-in; "" if the path is none.
func DropInFolder(p string) string {
	if dir := path.Dir(p); UnitOfPath(p) != "" && strings.HasSuffix(dir, ".d") {
		return dir
	}
	return ""
}

// unitItems returns the unit files and drop-ins of the configuration, and the state of the units.
func unitItems(n *topology.Node) []state.Item {
	var items []state.Item
	file := func(p, content string, secret bool, from state.Source) {
		mode := "0644"
		if secret {
			mode = "0600"
		}
		it := FileItem(n, topology.PreparePhase, state.KindFile, p, mode, func(*topology.Node) []byte { return []byte(content) })
		it.Origin = map[string]state.Source{"": from}
		items = append(items, it)
	}
	for _, u := range n.Cluster.UnitsOf(n.Node) {
		secrets, at := unitSecrets(n, u.Name), `unit["`+u.Name+`"]`
		if u.Content != "" {
			file(unitPath(u.Name), u.Content, secrets[at+".content"], u.Source)
		}
		for _, d := range u.DropIns {
			file(hostrules.DropInPath(u.Name, d.Name), d.Content, secrets[at+`.drop_in["`+d.Name+`"].content`], d.Source)
		}
		if !hostrules.IsTemplate(u.Name) {
			items = append(items, unitItem(n, u))
		}
	}
	return items
}

// unitSecrets returns what is sensitive in the block that a unit is from: the node's, which takes the
// place of the cluster's of the same name.
func unitSecrets(n *topology.Node, name string) map[string]bool {
	if slices.ContainsFunc(n.Units, func(u config.Unit) bool { return u.Name == name }) {
		return n.Node.Sensitive
	}
	return n.Cluster.Sensitive
}

// unitItem returns the state of a unit. What the configuration leaves to the host is only shown.
func unitItem(n *topology.Node, u config.Unit) state.Item {
	attributes, classes := []any{}, map[string]state.Class{}
	for _, a := range []struct {
		name, on, off string
		wanted        *bool
	}{{"active", "active", "inactive", u.Running}, {"enabled", "enabled", "disabled", u.Enabled}} {
		switch {
		case a.wanted == nil:
			classes[a.name] = state.Shown
		case *a.wanted:
			attributes = append(attributes, a.name, a.on)
		default:
			attributes = append(attributes, a.name, a.off)
		}
	}
	return state.Item{
		Address: topology.ItemAddress(n.Target, topology.PreparePhase, "unit", u.Name), Kind: state.KindUnit,
		Attributes: topology.Attributes(attributes...), Classes: classes, Origin: map[string]state.Source{"": u.Source},
	}
}

// ObserveOwnUnit returns the state of a unit of the configuration. One that failed does not run.
func ObserveOwnUnit(it *state.Item, u state.UnitReport) state.Value {
	active := u.Active
	if active == "failed" && it.Attributes.Get("active").AsString() == "inactive" {
		active = "inactive"
	}
	return topology.Attributes("active", active, "enabled", u.Enabled)
}

// markUnits records what units and their files were before.
func markUnits(n *topology.Node, record func(key, value string)) {
	for _, u := range n.Cluster.UnitsOf(n.Node) {
		before := ""
		if r := n.Report.Units[u.Name]; r.Exists {
			before = r.Enabled + " " + r.Active
		}
		record(settingUnit+u.Name, before)
	}
	for _, it := range unitItems(n) {
		if it.Kind != state.KindFile {
			continue
		}
		before := ""
		if n.Report.Files[it.Address.ID()].Exists {
			before = kept
		}
		record(settingPath+it.Address.ID(), before)
	}
}

// MadeUnit reports whether the host had no such unit before the configuration had it.
func MadeUnit(n *topology.Node, name string) bool {
	return n.Report.Marks != nil && has(n.Report.Marks.Settings, settingUnit+name) && n.Report.Marks.Settings[settingUnit+name] == ""
}

// unitWork collects the operations for the units of one step.
type unitWork struct {
	*topology.Node
	before map[string]string
	// write and remove change files; stop comes before them, turn after systemd has read them.
	stop, write, remove, turn []planner.Operation
	restarts                  []string
	// later reports whether units that do not run start in a later step.
	later bool
}

// unitOperations returns the operations for the units among the changes, and which units they
// restart.
func unitOperations(n *topology.Node, m state.Marks, w topology.PhaseWork) (ops []planner.Operation, restarts []string) {
	u := unitWork{Node: n, before: m.Settings, later: writesFiles(w.Of(topology.HostFilesPhase))}
	files, changed := map[string]bool{}, map[string]bool{}
	for _, c := range w.Changes {
		switch id := c.Address.ID(); {
		case c.Kind == state.KindUnit:
			changed[id] = true
		case c.Kind == state.KindFile && UnitOfPath(id) != "":
			files[UnitOfPath(id)], changed[UnitOfPath(id)] = true, true
			u.file(w, c)
		}
	}
	wanted := map[string]config.Unit{}
	for _, unit := range n.Cluster.UnitsOf(n.Node) {
		wanted[unit.Name] = unit
	}
	for _, name := range SortedNames(changed) {
		if unit, ok := wanted[name]; ok {
			u.set(unit, files[name])
		} else {
			u.putBack(name, files[name])
		}
	}
	ops = slices.Concat(u.stop, u.write, u.remove)
	if len(files) > 0 {
		ops = append(ops, planner.Unit{Unit: SortedNames(files)[0], Action: planner.DaemonReload})
	}
	return append(ops, u.turn...), u.restarts
}

// file writes a unit file, or puts back what was there before.
func (u *unitWork) file(w topology.PhaseWork, c planner.Change) {
	p := c.Address.ID()
	if it := w.Find(c); it != nil {
		if u.before[settingPath+p] == kept {
			u.write = append(u.write, planner.Preserve{Path: p})
		}
		u.write = append(u.write, WriteFile(it))
		return
	}
	u.remove = append(u.remove, putBackPath(u.before, p)...)
	if dir := DropInFolder(p); dir != "" && u.Report.Files[dir].Entries == u.leaving(w, dir) {
		u.remove = append(u.remove, planner.RemovePath{Path: dir})
	}
}

// leaving returns how many files the step removes from a folder and leaves nothing in place of.
func (u *unitWork) leaving(w topology.PhaseWork, dir string) int {
	n := 0
	for _, c := range w.Changes {
		if p := c.Address.ID(); c.Kind == state.KindFile && path.Dir(p) == dir && w.Find(c) == nil && u.before[settingPath+p] != kept {
			n++
		}
	}
	return n
}

func putBackPath(before map[string]string, p string) []planner.Operation {
	if before[settingPath+p] == kept {
		return []planner.Operation{planner.Restore{Path: p}}
	}
	return []planner.Operation{planner.RemovePath{Path: p}}
}

// set enables and starts a unit as the configuration says, and restarts it if its files change.
func (u *unitWork) set(unit config.Unit, files bool) {
	name := unit.Name
	if unit.Enabled != nil {
		u.turn = append(u.turn, planner.Unit{Unit: name, Action: map[bool]string{true: "enable", false: "disable"}[*unit.Enabled]})
	}
	switch {
	case unit.Running != nil && !*unit.Running:
		u.turn = append(u.turn, planner.Unit{Unit: name, Action: "stop"})
	case files && runs(u.Node, name):
		u.restarts = append(u.restarts, name)
		u.turn = append(u.turn, planner.Unit{Unit: name, Action: "restart", Verify: true})
	case unit.Running != nil && !u.later:
		u.turn = append(u.turn, planner.Unit{Unit: name, Action: "start", Verify: true})
	}
}

// writesFiles reports whether a step writes files or directories of the user: what does not run yet starts
// after it, because it may read them.
func writesFiles(hostFiles topology.PhaseWork) bool {
	return slices.ContainsFunc(hostFiles.Changes, func(c planner.Change) bool { return c.Action != planner.Delete })
}

// startUnits returns the operations that start the units of the user which wait for files.
func startUnits(n *topology.Node, prepare topology.PhaseWork) []planner.Operation {
	var ops []planner.Operation
	for _, unit := range n.Cluster.UnitsOf(n.Node) {
		changes := slices.ContainsFunc(prepare.Changes, func(c planner.Change) bool {
			return c.Kind == state.KindUnit && c.Address.ID() == unit.Name || UnitOfPath(c.Address.ID()) == unit.Name
		})
		if changes && unit.Running != nil && *unit.Running && !runs(n, unit.Name) {
			ops = append(ops, planner.Unit{Unit: unit.Name, Action: "start", Verify: true})
		}
	}
	return ops
}

// runs reports whether a unit runs, or is about to.
func runs(n *topology.Node, unit string) bool {
	at := n.Report.Units[unit].Active
	return at == "active" || at == "activating"
}

// putBack returns a unit to its state before.
func (u *unitWork) putBack(name string, files bool) {
	if hostrules.IsTemplate(name) {
		return
	}
	stop, turn := unitBefore(u.before[settingUnit+name], name, files)
	if files && len(turn) > 0 {
		u.restarts = append(u.restarts, name)
	}
	u.stop, u.turn = append(u.stop, stop...), append(u.turn, turn...)
}

// unitBefore returns the operations that return a unit to its state before: before its files are
// put back, and after.
func unitBefore(before, name string, files bool) (stop, turn []planner.Operation) {
	enabled, active, _ := strings.Cut(before, " ")
	ran := active == "active" || active == "activating"
	if files || !ran {
		stop = append(stop, planner.Unit{Unit: name, Action: "stop"})
	}
	switch enabled {
	case "enabled":
		turn = append(turn, planner.Unit{Unit: name, Action: "enable"})
	case "", "disabled":
		stop = append(stop, planner.Unit{Unit: name, Action: "disable"})
	}
	if ran {
		turn = append(turn, planner.Unit{Unit: name, Action: "start"})
	}
	return stop, turn
}

// unitsBefore returns the operations that put back all units of the marker when a host is given
// back.
func unitsBefore(l topology.Departure) []planner.Operation {
	before := l.Report.Marks.Settings
	var stop, files, turn []planner.Operation
	reload := ""
	leaving := map[string]int{}
	touched := map[string]bool{}
	for _, key := range SortedNames(before) {
		p, ok := strings.CutPrefix(key, settingPath)
		if !ok || UnitOfPath(p) == "" {
			continue
		}
		reload, touched[UnitOfPath(p)] = UnitOfPath(p), true
		files = append(files, putBackPath(before, p)...)
		if dir := DropInFolder(p); dir != "" && before[key] != kept && l.Report.Files[p].Exists {
			if leaving[dir]++; leaving[dir] == l.Report.Files[dir].Entries {
				files = append(files, planner.RemovePath{Path: dir})
			}
		}
	}
	for _, key := range SortedNames(before) {
		if name, ok := strings.CutPrefix(key, settingUnit); ok && !hostrules.IsTemplate(name) {
			s, t := unitBefore(before[key], name, touched[name])
			stop, turn = append(stop, s...), append(turn, t...)
		}
	}
	if reload != "" {
		files = append(files, planner.Unit{Unit: reload, Action: planner.DaemonReload})
	}
	return slices.Concat(stop, files, turn)
}
