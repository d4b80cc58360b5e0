package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// isPictured checks the pages of tasks: the code block that contains the text is the last
// output, except for what a line with only … leaves out. A pair FROM=TO replaces what differs
// in a script, such as folders.
func isPictured(ts *testscript.TestScript, _ bool, args []string) {
	printed := "\n" + ts.ReadFile("stdout") + "\n" + ts.ReadFile("stderr") + "\n"
	for _, pair := range args[1:] {
		from, to, _ := strings.Cut(pair, "=")
		printed = strings.ReplaceAll(printed, from, to)
	}
	printed = eachTime.ReplaceAllString(printed, "·")
	var shown []string
	for _, block := range pictures(ts) {
		if strings.Contains(block, args[0]) {
			shown = append(shown, block)
		}
	}
	if len(shown) != 1 {
		ts.Fatalf("%d code blocks of the docs contain %q", len(shown), args[0])
	}
	for _, part := range leftOut.Split("\n"+shown[0], -1) {
		if _, behind, ok := strings.Cut(part, "\n$ "); ok { // the command
			_, part, _ = strings.Cut(behind, "\n")
		}
		part = eachTime.ReplaceAllString("\n"+strings.Trim(part, "\n")+"\n", "·")
		if !strings.Contains(printed, part) {
			ts.Fatalf("the docs differ from the output\n%s\nthey show\n%s", printed, part)
		}
	}
}

// eachTime matches what differs from run to run: digests, IDs, and the queried etcd member
// with its revision.
var eachTime = regexp.MustCompile(`\b(cp[0-9], revision [0-9]+|[0-9a-f]{12,})\b`)

// leftOut is a line that stands for lines left out.
var leftOut = regexp.MustCompile(`\n *…(\n|$)`)

// pictured are the pages of tasks.
var pictured = []string{"operations.md", "packages.md", "air-gapped.md"}

// pictures returns the blocks of these pages that show kubewright's output, without those that
// show input.
func pictures(t interface{ Fatalf(string, ...any) }) []string {
	var out []string
	for _, page := range pictured {
		text, err := os.ReadFile(filepath.Join(examples, "..", "docs", page))
		if err != nil {
			t.Fatalf("%v", err)
		}
		for i, part := range strings.Split(string(text), "```") {
			language, block, _ := strings.Cut(part, "\n")
			if i%2 == 1 && language == "" && !typed.MatchString(block) {
				out = append(out, block)
			}
		}
	}
	return out
}

// typed matches blocks of input.
var typed = regexp.MustCompile(`^(kubewright|kubectl|curl|mkdir) `)

// TestDocsOutputBlocksAreCompared checks that a script compares each output block of the pages of tasks.
func TestDocsOutputBlocksAreCompared(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatal(err)
	}
	var texts []string
	for _, name := range scripts {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^picture '(.*?)'( |$)`).FindAllStringSubmatch(string(b), -1) {
			texts = append(texts, m[1])
		}
	}
	for _, block := range pictures(t) {
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(block, text) }) {
			t.Errorf("no script compares this block with the output:\n%s", block)
		}
	}
}
