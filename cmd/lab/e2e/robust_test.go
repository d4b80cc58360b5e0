//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestKilled creates, changes and destroys a small cluster with commands that are killed with
// SIGKILL in the middle of steps; running the same command again converges. Then its state file
// is lost and recovered.
func TestKilled(t *testing.T) {
	begin(t)
	s := newSiteOf(t, lab.Options{Name: "e2ekl", ControlPlanes: 1, Workers: 1})
	s.logIn()
	before := s.listings()
	cp, w := fmt.Sprintf("node.cp[%q]", s.planes[0].Name), fmt.Sprintf("node.worker[%q]", s.workers[0].Name)
	for _, step := range []string{
		cp + "/prepare", cp + "/certs", cp + "/etcd", cp + "/kubelet-start", cp + "/wait-control-plane",
		"cluster.prod/upload-config", "cluster.prod/bootstrap-token", w + "/kubelet-start", w + "/kubelet-wait-bootstrap",
	} {
		s.killedIn("apply", step)
	}
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	s.wantCluster()
	s.wantWorkload()

	s.extra = "  # maxPods\n  api_server {\n    arg \"audit-log-maxage\" { value = \"30\" }\n  }\n"
	s.configure()
	s.killedIn("apply", cp+"/control-plane")
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	s.wantCluster()

	s.loseState()

	s.killedIn("destroy", w+"/reset")
	s.wantGone(before)
}

// killedIn runs a command and kills it as soon as its journal records that an operation of the
// step has begun. It fails if the command ends before that, as when an earlier command has
// already completed the step.
func (s *site) killedIn(command, step string, more ...string) {
	s.t.Helper()
	fmt.Fprintf(os.Stderr, "\n(killed in %s:)", step)
	r := s.start(slices.Concat(strings.Fields(command), more, []string{"-auto-approve", "-no-color"})...)
	r.begins(step)
	if err := r.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	if err := <-r.ended; err == nil {
		s.t.Fatalf("kubewright %s ended before it could be killed in %s", command, step)
	}
}

// key matches the key of a node in an address.
var key = regexp.MustCompile(`\["[^"]*"\]`)

// begun reports whether an operation of the step has begun in these lines. A step of a node
// without a key matches any node of the block.
func begun(lines []byte, step string) bool {
	for line := range bytes.Lines(lines) {
		var entry struct{ Step, Event string }
		if json.Unmarshal(line, &entry) == nil && entry.Event == "begin" && (entry.Step == step || key.ReplaceAllString(entry.Step, "") == step) {
			return true
		}
	}
	return false
}

// loseState removes the state and checks that nothing is created or changed, that the plan says
// to which cluster the hosts belong and how to recover, and that this works.
func (s *site) loseState() {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "kubewright.state.json*"))
	if err != nil || len(files) == 0 {
		s.t.Fatalf("no state to lose: %v", err)
	}
	for _, name := range append(files, filepath.Join(s.dir, "kubewright.journal")) {
		if err := os.Remove(name); err != nil {
			s.t.Fatal(err)
		}
	}
	running := s.processes()
	for _, command := range [][]string{{"plan", "-no-color"}, {"apply", "-auto-approve", "-no-color"}} {
		r := s.run(command...)
		if r.code != 1 {
			s.t.Errorf("%s without a state: exit code %d, want 1", command[0], r.code)
		}
		wantContains(s.t, r.out, "State file is missing", "kubewright state recover", s.planes[0].Name, s.workers[0].Name)
	}
	if now := s.processes(); now != running {
		s.t.Errorf("something was restarted:\n%s\n%s", running, now)
	}
	s.must("state", "recover")
	s.wantNoChanges()
}

// TestSeatIsDown stops the API server of the first of three control planes, through which
// kubewright accesses the cluster. It checks that the plan uses another one and repairs only the
// stopped one.
func TestSeatIsDown(t *testing.T) {
	begin(t)
	s := newSiteOf(t, lab.Options{Name: "e2esd", ControlPlanes: 3})
	s.logIn()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	seat := s.planes[0].Name
	s.sh(seat, "mv "+apiServerFile+" /root/")
	s.eventually("the API server of "+seat+" is gone", func() (string, bool) {
		out, err := s.Exec(context.Background(), seat, "sh", "-c", "! pgrep -x kube-apiserver")
		return fmt.Sprint(string(out), err), err == nil
	})
	r := s.run("plan", "-detailed-exitcode", "-no-color")
	if r.code != 3 { // only drift
		t.Fatalf("plan: exit code %d, want 3", r.code)
	}
	wantContains(t, r.out, apiServerFile, "Plan: 0 to add, 1 to change, 0 to destroy.")
	if n := strings.Count(r.out, "  + file") + strings.Count(r.out, "  ~ file"); n != 1 {
		t.Errorf("the plan has %d files, want only the manifest", n)
	}
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	if out := s.sh(s.planes[1].Name, "kubectl --kubeconfig /etc/kubernetes/admin.conf get leases -n kube-system -o name"); strings.Contains(out, "kubewright") {
		t.Errorf("the lease was not released:\n%s", out)
	}
	s.wantCluster()
	s.wantWorkload()
}
