//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestOracle runs real kubeadm over all configurations of package kubeadmtest, and checks that
// kubeadm still writes the goldens, with which make test compares what kubewright renders.
func TestOracle(t *testing.T) {
	begin(t)
	oracle := filepath.Join(t.TempDir(), "oracle")
	compile := exec.Command("go", "build", "-trimpath", "-o", oracle, "../oracle")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0") // it acts as systemctl in an empty root
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the oracle: %v\n%s", err, out)
	}
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	cache.Log = os.Stderr
	for _, release := range build.Releases() {
		t.Run(release.Kubernetes, func(t *testing.T) {
			if release.Kubernetes != lab.DefaultKubernetes {
				long(t)
			}
			if _, err := cache.Programs(context.Background(), release, "kubeadm"); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(oracle, "-check", "-version", strings.TrimPrefix(release.Kubernetes, "v"),
				"-programs", cache.Path("programs"), "-out", "../../../planner/kubeadm/testdata/oracle")
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			t.Logf("kubeadm %s: %s", release.Kubernetes, lines[len(lines)-1])
			if err != nil {
				t.Errorf("the goldens differ from what kubeadm writes: %v", err)
			}
		})
	}
}
