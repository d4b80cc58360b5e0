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

// MemberQuery returns the query of a control plane's host for MemberDown.
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

// MemberDown reports whether a host has the data of an etcd member that does not run and does not
// start by itself, because its manifest is gone. Starting it cannot cost quorum, and may be the
// only way to regain it. On the only control plane the manifest may still exist: no other member
// relies on one that crashes repeatedly.
func MemberDown(v *topology.Fleet, t state.Target, r *state.Report) bool {
	c := v.ClusterOf(t)
	return MemberExits(v, t, r) && (!r.Files[topology.Manifest("etcd")].Exists || onlyControlPlane(c, t))
}

// MemberExits reports whether a host has the data of an etcd member that does not run, including
// one that crashes repeatedly because of its manifest. After waiting for it in vain, its manifest
// may be rewritten: without this member there is no quorum to lose, and of two members, or of three
// with two crashing, none recovers otherwise.
func MemberExits(v *topology.Fleet, t state.Target, r *state.Report) bool {
	c := v.ClusterOf(t)
	if c == nil || r == nil || r.Started == nil || !r.Files[c.Etcd.DataDir+"/member"].Exists {
		return false
	}
	_, runs := r.Started["etcd"]
	return !runs || dataElsewhere(c, t, r.Files[topology.Manifest("etcd")])
}

// dataElsewhere reports whether the etcd of a host has its data in another folder than configured:
// the running member is then not the one that the data belongs to.
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

// onlyControlPlane reports whether a cluster has no other control plane, including departing ones.
func onlyControlPlane(c *topology.Cluster, t state.Target) bool {
	planes := c.ControlPlanes()
	return len(planes) == 1 && planes[0].Target == t && (c.Seen == nil || len(c.Seen.Members) < 2) &&
		!slices.ContainsFunc(c.Fleet.Departures(), func(l topology.Departure) bool { return l.Cluster == c && l.Role == string(config.ControlPlane) })
}

// StartsMember reports whether a step starts the member on its own host where that is down,
// whatever the condition of the other members.
func StartsMember(s *planner.Step, members []state.EtcdMember) bool {
	return planner.RestartsMember(s) && !planner.ChangesMembers(s) && quorum.AlarmsAllow(s, members) == nil
}
