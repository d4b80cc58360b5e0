package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// plainWords matches a pattern that is at least three plain words, so that it is a text of the
// product or nothing.
var plainWords = regexp.MustCompile(`^[A-Za-z,'-]+( [A-Za-z,'-]+){2,}$`)

// TestScriptsForbidTextsThatExist checks that what a script forbids in the output is a text
// that kubewright can print, or that the script expects elsewhere. A text that was edited since would never be found, and the line
// would check nothing.
func TestScriptsForbidTextsThatExist(t *testing.T) {
	t.Parallel()
	var product strings.Builder
	sources, _ := tree(t)
	for _, files := range sources {
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			product.Write(b)
		}
	}
	said := asRead(product.String())
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	checked := 0
	for _, script := range scripts {
		b, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(b), "\n")
		own := asRead(strings.Join(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.HasPrefix(l, "! ") }), "\n"))
		for i, line := range lines {
			pattern, ok := strings.CutPrefix(line, "! stdout '")
			if !ok {
				pattern, ok = strings.CutPrefix(line, "! stderr '")
			}
			pattern = strings.ReplaceAll(strings.TrimSuffix(pattern, "'"), `\s+`, " ")
			if !ok || !plainWords.MatchString(pattern) {
				continue
			}
			if checked++; !strings.Contains(said, asRead(pattern)) && !strings.Contains(own, asRead(pattern)) {
				t.Errorf("%s:%d forbids %q, which kubewright never prints: write what it would print today", script, i+1, pattern)
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d patterns were checked", checked)
	}
}
