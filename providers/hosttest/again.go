package hosttest

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// notAgain are the operations of hosts that testAgain does not do, because they change the machine
// itself and not only its files, with the tests that do.
var notAgain = map[string]string{
	"upload_artifact": "testUpload, testUnpack", "restore_etcd": "providers/shell/etcd_internal_test.go", "take_backup": "providers/shell/backup_internal_test.go",
	"packages": "providers/shell/packages_internal_test.go", "load_image": "providers/shell/pull_internal_test.go",
	"unit": "providers/shell/host_test.go", "restart_process": "providers/shell/process_test.go",
	"set_sysctl": "providers/shell/host_test.go", "load_module": "providers/shell/host_test.go", "swap": "providers/shell/swap_internal_test.go",
	"system_user": "providers/shell/users_internal_test.go",
	"remove_pods": "providers/shell/host_test.go", "unmount": "providers/shell/mounts_test.go",
	"remove_network": "providers/shell/network_internal_test.go", "remove_proxy_rules": "providers/shell/network_internal_test.go",
}

// testAgain checks that an operation that was just done is found done, unless it is
// repeated each time by definition.
func testAgain(t *testing.T, s *subject) {
	file, tree := folder+"/file", folder+"/tree"
	s.do(t, s.write(tree+"/a/b", "x"))
	done := map[string]bool{}
	for _, op := range []planner.Operation{
		s.write(file, "x"),
		planner.EnsureDirectory{Path: folder + "/folder", Mode: "0700", Owner: s.Owner},
		planner.SetAccess{Path: file, Mode: "0640", Owner: s.Owner},
		planner.Preserve{Path: file},
		planner.Restore{Path: file},
		planner.RemovePath{Path: tree, ContentsOnly: true},
		planner.RemovePath{Path: tree},
		planner.SetAsideEtcd{DataDir: tree, As: "member.before"},
		planner.Mark{Marks: state.Marks{Format: 1, Lineage: s.lineage, Cluster: "prod"}},
		planner.Mark{Remove: true},
	} {
		if _, is := op.(planner.SetAsideEtcd); is {
			s.do(t, planner.EnsureDirectory{Path: tree + "/member", Mode: "0700", Owner: s.Owner})
		}
		done[op.Op()] = true
		first, second := s.do(t, op), s.do(t, op)
		if always := strings.HasPrefix(op.DoneWhen(), planner.DoneNever); !first[0] || second[0] != always {
			t.Errorf("%s changes something at first: %v, and then: %v; it is done when %s", op.Summary(), first[0], second[0], op.DoneWhen())
		}
	}
	for _, op := range planner.HostOperations() {
		if elsewhere := notAgain[op.Op()]; done[op.Op()] == (elsewhere != "") {
			t.Errorf("%s is done twice here: %v; its row in notAgain: %q. One of the two is needed", op.Op(), done[op.Op()], elsewhere)
		}
	}
}

// testMissingSysctl checks that a sysctl that the kernel lacks need not be restored, and
// cannot be set.
func testMissingSysctl(t *testing.T, s *subject) {
	op := planner.SetSysctl{Name: "no.such.sysctl", Value: "1", Restore: true}
	wantChanged(t, s.do(t, op), false)
	op.Restore = false
	for _, name := range []string{"no.such.sysctl", "kernel././/.sysctl"} {
		op.Name = name
		if _, err := s.Host.Perform(t.Context(), s.batch(op)); err == nil {
			t.Errorf("the sysctl %q, which does not exist, was set", name)
		}
	}
}
