package providers_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kubewright/kubewright/providers"
)

func TestSanitizeOutput(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in    string
		limit int
		want  string
	}{
		{"plain text, ümläut, 日本", 0, "plain text, ümläut, 日本"},
		{"kept\n\ttab", 0, "kept\n\ttab"},
		{"\x1b]52;c;ZXZpbA==\x07", 0, `\x1b]52;c;ZXZpbA==\x07`},
		{"a\rb\x00c\x7f", 0, `a\x0db\x00c\x7f`},
		{"c1 \u009b31m", 0, `c1 \u009b31m`},
		{"raw \x9b31m", 0, `raw \x9b31m`},
		{"bidi \u202eevil\u2066", 0, `bidi \u202eevil\u2066`},
		{"tag \U000E0041", 0, `tag \U000e0041`},
		{"line\u2028end", 0, `line\u2028end`},
		{"0123456789", 10, "0123456789"},
		{"0123456789a", 10, "0123456…"},
		{"ääääää", 10, "äää…"},
		{"abc", 1, ""},
		{"", 5, ""},
	} {
		if got := providers.Sanitize(test.in, test.limit); got != test.want {
			t.Errorf("Sanitize(%q, %d)\n got %q\nwant %q", test.in, test.limit, got, test.want)
		}
	}
}

func FuzzSanitize(f *testing.F) {
	f.Add("\x1b[31m\u202e", 8)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := providers.Sanitize(s, limit)
		if limit > 0 && len(got) > limit {
			t.Errorf("%d bytes, limit %d", len(got), limit)
		}
		if !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("%q holds %U", got, r)
			}
		}
	})
}

func TestErrorIsKindAndCause(t *testing.T) {
	t.Parallel()
	err := error(&providers.Error{Kind: providers.ErrUnreachable, Do: "connect to cp1:22", Cause: io.EOF})
	if !errors.Is(err, providers.ErrUnreachable) || !errors.Is(err, io.EOF) {
		t.Errorf("%v is not both of its kinds", err)
	}
	if got, want := err.Error(), "cannot connect to cp1:22: EOF"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	err = &providers.Error{Kind: providers.ErrSudo, Do: "run commands on cp1"}
	if got, want := err.Error(), "cannot run commands on cp1: cannot become root"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCommandErrorShowsLastLine(t *testing.T) {
	t.Parallel()
	err := &providers.CommandError{
		Host: "cp1", Command: "start unit kubelet.service", ExitCode: 5,
		Stderr: providers.Tail([]byte("first\r\n\nUnit \x1b[1mnot found.\n")),
	}
	want := `cannot start unit kubelet.service: exit code 5: Unit \x1b[1mnot found.`
	if got := err.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	lines := providers.Tail([]byte(strings.Repeat("x\n", 100) + "last"))
	if len(lines) != 20 || lines[19] != "last" {
		t.Errorf("got %d lines ending in %q", len(lines), lines[len(lines)-1])
	}
}

// TestErrorKindTextIsShownWithoutCause checks that a kind's own text is shown if there is no cause.
func TestErrorKindTextIsShownWithoutCause(t *testing.T) {
	t.Parallel()
	for want, kind := range map[string]error{
		"forwarding forbidden by the host":    providers.ErrNoForwarding,
		"not supported by the host":           providers.ErrUnsupported,
		"superseded by a later run":           providers.ErrSuperseded,
		"another run is changing the cluster": providers.ErrHeld,
		"changed since the plan was made":     providers.ErrMoved,
		"pods could not be evicted in time":   providers.ErrBlocked,
		"host belongs to another state":       providers.ErrForeign,
		"not available at the moment":         providers.ErrUnavailable,
	} {
		if got := (&providers.Error{Kind: kind, Do: "work there"}).Error(); got != "cannot work there: "+want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	const pulled = "the host's runtime did not get it, in 5 tries. To do: see that the registry has this image, and that the runtime reaches it and is let in; " +
		"correct image_repository or the tag if it is another one; or bring the image in an archive, as docs/how-to/install-from-artifacts.md says"
	if providers.NotPulled != pulled {
		t.Errorf("got %s", providers.NotPulled)
	}
}
