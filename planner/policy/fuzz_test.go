package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner/policy"
)

// FuzzParseApprovals checks that no file of approvals panics, and that parsed approvals survive a
// round trip.
func FuzzParseApprovals(f *testing.F) {
	f.Add("0123456789abcdef ada  # on Monday\n\n# nobody\n0123456789ABCDEF0 Grace  Hopper\n")
	f.Add("0123456789abcdef\tada")
	f.Add("0123456789abcdef ")
	f.Fuzz(func(t *testing.T, text string) {
		approvals, err := policy.ParseApprovals(text)
		if err != nil {
			return
		}
		var lines strings.Builder
		for _, a := range approvals {
			fmt.Fprintf(&lines, "%s %s\n", a.Digest, a.Name)
		}
		if again, err := policy.ParseApprovals(lines.String()); err != nil || !slices.Equal(again, approvals) {
			t.Errorf("got %q of %q, and of what that says %q, %v", approvals, text, again, err)
		}
	})
}
