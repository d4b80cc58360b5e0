package verdict

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestValidationAgreesWithComponents compares what kubewright refuses with what the real
// components of the versions refused.
func TestValidationAgreesWithComponents(t *testing.T) {
	t.Parallel()
	versions, err := Versions()
	if err != nil || !slices.Contains(versions, Base) {
		t.Fatal("no table of verdicts of ", Base, ": ", err)
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			verdicts, err := Known(version)
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
			if len(c.Disagreements) > 0 {
				t.Errorf("%d disagreements: agree with the component, or except with a reason", len(c.Disagreements))
			}
			for _, x := range slices.Concat(hostAlone, stricter) {
				if c.Excepted[x.why] == 0 && version == Base {
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
