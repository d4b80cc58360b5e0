package main

import (
	"strings"
	"testing"
)

// lastWrite is the moment at which an apply has done everything, and the state does not
// know it yet.
var lastWrite = moment{1, "before rename to kubewright.state.json"}

// raisePods has the worker's kubelet take more pods in the configuration.
func (f folder) raisePods(t *testing.T) {
	t.Helper()
	f.replace(t, `{ "node.example.com/pool" = "general" }`, `{ "node.example.com/pool" = "general" }`+"\n  kubelet {\n    config = { maxPods = 200 }\n  }")
}

// wantDrift wants a refresh-only plan that shows what somebody has changed, or nothing.
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

// wantEditSeen wants what somebody changes on a host to count as theirs.
func (f folder) wantEditSeen(t *testing.T, host string) {
	t.Helper()
	f.must(t, "sim", "edit", host, "yaml", "/var/lib/kubelet/config.yaml", "set", "maxPods=50")
	f.wantDrift(t, true)
}

// TestUnseenOfHostThatIsOff: what an apply that was cut short has done on a host is its own
// doing until somebody has looked at that host.
func TestUnseenOfHostThatIsOff(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t).copy(t)
	f.raisePods(t)
	f.kill(t, "apply", lastWrite)
	f.must(t, "sim", "edit", "10.0.0.21", "power", "off")
	f.must(t, "apply", "-auto-approve", "-allow-unreachable")
	f.must(t, "sim", "edit", "10.0.0.21", "power", "on")
	f.wantDrift(t, false)
	f.must(t, "apply", "-auto-approve")
	f.wantEditSeen(t, "10.0.0.21")
}

// TestUnseenBesideWhatIsLeftOut: what skip_phases leaves out, and what -skip-phase has left
// for later, keeps nobody from seeing that the rest is done.
func TestUnseenBesideWhatIsLeftOut(t *testing.T) {
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
			t.Errorf("on %s it is not called a change from outside:\n%s", host, out)
		}
	}
}

// TestUnseenOfWhatIsDestroyed: a destroy takes with everything else also what an apply
// before it had begun.
func TestUnseenOfWhatIsDestroyed(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t).copy(t)
	f.replace(t, `cert_sans = [`, `arg "profiling" { value = "false" }`+"\n    cert_sans = [")
	f.kill(t, "apply", lastWrite)
	f.must(t, "destroy", "-auto-approve")
	f.wantForgotten(t, lastWrite)
}

// TestUnseenOfWhatHasAnotherName: what was begun on a node is its own doing by each of the
// names that the node gets, by a moved block or by hand.
func TestUnseenOfWhatHasAnotherName(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t).copy(t)
	f.raisePods(t)
	f.kill(t, "apply", lastWrite)
	f.replace(t, `node "worker"`, `node "pool"`)
	moved := f.copy(t)
	moved.replace(t, `connection {`, "moved {\n  from = node.worker\n  to   = node.pool\n}\n\nconnection {")
	if out := moved.must(t, "plan", "-refresh-only"); strings.Contains(out, "outside of kubewright") {
		t.Errorf("its own doing counts as somebody else's:\n%s", out)
	}
	f.must(t, "state", "mv", "node.worker", "node.pool")
	f.wantDrift(t, false)
	f.must(t, "apply", "-auto-approve")
	f.wantEditSeen(t, "10.0.0.21")
}

// TestSeenWhereTheJournalIsLeft: an apply that was killed between writing the state and
// emptying the journal has seen what it did, and what somebody changes then is theirs.
func TestSeenWhereTheJournalIsLeft(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t).copy(t)
	f.raisePods(t)
	f.kill(t, "apply", moment{2, "before truncate kubewright.journal"})
	f.wantEditSeen(t, "10.0.0.21")
	f.must(t, "apply", "-auto-approve")
	f.wantDrift(t, false)
}
