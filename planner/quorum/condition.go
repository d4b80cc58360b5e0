package quorum

import (
	"slices"

	"github.com/kubewright/kubewright/state"
)

// MemberCondition is what etcd shows of a member. Those from VoterDown on have a vote.
type MemberCondition int

const (
	// Unknown: etcd did not list its members, or it is external.
	Unknown MemberCondition = iota
	// Unlisted: etcd lists its members, and none is at the peer URL.
	Unlisted
	// LearnerDown: an apply has added the learner and, being interrupted, not started it; or it
	// does not answer.
	LearnerDown
	// Learner: it answers, and was not promoted yet.
	Learner
	// VoterDown: the voter does not answer, or has never started.
	VoterDown
	// Voter: the voter answers.
	Voter
)

// ConditionOf returns the condition of the member at a peer URL, in a list of members that etcd has
// answered with. Whether one answers was asked at its own endpoint.
func ConditionOf(members []state.EtcdMember, peerURL string) MemberCondition {
	i := slices.IndexFunc(members, func(m state.EtcdMember) bool { return slices.Contains(m.PeerURLs, peerURL) })
	switch {
	case len(members) == 0:
		return Unknown
	case i < 0:
		return Unlisted
	case members[i].Learner && members[i].Healthy:
		return Learner
	case members[i].Learner:
		return LearnerDown
	case members[i].Healthy:
		return Voter
	}
	return VoterDown
}
