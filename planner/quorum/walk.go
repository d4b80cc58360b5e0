package quorum

import (
	"slices"

	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Act is one change of etcd's membership: a member is added or removed.
type Act struct {
	// Step is the step that makes the change.
	Step state.Address
	// Name and PeerURL identify the member.
	Name    string
	PeerURL string
	Add     bool
}

// Walk simulates the acts one by one on the observed members, and evaluates the gate etcd-quorum
// before each: if it allows all of them, no prefix of the acts loses quorum. A member counts as
// healthy once it was added, since its act ends when it is. Acts that were already done change
// nothing. It returns the number of voters after each act; the error names the act that is not
// possible, and the reason.
func Walk(members []state.EtcdMember, acts []Act) ([]int, error) {
	at := members
	var sizes []int
	for _, a := range acts {
		var op planner.Operation = planner.RemoveEtcdMember{PeerURL: a.PeerURL}
		if a.Add {
			op = planner.AddEtcdMember{PeerURL: a.PeerURL}
		}
		if a.Add != (ConditionOf(at, a.PeerURL) > Unlisted) {
			if err := Allows(&planner.Step{Operations: planner.Operations{op}}, a.PeerURL, at); err != nil {
				return sizes, remedy.Textf("%s: %v", a.Step, err)
			}
		}
		at = a.After(at)
		sizes = append(sizes, len(Voters(at)))
	}
	return sizes, nil
}

// After returns the members after the act. An added member is a healthy voter then.
func (a Act) After(members []state.EtcdMember) []state.EtcdMember {
	out := slices.DeleteFunc(slices.Clone(members), func(m state.EtcdMember) bool { return slices.Contains(m.PeerURLs, a.PeerURL) })
	if a.Add {
		out = append(out, state.EtcdMember{Name: a.Name, PeerURLs: []string{a.PeerURL}, Healthy: true})
	}
	return out
}

// Voters returns the members with a vote.
func Voters(members []state.EtcdMember) []state.EtcdMember {
	return slices.DeleteFunc(slices.Clone(members), func(m state.EtcdMember) bool { return m.Learner })
}
