package observe

import "testing"

// TestHostQueriesShareNoLists checks that queries share no lists: those of several hosts are sorted
// concurrently.
func TestHostQueriesShareNoLists(t *testing.T) {
	t.Parallel()
	first, second := baseQuery(true), baseQuery(true)
	first.Sysctls[0], first.Commands[0] = "changed", "changed"
	if second.Sysctls[0] == "changed" || second.Commands[0] == "changed" {
		t.Error("two queries share a list")
	}
}
