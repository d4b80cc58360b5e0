package main

import (
	"strings"
	"testing"
)

// lastWrite is the moment at which an apply has done everything and the state is not written
// yet.
var lastWrite = moment{1, "before rename to kubewright.state.json"}

// raisePods raises the maximum of pods of the worker's kubelet in the configuration.
func (f folder) raisePods(t *testing.T) {
	t.Helper()
	f.replace(t, `{ "node.example.com/pool" = "general" }`, `{ "node.example.com/pool" = "general" }`+"\n  kubelet {\n    config = { maxPods = 200 }\n  }")
}

// wantDrift checks that a refresh-only plan shows drift, or none.
func (f folder) wantDrift(t *testing.T, drift bool) {
	t.Helper()
	want := 0
	if drift {
		want = exitDrifted
	}
	if code, out := f.run("plan", "-refresh-only", "-detailed-exitcode"); code != want || strings.Contains(out, "outside of kubewright") != drift {
		t.Errorf("a refresh-only plan: exit code %d, want %d\n%s", code, want, out)
	}
}

const exitDrifted = 3

// wantEditSeen checks that a manual change on a host counts as drift.
func (f folder) wantEditSeen(t *testing.T, host string) {
	t.Helper()
	f.must(t, "sim", "edit", host, "yaml", "/var/lib/kubelet/config.yaml", "set", "maxPods=50")
	f.wantDrift(t, true)
}

// TestUnrecordedChangesOfUnreachableHost checks that changes of an interrupted apply on a host do not count
// as drift until that host is observed again.
func TestUnrecordedChangesOfUnreachableHost(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t).copy(t)
	f.raisePods(t)
	f.kill(t, "apply", lastWrite)
	f.must(t, "sim", "edit", "10.0.0.21", "power", "off")
	if code, out := f.run("apply", "-auto-approve", "-allow-unreachable"); code != 9 {
		t.Fatalf("exit code %d, want that something was withheld\n%s", code, out)
	}
	f.must(t, "sim", "edit", "10.0.0.21", "power", "on")
	f.wantDrift(t, false)
	f.must(t, "apply", "-auto-approve")
	f.wantEditSeen(t, "10.0.0.21")
}

// TestUnrecordedChangesWithSkippedPhases checks that phases left out by skip_phases, or postponed by
// -skip-phase, do not prevent the other changes from being recorded as done.
func TestUnrecordedChangesWithSkippedPhases(t *testing.T) {
	t.Parallel()
	skipped := newFolder(t, strings.Replace(crashConfig, `labels  =`, "skip_phases = [\"mark-worker\"]\n  labels  =", 1))
	skipped.must(t, "apply", "-auto-approve")
	later := foundedFolder(t).copy(t)
	later.replace(t, `"control-plane"`, `"control-plane"`+"\n  kubelet {\n    config = { maxPods = 200 }\n  }")
	later.replace(t, `cert_sans = [`, `arg "profiling" { value = "false" }`+"\n    cert_sans = [")
	later.must(t, "apply", "-auto-approve", "-skip-phase=control-plane")
	for host, f := range map[string]folder{"10.0.0.21": skipped, "10.0.0.11": later} {
		f.wantEditSeen(t, host)
		if out := f.must(t, "plan"); !strings.Contains(out, "changed outside of kubewright") || strings.Contains(out, "did not finish") {
			t.Errorf("on %s the change does not count as drift:\n%s", host, out)
		}
	}
}

// TestUnrecordedChangesRemovedByDestroy checks that a destroy also removes the records of an interrupted
// apply.
func TestUnrecordedChangesRemovedByDestroy(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t).copy(t)
	f.replace(t, `cert_sans = [`, `arg "profiling" { value = "false" }`+"\n    cert_sans = [")
	f.kill(t, "apply", lastWrite)
	f.must(t, "destroy", "-auto-approve")
	f.wantForgotten(t, lastWrite)
}

// TestUnrecordedChangesOfRenamedNode checks that changes of an interrupted apply do not count as
// drift after the node is renamed, by a moved block or by state mv.
func TestUnrecordedChangesOfRenamedNode(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t).copy(t)
	f.raisePods(t)
	f.kill(t, "apply", lastWrite)
	f.replace(t, `node "worker"`, `node "pool"`)
	moved := f.copy(t)
	moved.replace(t, `connection {`, "moved {\n  from = node.worker\n  to   = node.pool\n}\n\nconnection {")
	if out := moved.must(t, "plan", "-refresh-only"); strings.Contains(out, "outside of kubewright") {
		t.Errorf("kubewright's own changes count as drift:\n%s", out)
	}
	f.must(t, "state", "mv", "node.worker", "node.pool")
	f.wantDrift(t, false)
	f.must(t, "apply", "-auto-approve")
	f.wantEditSeen(t, "10.0.0.21")
}

// TestDriftAfterKillBeforeJournalIsEmptied checks that, after a run that was killed between writing the
// state and emptying the journal, a later manual change counts as drift.
func TestDriftAfterKillBeforeJournalIsEmptied(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t).copy(t)
	f.raisePods(t)
	f.kill(t, "apply", moment{2, "before truncate kubewright.journal"})
	f.wantEditSeen(t, "10.0.0.21")
	f.must(t, "apply", "-auto-approve")
	f.wantDrift(t, false)
}
