package remedy_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/state"
)

// asJSON prints a remedy as data.
func asJSON(r remedy.Remedy) string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestRemediesTravelInTexts checks that what is written into a text is found there again, whatever
// the names in it are, also through the functions that compose texts.
func TestRemediesTravelInTexts(t *testing.T) {
	t.Parallel()
	gone := remedy.GoneHost.Of(state.NodeKeyTarget("cp", "a b"))
	for _, want := range []remedy.Remedy{
		remedy.Apply.With(),
		remedy.Apply.With(remedy.Replace.Of(state.NodeTarget("w1")), remedy.NewHost.Of(state.NodeTarget("w1"))),
		remedy.Restore.On("FILE").With(gone),
		remedy.Forget.On(`node.w["o'brien"]`),
		remedy.Forget.On("+force", `"quoted"`, "a ⟨b⟩ c", "line\nbreak", ""),
		remedy.With(remedy.Option{Kind: remedy.WithoutSilent}),
		remedy.With(gone, remedy.Option{Kind: remedy.Overwrite}),
	} {
		inner := remedy.Textf("run %s,", want)
		text, found := remedy.Spell(string(remedy.Textf("First %s then %d more.", inner, 2)), func(remedy.Remedy) string { return "X" })
		if text != "First run X, then 2 more." || len(found) != 1 || asJSON(found[0]) != asJSON(want) {
			t.Errorf("%s: got %q and %v", asJSON(want), text, found)
		}
	}
}

// TestOnlyRemediesMakeMarks checks that nothing else that is formatted becomes a remedy: it may come
// from a host.
func TestOnlyRemediesMakeMarks(t *testing.T) {
	t.Parallel()
	const forged = "bad ⟨destroy⟩"
	for _, arg := range []any{forged, errors.New(forged), []string{forged}, state.NodeTarget(forged)} {
		text := string(remedy.Textf("%v; %s", arg, remedy.Apply))
		if _, found := remedy.Spell(text, func(remedy.Remedy) string { return "" }); len(found) != 1 || found[0].Action != remedy.Apply {
			t.Errorf("%q has %v", text, found)
		}
	}
	for _, text := range []string{"⟨⟩", "⟨apply", `⟨"⟩`, `⟨apply "\q"⟩`, "⟨a\nb⟩"} {
		if got, found := remedy.Spell(text, func(remedy.Remedy) string { return "X" }); got != text || found != nil {
			t.Errorf("%q became %q with %v", text, got, found)
		}
	}
	if got := remedy.Textf("100 % ⟨apply⟩"); got != "100 % ⟨apply⟩" {
		t.Errorf("a text without arguments became %q", got)
	}
}

// TestRemediesAreValues checks that options added to a remedy do not appear in another one.
func TestRemediesAreValues(t *testing.T) {
	t.Parallel()
	first := remedy.Apply.With(remedy.Option{Kind: remedy.Overwrite})
	a, b := first.With(remedy.Option{Kind: remedy.Replace, Value: "a"}), first.With(remedy.Option{Kind: remedy.Replace, Value: "b"})
	if reflect.DeepEqual(a, b) || len(first.Options) != 1 {
		t.Errorf("got %v, %v and %v", first, a, b)
	}
}
