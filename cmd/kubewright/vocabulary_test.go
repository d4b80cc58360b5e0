package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unwanted are words and phrases without technical meaning, with what to write in their
// place. They occur in no comment, no name, no text, no script and no page.
var unwanted = map[string]string{
	"tells that":      "reports whether",
	"tell that":       "report whether",
	"told that":       "informed that, or the passive",
	"speaks of":       "refers to, or reports",
	"speak of":        "refer to",
	"spoken of":       "referred to",
	"somebody":        "another user, or the passive",
	"nobody":          "no host, no client, or unknown",
	"anybody":         "any user, or any client",
	"everybody":       "all users, or all components",
	"whoever":         "the user who, or anyone who",
	"anew":            "again, or re-",
	"looked at":       "observed, or checked",
	"in whose midst":  "during which",
	"of which nobody": "unknown",
	"is of what":      "names what it is",
	"left aside":      "skipped",
	"cut short":       "interrupted",
	"put right":       "corrected, or repaired",
	"puts right":      "corrects, or repairs",
	"plight":          "condition",
	"bereft":          "missing credentials",
	"leaver":          "departure",
	"leavers":         "departures",
	"twin":            "counterpart",
	"twins":           "counterparts",
	"comeback":        "return",
}

// unwantedPattern finds any of them, also across the lines of a comment.
var unwantedPattern = func() *regexp.Regexp {
	var all []string
	for phrase := range unwanted {
		all = append(all, strings.ReplaceAll(phrase, " ", `\s+(?://\s+|#\s+)?`))
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // the longest match
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)\b`)
}()

// checkWords reports the unwanted words of a text, and whether it has none.
func checkWords(t *testing.T, place, what, text string) (clean bool) {
	t.Helper()
	clean = true
	for _, found := range unwantedPattern.FindAllString(text, -1) {
		words := strings.ToLower(strings.Join(strings.Fields(strings.NewReplacer("//", "", "#", "").Replace(found)), " "))
		t.Errorf("%s: a %s has %q: write %s", place, what, words, unwanted[words])
		clean = false
	}
	return clean
}

// TestVocabulary checks that comments, names and the texts of production code use the terms of
// docs/glossary.md. A string of one word is a name, and those of tests compare what others print.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	clean := map[string]bool{} // names without unwanted words: most occur many times
	eachSource(t, filepath.Join("..", ".."), func(set *token.FileSet, path string, f *ast.File) {
		if filepath.Base(path) == "vocabulary_test.go" {
			return
		}
		for _, c := range f.Comments {
			checkWords(t, set.Position(c.Pos()).String(), "comment", c.Text())
		}
		test := strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test")
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if !clean[n.Name] {
					clean[n.Name] = checkWords(t, set.Position(n.Pos()).String(), "name", wordsOf(n.Name))
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING && strings.Contains(n.Value, " ") && !test {
					checkWords(t, set.Position(n.Pos()).String(), "text", n.Value)
				}
			}
			return true
		})
	})
}

// TestVocabularyOfDocs checks the same of pages, outside of what they quote, and of the
// comments of scripts.
func TestVocabularyOfDocs(t *testing.T) {
	t.Parallel()
	pages := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md", "testdata/script/*.txtar"} {
		files, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pages++
			text := string(b)
			if strings.HasSuffix(file, ".txtar") {
				script, _, _ := strings.Cut(text, "\n-- ")
				text = strings.Join(scriptComment.FindAllString(script, -1), "\n")
			} else {
				text = inlineCode.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "")
			}
			checkWords(t, file, "sentence", text)
		}
	}
	if pages < 100 {
		t.Errorf("only %d files were read", pages)
	}
}

var (
	scriptComment = regexp.MustCompile(`(?m)^#.*$`)
	codeBlock     = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	inlineCode    = regexp.MustCompile("`[^`\n]*`")
	camelHump     = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// wordsOf returns a name of Go as words: cutShort is "cut short".
func wordsOf(name string) string {
	return strings.ReplaceAll(camelHump.ReplaceAllString(name, "$1 $2"), "_", " ")
}

// eachSource parses every Go source below a folder.
func eachSource(t *testing.T, root string, do func(set *token.FileSet, path string, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		do(set, path, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
