package view_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

const hcl = `cluster "prod" {
  kubernetes_version = "1.36.3"
  network {
	pod_subnet     = var.pods
    service_subnet = "10.96.0.0/33"
  }
}

node "w3" {
  adress = "10.0.0.3"
  labels = {
    "a" = "b"
    "c" = "d"
  }
}
`

func hclSource(file string) []byte {
	if file != "cluster.hcl" {
		return nil
	}
	return []byte(hcl)
}

// place finds text in the source.
func place(text string) state.Source {
	start := strings.Index(hcl, text)
	end := start + len(text)
	return state.Source{
		File: "cluster.hcl", Line: 1 + strings.Count(hcl[:start], "\n"), EndLine: 1 + strings.Count(hcl[:end], "\n"),
		StartByte: start, EndByte: end,
	}
}

func findings() diag.Diagnostics {
	return diag.Diagnostics{
		diag.Errorf("Unsupported argument", "An argument named %q is not expected here. Did you mean %q?", "adress", "address").At(place("adress")).In(place(`node "w3"`)),
		diag.Errorf("Invalid CIDR", "%q is no network: the prefix of an IPv4 network is at most 32. Services get addresses from this network, which must not overlap with the pods'. Write for example:\n\n  service_subnet = \"10.96.0.0/12\"", "10.96.0.0/33").At(place(`"10.96.0.0/33"`)).In(place(`cluster "prod"`)),
		diag.Errorf("Overlapping networks", "The pods' network contains the services' network.").At(place("var.pods")).With(`var.pods is "10.96.0.0/8"`),
		diag.Warningf("Label is reserved", "Kubelets may not set it.").At(place("{\n    \"a\" = \"b\"\n    \"c\" = \"d\"\n  }")).In(place(`node "w3"`)),
		diag.Warningf("Label is reserved", "Kubelets may not set it.").At(place(`"c"`)),
		diag.Warningf("Label is reserved", "Kubernetes sets it itself.").At(place(`"d"`)),
		diag.Errorf("Cannot reach host", "cannot connect to 10.77.0.22:22: \x1b[31mno route\x1b[0m to host. Is the host up?").For(state.NodeKeyTarget("worker", "10.77.0.22")),
	}
}

func TestDiagnostics(t *testing.T) {
	tests := []struct {
		name string
		list diag.Diagnostics
		o    view.Options
	}{
		{"diagnostics.80", findings(), view.Options{Width: 80}},
		{"diagnostics.color", findings(), view.Options{Width: 80, Color: true}},
		{"diagnostics.120", findings(), view.Options{Width: 120}},
		{"diagnostics.one", findings()[:1], view.Options{Width: 60}},
		{"diagnostics.warnings.color", findings().Warnings(), view.Options{Width: 80, Color: true}},
		{"diagnostics.full", findings().Warnings(), view.Options{Full: true}},
		{"diagnostics.compact", findings().Warnings(), view.Options{CompactWarnings: true}},
		{"diagnostics.nosource", diag.Diagnostics{diag.Errorf("Bad", "Worse.").At(state.Source{File: "gone.hcl", Line: 3})}, view.Options{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := view.Diagnostics(&b, tt.list, tt.o, hclSource); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name+".txt", visible(b.String()))
		})
	}
}

// TestLongLine: of a line that no person wrote the part is shown that is meant.
func TestLongLine(t *testing.T) {
	const before = 5000
	text := strings.Repeat("ä", before) + "BAD" + strings.Repeat("ö", before)
	from := strings.Index(text, "BAD")
	d := diag.Errorf("Bad", "Worse.").At(state.Source{File: "main.hcl", Line: 1, EndLine: 1, StartByte: from, EndByte: from + len("BAD")})
	var b bytes.Buffer
	if err := view.Diagnostics(&b, diag.Diagnostics{d}, view.Options{}, func(string) []byte { return []byte(text) }); err != nil {
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

func TestClean(t *testing.T) {
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
		if got := view.Clean(tt.in); got != tt.line {
			t.Errorf("Clean(%q): got %q, want %q", tt.in, got, tt.line)
		}
		if got := view.CleanText(tt.in); got != tt.text {
			t.Errorf("CleanText(%q): got %q, want %q", tt.in, got, tt.text)
		}
	}
}

// FuzzClean: nothing that drives a terminal gets through.
func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{view.Clean(s), strings.ReplaceAll(view.CleanText(s), "\n", "")} {
			for _, r := range out {
				if r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfffd && !strings.ContainsRune(s, 0xfffd) {
					t.Fatalf("%q became %q, which holds %U", s, out, r)
				}
			}
		}
		if view.Clean(view.Clean(s)) != view.Clean(s) {
			t.Fatalf("%q: cleaning twice is not cleaning once", s)
		}
	})
}
