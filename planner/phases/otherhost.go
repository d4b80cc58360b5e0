package phases

import (
	"fmt"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// A node that leaves is reset as the state remembers it, and its host is told by more
// than its address: by our mark, and by its machine id. An address is given to another
// machine one day, a name leads elsewhere, and what is there now is somebody else's,
// however little of it is Kubernetes.

// otherHost refuses to give back a host that is not the one which joined.
func (v *View) otherHost(l leaver) *diag.Diagnostic {
	m := marksOf(l.report)
	switch {
	case m != nil && m.Cluster != "" && m.Lineage != "" && m.Lineage != v.Recorded.Lineage:
		return l.refuseLineage(m)
	case m != nil && m.Cluster != "":
		if m.Node == l.target || m.Lineage != v.Recorded.Lineage || v.find(m.Node) == nil && !v.recordedNode(m.Node) {
			return nil
		}
		if n := v.find(m.Node); n != nil && n.cluster.disowned && v.leavingAt()[n.Address] == l.target {
			return nil // refuseLeaver has said it of the node that the host is
		}
		return diag.Errorf(otherNode, "%s (%s) is to leave cluster %q, and the host at its address is marked as %s, which is a node as well. Nothing is changed on any host: "+
			"the reset would take that one away. Find out where the host of %s is. If it is gone for good, have the state forget the node, which changes no host, and delete its Node object.\n\n  kubewright state rm '%s'",
			l.target, l.Address, l.Cluster, m.Node, l.target, l.target).For(l.target)
	case !otherMachine(l.RecordedNode, l.report):
		return nil
	case l.replaced && (traceless(l.report) || len(ownCAs(l.report, l.caBase())) > 0):
		return nil // it was accepted, and which cluster it is of is looked at
	case v.restores && traceless(l.report):
		return nil // it is not reset, and there is nothing on it to stop
	case traceless(l.report):
		return l.refuseOtherMachine(fmt.Sprintf("If the host that joined is gone for good, its node is taken out of the cluster without it:\n\n  -%s='%s'\n\n"+
			"A removed block with unreachable = true does the same.", ForgetUnreachableFlag, l.target))
	}
	way := fmt.Sprintf("have the state forget the node, which changes no host:\n\n  kubewright state rm '%s'", l.target)
	if l.replaced {
		way = "take another host for the node."
	}
	return l.refuseOtherMachine("If nobody needs what is on it, clean it (kubeadm reset), and plan again. Otherwise " + way)
}

// refuseLineage refuses to give back a host that another state has by now: the host
// refuses it as well, in the middle of an apply.
func (l leaver) refuseLineage(m *state.Marks) *diag.Diagnostic {
	return diag.Errorf(foreignHost, "%s (%s) is to leave cluster %q, and its host is %s of cluster %q in the state with lineage %s. Nothing is changed on any host: the reset would take that node away. "+
		"Have the state forget the node, which changes no host, and delete its Node object:\n\n  kubewright state rm %s", l.target, l.Address, l.Cluster, m.Node, m.Cluster, m.Lineage, state.ShellWord(l.target.String())).For(l.target)
}

func (l leaver) refuseOtherMachine(way string) *diag.Diagnostic {
	return diag.Errorf(otherMachineID, "%s (%s) is to leave cluster %q, and its host has the machine id %s and no mark of kubewright's; the host that joined had %s: it was reinstalled, or another host has its address. "+
		"Nothing is changed on any host: the reset would take away what somebody else has there. %s",
		l.target, l.Address, l.Cluster, short(l.report.Facts.MachineID), short(l.MachineID), way).For(l.target)
}

// otherMachine tells a host that is known to be another machine than the one that joined.
func otherMachine(was *state.RecordedNode, r *state.Report) bool {
	return was.MachineID != "" && r.Facts.MachineID != "" && was.MachineID != r.Facts.MachineID
}
