//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestGone powers a worker and a control plane off for good. Silence alone removes neither from
// the cluster; a declaration by the operator does, once by a flag and once in the configuration.
func TestGone(t *testing.T) {
	begin(t)
	s := newSite(t, "e2egone", 3, 2)
	s.logIn()
	s.founded()

	t.Run("host that answers", func(t *testing.T) { s.within(t, s.notGone) })
	t.Run("worker", func(t *testing.T) { s.within(t, s.workerGone) })
	t.Run("control plane", func(t *testing.T) { s.within(t, s.planeGone) })
	if !t.Failed() {
		s.must("destroy", "-auto-approve", "-no-color")
	}
}

// notGone checks that a host that answers is not accepted as gone.
func (s *site) notGone() {
	all := s.workers
	s.become(s.planes, all[:1])
	r := s.run("plan", "-no-color", fmt.Sprintf("-forget-unreachable=node.worker[%q]", all[1].Name))
	if r.code != 1 {
		s.t.Errorf("plan that declares an answering host gone: exit code %d, want 1", r.code)
	}
	wantContains(s.t, words(r.out), "Host is still alive", "is declared gone for good, but it answers")
	s.become(s.planes, all)
	s.wantNoChanges()
}

// workerGone removes a powered-off worker by the flag.
func (s *site) workerGone() {
	gone := s.workers[1]
	address := fmt.Sprintf("node.worker[%q]", gone.Name)
	s.powerOff(gone)
	s.wantSilent("Host could not be observed", address, "To continue without it: -allow-unreachable")
	s.wantLeftAlone(gone)

	s.become(s.planes, s.workers[:1])
	s.wantSilent("Host could not be observed", address, "-forget-unreachable='"+address+"'")
	s.wantLeftAlone(gone)
	s.wantUnheard(gone)
	r := s.applied("-forget-unreachable=" + address)
	wantContains(s.t, words(r.out), "removes the node from the cluster through the others; its old host is not changed", "Resources: 0 added, 0 changed, 1 destroyed.")
	s.wantNode(gone, false)
}

// planeGone removes a powered-off control plane by a removed block, which may stay or be deleted
// afterwards.
func (s *site) planeGone() {
	gone := s.planes[len(s.planes)-1]
	address := fmt.Sprintf("node.cp[%q]", gone.Name)
	s.powerOff(gone)
	s.wantSilent("Control plane could not be observed", address, "The cluster goes on without it: 2 of 3 members of etcd answer, quorum is 2.")
	s.wantNode(gone, true)
	s.wantUnheard(gone)
	s.planeMissing(gone)

	s.top = fmt.Sprintf("removed {\n  from        = %s\n  unreachable = true\n}\n", address)
	s.become(s.planes[:len(s.planes)-1], s.workers)
	r := s.applied()
	wantContains(s.t, words(r.out), gone.Name+" leaves: 2, quorum 2; held at every step.",
		"removes the node from the cluster through the others; its old host is not changed", "Resources: 0 added, 0 changed, 1 destroyed.")
	s.wantNode(gone, false)
	s.top = ""
	s.configure()
	s.wantNoChanges()
}

// planeMissing changes a worker and the API servers while a control plane is missing: the worker gets
// its label, and the API servers stay as they are until all control planes are back.
func (s *site) planeMissing(gone lab.Host) {
	serving := func() (out string) {
		for _, h := range s.planes[:len(s.planes)-1] {
			out += s.sh(h.Name, "for p in $(pgrep -x 'kube-apiserver|etcd'); do cut -d ' ' -f 1,2,22 /proc/$p/stat; done | sort -n") + "\n"
		}
		return out
	}
	started := serving()
	s.extra = "  api_server {\n    arg \"audit-log-maxage\" { value = \"30\" }\n  }\n"
	s.workerExtra = poolLabel("batch")
	s.configure()
	withheld := []string{
		"wait until what could not be observed is back", "Withheld: restarts a component of a control plane while " + gone.Name + " is missing: 2 of 3 serve the API.",
		"Withheld: its host was not observed",
	}
	s.wantSilent(withheld...)
	r := s.run("apply", "-auto-approve", "-allow-unreachable", "-no-color")
	if r.code != 9 { // done, and something is withheld
		s.t.Errorf("apply without a control plane: exit code %d, want 9", r.code)
	}
	wantContains(s.t, words(r.out), append(withheld, "Resources: 0 added, 1 changed, 0 destroyed.")...)
	if got := s.kubectl("get", "node", s.nodeName(s.workers[0]), "-o", "jsonpath={.metadata.labels.node\\.example\\.com/pool}"); got != "batch" {
		s.t.Errorf("label of %s is %q", s.workers[0].Name, got)
	}
	if now := serving(); now != started {
		s.t.Errorf("processes changed:\n%s\nbefore:\n%s", now, started)
	}
	s.extra = ""
	s.configure()
}

func (s *site) powerOff(h lab.Host) {
	s.t.Helper()
	if err := s.Kill(context.Background(), h.Name); err != nil {
		s.t.Fatal(err)
	}
}

// wantUnheard waits until the API reports that a host's kubelet is no longer heard of: before
// that the host is not accepted as gone, even if declared so.
func (s *site) wantUnheard(h lab.Host) {
	s.t.Helper()
	s.eventually("the kubelet of "+h.Name+" is no longer heard of", func() (string, bool) {
		out := s.kubectl("get", "node", s.nodeName(h), "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
		return out, strings.TrimSpace(out) == "Unknown"
	})
}

// wantSilent checks that plan fails because a host does not answer.
func (s *site) wantSilent(says ...string) {
	s.t.Helper()
	r := s.run("plan", "-detailed-exitcode", "-no-color")
	if r.code != 6 { // a host does not answer
		s.t.Errorf("plan with a silent host: exit code %d, want 6", r.code)
	}
	wantContains(s.t, words(r.out), says...)
}

// wantLeftAlone checks that a plan that is allowed to continue without a host does not change it.
func (s *site) wantLeftAlone(h lab.Host) {
	s.t.Helper()
	r := s.must("plan", "-allow-unreachable", "-no-color")
	wantContains(s.t, r.out, "1 target is left alone")
	if strings.Contains(r.out, "will be destroyed") {
		s.t.Error("the plan removes a node whose host is silent")
	}
	s.wantNode(h, true)
}

// wantNode checks whether the API knows the node of a host.
func (s *site) wantNode(h lab.Host, there bool) {
	s.t.Helper()
	nodes := strings.Fields(s.kubectl("get", "nodes", "-o", "name"))
	if slices.Contains(nodes, "node/"+s.nodeName(h)) != there {
		s.t.Errorf("the API has %v; whether %s is among them must be %v", nodes, h.Name, there)
	}
}
