package build

import (
	"slices"
	"testing"
)

// TestMissingTools checks that a package is listed once, and only if its program is missing.
func TestMissingTools(t *testing.T) {
	t.Parallel()
	got := missing(map[string]string{"sh": "dash", "kw-none": "zeta", "kw-neither": "zeta", "kw-nor": "alpha"})
	if want := []string{"alpha", "zeta"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
