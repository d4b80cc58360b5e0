package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// projectFolder is the top folder of the project, docsFolder the one of its documentation.
var (
	projectFolder = filepath.Join(examples, "..")
	docsFolder    = filepath.Join(projectFolder, "docs")
)

// docKinds are the folders of the four kinds of documentation.
var docKinds = []string{"tutorial", "how-to", "reference", "explanation"}

// docPages lists the pages of the documentation, by their path below docs. Pages of the kinds
// come in the order of their names, so that the parts of the tutorial follow one another.
func docPages(t interface{ Fatalf(string, ...any) }) []string {
	var out []string
	err := filepath.WalkDir(docsFolder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			name, _ := filepath.Rel(docsFolder, path)
			out = append(out, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil || len(out) < 60 {
		t.Fatalf("%d pages: %v", len(out), err)
	}
	return out
}

// projectPages lists the paths of all pages: those of the documentation, and those beside it.
func projectPages(t *testing.T) []string {
	t.Helper()
	out, err := filepath.Glob(filepath.Join(projectFolder, "*.md"))
	if err != nil || len(out) < 4 {
		t.Fatalf("%d pages: %v", len(out), err)
	}
	for _, name := range docPages(t) {
		out = append(out, filepath.Join(docsFolder, filepath.FromSlash(name)))
	}
	return out
}

// link matches a Markdown link to a file of the project, a heading, or both.
var link = regexp.MustCompile(`\]\(([^()#\s:]*)(?:#([^()\s]*))?\)`)

// TestDocsLinks checks that the files and headings that pages link to exist.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	links := 0
	for _, page := range projectPages(t) {
		found, broken := checkLinks(t, page)
		links += found
		for _, text := range broken {
			t.Error(text)
		}
	}
	if links < 300 {
		t.Errorf("only %d links were found", links)
	}
}

// checkLinks returns the number of links of a page, and those that lead nowhere.
func checkLinks(t *testing.T, page string) (links int, broken []string) {
	t.Helper()
	for _, m := range link.FindAllStringSubmatch(prose(t, page), -1) {
		links++
		to := page
		if m[1] != "" {
			to = filepath.Join(filepath.Dir(page), m[1])
		}
		switch _, err := os.Stat(to); {
		case err != nil:
			broken = append(broken, filepath.Base(page)+" refers to "+m[1]+", which does not exist")
		case m[2] != "" && !strings.Contains(anchors(t, to), "\n"+m[2]+"\n"):
			broken = append(broken, filepath.Base(page)+" refers to "+m[1]+"#"+m[2]+", and there is no such heading")
		}
	}
	return links, broken
}

// TestDocsLinksAreChecked checks that the check finds a link to a missing page, and to a
// missing heading.
func TestDocsLinksAreChecked(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	write(t, page, "# Page\n\n[right](page.md#page) [file](missing.md) [heading](#missing)\n\n```\n[code](other.md)\n```\n")
	links, broken := checkLinks(t, page)
	if want := []string{"page.md refers to missing.md, which does not exist", "page.md refers to #missing, and there is no such heading"}; links != 3 || !slices.Equal(broken, want) {
		t.Errorf("%d links, broken: %q", links, broken)
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

// namedPage matches a page of the documentation that a text names.
var namedPage = regexp.MustCompile(`\b(docs/[a-z0-9/-]+\.(?:md|json))\b( of github\.com/)?`)

// TestDocsNamedInTextsExist checks that the pages that code, messages, scripts, examples and
// templates name exist.
func TestDocsNamedInTextsExist(t *testing.T) {
	t.Parallel()
	named := 0
	err := filepath.WalkDir(projectFolder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "oracle" || d.Name() == "public"):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".md", ".hcl", ".txt", ".txtar", ".sh", ".yml", ".json", ".html", ""}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range namedPage.FindAllStringSubmatch(string(text), -1) {
			page := m[1]
			named++
			if m[2] != "" { // a page of another project
				continue
			}
			if _, err := os.Stat(filepath.Join(projectFolder, page)); err != nil {
				t.Errorf("%s names %s, which does not exist", path, page)
			}
		}
		return nil
	})
	if err != nil || named < 50 {
		t.Errorf("%d pages are named: %v", named, err)
	}
}

