package planner

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state"
)

// TestUnkeyedPlanHasNoFingerprints checks that Unkeyed keeps the references of secrets and removes their
// fingerprints. Observed sensitive values stay hidden.
func TestUnkeyedPlanHasNoFingerprints(t *testing.T) {
	t.Parallel()
	text := func(p *Plan) string {
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	plan := func(fingerprint string) *Plan {
		secret, seen := state.SensitiveValue("config:a", fingerprint), state.SensitiveValue("", fingerprint)
		args := state.Args([]state.Arg{{Name: "v", Value: "2"}, {Name: "w", Hidden: seen.AsSensitive()}})
		changes := []Change{{Attributes: []AttributeChange{
			{Path: "x", Before: args, After: state.List(secret, state.Map(map[string]state.Value{"y": secret, "z": state.Int(1)}))},
			{Path: "y", Before: seen, After: secret},
		}}}
		return &Plan{
			Changes: changes, Drift: changes, Outputs: map[string]state.Value{"o": secret, "p": state.Int(1)},
			Steps: []Step{{Operations: Operations{WriteFile{Path: "/o", Content: Content{Ref: "config:a", Fingerprint: fingerprint}}}}},
		}
	}
	p := plan("abc")
	bare := text(p.Unkeyed())
	if strings.Contains(bare, "abc") || strings.Count(bare, "config:a") != 8 || strings.Count(bare, "unknown") != 4 {
		t.Errorf("got %s", bare)
	}
	if bare != text(plan("def").Unkeyed()) || bare != text(p.Unkeyed().Unkeyed()) {
		t.Error("the result depends on the key")
	}
	if text(p) != text(plan("abc")) {
		t.Error("the plan itself was changed")
	}
}

// TestUnkeyedOperationsHaveNoFingerprints checks that no fingerprint is left in any operation, and that the original
// operation keeps its fingerprints.
func TestUnkeyedOperationsHaveNoFingerprints(t *testing.T) {
	t.Parallel()
	left := regexp.MustCompile(`"fingerprint":"[^"]`)
	for _, zero := range operations {
		op := filled(t, zero)
		before := normal(op)
		if after := normal(unkeyed(op)); left.MatchString(after) {
			t.Errorf("%s: a fingerprint is left in %s", zero.Op(), after)
		}
		if normal(op) != before {
			t.Errorf("%s was changed itself", zero.Op())
		}
	}
}
