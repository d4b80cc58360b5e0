package hclconfig_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
)

// folder returns a configuration in memory.
func folder(files ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fsys
}

// load loads a configuration from memory.
func load(files ...string) (*config.Config, diag.Diagnostics) {
	return hclconfig.Load(hclconfig.Options{FS: folder(files...)})
}

// mark matches an expected finding: # ERROR: Summary, or # WARNING: Summary, at the end of the
// offending line. A line can have several.
var mark = regexp.MustCompile(`# (ERROR|WARNING): ([^#\n]*[^#\s])`)

// marks lists the findings that a file expects, as "LINE: severity: Summary".
func marks(text string) []string {
	var out []string
	for i, line := range strings.Split(text, "\n") {
		for _, m := range mark.FindAllStringSubmatch(line, -1) {
			out = append(out, fmt.Sprintf("%d: %s: %s", i+1, strings.ToLower(m[1]), m[2]))
		}
	}
	slices.Sort(out)
	return out
}

// TestInvalidConfigurationsAreReported checks that every mistake is found at its position, all at once, and nothing
// else. The text of the findings is in a golden file, for people to read.
func TestInvalidConfigurationsAreReported(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join("testdata", "invalid", "*.hcl"))
	if err != nil || len(names) == 0 {
		t.Fatal("no files", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".hcl"), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, diags := hclconfig.Load(hclconfig.Options{FS: folder("main.hcl", string(b)), ToolVersion: "0.1.0"})
			want := marks(string(b))
			if len(want) == 0 {
				t.Fatal("the file expects nothing")
			}
			compare(t, want, diags)
			golden(t, strings.TrimSuffix(name, ".hcl")+".txt", []byte(told(diags)))
		})
	}
}

// told returns the full text of findings, each with its position and subject.
func told(diags diag.Diagnostics) string {
	var b strings.Builder
	for _, d := range diags {
		fmt.Fprintf(&b, "%s: %s: %s\n", d.Subject, d.Severity, d.Summary)
		for _, line := range append(strings.Split(d.Detail, "\n"), d.Values...) {
			b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
		}
	}
	return b.String()
}

// compare requires exactly the expected findings.
func compare(t *testing.T, want []string, diags diag.Diagnostics) {
	t.Helper()
	left := map[string]int{}
	for _, w := range want {
		left[w]++
	}
	for _, d := range diags {
		key := fmt.Sprintf("%d: %s: %s", d.Subject.Line, d.Severity, d.Summary)
		if left[key] == 0 {
			t.Errorf("unexpected: %s\n%s", key, d)
		}
		left[key]--
		checkWording(t, d)
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		if left[key] > 0 {
			t.Errorf("not found: %s", key)
		}
	}
}

// checkWording checks a finding against the style rules.
func checkWording(t *testing.T, d *diag.Diagnostic) {
	t.Helper()
	if d.Summary == "" || strings.HasSuffix(d.Summary, ".") || strings.Contains(d.Summary, "%!") || strings.Contains(d.Detail, "%!") {
		t.Errorf("badly worded: %s", d)
	}
	if d.Detail == "" {
		t.Errorf("says no more than the summary: %s", d)
	}
	for _, private := range []string{"cty.", "hclsyntax", "internal error", "DynamicPseudoType"} {
		if strings.Contains(d.Detail, private) {
			t.Errorf("mentions %q: %s", private, d)
		}
	}
}

// TestValidConfigurationsGiveModel compares the model of each file with a reviewed golden file.
func TestValidConfigurationsGiveModel(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(filepath.Join("testdata", "valid", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatal("no folders", err)
	}
	for _, dir := range dirs {
		if strings.HasSuffix(dir, ".json") {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			c, diags := hclconfig.Load(hclconfig.Options{FS: withCA(t, dir), ToolVersion: "0.1.0"})
			for _, d := range diags {
				t.Error(d)
			}
			golden(t, dir+".json", modelJSON(t, c))
		})
	}
}

// modelJSON returns a model as JSON, without what depends on where it was loaded.
func modelJSON(t *testing.T, c *config.Config) []byte {
	t.Helper()
	if c == nil {
		t.Fatal("no configuration")
	}
	flat := *c
	flat.Dir, flat.Digest = "", ""
	b, err := json.MarshalIndent(flat, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	b = controlPattern.ReplaceAll(b, []byte(`"$1:$2 ($3)"`))
	b = placePattern.ReplaceAll(b, []byte(`"$1:$2"`))
	return append(b, '\n')
}

// These match positions, to shorten them to FILE:LINE, and to FILE:LINE (CONTROL).
var (
	placePattern   = regexp.MustCompile(`\{\s*"file": "([^"]*)",\s*"line": (\d+),\s*"column": \d+,\s*"end_line": \d+,\s*"end_column": \d+,\s*(?:"start_byte": \d+,\s*)?"end_byte": \d+\s*\}`)
	controlPattern = regexp.MustCompile(`\{\s*"file": "([^"]*)",\s*"line": (\d+),\s*"column": \d+,\s*"end_line": \d+,\s*"end_column": \d+,\s*(?:"start_byte": \d+,\s*)?"end_byte": \d+,\s*"control": "([^"]*)"\s*\}`)
)

// golden compares got with a file; UPDATE=1 writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) == string(want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s differs in line %d:\n got %s\nwant %s\nUPDATE=1 rewrites it.", name, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s has %d lines, got %d", name, len(w), len(g))
}

// TestEncodings checks that files from Windows editors are accepted, and that a binary file is
// reported once.
func TestEncodings(t *testing.T) {
	t.Parallel()
	const inJSON = `{"locals": {"a": 1}}`
	for _, tt := range []struct{ name, text, want string }{
		{"x.hcl", "\ufefflocals {\r\n  a = 1\r\n}\r\n", ""},
		{"x.hcl.json", "\ufeff" + inJSON + "\r\n", ""},
		{"kubewright.kwvars.json", "\ufeff{}", ""},
		{"x.hcl", "\xff\xfel\x00o\x00\n\x00c\x00", "x.hcl:1: error: Invalid character encoding: The file is in UTF-16. Save it as UTF-8."},
		{"x.hcl.json", "\xfe\xff\x00{\x00}", "x.hcl.json:1: error: Invalid character encoding: The file is in UTF-16. Save it as UTF-8."},
		{"x.hcl", "locals {\n  a = \"x\x00y\"\n}\n", "x.hcl:2: error: Invalid character encoding: There is a zero byte, which no text has. Take it out, or save the file as UTF-8 if it is in another encoding."},
		{"x.hcl.json", `{"locals": {"a": 1},}`, "x.hcl.json:1: error: Trailing comma in object: JSON does not permit a trailing comma after the final property in an object."},
		{"x.hcl.json", "null", "x.hcl.json:1: error: Root value must be object: The root value in a JSON-based configuration must be either a JSON object or a JSON array of objects."},
		{"x\xff.hcl", "", "error: Cannot read file: x\xff.hcl: its name is no text in UTF-8. Each file whose name ends in .hcl or .hcl.json is read: correct it, or give it another name."},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"main.hcl": base, tt.name: tt.text} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Skip(err) // the file system does not accept such a name
			}
		}
		_, diags := hclconfig.Load(hclconfig.Options{Dir: dir})
		if got := strings.Join(lines(diags), "\n"); got != tt.want {
			t.Errorf("%q: got\n%s\nwant\n%s", tt.text, got, tt.want)
		}
	}
}
