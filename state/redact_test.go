package state_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubewright/kubewright/state"
)

// TestRedactor: a secret is taken out in every form in which others quote it;
// a short one only where it stands alone, and a shorter one never.
func TestRedactor(t *testing.T) {
	t.Parallel()
	const hidden = "(sensitive value)"
	r := state.NewRedactor([]string{"hunter22", "4711", "ab", "", "two\nlines here", `quo"ted`, "hunter22 and more"})
	for text, want := range map[string]string{
		`Invalid value: "hunter22"`:        `Invalid value: "` + hidden + `"`,
		"xhunter22x":                       "x" + hidden + "x",
		"hunter22 and more":                hidden,
		"aHVudGVyMjI=":                     hidden,
		"pin 4711, 47110, x4711 and 4711.": "pin " + hidden + ", 47110, x4711 and " + hidden + ".",
		"4711 4711":                        hidden + " " + hidden,
		"ab is no secret":                  "ab is no secret",
		`line "lines here"`:                `line "` + hidden + `"`,
		`"quo\"ted"`:                       `"` + hidden + `"`,
		"":                                 "",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if r.Finds(text) != (want != text) {
			t.Errorf("%q: Finds does not agree with Text", text)
		}
	}
	var none *state.Redactor
	if none.Text("hunter22") != "hunter22" || !none.IsZero() || r.IsZero() {
		t.Error("without secrets nothing is taken out")
	}
}

func TestRedactorProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9/+:@%-]{6,30}`).Draw(t, "secret")
		before, after := rapid.String().Draw(t, "before"), rapid.String().Draw(t, "after")
		form := rapid.SampledFrom([]string{secret, base64.StdEncoding.EncodeToString([]byte(secret))}).Draw(t, "form")
		got := state.NewRedactor([]string{secret}).Text(before + form + after)
		if strings.Contains(got, form) {
			t.Fatalf("%q is still in %q", form, got)
		}
	})
}

// TestFingerprint: equal values under one key, and no other, are equal; no verb
// prints the key.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	k, other := state.NewKey("k1"), state.NewKey("k2")
	a, b := state.String("secret"), state.String("Secret")
	switch {
	case k.Fingerprint(a) != k.Fingerprint(state.String("secret")), len(k.Fingerprint(a)) != 32:
		t.Error("equal values have different fingerprints")
	case k.Fingerprint(a) == k.Fingerprint(b), k.Fingerprint(a) == other.Fingerprint(a), k.Fingerprint(a) == state.NewKey("").Fingerprint(a):
		t.Error("different values or keys have equal fingerprints")
	case !k.Cover(a).Equal(state.SensitiveValue("ref", k.Fingerprint(a))), !k.Cover(state.Null()).IsNull(), !k.Cover(k.Cover(a)).Equal(k.Cover(a)):
		t.Error("what is covered does not equal what is wanted")
	}
	// Without a key nothing that was seen is known to be as wanted.
	if none := state.NewKey(""); none.Cover(a).Equal(state.SensitiveValue("ref", none.Fingerprint(a))) {
		t.Error("without a key everything is equal")
	}
	if text := fmt.Sprintf("%v %+v %#v", k, k, k); strings.Contains(text, "k1") {
		t.Errorf("the key shows: %s", text)
	}
}
