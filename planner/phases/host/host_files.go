package host

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// HostFiles writes the files and directories of the user, and restarts the kubelet and the container
// runtime where they read a changed one. The phases of the static pods restart those. What was there
// before is kept on the host, and put back when the block is gone.
var HostFiles = topology.Phase{
	Name: topology.HostFilesPhase,
	NodeItems: func(n *topology.Node) []state.Item {
		var items []state.Item
		for _, d := range topology.HostDirectories(n) {
			items = append(items, state.Item{
				Address: topology.ItemAddress(n.Target, topology.HostFilesPhase, "directory", d.Path), Kind: state.KindDirectory,
				Attributes: topology.Attributes("mode", fullMode(d.Mode), "owner", d.Owner), Origin: hostOrigins(n, "directory", d.Path),
			})
		}
		for _, f := range topology.HostFiles(n) {
			items = append(items, hostFile(n, f))
		}
		return items
	},
	NodeStep: hostFilesStep,
	NodeNeeds: func(n *topology.Node) []state.Address {
		if !n.Joins() && pki.KubeletChanges(n) {
			// The software changes late, after the control planes, which may read the files before.
			return []state.Address{topology.StepAddress(n.Target, topology.PreparePhase)}
		}
		return []state.Address{topology.StepAddress(n.Target, topology.PreparePhase), topology.StepAddress(n.Target, topology.InstallPhase)}
	},
}

// hostFile returns the desired item of a file of the user.
func hostFile(n *topology.Node, f config.File) state.Item {
	it := state.Item{Address: topology.ItemAddress(n.Target, topology.HostFilesPhase, "file", f.Path), Kind: state.KindFile, Classes: map[string]state.Class{topology.RestartsAttr: state.Shown}}
	if !topology.Observed(n.Cluster.Fleet) {
		return it
	}
	it.Content = []byte(f.Content)
	attrs, err := provenance.FileAttributes(n.Cluster.Fleet, it.Kind, it.Content, fullMode(f.Mode), f.Owner)
	if err != nil {
		panic(fmt.Sprintf("internal error: %s: %v", f.Path, err))
	}
	it.Attributes, it.Origin = attrs, hostOrigins(n, "file", f.Path)
	if readers := n.Cluster.Readers(n.Node, f); len(readers) > 0 {
		list := make([]any, len(readers))
		for i, r := range readers {
			list[i] = r
		}
		it.Attributes = topology.WithAttribute(attrs, topology.RestartsAttr, list)
	}
	return it
}

// fullMode returns a mode with four digits, as hosts report it.
func fullMode(mode string) string {
	if len(mode) == 3 {
		return "0" + mode
	}
	return mode
}

// hostOrigins returns the lines that set the attributes of a file or directory.
func hostOrigins(n *topology.Node, block, p string) map[string]state.Source {
	if DropInFolder(p) != "" {
		f := topology.HostFiles(n)
		return map[string]state.Source{"": f[slices.IndexFunc(f, func(f config.File) bool { return f.Path == p })].Source}
	}
	key := fmt.Sprintf("%s[%q]", block, p)
	of := func(paths ...string) state.Source { return provenance.ClusterOrigin(n.Cluster, paths...) }
	if n.OwnsFile(p) {
		of = func(paths ...string) state.Source { return provenance.NodeOrigin(n, paths...) }
	}
	return map[string]state.Source{
		"": of(key), "content": of(key+".content", key+".source", key), "mode": of(key+".mode", key+".sensitive", key), "owner": of(key+".owner", key),
	}
}

