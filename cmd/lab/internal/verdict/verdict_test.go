package verdict

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestValidationAgreesWithComponents compares what kubewright refuses with what the real
// components of the versions refused.
func TestValidationAgreesWithComponents(t *testing.T) {
	t.Parallel()
	tables, err := filepath.Glob("testdata/v*.txt")
	if err != nil || len(tables) == 0 {
		t.Fatal("no tables of verdicts: ", err)
	}
	for _, table := range tables {
		version := strings.TrimSuffix(filepath.Base(table), ".txt")
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(table)
			if err != nil {
				t.Fatal(err)
			}
			verdicts, err := Parse(string(content))
			if err != nil {
				t.Fatal(err)
			}
			c := Compare(version, verdicts)
			t.Logf("%s: %d mutations, %d judged alike, %d undecided, %d disagreements", version, len(verdicts), c.Agreed, c.Undecided, len(c.Disagreements))
			for _, why := range slices.Sorted(maps.Keys(c.Excepted)) {
				t.Logf("%4d excepted: %s", c.Excepted[why], why)
			}
			for _, d := range c.Disagreements {
				t.Log(d)
			}
		})
	}
}
