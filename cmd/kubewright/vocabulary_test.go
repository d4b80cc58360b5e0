package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unwanted are words and phrases that say nothing that the field's words do not say
// better, with what to write in their place. The list grows.
var unwanted = map[string]string{
	"tells that": "reports whether",
	"speaks of":  "refers to, or reports",
	"speak of":   "refer to",
	"spoken of":  "referred to",
	"anew":       "again, or re-",
	"plight":     "condition",
	"bereft":     "missing credentials",
	"leaver":     "departure",
}

// unsaid are words and phrases that no user has to read either: no text of the planner or
// of the configuration has them.
var unsaid = map[string]string{
	"somebody":        "another user, or the passive",
	"nobody":          "no host, no client, or unknown",
	"anew":            "again, or re-",
	"speaks of":       "refers to, or reports",
	"tells that":      "reports whether",
	"looked at":       "observed",
	"in whose midst":  "during which",
	"of which nobody": "unknown",
	"left aside":      "skipped",
	"cut short":       "interrupted",
}

// patternsOf returns what finds words and phrases, with what to write in their place.
func patternsOf(words map[string]string) map[*regexp.Regexp]string {
	patterns := map[*regexp.Regexp]string{}
	for phrase, better := range words {
		patterns[regexp.MustCompile(`(?i)\b`+strings.ReplaceAll(phrase, " ", `\s+(//\s+)?`)+`\b`)] = phrase + ": " + better
	}
	return patterns
}

// TestVocabulary holds comments to the words of docs/glossary.md.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	patterns := patternsOf(unwanted)
	eachSource(t, filepath.Join("..", ".."), func(set *token.FileSet, _ string, f *ast.File) {
		for _, c := range f.Comments {
			for pattern, why := range patterns {
				if pattern.MatchString(c.Text()) {
					t.Errorf("%s: a comment has words that are not the field's: %s", set.Position(c.Pos()), why)
				}
			}
		}
	})
}

// TestVocabularyOfTexts holds what users read to the words of docs/glossary.md. One word alone is a name, and no text.
func TestVocabularyOfTexts(t *testing.T) {
	t.Parallel()
	patterns := patternsOf(unsaid)
	for _, folder := range []string{"planner", "config", "engine", "providers", "state", "cmd/kubewright/internal"} {
		eachSource(t, filepath.Join("..", "..", folder), func(set *token.FileSet, path string, f *ast.File) {
			if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") {
				return
			}
			ast.Inspect(f, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING || !strings.Contains(lit.Value, " ") {
					return true
				}
				for pattern, why := range patterns {
					if pattern.MatchString(lit.Value) {
						t.Errorf("%s: a text has words that are not the field's: %s", set.Position(lit.Pos()), why)
					}
				}
				return true
			})
		})
	}
}

// eachSource parses every source of Go below a folder.
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
