package state_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state"
)

const secretText = "hunter2-hunter2"

// TestSecretIsNeverPrinted tries every verb and flag, with a Secret in any place.
func TestSecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	s := state.NewSecret([]byte(secretText))
	type around struct {
		Exported state.Secret
		hidden   state.Secret
	}
	holders := []any{
		s, &s,
		[]state.Secret{s},
		map[string]state.Secret{"k": s},
		around{s, s},
		&around{s, s},
		map[string]*around{"k": {s, s}},
		[1]any{s},
		fmt.Errorf("cannot log in with %v: %w", s, fmt.Errorf("%s", s)),
	}
	var out bytes.Buffer
	for _, h := range holders {
		for verb := range rune(128) {
			for _, flag := range []string{"", "+", "#", "-", " ", "0", "20.9"} {
				fmt.Fprintf(&out, "%"+flag+string(verb), h)
			}
		}
		fmt.Fprintln(&out, h)
		_ = json.NewEncoder(&out).Encode(h)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "h", h)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "h", h)
	}
	text := strings.ToLower(out.String())
	raw := fmt.Sprint([]byte(secretText))
	for _, trace := range []string{secretText, secretText[:7], hex.EncodeToString([]byte(secretText[:4])), raw[1 : len(raw)-1]} {
		if strings.Contains(text, trace) {
			t.Errorf("the secret is printed as %q", trace)
		}
	}
}

func TestSecretRevealAndZero(t *testing.T) {
	t.Parallel()
	s := state.NewSecret([]byte(secretText))
	if string(s.Reveal()) != secretText || s.IsZero() {
		t.Error("the secret is lost")
	}
	if zero := (state.Secret{}); zero.Reveal() != nil || !zero.IsZero() || zero.String() != "(sensitive value)" {
		t.Error("the zero Secret holds something")
	}
	if b, err := json.Marshal(s); err != nil || string(b) != `"(sensitive value)"` {
		t.Errorf("json = %s, %v", b, err)
	}
	if got := fmt.Sprintf("%v %#v %d %s", s, s, s, s.GoString()); got != strings.TrimSpace(strings.Repeat("(sensitive value) ", 4)) {
		t.Errorf("printed %s", got)
	}
}
