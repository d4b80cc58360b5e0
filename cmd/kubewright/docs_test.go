package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link matches a Markdown link to a file of the project, a heading, or both.
var link = regexp.MustCompile(`\]\(([^()#\s:]*)(?:#([^()\s]*))?\)`)

// TestDocsLinks checks that the files and headings that the pages in docs link to exist.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	root := filepath.Join(examples, "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(err)
	}
	links, headings := 0, map[string]string{}
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		for _, m := range link.FindAllStringSubmatch(prose(t, page), -1) {
			links++
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), m[1])
			}
			if m[2] != "" && headings[to] == "" {
				headings[to] = anchors(t, to)
			}
			switch _, err := os.Stat(to); {
			case err != nil:
				t.Errorf("%s refers to %s: %v", filepath.Base(page), m[1], err)
			case m[2] != "" && !strings.Contains(headings[to], "\n"+m[2]+"\n"):
				t.Errorf("%s refers to %s#%s, and there is no such heading", filepath.Base(page), m[1], m[2])
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}

// prose returns a page without its code blocks.
func prose(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(string(text), "")
}

// anchors returns the anchors of a page's headings, one per line, as GitHub generates them.
func anchors(t *testing.T, page string) string {
	t.Helper()
	out := "\n"
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(prose(t, page), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out += strings.ReplaceAll(name, " ", "-") + "\n"
	}
	return out
}

// TestDocsErrorsAreShownByScripts checks that a script shows each error that the page of tasks lists.
func TestDocsErrorsAreShownByScripts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(examples, "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## What a plan refuses\n")
	section, _, ended := strings.Cut(section, "\n## ")
	errors := regexp.MustCompile("(?m)^\\|[^|]*\\| `([A-Z][^`|]*)` \\|").FindAllStringSubmatch(section, -1)
	if !found || !ended || len(errors) < 15 {
		t.Fatalf("the section lists %d errors", len(errors))
	}
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	for _, name := range scripts {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(b)
	}
	for _, m := range errors {
		if !strings.Contains(seen.String(), "Error: "+m[1]) && !strings.Contains(seen.String(), "stderr '"+m[1]) {
			t.Errorf("no script shows the error %q", m[1])
		}
	}
}
