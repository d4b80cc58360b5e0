package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// cache is a module cache with the files of modules by path.
type cache map[string]map[string]string

// modules writes the files, and returns the modules in order of their paths.
func (c cache) modules(t *testing.T) []module {
	t.Helper()
	root := t.TempDir()
	var out []module
	for _, path := range slices.Sorted(maps.Keys(c)) {
		m := module{path: path, version: "v1.2.3", dir: filepath.Join(root, path)}
		for name, content := range c[path] {
			full := filepath.Join(m.dir, name)
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, ".go") {
				m.packages = append(m.packages, filepath.Dir(full))
			}
		}
		out = append(out, m)
	}
	return out
}

const source = "package p\n"

func mit(author string) string {
	return "MIT License\n\nCopyright (c) " + author + `

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to
whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`
}

// isc has no word of the MIT licence's conditions.
const isc = `Copyright (c) Ann

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted,
provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED
WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR
CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF
CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
`

// onlyMIT accepts one licence, and omits one file.
var onlyMIT = policy{accepted: []string{"MIT"}, omitted: map[string]string{"example.com/docs: LICENSE.docs": "documentation"}}

func withDocs(c cache) cache {
	c["example.com/docs"] = map[string]string{"d.go": source, "LICENSE": mit("Dora"), "LICENSE.docs": isc}
	return c
}

// TestRefused checks which dependencies are refused, and that each is named with its version and
// the reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		modules cache
		want    []string
	}{
		"no licence file": {
			cache{"example.com/a": {"a.go": source, "README": "free"}},
			[]string{"  example.com/a v1.2.3: has no licence file for ", "/example.com/a\n", "go mod why -m MODULE"},
		},
		"a licence for another folder": {
			cache{"example.com/a": {"a/a.go": source, "b/b.go": source, "b/LICENSE": mit("Ann")}},
			[]string{"  example.com/a v1.2.3: has no licence file for ", "/example.com/a/a\n"},
		},
		"a folder whose name continues the licensed one's": {
			cache{"example.com/a": {"b2/a.go": source, "b/b.go": source, "b/LICENSE": mit("Ann")}},
			[]string{"has no licence file for ", "/example.com/a/b2\n"},
		},
		"an unknown licence": {
			cache{"example.com/a": {"a.go": source, "LICENSE": "You may use this on Sundays only.\n"}},
			[]string{"  example.com/a v1.2.3: LICENSE has no licence that is recognised: 0% of its text"},
		},
		"conditions after a known licence": {
			cache{"example.com/a": {"a.go": source, "LICENSE": mit("Ann") + strings.Repeat("The software may not be used by companies with an income. ", 20)}},
			[]string{"  example.com/a v1.2.3: LICENSE has no licence that is recognised: "},
		},
		"a licence that is not accepted": {
			cache{"example.com/a": {"a.go": source, "LICENSE": isc}},
			[]string{"  example.com/a v1.2.3: LICENSE has the licence ISC, which is not an accepted one\n", "tools/licences/policy.go"},
		},
		"one of two": {
			cache{"example.com/a": {"a.go": source, "LICENSE": mit("Ann") + isc}},
			[]string{"LICENSE has the licence ISC, which"},
		},
		"below the root of the module": {
			cache{"example.com/a": {"a.go": source, "LICENSE": mit("Ann"), "fork/b/b.go": source, "fork/COPYING": isc}},
			[]string{"  example.com/a v1.2.3: fork/COPYING has the licence ISC, which"},
		},
		"a grant of patents alone": {
			cache{"example.com/a": {"a.go": source, "PATENTS": patentsText(t)}},
			[]string{"PATENTS has the licence GooglePatentsFile, which"},
		},
		"all at once": {
			cache{"example.com/a": {"a.go": source, "LICENSE": isc}, "example.com/b": {"b.go": source}},
			[]string{"  example.com/a v1.2.3: ", "  example.com/b v1.2.3: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := onlyMIT.generate(withDocs(c.modules).modules(t))
			if err == nil || files != nil {
				t.Fatalf("accepted: %v", files)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "example.com/docs") {
				t.Errorf("a good module is named:\n%v", err)
			}
		})
	}
}

