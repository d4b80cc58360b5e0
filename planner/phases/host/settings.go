package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hostrules"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// The marker records in Settings the previous value of each setting that the configuration has of
// its own, under these prefixes. A record stays until the setting is put back.
const settingSysctl = "sysctl:"

// ownSysctls returns the kernel parameters that the configuration sets, by name.
func ownSysctls(n *topology.Node) map[string]config.Sysctl {
	out := map[string]config.Sysctl{}
	for _, s := range n.Cluster.SysctlsOf(n.Node) {
		out[s.Name] = s
	}
	return out
}

// sysctlItems returns the kernel parameters of the node, and the file that sets them at boot.
func sysctlItems(n *topology.Node) []state.Item {
	var items []state.Item
	own := ownSysctls(n)
	for _, name := range forwarding(n) {
		if _, configured := own[name]; !configured {
			items = append(items, sysctlItem(n, name, "1", nil))
		}
	}
	for _, s := range n.Cluster.SysctlsOf(n.Node) {
		items = append(items, sysctlItem(n, s.Name, s.Value, map[string]state.Source{"": s.Source}))
	}
	file := FileItem(n, topology.PreparePhase, state.KindFile, SysctlFile, "0644", sysctlContent)
	for _, s := range n.Cluster.SysctlsOf(n.Node) {
		if file.Origin == nil {
			file.Origin = map[string]state.Source{}
		}
		file.Origin[state.JoinPath("content", sysctlLine(s))] = s.Source
	}
	return append(items, file)
}

func sysctlItem(n *topology.Node, name, value string, origin map[string]state.Source) state.Item {
	return state.Item{
		Address: topology.ItemAddress(n.Target, topology.PreparePhase, "sysctl", name), Kind: state.KindSysctl,
		Attributes: topology.Attributes("value", value), Origin: origin,
	}
}

func sysctlContent(n *topology.Node) []byte {
	var b strings.Builder
	b.WriteString("# written by kubewright: Kubernetes forwards packets between pods\n")
	for _, name := range forwarding(n) {
		fmt.Fprintf(&b, "%s = 1\n", name)
	}
	needed := forwarding(n)
	heading := "# sysctls of the configuration\n"
	for _, s := range n.Cluster.SysctlsOf(n.Node) {
		if slices.Contains(needed, s.Name) {
			continue
		}
		line, kept := keptLine(n, s)
		if line == "" && kept {
			continue
		}
		b.WriteString(heading)
		heading = ""
		b.WriteString(line + "\n")
	}
	return []byte(b.String())
}

// keptLine returns the line of a kernel parameter in the file, and whether ignore_changes keeps the one that
// the file has.
func keptLine(n *topology.Node, s config.Sysctl) (line string, kept bool) {
	file := state.FileReport{}
	if n.Report != nil {
		file = n.Report.Files[SysctlFile]
	}
	if !file.Exists || !IgnoresSetting(n, "sysctls", s.Name) {
		return sysctlLine(s), false
	}
	for line := range strings.Lines(string(file.Content)) {
		if name, _, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == s.Name {
			return strings.TrimSpace(line), true
		}
	}
	return "", true
}

// IgnoresSetting reports whether ignore_changes of a node or its cluster has a kernel parameter or a unit:
// sysctls or unit, and its name. It counts once the node is part of its cluster.
func IgnoresSetting(n *topology.Node, block, name string) bool {
	if !n.Cluster.Fleet.RecordedNode(n.Target) || n.Cluster.Fleet.Replaces(n.Target) {
		return false
	}
	for _, keys := range append(n.Lifecycle.Below(block), n.Cluster.Lifecycle.Below(block)...) {
		if len(keys) == 0 {
			return true
		}
		key := keys[0]
		if dotted, err := hostrules.SysctlName(key); err == nil && block == "sysctls" {
			key = dotted
		}
		if key == name {
			return true
		}
	}
	return false
}

// sysctlLine returns the line of a file in sysctl.d.
func sysctlLine(s config.Sysctl) string { return s.Name + " = " + s.Value }

// HasSysctls reports whether the configuration sets kernel parameters of the node.
func HasSysctls(n *topology.Node) bool { return len(n.Cluster.SysctlsOf(n.Node)) > 0 }

// SetsSysctl reports whether the configuration sets a kernel parameter of the node.
func SetsSysctl(n *topology.Node, name string) bool {
	_, sets := ownSysctls(n)[name]
	return sets
}

// markSettings records in the marker what the configuration's own settings were before. Values that
// Kubernetes needs are in Marks.Before, and only a reset restores them.
func markSettings(n *topology.Node, m *state.Marks) {
	record := func(key, value string) {
		if _, known := m.Settings[key]; known {
			return
		}
		if m.Settings == nil {
			m.Settings = map[string]string{}
		}
		m.Settings[key] = value
	}
	for _, s := range n.Cluster.SysctlsOf(n.Node) {
		need, _ := hostrules.NeededSysctl(s.Name)
		if before, has := n.Report.Sysctls[s.Name]; has && need == "" {
			record(settingSysctl+s.Name, before)
		}
	}
	markUnits(n, record)
	markUser(n, record)
}