func hostFilesStep(n *topology.Node, w topology.PhaseWork) planner.Step {
	if w.Empty() {
		return planner.Step{}
	}
	ops := []planner.Operation{mark(n)}
	for _, c := range slices.Backward(w.Changes) { // what is in a folder before the folder
		if c.Action == planner.Delete {
			ops = append(ops, planner.Restore{Path: c.Address.ID()})
		}
	}
	var files []planner.Operation
	for _, c := range w.Changes {
		it := w.Find(c)
		switch {
		case it == nil || c.OnlyRereads():
		case c.Kind == state.KindFile && OnlyHostAccess(c):
			// A file that is written again would be newer than its readers.
			files = append(files, planner.SetAccess{Path: c.Address.ID(), Mode: it.Attributes.Get("mode").AsString(), Owner: it.Attributes.Get("owner").AsString()})
		case c.Kind == state.KindDirectory:
			ops = append(ops, planner.Preserve{Path: c.Address.ID(), Any: true}, planner.EnsureDirectory{Path: c.Address.ID(), Mode: it.Attributes.Get("mode").AsString(), Owner: it.Attributes.Get("owner").AsString()})
		default:
			files = append(files, planner.Preserve{Path: c.Address.ID(), Any: true}, WriteFile(it))
		}
	}
	s := planner.Step{Operations: append(ops, files...)}
	if writesFiles(w) {
		s.Operations = append(s.Operations, startUnits(n, w.Of(topology.PreparePhase))...)
	}
	return withUnits(n, s, w)
}

// withUnits restarts the kubelet and the runtime where they read a changed file.
func withUnits(n *topology.Node, s planner.Step, w topology.PhaseWork) planner.Step {
	var names []string
	for _, name := range []string{config.RestartsContainerd, config.RestartsCRIO} {
		if unit := topology.RuntimeUnits[name]; readsChanged(n, w, name) && HasRuntime(n, unit) {
			s.Operations, names = append(s.Operations, planner.Unit{Unit: unit, Action: "restart", Reload: changesUnit(w, unit)}), append(names, name)
		}
	}
	if n.Joins() {
		return s // its kubelet starts later
	}
	if readsChanged(n, w, config.RestartsKubelet) && w.Of(topology.KubeletStartPhase).Empty() && !pki.KubeletChanges(n) {
		s.Operations, names = append(s.Operations, planner.Unit{Unit: topology.KubeletUnit, Action: "restart", Reload: changesUnit(w, topology.KubeletUnit)}), append(names, "the kubelet")
	}
	if len(names) == 0 {
		return s
	}
	s.Via = n.Cluster.Primary
	s.Impact = "restarts " + strings.Join(names, " and ") + " here; pods keep running"
	s.Operations = append(s.Operations, pki.HealthWait(n)...)
	s.Operations = append(s.Operations, pki.ReadyWait(n)...)
	if n.IsControlPlane() {
		s.Limits = append(s.Limits, n.Cluster.Limit("control-plane-disruption"))
	}
	return s
}

// HasRuntime reports whether the host has the unit of a runtime, or gets it.
func HasRuntime(n *topology.Node, unit string) bool {
	return n.Report.Units[unit].Exists || unit == ContainerdUnit && bringsRuntime(n)
}

// changesUnit reports whether the step changes drop-ins of a unit, which systemd has to read before its start.
func changesUnit(w topology.PhaseWork, unit string) bool {
	return slices.ContainsFunc(w.Changes, func(c planner.Change) bool { return UnitOfPath(c.Address.ID()) == unit })
}

// readsChanged reports whether a component reads one of the changed files.
func readsChanged(n *topology.Node, w topology.PhaseWork, component string) bool {
	return slices.ContainsFunc(w.Changes, func(c planner.Change) bool {
		return c.Kind == state.KindFile && !OnlyHostAccess(c) && slices.Contains(topology.ReadersOfFile(n, c.Address.ID()), component)
	})
}

// OnlyHostAccess reports whether a change of a file of the user affects only its mode and owner.
func OnlyHostAccess(c planner.Change) bool {
	return c.Action == planner.Update && !slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool { return a.Path != "mode" && a.Path != "owner" })
}

// RestartsUnits reports whether the change of an item restarts the kubelet or the container runtime.
func RestartsUnits(n *topology.Node, c planner.Change) bool {
	readers := topology.ReadersOfFile(n, c.Address.ID())
	return c.Kind == state.KindFile && !OnlyHostAccess(c) && (slices.Contains(readers, config.RestartsKubelet) || slices.Contains(readers, config.RestartsContainerd) || slices.Contains(readers, config.RestartsCRIO))
}

