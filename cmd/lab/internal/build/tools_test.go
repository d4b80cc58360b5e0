package build

import (
	"slices"
	"testing"
)

// TestMissingToolsAreListedOnce checks that a package is listed once, and only if its program is missing.
func TestMissingToolsAreListedOnce(t *testing.T) {
	t.Parallel()
	got := missing(map[string]string{"sh": "dash", "kw-none": "zeta", "kw-neither": "zeta", "kw-nor": "alpha"})
	if want := []string{"alpha", "zeta"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
