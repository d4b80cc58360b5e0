package quorum_test

import (
	"testing"

	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/state"
)

// TestMemberCondition checks each condition of a member against the list that etcd answers with.
func TestMemberCondition(t *testing.T) {
	t.Parallel()
	const url, other = "https://10.0.0.1:2380", "https://10.0.0.2:2380"
	for name, c := range map[string]struct {
		members []state.EtcdMember
		want    quorum.MemberCondition
	}{
		"no list":                        {nil, quorum.Unknown},
		"another member":                 {[]state.EtcdMember{{PeerURLs: []string{other}, Healthy: true}}, quorum.Unlisted},
		"a learner that has not started": {[]state.EtcdMember{{PeerURLs: []string{url}, Learner: true}}, quorum.LearnerDown},
		"a learner that answers":         {[]state.EtcdMember{{PeerURLs: []string{url}, Learner: true, Healthy: true}}, quorum.Learner},
		"a voter that does not answer":   {[]state.EtcdMember{{PeerURLs: []string{other}, Healthy: true}, {PeerURLs: []string{url}}}, quorum.VoterDown},
		"a voter that answers":           {[]state.EtcdMember{{PeerURLs: []string{other}}, {PeerURLs: []string{other + "0", url}, Healthy: true}}, quorum.Voter},
	} {
		if got := quorum.ConditionOf(c.members, url); got != c.want {
			t.Errorf("%s: condition %d, want %d", name, got, c.want)
		}
	}
}