// patentsText returns the grant of patents of Go.
func patentsText(t *testing.T) string {
	t.Helper()
	root, err := goCommand(t.Context(), ".", nil, "env", "GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "PATENTS"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPatentsAreNoLicence checks that a grant of patents, even an accepted one, covers no code.
func TestPatentsAreNoLicence(t *testing.T) {
	t.Parallel()
	modules := cache{"example.com/a": {"a.go": source, "PATENTS": patentsText(t)}}.modules(t)
	if _, err := (policy{accepted: []string{patents}}).generate(modules); err == nil || !strings.Contains(err.Error(), "has no licence file for") {
		t.Errorf("got %v", err)
	}
}

// TestUnusedOmission checks that an entry of the policy without its file is an error.
func TestUnusedOmission(t *testing.T) {
	t.Parallel()
	modules := cache{"example.com/docs": {"d.go": source, "LICENSE": mit("Dora")}}.modules(t)
	if _, err := onlyMIT.generate(modules); err == nil || !strings.Contains(err.Error(), "omits example.com/docs: LICENSE.docs, and no dependency has this file") {
		t.Errorf("got %v", err)
	}
}

// TestGenerate checks what the files contain: each module, each text once, every notice.
func TestGenerate(t *testing.T) {
	t.Parallel()
	modules := withDocs(cache{
		"example.com/a": {"a.go": source, "LICENSE": mit("Ann"), "NOTICE": "Ann made this.\n", "licence.go": source},
		"example.com/b": {"b.go": source, "LICENSE": strings.ReplaceAll(mit("Ann"), "\n", " \r\n"), "sub/b.go": source, "sub/NOTICE.txt": "Bob made that.\n"},
		"example.com/c": {"in/c.go": source, "LICENSE": mit("Carl"), "other/LICENSE": isc, "other/NOTICE": "not linked"},
	}).modules(t)
	files, err := onlyMIT.generate(modules)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(modules[0].packages)
	again, err := onlyMIT.generate(modules)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if !bytes.Equal(f.content, again[i].content) {
			t.Errorf("%s differs the second time", f.name)
		}
	}
	notice, licences := string(files[0].content), string(files[1].content)
	for _, want := range []string{"example.com/a v1.2.3: NOTICE\n", "Ann made this.\n", "example.com/b v1.2.3: sub/NOTICE.txt\n", "Bob made that.\n"} {
		if strings.Count(notice, want) != 1 {
			t.Errorf("NOTICE has %q %d times:\n%s", want, strings.Count(notice, want), notice)
		}
	}
	for _, want := range []string{
		"example.com/a     v1.2.3  MIT\n", "example.com/c     v1.2.3  MIT\n", "example.com/docs  v1.2.3  MIT\n",
		"MIT\n\nexample.com/a v1.2.3: LICENSE\nexample.com/b v1.2.3: LICENSE\n", "Copyright (c) Ann\n", "Copyright (c) Carl\n", "Copyright (c) Dora\n",
	} {
		if strings.Count(licences, want) != 1 {
			t.Errorf("THIRD_PARTY_LICENSES has %q %d times:\n%s", want, strings.Count(licences, want), licences)
		}
	}
	for _, unwanted := range []string{"not linked", "provided that the above", "\r"} {
		if strings.Contains(notice+licences, unwanted) {
			t.Errorf("the files have %q", unwanted)
		}
	}
}

// TestCompare checks that a file which is missing or differs is an error that says what to do.
func TestCompare(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	files := []file{{"NOTICE", []byte("a\nb\n")}, {"THIRD_PARTY_LICENSES", []byte("c\nd\n")}}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(repo, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("THIRD_PARTY_LICENSES", "c\nold\nd\n")
	err := compare(repo, files)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"NOTICE: no such file", "THIRD_PARTY_LICENSES is out of date from line 2 on:\n  - old\n  + d\n", "Run make licences"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	write("THIRD_PARTY_LICENSES", "c\nd\n")
	write("NOTICE", "a\n")
	if err := compare(repo, files); err == nil || !strings.Contains(err.Error(), "NOTICE is out of date from line 2 on") {
		t.Errorf("got %v", err)
	}
	write("NOTICE", "a\nb\n")
	if err := compare(repo, files); err != nil {
		t.Error(err)
	}
}

// TestLinked checks that modules of all platforms are found, with the folders of what is linked, and
// neither kubewright itself nor what only its tests import.
func TestLinked(t *testing.T) {
	t.Parallel()
	modules, err := linked(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	if modules[0].path != standard || len(modules) < 50 {
		t.Fatalf("got %d modules, the first of them %s", len(modules), modules[0])
	}
	byPath := map[string]module{}
	for _, m := range modules {
		byPath[m.path] = m
	}
	hcl := byPath["github.com/hashicorp/hcl/v2"]
	if hcl.version == "" || !slices.Contains(hcl.packages, filepath.Join(hcl.dir, "hclsyntax")) || slices.Contains(hcl.packages, filepath.Join(hcl.dir, "hcltest")) {
		t.Errorf("got %+v", hcl)
	}
	for _, path := range []string{"github.com/kubewright/kubewright", "github.com/rogpeppe/go-internal", "pgregory.net/rapid"} {
		if m, there := byPath[path]; there {
			t.Errorf("%s is among them", m)
		}
	}
}

// TestReleases checks that the platforms are those that are released, and that each archive has the
// files.
func TestReleases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Builds []struct {
			Main         string
			Goos, Goarch []string
		}
		Archives []struct{ Files []struct{ Src string } }
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	var released []string
	for _, b := range config.Builds {
		if b.Main != program {
			t.Errorf("%s is released, and the licences are those of %s", b.Main, program)
		}
		for _, goos := range b.Goos {
			for _, goarch := range b.Goarch {
				released = append(released, goos+"/"+goarch)
			}
		}
	}
	if !slices.Equal(released, platforms) {
		t.Errorf("%v are released, and the licences are those of %v", released, platforms)
	}
	if len(config.Archives) == 0 {
		t.Error("there is no archive")
	}
	for _, a := range config.Archives {
		var files []string
		for _, f := range a.Files {
			files = append(files, f.Src)
		}
		for _, name := range []string{"LICENSE", "NOTICE", "THIRD_PARTY_LICENSES"} {
			if !slices.Contains(files, name) {
				t.Errorf("an archive has %v, without %s", files, name)
			}
		}
	}
}
