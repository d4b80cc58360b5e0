package ownership

import (
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// A departing node is reset according to the state, and its host is identified by more than its
// address: by kubewright's marker, and by its machine ID. An address may be reassigned to another
// machine, or a name may resolve to another address, and then the host belongs to another owner,
// however little of it is Kubernetes.

// otherHost refuses to reset a host that is not the one which joined.
func otherHost(v *topology.Fleet, l topology.Departure) *diag.Diagnostic {
	m := topology.MarksOf(l.Report)
	switch {
	case m != nil && m.Cluster != "" && m.Lineage != "" && m.Lineage != v.Recorded.Lineage:
		return departureRefuseLineage(l, m)
	case m != nil && m.Cluster != "":
		if m.Node == l.Target || m.Lineage != v.Recorded.Lineage || v.Find(m.Node) == nil && !v.RecordedNode(m.Node) {
			return nil
		}
		if n := v.Find(m.Node); n != nil && n.Cluster.Disowned && leavingAt(v)[n.Address] == l.Target {
			return nil // refuseDeparture reports it for that node
		}
		return diag.Errorf(otherNode, "%s (%s) is being removed from cluster %q, but the host at its address is marked as %s, which is a node as well: "+
			"the reset would remove that one. Find out where the host of %s is. If it is gone for good, remove the node from the state, which changes no host, "+
			"and delete its Node object.\n\n  %s",
			l.Target, l.Address, l.RecordedNode.Cluster, m.Node, l.Target, remedy.Forget.On(l.Target.String())).For(l.Target)
	case !topology.OtherMachine(l.RecordedNode, l.Report):
		return nil
	case l.Replaced && (topology.Traceless(l.Report) || len(ownCAs(l.Report, observe.CABase(l))) > 0):
		return nil // it was accepted, and its cluster is checked separately
	case v.Restores && topology.Traceless(l.Report):
		return nil // it is not reset, and has nothing to stop
	case topology.Traceless(l.Report):
		return refuseOtherMachine(l, remedy.Textf("If the host that joined is gone for good, remove its node from the cluster without it:\n\n  %s\n\n"+
			"A removed block with unreachable = true does the same.", remedy.GoneHost.Of(l.Target)))
	}
	way := remedy.Textf("remove the node from the state, which changes no host:\n\n  %s", remedy.Forget.On(l.Target.String()))
	if l.Replaced {
		way = "use another host for the node."
	}
	return refuseOtherMachine(l, "If its data is not needed, clean it (kubeadm reset) and plan again. Otherwise "+way)
}

// departureRefuseLineage refuses to reset a host that now belongs to another state: the host would
// refuse it as well, in the middle of an apply.
func departureRefuseLineage(l topology.Departure, m *state.Marks) *diag.Diagnostic {
	return diag.Errorf(foreignHost, "%s (%s) is being removed from cluster %q, but its host is %s of cluster %q in the state with lineage %s: "+
		"the reset would remove that node. Remove the node from this state, which changes no host, and delete its Node object:\n\n  %s", l.Target, l.Address, l.RecordedNode.Cluster, m.Node, m.Cluster, m.Lineage, remedy.Forget.On(l.Target.String())).For(l.Target)
}

func refuseOtherMachine(l topology.Departure, way remedy.Text) *diag.Diagnostic {
	return diag.Errorf(otherMachineID, "%s (%s) is being removed from cluster %q, but its host has the machine id %s and no kubewright mark; "+
		"the host that joined had %s: it was reinstalled, or another host has its address. The reset could delete data of another owner. %s",
		l.Target, l.Address, l.RecordedNode.Cluster, topology.Short(l.Report.Facts.MachineID), topology.Short(l.MachineID), way).For(l.Target)
}
