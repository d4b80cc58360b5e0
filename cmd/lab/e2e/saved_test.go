//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestSaved applies a saved plan, and a plan that is approved by its digest, on a running
// cluster; if what the plan depends on has changed, neither changes anything.
func TestSaved(t *testing.T) {
	begin(t)
	s := newSite(t, "e2esv", 1, 1)
	s.workerExtra = poolLabel("batch")
	s.configure()
	s.logIn()
	s.founded()
	t.Run("file", func(t *testing.T) { s.within(t, s.savedPlan) })
	if !t.Failed() {
		t.Run("digest", func(t *testing.T) { s.within(t, s.approvedPlan) })
	}
	s.wantCluster()
}

// podsAndPool configures the kubelets' maxPods and the worker's label.
func (s *site) podsAndPool(pods int, pool string) {
	s.t.Helper()
	s.kubelet = fmt.Sprintf("\n      maxPods = %d", pods)
	s.workerExtra = poolLabel(pool)
	s.configure()
}

// savedPlan saves a plan, changes what it depends on, on a host and then in the API, reverts
// that, and applies the plan, which works only once.
func (s *site) savedPlan() {
	w := s.workers[0].Name
	s.podsAndPool(120, "general")
	r := s.must("plan", "-no-color", "-out=plan.kwplan")
	wantContains(s.t, r.out, "Saved the plan to: plan.kwplan", `    kubewright apply "plan.kwplan"`)
	saved := []string{"apply", "-no-color", "plan.kwplan"}

	s.sh(w, "sed -i 's/^rotateCertificates: true/&\\nmaxPods: 50/' "+kubeletFile)
	s.wantRefused(saved, "Saved plan is stale", fmt.Sprintf("node.worker[%q]/kubelet-start/file:%s", w, kubeletFile),
		"maxPods was not there when the plan was saved, and is 50 now", "Nothing was changed.")
	s.sh(w, "sed -i '/^maxPods: 50$/d' "+kubeletFile)

	s.kubectl("label", "node", w, "node.example.com/pool=other", "--overwrite")
	s.wantRefused(saved, "Saved plan is stale", fmt.Sprintf("node.worker[%[1]q]/mark-worker/node:%[1]s", w),
		`was "batch" when the plan was saved, and is "other" now`, "Nothing was changed.")
	s.kubectl("label", "node", w, "node.example.com/pool=batch", "--overwrite")

	r = s.must(saved...)
	wantContains(s.t, r.out, "Apply complete!")
	if strings.Contains(r.out, "Enter a value") {
		s.t.Error("apply of a saved plan asks for approval")
	}
	s.wantNoChanges()
	s.wantRefused(saved, "Saved plan is stale", "It was applied already, to its end")
}

var approveCommand = regexp.MustCompile(`kubewright apply (-approve=[0-9a-f]+)\n`)

// approvedPlan approves a plan by its digest, and checks that a changed configuration or host
// makes it another plan.
func (s *site) approvedPlan() {
	w := s.workers[0].Name
	s.podsAndPool(130, "general")
	found := approveCommand.FindStringSubmatch(s.must("plan", "-no-color").out)
	if found == nil {
		s.t.Fatal("the plan does not say how to approve it")
	}
	approved := []string{"apply", "-no-color", found[1]}

	s.podsAndPool(140, "general")
	s.wantRefused(approved, "Another plan was approved", "Nothing was changed.")
	s.podsAndPool(130, "general")
	s.sh(w, "sed -i 's/^maxPods: 120$/maxPods: 50/' "+kubeletFile)
	s.wantRefused(approved, "Another plan was approved", "Nothing was changed.")
	s.sh(w, "sed -i 's/^maxPods: 50$/maxPods: 120/' "+kubeletFile)

	wantContains(s.t, s.must(approved...).out, "Apply complete!")
	s.wantNoChanges()
	s.eventually("the kubelet uses the approved maxPods", func() (string, bool) {
		out := s.podsOf(w)
		return out, out == "130"
	})
}

// wantRefused checks that a command fails with these texts and changes nothing.
func (s *site) wantRefused(command []string, says ...string) {
	s.t.Helper()
	before := s.stands()
	r := s.run(command...)
	if r.code != 1 {
		s.t.Errorf("kubewright %s: exit code %d, want 1", strings.Join(command, " "), r.code)
	}
	wantContains(s.t, words(r.out), says...)
	s.wantUntouched(before)
}
