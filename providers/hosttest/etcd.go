package hosttest

import (
	"testing"

	"github.com/kubewright/kubewright/planner"
)

// testSetAsideEtcd checks that etcd's data is renamed once, and that none of it is lost.
func testSetAsideEtcd(t *testing.T, s *subject) {
	data := folder + "/etcd"
	aside := planner.SetAsideEtcd{DataDir: data, As: "member.before-1"}
	wantChanged(t, s.do(t, planner.EnsureDirectory{Path: data, Mode: "0755", Owner: s.Owner}, aside), true, false)
	s.do(t, planner.EnsureDirectory{Path: data + "/member", Mode: "0755", Owner: s.Owner}, s.write(data+"/member/wal", "first"))
	wantChanged(t, s.do(t, aside, aside), true, false)
	// Data that is there a second time does not replace the first.
	s.do(t, planner.EnsureDirectory{Path: data + "/member", Mode: "0755", Owner: s.Owner}, s.write(data+"/member/wal", "second"))
	wantChanged(t, s.do(t, aside), true)
	wantFile(t, s.look(t, data+"/member.before-1/wal"), "first", "0600", s.Owner)
	wantFile(t, s.look(t, data+"/member.before-1.again/wal"), "second", "0600", s.Owner)
	if s.look(t, data+"/member").Exists {
		t.Error("the data still exists")
	}
}