// indexEntry matches a line of an index.
var indexEntry = regexp.MustCompile(`(?m)^(?:- |\d+\. )\[([^]]*)\]\(([^()\s#]+\.md)\)`)

// TestDocsIndexes checks that the index of each kind lists every page of its folder once, under
// the page's title, and that the start page leads to the indexes and the other pages.
func TestDocsIndexes(t *testing.T) {
	t.Parallel()
	for _, kind := range append([]string{""}, docKinds...) {
		index := filepath.Join(docsFolder, kind, "README.md")
		text, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		listed := map[string]int{}
		for _, m := range indexEntry.FindAllStringSubmatch(string(text), -1) {
			listed[m[2]]++
			if title := titleOf(t, filepath.Join(docsFolder, kind, m[2])); kind != "" && kind != "tutorial" && title != m[1] {
				t.Errorf("%s lists %s as %q, and its title is %q", index, m[2], m[1], title)
			}
		}
		pages, err := filepath.Glob(filepath.Join(docsFolder, kind, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			if name := filepath.Base(page); name != "README.md" && listed[name] != 1 {
				t.Errorf("%s lists %s %d times", index, name, listed[name])
			}
		}
	}
	start, err := os.ReadFile(filepath.Join(docsFolder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range docKinds {
		if !strings.Contains(string(start), "]("+kind+"/README.md)") {
			t.Errorf("docs/README.md does not lead to %s", kind)
		}
	}
}

// titleOf returns the title of a page.
func titleOf(t *testing.T, page string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^# (.*)$`).FindStringSubmatch(prose(t, page))
	if m == nil {
		t.Errorf("%s has no title", page)
		return ""
	}
	return m[1]
}

// partsOfTask are the parts of a page that describes a task, in their order.
var partsOfTask = []string{"Before you start", "Steps", "What you see", "What can go wrong"}

// TestHowToPagesHaveTheirParts checks that each page of a task says its goal first, and has the
// parts of such a page in their order; only the first may be missing.
func TestHowToPagesHaveTheirParts(t *testing.T) {
	t.Parallel()
	for _, page := range docPages(t) {
		if !strings.HasPrefix(page, "how-to/") || page == "how-to/README.md" {
			continue
		}
		text := prose(t, filepath.Join(docsFolder, page))
		if !regexp.MustCompile(`\A# [^\n]+\n\nGoal: `).MatchString(text) {
			t.Errorf("%s does not begin with its title and its goal", page)
		}
		var parts []string
		for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(text, -1) {
			parts = append(parts, m[1])
		}
		if !slices.Equal(parts, partsOfTask) && !slices.Equal(parts, partsOfTask[1:]) {
			t.Errorf("%s has the parts %q", page, parts)
		}
	}
}

// TestDocsErrorsAreShownByScripts checks that a script shows each error that the page of
// refusals lists.
func TestDocsErrorsAreShownByScripts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(docsFolder, "reference", "refusals.md"))
	if err != nil {
		t.Fatal(err)
	}
	errors := regexp.MustCompile("(?m)^\\|[^|]*\\| `([A-Z][^`|]*)` \\|").FindAllStringSubmatch(string(text), -1)
	if len(errors) < 30 {
		t.Fatalf("the page lists %d errors", len(errors))
	}
	seen := strings.Join(slices.Collect(maps.Values(scriptTexts(t))), "")
	for _, m := range errors {
		if !strings.Contains(seen, "Error: "+m[1]) && !strings.Contains(seen, "stderr '"+m[1]) {
			t.Errorf("no script shows the error %q", m[1])
		}
	}
}

// scriptTexts returns the scripts of the command line, by name.
func scriptTexts(t *testing.T) map[string]string {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts: ", err)
	}
	out := map[string]string{}
	for _, name := range scripts {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(name), ".txtar")] = string(b)
	}
	return out
}
