package staticpod

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// unused distinguishes the step that removes files of the user once nothing uses them any more.
const unused = "unused"

func unusedStep(n *topology.Node) state.Address {
	id := topology.StepAddress(n.Target, topology.HostFilesPhase)
	id.Waypoint = unused
	return id
}

// RemoveUnused returns the changes with the removal of a file or directory in a step of its own where
// something on the node still uses it that another step changes: a component that restarts before its
// turn, or in a cluster where that step waits, would not start without it.
func RemoveUnused(v *topology.Fleet, changes []planner.Change) []planner.Change {
	if v.Destroy {
		return changes
	}
	out := slices.Clone(changes)
	for i := range out {
		n := v.Find(out[i].Address.Target)
		if n != nil && n.Report != nil && !n.Joins() && removes(out[i]) && inUse(n, out[i].Address.ID(), changes) {
			out[i].Address.Waypoint = unused
		}
	}
	for i := range out { // a directory goes after what is in it
		if removes(out[i]) && slices.ContainsFunc(out, func(c planner.Change) bool {
			return c.Address.Target == out[i].Address.Target && c.Address.Waypoint == unused && within(c.Address.ID(), out[i].Address.ID())
		}) {
			out[i].Address.Waypoint = unused
		}
	}
	slices.SortFunc(out, func(a, b planner.Change) int { return a.Address.Compare(b.Address) })
	return out
}

func removes(c planner.Change) bool {
	return c.Address.Phase == topology.HostFilesPhase && c.Action == planner.Delete
}

// within reports whether a path is another one, or below it.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// inUse reports whether a static pod of the node mounts a path, or its kubelet reads the file, and a
// change ends that.
func inUse(n *topology.Node, p string, changes []planner.Change) bool {
	changed := func(phase, id string) bool {
		return slices.ContainsFunc(changes, func(c planner.Change) bool {
			return c.Address.Target == n.Target && c.Address.Phase == phase && (id == "" || c.Address.ID() == id) && c.Action != planner.Forget
		})
	}
	for _, component := range append([]string{"etcd"}, topology.ControlPlaneVersions...) {
		manifest := topology.Manifest(component)
		if n.IsControlPlane() && changed(PodPhase(component), manifest) && mounts(n, manifest, p) {
			return true
		}
	}
	return slices.Contains(topology.ReadersOfFile(n, p), config.RestartsKubelet) && changed(topology.KubeletStartPhase, "")
}

// mounts reports whether the manifest on the host mounts a path, or something below it.
func mounts(n *topology.Node, manifest, p string) bool {
	for _, volume := range n.Seen(state.KindStaticPod, manifest).Get("volumes").AsMap() {
		if source := volume.Get("hostPath").Get("path").AsString(); source != "" && within(path.Clean(source), p) {
			return true
		}
	}
	return false
}

// AddUnused adds the steps that remove files which nothing uses any more.
func AddUnused(b *topology.Builder, c *topology.Cluster) {
	for _, n := range c.Nodes {
		id := unusedStep(n)
		if n.Report == nil || len(b.Changes[id]) == 0 {
			continue
		}
		needs := []state.Address{topology.StepAddress(n.Target, topology.HostFilesPhase), topology.StepAddress(n.Target, topology.KubeletStartPhase)}
		if n.IsControlPlane() {
			needs = append(needs, topology.StepAddress(n.Target, topology.EtcdPhase), topology.StepAddress(n.Target, topology.ControlPlanePhase))
		}
		b.Add(id, host.HostFiles.NodeStep(n, b.Work(id)), needs)
	}
}