// sysctlOperation sets a kernel parameter, or puts back the value that it had before; nil where
// that is unknown or Kubernetes goes on needing this one.
func sysctlOperation(m state.Marks, w topology.PhaseWork, c planner.Change) []planner.Operation {
	name := c.Address.ID()
	if it := w.Find(c); it != nil {
		return []planner.Operation{planner.SetSysctl{Name: name, Value: it.Attributes.Get("value").AsString()}}
	}
	if before, known := m.Settings[settingSysctl+name]; known {
		return []planner.Operation{planner.SetSysctl{Name: name, Value: before, Restore: true}}
	}
	return nil
}

// withdrawn returns the marker without the records of settings that the step has put back; false if
// there are none.
func withdrawn(m planner.Mark, w topology.PhaseWork) (planner.Mark, bool) {
	m.Marks.Settings = maps.Clone(m.Marks.Settings)
	before := len(m.Marks.Settings)
	for _, c := range w.Changes {
		if key := settingOf(c.Kind, c.Address.ID()); key != "" && w.Find(c) == nil {
			delete(m.Marks.Settings, key)
		}
	}
	return m, len(m.Marks.Settings) < before
}

// settingOf returns the key in Marks.Settings of an item of the phase; "" if it has none.
func settingOf(kind state.Kind, id string) string {
	switch {
	case kind == state.KindSysctl:
		return settingSysctl + id
	case kind == state.KindUnit:
		return settingUnit + id
	case kind == state.KindUser:
		return settingUser + id
	case kind == state.KindFile && UnitOfPath(id) != "":
		return settingPath + id
	}
	return ""
}

// IsPutBack reports whether a recorded setting that is no longer desired has its previous value
// again, or none that is known: the host has no record of it.
func IsPutBack(r *state.Report, it *state.Item) bool {
	key := settingOf(it.Kind, it.Address.ID())
	if r != nil && it.Address.Phase == topology.PreparePhase && it.Kind == state.KindDirectory {
		return r.Files[it.Address.ID()].Owner != etcdOwner
	}
	if r == nil || it.Address.Phase != topology.PreparePhase || key == "" {
		return false
	}
	return r.Marks == nil || !has(r.Marks.Settings, key)
}

func has(m map[string]string, key string) bool {
	_, has := m[key]
	return has
}

// ModulesFile has systemd load modules at each boot: modules-load.d(5).
const ModulesFile = "/etc/modules-load.d/kubewright.conf"

// moduleItems returns the kernel modules of the configuration.
func moduleItems(n *topology.Node) []state.Item {
	modules := Modules(n)
	if len(modules) == 0 {
		return nil
	}
	list := FileItem(n, topology.PreparePhase, state.KindFile, ModulesFile, "0644", modulesContent)
	list.Origin = map[string]state.Source{"": moduleOrigin(n, modules[len(modules)-1])}
	items := []state.Item{list}
	for _, name := range modules {
		items = append(items, state.Item{
			Address: topology.ItemAddress(n.Target, topology.PreparePhase, "module", name), Kind: state.KindModule, Attributes: topology.Attributes("loaded", true),
			Origin: map[string]state.Source{"": moduleOrigin(n, name)},
		})
	}
	return items
}

// Modules returns the kernel modules that the configuration lists for the node.
func Modules(n *topology.Node) []string { return n.Cluster.ModulesOf(n.Node) }

func moduleOrigin(n *topology.Node, name string) state.Source {
	if slices.Contains(n.Cluster.KernelModules, name) {
		return provenance.ClusterOrigin(n.Cluster, "kernel_modules")
	}
	return provenance.NodeOrigin(n, "kernel_modules")
}

func modulesContent(n *topology.Node) []byte {
	of := "the cluster"
	if len(Modules(n)) > len(n.Cluster.KernelModules) {
		of = "the cluster and the node"
	}
	return []byte("# written by kubewright: kernel_modules of " + of + "\n" + strings.Join(Modules(n), "\n") + "\n")
}

// BeforeModule is the prefix in Marks.Before of whether a module was loaded.
const BeforeModule = "module:"

// markModules records in the marker which modules were loaded before. It may extend an earlier
// marker, for a module that the configuration lists later.
func markModules(n *topology.Node, m *state.Marks) {
	if m.Before == nil {
		return
	}
	for _, name := range Modules(n) {
		if _, known := m.Before[BeforeModule+name]; known {
			continue
		}
		m.Before[BeforeModule+name] = ""
		if n.Report.Modules[name] {
			m.Before[BeforeModule+name] = "loaded"
		}
	}
}

// SettingOperations put back what the configuration's own settings were before, when the host is
// given back. What Kubernetes needs is restored with them, from Marks.Before.
func SettingOperations(l topology.Departure) []planner.Operation {
	if l.Report == nil || l.Report.Marks == nil {
		return nil
	}
	ops := unitsBefore(l)
	m := l.Report.Marks
	for _, key := range SortedNames(m.Settings) {
		name, ok := strings.CutPrefix(key, settingSysctl)
		if _, first := m.Before[key]; ok && !first {
			ops = append(ops, planner.SetSysctl{Name: name, Value: m.Settings[key], Restore: true})
		}
		if strings.HasPrefix(key, settingUser) {
			ops = append(ops, removeUser(m.Settings, key)...)
		}
	}
	return ops
}
