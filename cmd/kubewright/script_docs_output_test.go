package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// isPictured checks the documentation: the code block that contains the text is the last
// output, except for what a line with only … leaves out, or … at the end of a line. A pair FROM=TO replaces what differs
// in a script, such as folders; \n in it is a line break.
func isPictured(ts *testscript.TestScript, _ bool, args []string) {
	printed := "\n" + ts.ReadFile("stdout") + "\n" + ts.ReadFile("stderr") + "\n"
	for _, pair := range args[1:] {
		from, to, _ := strings.Cut(pair, "=")
		printed = strings.ReplaceAll(printed, from, strings.ReplaceAll(to, `\n`, "\n"))
	}
	printed = eachTime.ReplaceAllString(printed, "·")
	var shown []string
	for _, b := range pictures(ts) {
		if strings.Contains(b.text, args[0]) {
			shown = append(shown, b.text)
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
		if !regexp.MustCompile(restLeftOut.ReplaceAllString(regexp.QuoteMeta(part), ".*\n")).MatchString(printed) {
			ts.Fatalf("the docs differ from the output\n%s\nthey show\n%s", printed, part)
		}
	}
}

// eachTime matches what differs from run to run: digests, IDs, and the queried etcd member
// with its revision.
var eachTime = regexp.MustCompile(`\b(cp[0-9], revision [0-9]+|[0-9a-f]{12,})\b`)

// leftOut is a line that stands for lines left out.
var leftOut = regexp.MustCompile(`\n *…(\n|$)`)

// pictures returns the blocks of the documentation that show kubewright's output, without those
// of the maintainers' pages.
func pictures(t interface{ Fatalf(string, ...any) }) []docBlock {
	var out []docBlock
	for _, b := range docBlocks(t) {
		if slices.Contains([]string{"", "console"}, b.language) && strings.Contains(b.page, "/") && !strings.HasPrefix(b.page, "../") {
			out = append(out, b)
		}
	}
	return out
}

// restLeftOut is what stands for the rest of a line.
var restLeftOut = regexp.MustCompile(`…\n`)

// picturing matches the line of a script that compares a block.
var picturing = regexp.MustCompile(`^picture '(.*?)'( |$)`)

// comparison is a line of a script that compares a block with the output of a command.
type comparison struct{ script, text, command string }

// comparisons lists those of the scripts.
func comparisons(scripts map[string]string) []comparison {
	var out []comparison
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		last := ""
		for line := range strings.Lines(scripts[name]) {
			line = strings.TrimSuffix(line, "\n")
			switch m := picturing.FindStringSubmatch(line); {
			case m != nil:
				out = append(out, comparison{script: name, text: m[1], command: last})
			case strings.HasPrefix(line, "kubewright ") || strings.HasPrefix(line, "! kubewright "):
				last = bare(line)
			case strings.HasPrefix(line, "-- "): // the script has ended
				last = ""
			}
		}
	}
	return out
}

// TestDocsOutputBlocksAreCompared checks that a script compares each block of output, and that
// it does so after the command that the block shows.
func TestDocsOutputBlocksAreCompared(t *testing.T) {
	t.Parallel()
	all := comparisons(scriptTexts(t))
	for _, b := range pictures(t) {
		if text := uncompared(b, all); text != "" {
			t.Errorf("%s:%d: %s", b.page, b.line, text)
		}
	}
}

// uncompared says what is missing for a block.
func uncompared(b docBlock, all []comparison) string {
	shown, _, _ := strings.Cut(b.text, "\n")
	wrong := ""
	for _, c := range all {
		if !strings.Contains(b.text, c.text) {
			continue
		}
		if b.language != "console" || sameCommand(bare(shown), c.command) {
			return ""
		}
		wrong = c.script + " compares this block with the output of " + c.command + ", and not of " + bare(shown)
	}
	if wrong != "" {
		return wrong
	}
	return "no script compares this block with the output:\n" + b.text
}

// sameCommand reports whether a script's command is the one of a page, except for flags that
// only the script has, and for the values of flags and URLs.
func sameCommand(page, script string) bool {
	words, ran := strings.Fields(page), strings.Fields(script)
	for _, word := range words {
		flag, _, _ := strings.Cut(word, "=")
		if !slices.ContainsFunc(ran, func(w string) bool {
			return w == word || strings.HasPrefix(word, "-") && strings.HasPrefix(w, flag+"=") || strings.Contains(word, "://") && strings.Contains(w, "://")
		}) {
			return false
		}
	}
	return len(words) > 1
}

// TestDocsOutputBlocksAreChecked checks that the check finds a block that no script compares,
// and one that shows another command.
func TestDocsOutputBlocksAreChecked(t *testing.T) {
	t.Parallel()
	all := comparisons(map[string]string{"one": "kubewright plan -no-color -out=p\nkubewright etcd status\npicture '3 of 3'\n"})
	for want, b := range map[string]docBlock{
		"no script":   {text: "etcd: 2 of 3 voters\n"},
		"and not of ": {language: "console", text: "$ kubewright etcd snapshot\n3 of 3\n"},
	} {
		if got := uncompared(b, all); !strings.Contains(got, want) {
			t.Errorf("%+v: %q", b, got)
		}
	}
	for _, b := range []docBlock{{text: "etcd: 3 of 3 voters\n"}, {language: "console", text: "$ kubewright etcd status\n3 of 3\n"}} {
		if got := uncompared(b, all); got != "" {
			t.Errorf("%+v: %s", b, got)
		}
	}
}
