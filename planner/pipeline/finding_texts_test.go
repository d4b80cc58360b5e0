package pipeline_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kubewright/kubewright/config/diag"
)

// textsFile has the full text of each finding that a test has shown: where, what is wrong, why, and
// what to do.
var textsFile = filepath.Join("testdata", "findings.txt")

// between separates two findings in the file.
const between = "\n----\n"

// texts are the findings in the file, and those that were shown.
var texts struct {
	sync.Mutex
	golden, shown map[string]bool
}

// show checks that findings have the texts in testdata/findings.txt. UPDATE=1 writes the file: with the
// findings of all tests, or adds those that some of them show.
func show(t testing.TB, diags ...*diag.Diagnostic) {
	t.Helper()
	texts.Lock()
	defer texts.Unlock()
	if texts.golden == nil {
		texts.golden, texts.shown = readTexts(t), map[string]bool{}
	}
	for _, d := range diags {
		text := fmt.Sprintf("%s: %s\n\n%s", d.Severity, d.Summary, strings.TrimRight(d.Detail, "\n"))
		text = madeKey.ReplaceAllString(madeFolder.ReplaceAllString(text, "FOLDER"), "(DIGEST)")
		texts.shown[text] = true
		if !texts.golden[text] && os.Getenv("UPDATE") == "" {
			t.Errorf("%s does not have this text; read it as a user would, and write it with UPDATE=1:\n%s", textsFile, text)
		}
	}
}

// These differ between runs: folders of tests, and digests of generated CA keys.
var (
	madeFolder = regexp.MustCompile(`/\S*/Test\w+/\d{3}`)
	madeKey    = regexp.MustCompile(`\([0-9a-f]{12}\)`)
)

func readTexts(t testing.TB) map[string]bool {
	t.Helper()
	b, err := os.ReadFile(textsFile)
	if err != nil && os.Getenv("UPDATE") == "" {
		t.Error(err)
	}
	read := map[string]bool{}
	for text := range strings.SplitSeq(strings.TrimSuffix(string(b), "\n"), between) {
		read[text] = true
	}
	return read
}

// TestMain checks, when all tests were run, that every text in the file is shown by a test.
func TestMain(m *testing.M) {
	code := m.Run()
	all := code == 0 && !testing.Short()
	for _, some := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		all = all && flag.Lookup(some).Value.String() == ""
	}
	switch {
	case os.Getenv("UPDATE") != "" && texts.shown != nil:
		if err := writeTexts(all); err != nil {
			fmt.Println(err)
			code = 1
		}
	case all:
		for _, text := range slices.Sorted(maps.Keys(texts.golden)) {
			if !texts.shown[text] {
				fmt.Printf("%s has a text that no test shows any more; UPDATE=1 takes it out:\n%s\n\n", textsFile, text)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// writeTexts writes the shown texts and, unless all tests were run, those in the file.
func writeTexts(all bool) error {
	if !all {
		maps.Copy(texts.shown, texts.golden)
	}
	delete(texts.shown, "")
	return os.WriteFile(textsFile, []byte(strings.Join(slices.Sorted(maps.Keys(texts.shown)), between)+"\n"), 0o644)
}
