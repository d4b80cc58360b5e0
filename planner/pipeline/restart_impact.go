package pipeline

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// price returns the plan with the cost of each change for running components.
func price(v *topology.Fleet, p *planner.Plan) *planner.Plan {
	return p.WithChanges(func(c planner.Change) planner.Change {
		c.Cost = cost(v, c)
		return c
	})
}

func cost(v *topology.Fleet, c planner.Change) planner.Cost {
	switch n := v.Find(c.Address.Target); {
	case v.Replaces(c.Address.Target):
		return planner.CostReplace
	case c.Kind == state.KindObject || c.Kind == state.KindNodeObject || c.Kind == state.KindEtcdMember:
		return planner.CostObject
	case n != nil && n.Report != nil && !n.Joins() && !c.OnlyAccess() && restartsFor(n, c):
		return planner.CostRestart
	}
	return planner.CostNone
}

// restartsFor reports whether the change of an item restarts something on a running node.
func restartsFor(n *topology.Node, c planner.Change) bool {
	switch c.Address.Phase {
	case topology.KubeletStartPhase:
		return kubelet.Restarts(c)
	case topology.InstallPhase:
		return restartsForSoftware(n, c)
	case topology.HostFilesPhase:
		if host.RestartsUnits(n, c) {
			return true
		}
	case topology.EtcdPhase, topology.ControlPlanePhase:
		return c.Kind == state.KindStaticPod
	}
	path := staticpod.FileOf(c)
	return path == topology.KubeletConf || path == topology.KubeletClientCert || slices.ContainsFunc(staticpod.ReadersOf(n, ""), func(r topology.CertConsumer) bool {
		return n.Report.Files[topology.Manifest(r.Component)].Exists && slices.Contains(staticpod.HeldFiles(r, n, staticpod.ReplacesAtOnce(n.Cluster)), path)
	})
}

// restartsForSoftware reports whether the change of an item restarts a part of the installed software.
func restartsForSoftware(n *topology.Node, c planner.Change) bool {
	if c.Kind == state.KindUnit {
		return true
	}
	if c.Kind == state.KindPackage {
		return host.PartOfPackage(c.Address.ID()) != topology.ToolsPart && host.InstallsPackage(c)
	}
	return slices.ContainsFunc(host.Software(n), func(f host.Installed) bool { return f.Path == c.Address.ID() && f.Runs() })
}
