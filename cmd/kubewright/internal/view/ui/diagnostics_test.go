package ui_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

func TestDiagnostics(t *testing.T) {
	tests := []struct {
		name string
		list diag.Diagnostics
		o    ui.Options
	}{
		{"diagnostics.80", viewtest.Findings(), ui.Options{Width: 80}},
		{"diagnostics.color", viewtest.Findings(), ui.Options{Width: 80, Color: true}},
		{"diagnostics.120", viewtest.Findings(), ui.Options{Width: 120}},
		{"diagnostics.one", viewtest.Findings()[:1], ui.Options{Width: 60}},
		{"diagnostics.warnings.color", viewtest.Findings().Warnings(), ui.Options{Width: 80, Color: true}},
		{"diagnostics.full", viewtest.Findings().Warnings(), ui.Options{Full: true}},
		{"diagnostics.compact", viewtest.Findings().Warnings(), ui.Options{CompactWarnings: true}},
		{"diagnostics.nosource", diag.Diagnostics{diag.Errorf("Bad", "Worse.").At(state.Source{File: "gone.hcl", Line: 3})}, ui.Options{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := ui.Diagnostics(&b, tt.list, tt.o, viewtest.Source); err != nil {
				t.Fatal(err)
			}
			viewtest.Golden(t, tt.name+".txt", viewtest.Visible(b.String()))
		})
	}
}

// TestLongLineExcerptIsShortened checks that the excerpt of a very long line is cut to the part in question.
func TestLongLineExcerptIsShortened(t *testing.T) {
	const before = 5000
	text := strings.Repeat("ä", before) + "BAD" + strings.Repeat("ö", before)
	from := strings.Index(text, "BAD")
	d := diag.Errorf("Bad", "Worse.").At(state.Source{File: "main.hcl", Line: 1, EndLine: 1, StartByte: from, EndByte: from + len("BAD")})
	var b bytes.Buffer
	if err := ui.Diagnostics(&b, diag.Diagnostics{d}, ui.Options{}, func(string) []byte { return []byte(text) }); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		if len(line) > 600 || strings.Contains(line, `\x`) {
			t.Errorf("line %d is %d bytes long: %.100s…", i, len(line), line)
		}
		if at := strings.Index(line, "BAD"); at >= 0 && strings.Index(lines[i+1], "^^^") != ansi.StringWidth(line[:at]) {
			t.Errorf("the carets are not below it:\n%s\n%s", line, lines[i+1])
		}
	}
	if !strings.Contains(b.String(), "…ä") || !strings.Contains(b.String(), "BAD") {
		t.Errorf("got %.200s", b.String())
	}
}

func TestCleanEscapesControlCharacters(t *testing.T) {
	tests := []struct{ in, line, text string }{
		{"plain ütf-8 → ok", "plain ütf-8 → ok", "plain ütf-8 → ok"},
		{"a\x1b[2Jb", `a\x1b[2Jb`, `a\x1b[2Jb`},
		{"a\x9bb\x7f", `a\x9bb\x7f`, `a\x9bb\x7f`},
		{"\u009b\u0085", `\u009b\u0085`, `\u009b\u0085`},
		{"\u202eevil\u2066\u200b\ufeff", `\u202eevil\u2066\u200b\ufeff`, `\u202eevil\u2066\u200b\ufeff`},
		{"a\nb\tc\r\nd\re", `a\nb\tc\r\nd\re`, "a\nb    c\nd\\re"},
		{"\xff\xfe", `\xff\xfe`, `\xff\xfe`},
		{"\u2028\u00a0", `\u2028\u00a0`, `\u2028\u00a0`},
	}
	for _, tt := range tests {
		if got := ui.Clean(tt.in); got != tt.line {
			t.Errorf("Clean(%q): got %q, want %q", tt.in, got, tt.line)
		}
		if got := ui.CleanText(tt.in); got != tt.text {
			t.Errorf("CleanText(%q): got %q, want %q", tt.in, got, tt.text)
		}
	}
}

// FuzzClean checks that no sequence that drives a terminal gets through.
func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{ui.Clean(s), strings.ReplaceAll(ui.CleanText(s), "\n", "")} {
			for _, r := range out {
				if r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfffd && !strings.ContainsRune(s, 0xfffd) {
					t.Fatalf("%q became %q, which contains %U", s, out, r)
				}
			}
		}
		if ui.Clean(ui.Clean(s)) != ui.Clean(s) {
			t.Fatalf("%q: cleaning twice is not cleaning once", s)
		}
	})
}