// processes are how the processes are found that read files of the user, besides static pods and the
// kubelet.
var processes = map[string]state.Process{
	config.RestartsContainerd: {Name: "containerd", Argument: "containerd"}, config.RestartsCRIO: {Name: "crio", Argument: "crio"},
}

// HostFilesQuery queries what shows whether a file can be at its path, and whether its readers have
// read it.
func HostFilesQuery(n *topology.Node, q *state.Query) {
	for _, p := range hostPaths(n) {
		for dir := path.Dir(p); !state.WholeMachine(dir); dir = path.Dir(dir) {
			q.Files = append(q.Files, state.FileQuery{Path: dir})
		}
	}
	for name, process := range processes {
		if len(topology.FilesFor(n, name)) > 0 {
			q.Processes = append(q.Processes, process)
			q.Units = append(q.Units, topology.RuntimeUnits[name])
		}
	}
}

// PreservedQuery queries whether the host still keeps what was at the path of a recorded file or
// directory of the user.
func PreservedQuery(items []state.Item, q *state.Query) {
	for i := range items {
		if a := items[i].Address; a.Phase == topology.HostFilesPhase {
			q.Files = append(q.Files, state.FileQuery{Path: planner.PreservedCopies + a.ID()}, state.FileQuery{Path: planner.PreservedRecords + "/" + planner.PreservedID(a.ID())})
		}
	}
}

// ObserveLeaving returns the observed attributes of a file or directory of the user that is no longer in
// the configuration; false once what was there before is back.
func ObserveLeaving(r *state.Report, it *state.Item, attrs state.Value) (state.Value, bool) {
	p := it.Address.ID()
	copied := r.Files[planner.PreservedCopies+p]
	if !r.Files[planner.PreservedRecords+"/"+planner.PreservedID(p)].Exists && (!copied.Exists || copied.Type == "directory") {
		return state.Value{}, false
	}
	if attrs.IsNull() {
		attrs = topology.Attributes() // it was removed by hand, and what was there before is still to come back
	}
	return attrs, true
}

func hostPaths(n *topology.Node) []string {
	var out []string
	for _, d := range topology.HostDirectories(n) {
		out = append(out, d.Path)
	}
	for _, f := range topology.HostFiles(n) {
		out = append(out, f.Path)
	}
	return out
}

// WithStaleUnits adds to a file of the user which units have not read it: they were started before it
// was written, because an apply was interrupted or the file was written by hand.
func WithStaleUnits(n *topology.Node, it *state.Item, attrs state.Value) state.Value {
	if n == nil || n.Report == nil || n.Joins() || it.Address.Phase != topology.HostFilesPhase || it.Kind != state.KindFile || n.Cluster.Fleet.RefreshOnly {
		return attrs
	}
	p := it.Address.ID()
	var stale []any
	for _, name := range topology.ReadersOfFile(n, p) {
		unit := name == config.RestartsKubelet || processes[name].Name != ""
		if unit && n.Report.Outdated(name, p) {
			stale = append(stale, name)
		}
	}
	if len(stale) == 0 {
		return attrs
	}
	return topology.WithAttribute(attrs, planner.StaleFiles, stale)
}

// beforeHostFile is the prefix in Marks.Before of the paths of files and directories of the user.
const beforeHostFile = "host_file:"

// markHostFiles records in the marker which paths files of the user may have had, for a reset without
// the state.
func markHostFiles(n *topology.Node, m *state.Marks) {
	if m.Before == nil {
		return
	}
	for _, p := range hostPaths(n) {
		m.Before[beforeHostFile+p] = ""
	}
}

