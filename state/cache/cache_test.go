package cache_test

import (
	"testing"

	"github.com/kubewright/kubewright/state/cache"
)

// TestCacheComputesOncePerInput checks that a result is computed once as long as few other inputs come between, and that
// inputs do not share results.
func TestCacheComputesOncePerInput(t *testing.T) {
	t.Parallel()
	made := 0
	double := cache.New(func(n int) int { made++; return 2 * n })
	for range 3 {
		for n := range 1000 {
			if got := double.Of(n); got != 2*n {
				t.Fatalf("of %d: %d", n, got)
			}
		}
	}
	if made != 1000 {
		t.Errorf("1000 inputs were computed %d times", made)
	}
	for n := range 10_000 {
		double.Of(n)
	}
	if before := made; double.Of(0) != 0 || made != before+1 {
		t.Error("nothing is ever evicted")
	}
}
