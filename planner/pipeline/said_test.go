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

// textsFile has each finding that a test has shown, in full, as somebody reads it who
// meets it: where, what is wrong, why, and what to do.
var textsFile = filepath.Join("testdata", "findings.txt")

// between stands between two findings of the file.
const between = "\n----\n"

// texts are the findings of the file, and those that were shown.
var texts struct {
	sync.Mutex
	golden, shown map[string]bool
}

// show holds that findings read as testdata/findings.txt has them. UPDATE=1 writes it:
// of all tests, or adds to it what some of them show.
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
			t.Errorf("%s does not have this text; read it as somebody who meets it, and have UPDATE=1 write it:\n%s", textsFile, text)
		}
	}
}

// What differs from one run to the next: folders of tests, and CAs whose keys they make.
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

// TestMain sees, when all tests were run, that the file has no text that none of them
// shows any more.
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

// writeTexts writes what was shown, and unless that is all, what was there.
func writeTexts(all bool) error {
	if !all {
		maps.Copy(texts.shown, texts.golden)
	}
	delete(texts.shown, "")
	return os.WriteFile(textsFile, []byte(strings.Join(slices.Sorted(maps.Keys(texts.shown)), between)+"\n"), 0o644)
}