// RestoreHostFiles puts back what was at the paths of files of the user: the configured, the recorded
// and those in the marker. The container runtime that has read one restarts.
func RestoreHostFiles(l topology.Departure) []planner.Operation {
	set, restarts := map[string]bool{}, map[string]bool{}
	for _, it := range topology.RecordedItems(l.Recorded, l.Target) {
		if it.Address.Phase != topology.HostFilesPhase {
			continue
		}
		set[it.Address.ID()] = true
		for _, name := range it.Attributes.Get(topology.RestartsAttr).AsList() {
			restarts[topology.RuntimeUnits[name.AsString()]] = true
		}
	}
	if l.Cluster != nil && l.Cluster.Node(l.Target) != nil {
		for _, p := range hostPaths(l.Cluster.Node(l.Target)) {
			set[p] = true
		}
	}
	if l.Report != nil && l.Report.Marks != nil {
		for k := range l.Report.Marks.Before {
			if p, ok := strings.CutPrefix(k, beforeHostFile); ok {
				set[p] = true
			}
		}
	}
	var ops []planner.Operation
	reload := ""
	for _, p := range slices.Backward(SortedNames(set)) { // what is in a folder before the folder
		ops = append(ops, planner.Restore{Path: p})
		reload = cmp.Or(UnitOfPath(p), reload)
	}
	if reload != "" {
		ops = append(ops, planner.Unit{Unit: reload, Action: planner.DaemonReload})
	}
	for _, unit := range SortedNames(restarts) {
		if unit != "" && l.Report != nil && l.Report.Units[unit].Active == "active" && (l.Report.Marks == nil || len(l.Report.Marks.Owned) == 0) {
			ops = append(ops, planner.Unit{Unit: unit, Action: "restart"})
		}
	}
	return ops
}

// CheckHostFiles refuses files and directories of the user where something else is than a file or
// directory, or where others than root could put something in their place.
func CheckHostFiles(v *topology.Fleet) diag.Diagnostics {
	var out diag.Diagnostics
	for _, c := range v.Clusters {
		for _, n := range c.Nodes {
			if n.Report == nil {
				continue
			}
			for _, d := range topology.HostDirectories(n) {
				out.Append(checkHostPath(n, "directory", d.Path, d.Source)...)
			}
			for _, f := range topology.HostFiles(n) {
				out.Append(checkHostPath(n, "file", f.Path, f.Source)...)
			}
		}
	}
	return out
}

func checkHostPath(n *topology.Node, block, p string, at state.Source) diag.Diagnostics {
	if f := n.Report.Files[p]; f.Exists && f.Type != block {
		return diag.Diagnostics{diag.Errorf("Host path is taken", "On %s (%s) there is %s at %s, where the configuration has a %s. kubewright neither follows nor replaces it. See what it is (ls -ld %s), move it away on the host, or change the path.",
			n.Short(), n.Address, whatIs(f), p, block, p).At(at).For(n.Target)}
	}
	for dir := path.Dir(p); !state.WholeMachine(dir); dir = path.Dir(dir) {
		f := n.Report.Files[dir]
		switch {
		case !f.Exists || f.Type == "link":
		case f.Type != "directory":
			return diag.Diagnostics{diag.Errorf("Host path is taken", "On %s (%s) there is %s at %s, so that %s cannot be in it. See what it is (ls -ld %s), move it away on the host, or change the path.",
				n.Short(), n.Address, whatIs(f), dir, p, dir).At(at).For(n.Target)}
		case writableByOthers(f) && !slices.ContainsFunc(topology.HostDirectories(n), func(d config.Directory) bool { return d.Path == dir }):
			return diag.Diagnostics{diag.Errorf("Directory is writable by others", "On %s (%s) others than root can write to %s (owner %s, mode %s): they could put something in the place of %s, so that kubewright does not write there. Unless others need to: chown root:root %s; chmod go-w %s. Otherwise change the path.",
				n.Short(), n.Address, dir, f.Owner, f.Mode, p, dir, dir).At(at).For(n.Target)}
		}
	}
	return nil
}

func writableByOthers(f state.FileReport) bool {
	user, group, _ := strings.Cut(f.Owner, ":")
	m := f.Mode
	if len(m) < 3 {
		return false
	}
	others, ofGroup := m[len(m)-1:], m[len(m)-2:len(m)-1]
	return user != "root" || strings.ContainsAny(others, "2367") || group != "root" && strings.ContainsAny(ofGroup, "2367")
}

func whatIs(f state.FileReport) string {
	switch {
	case f.Type == "link" && f.Link != "":
		return "a symbolic link to " + f.Link
	case f.Type == "link":
		return "a symbolic link"
	case f.Type == "directory":
		return "a directory"
	case f.Type == "file":
		return "a file"
	}
	return "a device, socket or pipe"
}
