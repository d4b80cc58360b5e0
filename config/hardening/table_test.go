package hardening_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/hardening"
)

// TestTableIsInOrder checks that controls are in the order of their numbers, and named once.
func TestTableIsInOrder(t *testing.T) {
	t.Parallel()
	parts := func(number string) []int {
		var out []int
		for p := range strings.SplitSeq(strings.TrimPrefix(number, "V-"), ".") {
			n := 0
			if _, err := fmt.Sscan(p, &n); err != nil {
				t.Fatalf("%s: %v", number, err)
			}
			out = append(out, n)
		}
		return out
	}
	numbers := hardening.Numbers()
	for i := 1; i < len(numbers); i++ {
		if slices.Compare(parts(numbers[i-1]), parts(numbers[i])) >= 0 {
			t.Errorf("%s comes before %s", numbers[i-1], numbers[i])
		}
	}
	for _, c := range hardening.Controls {
		if c.Title == "" || len(c.Settings) == 0 {
			t.Errorf("%s has no title, or asks for nothing", c.Number)
		}
		for _, s := range c.Settings {
			if !s.Value.IsNull() && !s.Must.Allows(s.Text()) {
				t.Errorf("%s: the value of %s contradicts the control", c.Number, s.Name)
			}
		}
	}
}

// TestReferenceListsControls writes the reference of controls with UPDATE=1, and otherwise compares it.
func TestReferenceListsControls(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "reference", "hardening.md")
	want := hardening.Reference()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("docs/reference/hardening.md is not what the table says; UPDATE=1 go test ./config/hardening writes it (%v)", err)
	}
}
