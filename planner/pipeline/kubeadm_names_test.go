package pipeline_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
)

// TestKubeadmNames checks that every name of kubeadm's phases and of their parts is either taken by
// -target and -skip-phase alike, as phases that exist, or refused with a reason.
func TestKubeadmNames(t *testing.T) {
	t.Parallel()
	var names []string
	for parent, parts := range config.Phases() {
		names = append(names, parent)
		for _, part := range parts {
			names = append(names, parent+"/"+part)
		}
	}
	if len(names) < 70 {
		t.Fatalf("only %d names", len(names))
	}
	for _, name := range names {
		skipped, why := pipeline.SkippedPhase(name)
		selectors, err := pipeline.Selectors(name)
		if (len(skipped) == 0) != (why != "") || (err != nil) != (why != "") {
			t.Errorf("%s: -skip-phase leaves out %v, or says %q; -target selects %v, or says %v", name, skipped, why, selectors, err)
			continue
		}
		if why != "" {
			if !strings.HasSuffix(why, ".") || !strings.Contains(err.Error(), strings.TrimSuffix(why, ".")) {
				t.Errorf("%s is refused with %q and %q", name, why, err)
			}
			continue
		}
		for i, s := range selectors {
			whole, _, _ := strings.Cut(skipped[i], "/")
			if s.Phase != whole || !slices.Contains(pipeline.Names(), s.Phase) || s.Part != "" && s.Part != skipped[i] {
				t.Errorf("%s: -target selects %+v, -skip-phase leaves out %s", name, s, skipped[i])
			}
			again, err := pipeline.Selectors(s.String())
			if err != nil || len(again) != 1 || again[0].String() != s.String() {
				t.Errorf("%s is written %s in a saved plan, and read as %v: %v", name, s, again, err)
			}
		}
		if at, err := pipeline.Selectors(`node.cp["a/b"]/` + name); err != nil || at[0].Target.Key != "a/b" || at[0].Phase != selectors[0].Phase {
			t.Errorf("%s of a node is %v: %v", name, at, err)
		}
	}
}

// TestEachItemHasItsPart checks that in a cluster that is founded the items of a phase that has parts
// belong to one of them, and that no part is without items.
func TestEachItemHasItsPart(t *testing.T) {
	t.Parallel()
	items := map[string]int{}
	for _, name := range pipeline.KubeadmNames() {
		if s, err := pipeline.Selectors(name); err == nil && s[0].Part == name {
			items[name] = 0
		}
	}
	r, diags := pipeline.Plan(blankHosts(cluster(1, 0)), planner.Plan{}, planner.Options{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	for _, ch := range r.Plan.Changes {
		phase := ch.Address.Phase
		part := pipeline.PartOf(r.Fleet, ch.Address)
		if part != "" {
			items[part]++
		}
		if slices.ContainsFunc(slices.Collect(maps.Keys(items)), func(name string) bool { return strings.HasPrefix(name, phase+"/") }) && part == "" {
			t.Errorf("%s belongs to no part of %s", ch.Address, phase)
		}
	}
	for name, n := range items {
		if n == 0 {
			t.Errorf("the part %s has no items", name)
		}
	}
}
