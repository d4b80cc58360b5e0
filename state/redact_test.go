package state_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubewright/kubewright/state"
)

// TestRedactorRemovesEveryForm checks that a secret is removed in every form in which it may be quoted; a short
// one only as a whole word, and a shorter one never.
func TestRedactorRemovesEveryForm(t *testing.T) {
	t.Parallel()
	const hidden = "(sensitive value)"
	r := state.NewRedactor([]string{"hunter22", "4711", "ab", "", "two\nlines here", `quo"ted`, "hunter22 and more", "p/w<d&"})
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
		"p/w<d&":                           hidden,
		"p/w&lt;d&amp;":                    hidden,
		"a=b&c=p%2Fw%3Cd%26":               "a=b&c=" + hidden,
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
		t.Error("a redactor without secrets removes something, or IsZero is wrong")
	}
}

// TestCombinedRedactorRemovesLongestFirst checks that a combined redactor removes the secrets of both, longer ones first.
func TestCombinedRedactorRemovesLongestFirst(t *testing.T) {
	t.Parallel()
	var none *state.Redactor
	both := none.And(state.NewRedactor([]string{"hunter22"})).And(state.NewRedactor([]string{"hunter22 and more"})).And(nil)
	for text, want := range map[string]string{"hunter22": "(sensitive value)", "hunter22 and more": "(sensitive value)", "other": "other"} {
		if got := both.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if !none.And(nil).IsZero() {
		t.Error("a combination of two empty redactors is not empty")
	}
}

// TestWithoutPasswordsKeepsAddress checks that an address loses only its password, even if it cannot be
// parsed.
func TestWithoutPasswordsKeepsAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"see http://ann:hunter22@proxy:3128/x":      "see http://ann:(sensitive value)@proxy:3128/x",
		`proxy "http://ann:hun/t@r22@proxy" is not`: `proxy "http://ann:(sensitive value)@proxy" is not`,
		"postgres://:hunter22@db":                   "postgres://:(sensitive value)@db",
		"ssh://ann@host and https://host:6443/a@b":  "ssh://ann@host and https://host:6443/a@b",
		"ann:hunter22@host":                         "ann:hunter22@host",
		"no address":                                "no address",
	} {
		if got := state.WithoutPasswords(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
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

// TestFingerprintDependsOnKey checks that equal values have equal fingerprints under one key only, and that
// no verb prints the key.
func TestFingerprintDependsOnKey(t *testing.T) {
	t.Parallel()
	k, other := state.NewKey("k1"), state.NewKey("k2")
	a, b := state.String("secret"), state.String("Secret")
	switch {
	case k.Fingerprint(a) != k.Fingerprint(state.String("secret")), len(k.Fingerprint(a)) != 32:
		t.Error("equal values have different fingerprints")
	case k.Fingerprint(a) == k.Fingerprint(b), k.Fingerprint(a) == other.Fingerprint(a), k.Fingerprint(a) == state.NewKey("").Fingerprint(a):
		t.Error("different values or keys have equal fingerprints")
	case !k.Cover(a).Equal(state.SensitiveValue("ref", k.Fingerprint(a))), !k.Cover(state.Null()).IsNull(), !k.Cover(k.Cover(a)).Equal(k.Cover(a)):
		t.Error("a covered value does not equal the desired one")
	}
	// Without a key no observed value is known to be as desired.
	if none := state.NewKey(""); none.Cover(a).Equal(state.SensitiveValue("ref", none.Fingerprint(a))) {
		t.Error("without a key everything is equal")
	}
	if text := fmt.Sprintf("%v %+v %#v", k, k, k); strings.Contains(text, "k1") {
		t.Errorf("the key shows: %s", text)
	}
}
