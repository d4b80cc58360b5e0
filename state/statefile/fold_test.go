package statefile

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kubewright/kubewright/state"
)

func address(text string) state.Address {
	a, err := state.ParseAddress(text)
	if err != nil {
		panic(err)
	}
	return a
}

func fileItem(text, sha string) state.Item {
	return state.Item{
		Address: address(text), Kind: state.KindFile,
		Attributes: state.Map(map[string]state.Value{"sha256": state.String(sha)}),
		Origin:     map[string]state.Source{"sha256": {File: "cluster.hcl", Line: 1}},
	}
}

func TestFoldRecordsRun(t *testing.T) {
	t.Parallel()
	cp1, worker := state.NodeKeyTarget("cp", "cp1"), state.NodeTarget("w")
	job := state.Job{Operation: "apply", ToolVersion: "1.0.0", Add: 2}
	at := func(second int) time.Time { return time.Date(2026, time.March, 2, 9, 0, second, 0, time.UTC) }
	got, err := Fold(nil, []state.Entry{
		{Time: at(0), Kind: state.EntryRun, Run: "r1", Token: 8, Lineage: "l1", Plan: "sha256:77ab", Who: "me", Steps: 3, Partial: true, Job: job},
		{Kind: state.EntryBegin, Step: `node.cp["cp1"]/certs`, Op: new(0)},
		{
			Kind: state.EntryDone, Step: `node.cp["cp1"]/certs`, Op: new(0),
			Learned: state.Learned{Nodes: map[state.Target]*state.RecordedNode{cp1: {Name: "cp1"}, worker: {Name: "w"}}},
		},
		{Time: at(2), Kind: state.EntryDone, Step: `node.cp["cp1"]/certs`, Phase: "certs", Action: "create", Seconds: 2, Learned: state.Learned{
			Items:    []state.Item{fileItem(`node.cp["cp1"]/certs/file:/b`, "1"), fileItem(`node.cp["cp1"]/certs/file:/a`, "1"), fileItem("node.w/prepare/file:/w", "1")},
			Clusters: map[string]*state.RecordedCluster{"prod": {CA: "9f2c"}, "old": {}},
		}},
		{Kind: state.EntryFailed, Step: "cluster.prod/addon", Error: "timed out", Learned: state.Learned{
			Items: []state.Item{fileItem(`cluster.old.addon["cni"]/addon/object:x`, "1"), fileItem(`node.cp["cp1"]/certs/file:/b`, "2")},
		}},
		{Time: at(3), Kind: state.EntryDone, Step: "node.w/reset", Phase: "reset", Action: "delete", Seconds: 1, Learned: state.Learned{
			Left: []state.Target{worker, state.ClusterTarget("old")}, Gone: []state.Address{address(`node.cp["cp1"]/certs/file:/a`)},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := fileItem(`node.cp["cp1"]/certs/file:/b`, "2")
	b.Origin = nil
	want := &state.State{
		FormatVersion: 1, Lineage: "l1", RunToken: 8,
		Clusters:  map[string]*state.RecordedCluster{"prod": {CA: "9f2c"}},
		Nodes:     map[state.Target]*state.RecordedNode{cp1: {Name: "cp1"}},
		Items:     []state.Item{b},
		Durations: map[string]float64{"certs/create": 2, "reset/delete": 1},
		Applies: []state.Apply{{
			Time: at(0), Run: "r1", Plan: "sha256:77ab", Who: "me", Job: job, Steps: 3, Done: 2, Failed: 1, Ended: at(3), Partial: true,
			Unfinished: true, Begun: []string{`node.cp["cp1"]/certs`, "node.w/reset"}, Left: []state.Target{worker, state.ClusterTarget("old")},
		}},
		Unseen: []string{`node.cp["cp1"]/certs`},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestFoldKeepsUnconfirmedSteps checks that a begun step is unseen until any run has confirmed
// it, or until its target is removed; the addons of a cluster are removed with it.
func TestFoldKeepsUnconfirmedSteps(t *testing.T) {
	t.Parallel()
	step := func(kind state.EntryKind, step string, refused bool) state.Entry {
		return state.Entry{Kind: kind, Step: step, Op: new(0), Refused: refused}
	}
	run := func(id string) state.Entry {
		return state.Entry{Kind: state.EntryRun, Run: id, Lineage: "l1", Steps: 3}
	}
	saw := func(steps ...string) state.Entry {
		return state.Entry{Kind: state.EntryDone, Learned: state.Learned{Seen: steps}}
	}
	entries := []state.Entry{
		run("r1"), step(state.EntryBegin, "node.w/images", false), step(state.EntryBegin, "node.v/certs", false), step(state.EntryFailed, "node.v/certs", true),
		run("r2"), step(state.EntryBegin, "node.w/certs", false), step(state.EntryBegin, "cluster.prod/addon", false), step(state.EntryBegin, "node.u/certs", false), step(state.EntryBegin, `cluster.old.addon["cni"]/addon`, false),
		{Kind: state.EntryDone, Step: "node.u/reset", Phase: "reset", Learned: state.Learned{Left: []state.Target{state.NodeTarget("u"), state.ClusterTarget("old")}}},
	}
	for name, c := range map[string]struct {
		entries []state.Entry
		want    []string
	}{
		"nothing observed":    {entries, []string{"cluster.prod/addon", "node.w/certs", "node.w/images"}},
		"something is open":   {append(slices.Clip(entries), saw("cluster.prod/addon", "node.w/images")), []string{"node.w/certs"}},
		"everything is done":  {append(slices.Clip(entries), saw("cluster.prod/addon", "node.w/certs", "node.w/images")), nil},
		"begun after a look":  {append(slices.Clip(entries), saw("cluster.prod/addon", "node.w/certs", "node.w/images"), run("r3"), step(state.EntryBegin, "node.w/drain", false)), []string{"node.w/drain"}},
		"something is learnt": {append(slices.Clip(entries), state.Entry{Kind: state.EntryDone}), []string{"cluster.prod/addon", "node.w/certs", "node.w/images"}},
	} {
		st, err := Fold(nil, c.entries)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(st.Unseen, c.want) {
			t.Errorf("%s: unseen are %v, want %v", name, st.Unseen, c.want)
		}
		again, err := Fold(st, c.entries)
		if err != nil || !slices.Equal(again.Unseen, c.want) {
			t.Errorf("%s: folded again, unseen are %v, want %v (%v)", name, again.Unseen, c.want, err)
		}
	}
}

// TestFoldRecordsProgressOfPlan checks that a plan is finished when all steps of a run that covers
// its rest are done, and that until then the begun steps are known, including those of the runs
// that it continues.
func TestFoldRecordsProgressOfPlan(t *testing.T) {
	t.Parallel()
	run := func(id, resumes string) state.Entry {
		return state.Entry{Kind: state.EntryRun, Run: id, Resumes: resumes, Plan: "p", Serial: 4, Steps: 2}
	}
	begin := func(step string) state.Entry { return state.Entry{Kind: state.EntryBegin, Step: step, Op: new(0)} }
	op := func(step string) state.Entry { return state.Entry{Kind: state.EntryDone, Step: step, Op: new(0)} }
	done := func(step string) state.Entry { return state.Entry{Kind: state.EntryDone, Step: step, Phase: "p"} }
	failed := func(step string) state.Entry { return state.Entry{Kind: state.EntryFailed, Step: step, Phase: "p"} }
	refused := func(step string) state.Entry {
		return state.Entry{Kind: state.EntryFailed, Step: step, Phase: "p", Refused: true}
	}
	later, another, partial := run("r2", "r1"), run("r2", ""), run("r2", "r1")
	later.Serial, partial.Serial, partial.Partial, another.Plan = 5, 5, true, "q"
	cut := []state.Entry{run("r1", ""), begin("b"), op("b"), done("b"), begin("a")}
	for _, tt := range []struct {
		name       string
		entries    []state.Entry
		serial     int64
		unfinished bool
		begun      []string
	}{
		{"nothing", []state.Entry{run("r1", "")}, 4, true, nil},
		{"a part", cut, 4, true, []string{"a", "b"}},
		{"all", append(slices.Clone(cut), op("a"), done("a")), 4, false, nil},
		{"all, and one failed", append(slices.Clone(cut), op("a"), failed("a")), 4, true, []string{"a", "b"}},
		{"refused by a gate", []state.Entry{run("r1", ""), failed("a")}, 4, true, nil},
		{"moved under it", append(slices.Clone(cut), refused("a")), 4, true, []string{"b"}},
		{"gone on", append(slices.Clone(cut), later, begin("c")), 4, true, []string{"a", "b", "c"}},
		{"gone on to the end", append(slices.Clone(cut), later, begin("a"), done("a"), begin("c"), done("c")), 4, false, nil},
		{"gone on to the end of a part", append(slices.Clone(cut), partial, begin("a"), done("a"), begin("c"), done("c")), 4, true, []string{"a", "b", "c"}},
		{"another plan", append(slices.Clone(cut), another, begin("c")), 4, true, []string{"c"}},
	} {
		st, err := Fold(nil, tt.entries)
		if err != nil {
			t.Fatal(err)
		}
		a := st.Applies[len(st.Applies)-1]
		if a.Serial != tt.serial || a.Unfinished != tt.unfinished || !slices.Equal(a.Begun, tt.begun) {
			t.Errorf("%s: got %+v", tt.name, a)
		}
		for _, before := range st.Applies[:len(st.Applies)-1] {
			if len(before.Begun) > 0 && (!a.Unfinished || a.Plan != before.Plan) {
				t.Errorf("%s: the steps begun earlier are still recorded: %+v", tt.name, before)
			}
		}
	}
}

// TestFoldKeepsRemovedTargets checks that removed targets stay recorded until an apply is completed
// and the state is written, including those of earlier applies with other plans.
func TestFoldKeepsRemovedTargets(t *testing.T) {
	t.Parallel()
	run := func(id string, steps int) state.Entry {
		return state.Entry{Kind: state.EntryRun, Run: id, Plan: id, Steps: steps}
	}
	leaves := func(name string) state.Entry {
		return state.Entry{Kind: state.EntryDone, Step: "node." + name + "/reset", Phase: "reset", Learned: state.Learned{Left: []state.Target{state.NodeTarget(name)}}}
	}
	first := []state.Entry{run("r1", 3), leaves("u"), leaves("v")}
	for _, tt := range []struct {
		name    string
		entries []state.Entry
		want    []state.Target
	}{
		{"none", []state.Entry{run("r1", 3)}, nil},
		{"two", first, []state.Target{state.NodeTarget("u"), state.NodeTarget("v")}},
		{"another run", append(slices.Clip(first), run("r2", 2)), []state.Target{state.NodeTarget("u"), state.NodeTarget("v")}},
		{"another leaves", append(slices.Clip(first), run("r2", 2), leaves("w")), []state.Target{state.NodeTarget("u"), state.NodeTarget("v"), state.NodeTarget("w")}},
		{"to the end", append(slices.Clip(first), run("r2", 1), leaves("w")), []state.Target{state.NodeTarget("u"), state.NodeTarget("v"), state.NodeTarget("w")}},
	} {
		st, err := Fold(nil, tt.entries)
		if err != nil {
			t.Fatal(err)
		}
		if got := st.HaveLeft(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v have left, want %v", tt.name, got, tt.want)
		}
		for _, before := range st.Applies[:len(st.Applies)-1] {
			if len(before.Left) > 0 {
				t.Errorf("%s: an apply that is not continued keeps them: %+v", tt.name, before)
			}
		}
		unfinished := st.Applies[len(st.Applies)-1].Unfinished
		if st.Written(); len(st.HaveLeft()) > 0 && !unfinished {
			t.Errorf("%s: they are still recorded after the end, with the state written: %v", tt.name, st.HaveLeft())
		}
	}
}

func TestFoldRefusesAnotherLineage(t *testing.T) {
	t.Parallel()
	if _, err := Fold(sample(), []state.Entry{{Kind: state.EntryRun, Run: "r1", Lineage: "l2"}}); !errors.Is(err, ErrForeign) {
		t.Errorf("error = %v", err)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	st := sample()
	for i := range maxApplies + 5 {
		var err error
		if st, err = Fold(st, []state.Entry{{Kind: state.EntryRun, Run: fmt.Sprint(i), Token: int64(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(st.Applies) != maxApplies || st.Applies[maxApplies-1].Run != fmt.Sprint(maxApplies+4) {
		t.Errorf("%d applies, the last %s", len(st.Applies), st.Applies[len(st.Applies)-1].Run)
	}
}

func drawEntries(t *rapid.T) []state.Entry {
	files := []string{"node.a/certs/file:/x", "node.a/certs/file:/y", "node.b/certs/file:/x", `cluster.prod.addon["cni"]/addon/object:z`}
	targets := []state.Target{state.NodeTarget("a"), state.NodeTarget("b"), state.ClusterTarget("prod")}
	entries := []state.Entry{{Kind: state.EntryRun, Run: "r1", Lineage: "l1", Token: 9, Steps: rapid.IntRange(1, 3).Draw(t, "steps")}}
	for range rapid.IntRange(0, 6).Draw(t, "entries") {
		e := state.Entry{Step: rapid.SampledFrom([]string{"", "node.a/certs", "node.b/certs"}).Draw(t, "step"), Kind: rapid.SampledFrom([]state.EntryKind{state.EntryBegin, state.EntryDone, state.EntryFailed}).Draw(t, "kind"), Phase: "certs", Action: "create"}
		switch rapid.IntRange(0, 2).Draw(t, "learned") {
		case 0:
			e.Learned.Items = []state.Item{fileItem(rapid.SampledFrom(files).Draw(t, "item"), rapid.StringN(1, 2, 4).Draw(t, "sha"))}
		case 1:
			e.Learned.Gone = []state.Address{address(rapid.SampledFrom(files).Draw(t, "gone"))}
		default:
			e.Learned.Left = []state.Target{rapid.SampledFrom(targets).Draw(t, "left")}
		}
		entries = append(entries, e)
	}
	return entries
}

// TestFoldIsIdempotent checks that folding entries that a state already contains changes nothing, that
// Fold does not change its argument, and that the result can be written.
func TestFoldIsIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		before := sample()
		once, err := Fold(before, entries)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(before, sample()) {
			t.Fatal("Fold changed its argument")
		}
		twice, err := Fold(once, entries)
		if err != nil || !reflect.DeepEqual(once, twice) {
			t.Fatalf("once %+v\ntwice %+v, %v", once, twice, err)
		}
		if err := check(once); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFoldRenamesTarget checks that everything recorded for a target takes its new name, including a
// cluster's addons and nodes, and that a repetition changes nothing.
func TestFoldRenamesTarget(t *testing.T) {
	t.Parallel()
	file := func(of state.Target) state.Item {
		return state.Item{Address: state.Address{Target: of, Phase: "p", Item: "file:/x"}, Kind: state.KindFile, Attributes: state.Map(nil)}
	}
	a, b, c := state.NodeTarget("a"), state.NodeKeyTarget("b", "x"), state.NodeTarget("c")
	st := &state.State{
		Lineage:  "l",
		Nodes:    map[state.Target]*state.RecordedNode{a: {Cluster: "one", Name: "a"}, b: {Cluster: "one", Name: "b"}},
		Clusters: map[string]*state.RecordedCluster{"one": {CA: "ca"}},
		Items:    []state.Item{file(state.AddonTarget("one", "cni")), file(state.ClusterTarget("one")), file(a), file(b)},
	}
	moved := state.Learned{Moved: []state.Moved{
		{From: b, To: c}, {From: a, To: b}, {From: state.ClusterTarget("one"), To: state.ClusterTarget("two")},
	}, Left: []state.Target{state.NodeTarget("gone")}}
	for _, kind := range []state.EntryKind{state.EntryDone, state.EntryRun} {
		got, err := Fold(st, []state.Entry{{Kind: kind, Lineage: "l", Learned: moved}})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, it := range got.Items {
			names = append(names, it.Address.String())
		}
		if want := []string{`cluster.two.addon["cni"]/p/file:/x`, "cluster.two/p/file:/x", `node.b["x"]/p/file:/x`, "node.c/p/file:/x"}; !slices.Equal(names, want) {
			t.Errorf("items are %v, want %v", names, want)
		}
		if len(got.Nodes) != 2 || got.Nodes[b].Name != "a" || got.Nodes[c].Name != "b" || got.Nodes[c].Cluster != "two" || got.Clusters["two"].CA != "ca" || len(got.Clusters) != 1 {
			t.Errorf("nodes %v, clusters %v", got.Nodes, got.Clusters)
		}
		if st.Nodes[a].Cluster != "one" {
			t.Error("Fold changed its argument")
		}
	}
}

// TestFoldSkipsRunsInState checks that the journal of a run that the state knows is
// skipped, because the state may contain newer observations, and that later runs are folded.
func TestFoldSkipsRunsInState(t *testing.T) {
	t.Parallel()
	begin := func(run, step string) []state.Entry {
		return []state.Entry{{Kind: state.EntryRun, Run: run, Lineage: "l1", Steps: 2}, {Kind: state.EntryBegin, Step: step, Op: new(0)}}
	}
	first := begin("r1", "node.w/certs")
	st, err := Fold(nil, append(slices.Clip(first), state.Entry{Kind: state.EntryDone, Learned: state.Learned{Seen: []string{"node.w/certs"}}}))
	if err != nil {
		t.Fatal(err)
	}
	for want, entries := range map[string][]state.Entry{"": first, "node.v/certs": append(slices.Clip(first), begin("r2", "node.v/certs")...)} {
		if got, err := Fold(st, entries); err != nil || strings.Join(got.Unseen, " ") != want {
			t.Errorf("unseen are %v, want %q (%v)", got.Unseen, want, err)
		}
	}
}
