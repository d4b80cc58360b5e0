package export_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
)

// warned gives a plan warnings that name the pods that end with each node.
func warned(plan *planner.Plan, nodes int, pods string) *planner.Plan {
	var list diag.Diagnostics
	for i := range nodes {
		list.Append(diag.Warningf("Node is removed without a drain", "w%d leaves: %s.", i, pods).At(viewtest.Line(3)))
	}
	plan.Diagnostics = append(plan.Diagnostics, list.JSON(nil)...)
	return plan
}

// TestWarningsAreNamedBelowPlan checks that a plan that asks for approval names, below it, the warnings
// printed above it.
func TestWarningsAreNamedBelowPlan(t *testing.T) {
	refresh := viewtest.DriftPlan()
	refresh.RefreshOnly = true
	settled := viewtest.EmptyPlan()
	settled.RefreshOnly = true
	for _, tt := range []struct {
		what  string
		plan  *planner.Plan
		width int
		want  string
	}{
		{"none", viewtest.DestroyPlan(), 80, ""},
		{"two alike", warned(viewtest.DestroyPlan(), 2, "shop/db"), 80, "\n\n2 warnings above: Node is removed without a drain (2).\n\nPlan: "},
		{"a small terminal", warned(viewtest.UpgradePlan(), 2, "shop/db"), 60, "\n\n4 warnings above: Removed APIs are in use; Pods cannot be\nrescheduled; Node is removed without a drain (2).\n\nPlan: "},
		{"only for the state", warned(refresh, 1, "shop/db"), 80, "\n\n1 warning above: Node is removed without a drain.\n\nThis is a refresh-only plan"},
		{"nothing for the state", warned(settled, 1, "shop/db"), 80, ""},
		{"nothing to do", warned(viewtest.EmptyPlan(), 1, "shop/db"), 80, ""},
	} {
		got := viewtest.Render(t, tt.plan, ui.Options{Width: tt.width})
		if !strings.Contains(got, tt.want) || tt.want == "" && strings.Contains(got, "above:") {
			t.Errorf("%s: the text does not have %q:\n%s", tt.what, tt.want, got)
		}
	}
}

// TestManyWarningsLeaveRoomForChanges checks that warnings leave room for the changes in a comment, and that the
// summaries of those that do not fit are listed. An annotation is shortened, and not left out.
func TestManyWarningsLeaveRoomForChanges(t *testing.T) {
	plan := warned(viewtest.UpdatePlan(), 300, strings.Repeat("shop/web-0 (ReplicaSet), ", 40)+"shop/db")
	comment := planAs(t, plan, "markdown")
	full := strings.Count(comment, "> [!WARNING]")
	if left := fmt.Sprintf("- **%d more warnings**: Node is removed without a drain (%d). `kubewright show` prints all of them.", 301-full, 301-full); full < 5 || !strings.Contains(comment, left) {
		t.Errorf("the comment has %d warnings, and not %q", full, left)
	}
	if len(comment) > 65000 || !strings.Contains(comment, "| update | `node.cp[\"cp1\"]`") || !strings.Contains(comment, "maxPods") {
		t.Errorf("the comment of %d bytes has no room for the changes", len(comment))
	}
	long := planAs(t, warned(viewtest.UpdatePlan(), 1, strings.Repeat("shop/web-0 (ReplicaSet), ", 400)), "github")
	if !strings.Contains(long, "::w0 leaves: shop/web-0") || !strings.Contains(long, "…\n") {
		t.Errorf("a long warning is missing:\n%s", long)
	}
}
