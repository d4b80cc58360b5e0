//go:build e2e

package e2e

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
	oracle "github.com/kubewright/kubewright/cmd/lab/internal/verdict"
)

// seedVariable asks for the mutations of an earlier run.
const seedVariable = "KUBEWRIGHT_VERDICT_SEED"

// TestVerdicts lets the real components judge mutations of a fresh seed, and fails for each that
// kubewright judges in another way.
func TestVerdicts(t *testing.T) {
	begin(t)
	seed := rand.Uint64()
	if s := os.Getenv(seedVariable); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("again with %s=%d", seedVariable, seed)
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	cache.Log = os.Stderr
	release, err := build.FindRelease(lab.DefaultKubernetes)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	l, err := oracle.NewLab(ctx, cache, release, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	verdicts, err := l.Run(ctx, oracle.Generate(seed, l.Minor, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if v.Answer == oracle.Undecided {
			t.Error(v)
		}
	}
	c := oracle.Compare(release.Kubernetes, verdicts)
	t.Logf("%d mutations, %d judged alike, %d disagreements", len(verdicts), c.Agreed, len(c.Disagreements))
	for _, d := range c.Disagreements {
		t.Error(d)
	}
}
