package sizes_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/tools/sizes"
)

const (
	// own is the module of the program.
	own = "github.com/kubewright/kubewright"
	// page has a reason for each dependency of more than notable bytes.
	page    = "../../docs/dependencies.md"
	notable = 1_000_000
	// maxProgram is the limit of a release in bytes, as in tools/release.
	maxProgram = 70_000_000
	// maxAllocations and maxBytes limit what the program allocates before main. Each of them takes
	// time from every command, also from the completion of a word.
	maxAllocations = 40_000
	maxBytes       = 6_000_000
)

// build builds the program for linux/amd64 and returns its path.
func build(t *testing.T, ldflags string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "kubewright")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags=grpcnotrace,nethttpomithttp2", "-gcflags=all=-dwarf=false", "-gcflags=k8s.io/api/...=-dwarf=false -l", "-ldflags="+ldflags, "-o", program, "./cmd/kubewright")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestDependenciesHaveReasons checks the size of the program, and that docs/dependencies.md has a
// row for each dependency that adds more than a megabyte to it, and for no other. It prints the
// sizes (make sizes).
func TestDependenciesHaveReasons(t *testing.T) {
	t.Parallel()
	info, err := os.Stat(build(t, "-s -w"))
	if err != nil {
		t.Fatal(err)
	}
	modules, err := sizes.Measure(build(t, "-w"), info.Size())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		reasons[row[1]] = true
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%7.1f MB  the program for linux/amd64\n", float64(info.Size())/1e6)
	for _, m := range modules {
		if m.Bytes < notable/2 {
			break
		}
		fmt.Fprintf(&table, "%7.1f MB  %s\n", float64(m.Bytes)/1e6, m.Path)
		if m.Bytes > notable && m.Path != own && !reasons[m.Path] {
			t.Errorf("%s adds %.1f MB to the program, and has no reason in docs/dependencies.md", m.Path, float64(m.Bytes)/1e6)
		}
		delete(reasons, m.Path)
	}
	for path := range reasons {
		t.Errorf("docs/dependencies.md has a row for %s, which adds less than half a megabyte: remove it", path)
	}
	if info.Size() > maxProgram {
		t.Errorf("the program has %d bytes, more than %d", info.Size(), maxProgram)
	}
	t.Logf("\n%s", table.String())
}

// TestStartUp checks how much the program does before main: what imported packages initialise,
// whether a command needs them or not.
func TestStartUp(t *testing.T) {
	t.Parallel()
	w, err := sizes.StartUp(build(t, "-s -w"), "version")
	if err != nil {
		t.Skipf("the program for linux/amd64 does not run here: %v", err)
	}
	t.Logf("%d packages initialise themselves, with %d allocations of %d bytes", w.Packages, w.Allocations, w.Bytes)
	if w.Allocations > maxAllocations || w.Bytes > maxBytes {
		t.Errorf("more than %d allocations or %d bytes before main: GODEBUG=inittrace=1 kubewright version lists them by package", maxAllocations, maxBytes)
	}
}
