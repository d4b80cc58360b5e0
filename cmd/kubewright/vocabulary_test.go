package main

import (
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

// TestVocabulary holds comments to the words of docs/glossary.md.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	patterns := map[*regexp.Regexp]string{}
	for words, better := range unwanted {
		patterns[regexp.MustCompile(`(?i)\b`+strings.ReplaceAll(words, " ", `\s+(//\s+)?`)+`\b`)] = words + ": " + better
	}
	root := filepath.Join("..", "..")
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
		for _, c := range f.Comments {
			for pattern, why := range patterns {
				if pattern.MatchString(c.Text()) {
					t.Errorf("%s: a comment has words that are not the field's: %s", set.Position(c.Pos()), why)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
