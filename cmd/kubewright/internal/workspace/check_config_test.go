package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/planner/pipeline"
)

// TestMistakeIsReportedOnce checks that a mistake is reported once, although something then cannot
// be rendered, and that no mistake stops the search for others.
func TestMistakeIsReportedOnce(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "config", "hclconfig", "testdata", "invalid", "*.hcl"))
	if err != nil || len(names) == 0 {
		t.Fatal("no files", err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		cfg, diags := hclconfig.Load(hclconfig.Options{FS: fstest.MapFS{"main.hcl": {Data: b}}, ToolVersion: "0.1.0"})
		if cfg == nil {
			continue
		}
		for _, d := range pipeline.Check(cfg, diags...) {
			t.Errorf("%s:%d: %s: %s", filepath.Base(name), d.Subject.Line, d.Summary, d.Detail)
		}
	}
}
