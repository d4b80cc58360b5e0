package etcd

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// MemberQuery asks a control plane's host for what MemberDown reads.
func MemberQuery(c *config.Cluster) state.Query {
	dir := c.Etcd.DataDir
	for _, a := range c.Etcd.Args {
		if a.Name == "data-dir" {
			dir = a.Value
		}
	}
	return state.Query{
		Files:     []state.FileQuery{{Path: topology.Manifest("etcd"), Read: state.ReadContent}, {Path: c.Etcd.DataDir + "/member"}},
		Processes: []state.Process{{Name: "etcd", Argument: "--data-dir=" + dir}},
	}
}

// MemberDown reports whether a host has the data of an etcd member that does not run, and
// does not start by itself either: its manifest is gone. Who starts it takes no
// quorum from anybody, and may be the only one who can bring it back. Where the
// control plane is the only one it need not be gone: nobody else counts on a member
// that exits again and again.
func MemberDown(v *topology.Fleet, t state.Target, r *state.Report) bool {
	c := v.ClusterOf(t)
	return MemberExits(v, t, r) && (!r.Files[topology.Manifest("etcd")].Exists || onlyControlPlane(c, t))
}

// MemberExits reports whether a host has the data of an etcd member that does not run, be it
// that its manifest is one by which it exits again and again. Who has waited in vain
// until it comes up by itself may write another one: without it there is no quorum that
// could be lost, and of two members, or of three of which two are so, none comes back
// otherwise.
func MemberExits(v *topology.Fleet, t state.Target, r *state.Report) bool {
	c := v.ClusterOf(t)
	if c == nil || r == nil || r.Started == nil || !r.Files[c.Etcd.DataDir+"/member"].Exists {
		return false
	}
	_, runs := r.Started["etcd"]
	return !runs || dataElsewhere(c, t, r.Files[topology.Manifest("etcd")])
}

// dataElsewhere reports whether the etcd of a host has its data in another folder than it
// is to have: what runs there is not the member that this data belongs to.
func dataElsewhere(c *topology.Cluster, t state.Target, f state.FileReport) bool {
	for _, n := range c.ControlPlanes() {
		if n.Target != t || !f.Exists {
			continue
		}
		tree, err := staticpod.ManifestTree(n, "etcd")
		pod, broken := kubeadm.StaticPodAttributes(f.Content)
		return err == nil && broken == nil && staticpod.DataOnHost(pod, c.Etcd.DataDir) != staticpod.DataOnHost(tree, c.Etcd.DataDir)
	}
	return false
}

// onlyControlPlane reports whether a cluster has no other control plane than this one, nor had
// another one that is still to leave.
func onlyControlPlane(c *topology.Cluster, t state.Target) bool {
	planes := c.ControlPlanes()
	return len(planes) == 1 && planes[0].Target == t && (c.Seen == nil || len(c.Seen.Members) < 2) &&
		!slices.ContainsFunc(c.Fleet.Departures(), func(l topology.Departure) bool { return l.Cluster == c && l.Role == string(config.ControlPlane) })
}

// StartsMember reports whether what a step does to etcd is to start the member on its own
// host where that is down, whatever other members do.
func StartsMember(s *planner.Step, members []state.EtcdMember) bool {
	return planner.RestartsMember(s) && !planner.ChangesMembers(s) && quorum.AlarmsAllow(s, members) == nil
}
