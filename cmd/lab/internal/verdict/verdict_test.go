package verdict

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// remaining are the disagreements that are not mended yet, by version. The number only goes down.
var remaining = map[string]int{"v1.36.3": 0}

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
			if c.Undecided > 0 || len(verdicts) < 2000 {
				t.Errorf("%d mutations, of which %d are undecided; a table has 2000 at least, and none undecided", len(verdicts), c.Undecided)
			}
			if got, want := len(c.Disagreements), remaining[version]; got != want {
				t.Errorf("%d disagreements, not %d: agree with the component, except with a reason, or lower the number in remaining", got, want)
			}
			for _, x := range slices.Concat(hostAlone, stricter) {
				if c.Excepted[x.why] == 0 {
					t.Errorf("no mutation needs this exception: %s", x.why)
				}
			}
		})
	}
}

// TestGenerateIsDeterministic generates twice: the same seed gives the same mutations, of every
// component, another seed others.
func TestGenerateIsDeterministic(t *testing.T) {
	t.Parallel()
	text := func(seed uint64) string {
		var out strings.Builder
		for _, m := range Generate(seed, 36, 2) {
			out.WriteString(m.String() + "\n")
			again, err := parseMutation(m.Component, strings.SplitN(m.String(), "\t", 2)[1])
			if err != nil || again.String() != m.String() {
				t.Errorf("%s is read as %s: %v", m, again, err)
			}
		}
		return out.String()
	}
	first := text(1)
	if first != text(1) || first == text(2) {
		t.Error("mutations do not depend on the seed alone")
	}
	for _, component := range Components {
		if n := strings.Count(first, "\n"+component+"\t"); n < 50 {
			t.Errorf("%d mutations of %s", n, component)
		}
	}
}
