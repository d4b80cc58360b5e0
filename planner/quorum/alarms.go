package quorum

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Alarms of etcd (etcd: api/etcdserverpb, AlarmType).
const (
	// AlarmNoSpace: a member's database has reached its quota. Etcd accepts no writes until space
	// is freed and the alarm disarmed.
	AlarmNoSpace = "NOSPACE"
	// AlarmCorrupt: a member's data differs from that of the others. Etcd serves neither reads nor
	// writes until the alarm is disarmed.
	AlarmCorrupt = "CORRUPT"
)

// Alarmed lists the members with an alarm and says what to do; empty for none.
func Alarmed(members []state.EtcdMember) remedy.Text {
	var who []string
	kinds := map[string]bool{}
	for _, m := range members {
		for _, a := range m.Alarms {
			who, kinds[a] = append(who, m.Name+" "+a), true
		}
	}
	if len(who) == 0 {
		return ""
	}
	text := remedy.Textf("etcd has raised alarms: %s.", strings.Join(who, ", "))
	if kinds[AlarmCorrupt] {
		text += remedy.Textf(" The data of a member differs from that of the others, and etcd serves nothing until that is resolved. "+
			"Find out which members agree (etcdctl endpoint hashkv), remove the one that does not (etcdctl member remove), "+
			"disarm the alarm (etcdctl alarm disarm), and have its node removed and joined again (%s).", remedy.Apply.With(remedy.Option{Kind: remedy.Replace, Value: "NODE"}))
	}
	if kinds[AlarmNoSpace] {
		text += remedy.Textf(" A database has reached its quota, and etcd accepts no writes. Delete what filled it, such as events, then run %s, "+
			"which frees the space and disarms the alarm. If all of it is needed, raise --quota-backend-bytes in /etc/kubernetes/manifests/etcd.yaml on one "+
			"control plane after the other and disarm the alarm (etcdctl alarm disarm); the value stays if etcd { arg } sets the same one.", remedy.Defragment)
	}
	return text
}

// HasAlarm reports whether any member has raised the alarm.
func HasAlarm(members []state.EtcdMember, alarm string) bool {
	return slices.ContainsFunc(members, func(m state.EtcdMember) bool { return slices.Contains(m.Alarms, alarm) })
}

// AlarmsAllow is a part of the gate etcd-quorum: on an etcd with an alarm it allows only operations
// that help against it. Against CORRUPT none does: it first has to be found out which members have
// the right data.
func AlarmsAllow(step *planner.Step, members []state.EtcdMember) error {
	text := Alarmed(members)
	helps := slices.ContainsFunc(step.Operations, func(op planner.Operation) bool {
		switch op.(type) {
		case planner.CompactEtcd, planner.DefragmentEtcd, planner.DisarmEtcd:
			return true
		}
		return false
	})
	if text == "" || helps && !HasAlarm(members, AlarmCorrupt) {
		return nil
	}
	return remedy.Textf("refused: %s", text)
}
