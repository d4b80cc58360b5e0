package kube

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestTokenSigningKey(t *testing.T) {
	t.Parallel()
	head := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) + ".e30.c2ln" }
	sum := strings.Repeat("\xab", 32)
	for token, want := range map[string]string{
		head(`{"alg":"RS256","kid":"` + base64.RawURLEncoding.EncodeToString([]byte(sum)) + `"}`): strings.Repeat("ab", 32),
		head(`{"alg":"RS256","kid":"short"}`):                                                     "",
		head(`{"alg":"RS256"}`):                                                                   "",
		head(`[]`):                                                                                "",
		"%%%.e30.c2ln":                                                                            "",
		"no-token":                                                                                "",
		"":                                                                                        "",
	} {
		if got := signingKey([]byte(token)); got != want {
			t.Errorf("%q: %q, want %q", token, got, want)
		}
	}
}
