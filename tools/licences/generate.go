package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/google/licensecheck"
)

// A text is the content of a licence or notice file, and where it stands: the same text in several
// modules is one.
type text struct {
	// folder is that of the first file, below its module's.
	content, folder string
	// licences are the names of the licences in it, sorted; sources are modules with files.
	licences, sources []string
}

// generate returns the contents of both files, or an error with every dependency that the policy
// does not accept.
func (p policy) generate(modules []module) ([]file, error) {
	var refused []error
	var licences, notices []*text
	names := map[string][]string{}
	unused := map[string]bool{}
	for f := range p.omitted {
		unused[f] = true
	}
	for _, m := range modules {
		texts, err := p.licencesOf(m, unused)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		for _, t := range texts {
			names[m.String()] = append(names[m.String()], t.licences...)
			licences = add(licences, t)
		}
		files, err := m.files(noticeNames)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			t, err := m.read(f)
			if err != nil {
				return nil, err
			}
			notices = add(notices, t)
		}
	}
	if len(refused) > 0 {
		return nil, fmt.Errorf("these dependencies of the program cannot be distributed with it:\n%w\n"+
			"Replace them: go mod why -m MODULE says what imports one. Or review the terms, and accept the licence in tools/licences/policy.go", errors.Join(refused...))
	}
	for f := range unused {
		return nil, fmt.Errorf("tools/licences/policy.go omits %s, and no dependency has this file: remove the entry", f)
	}
	return []file{{"NOTICE", noticeFile(notices)}, {"THIRD_PARTY_LICENSES", licenceFile(modules, names, licences)}}, nil
}

// licencesOf returns the licences of a module, or an error that says what is wrong with them.
func (p policy) licencesOf(m module, unused map[string]bool) ([]*text, error) {
	files, err := m.files(licenceNames)
	if err != nil {
		return nil, err
	}
	var texts []*text
	var errs []error
	for _, f := range files {
		if name := m.path + ": " + f; p.omitted[name] != "" {
			delete(unused, name)
			continue
		}
		t, err := m.read(f)
		if err != nil {
			return nil, err
		}
		if err := p.recognise(t); err != nil {
			errs = append(errs, fmt.Errorf("  %s: %s %w", m, f, err))
		}
		texts = append(texts, t)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return texts, m.covered(texts)
}

// covered returns an error if a linked package has no licence in its folder, nor in one above it.
func (m module) covered(texts []*text) error {
	for _, dir := range m.packages {
		rel, err := filepath.Rel(m.dir, dir)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(texts, func(t *text) bool {
			return !slices.Equal(t.licences, []string{patents}) && (t.folder == "." || strings.HasPrefix(rel+"/", t.folder+"/"))
		}) {
			return fmt.Errorf("  %s: has no licence file for %s", m, dir)
		}
	}
	return nil
}

// recognise finds the licences of a text, and refuses what is not accepted.
func (p policy) recognise(t *text) error {
	found := licensecheck.Scan([]byte(t.content))
	var names []string
	for _, m := range found.Match {
		names = append(names, m.ID)
	}
	slices.Sort(names)
	t.licences = slices.Compact(names)
	refused := slices.DeleteFunc(slices.Clone(t.licences), func(n string) bool { return slices.Contains(p.accepted, n) })
	switch {
	case len(refused) > 0:
		return fmt.Errorf("has the licence %s, which is not an accepted one", strings.Join(refused, ", "))
	case found.Percent < minCoverage:
		return fmt.Errorf("has no licence that is recognised: %.0f%% of its text belong to one", found.Percent)
	}
	return nil
}

// read reads a file of a module, with line ends of Unix and without space at the ends of lines.
func (m module) read(name string) (*text, error) {
	b, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(string(b), "\uFFFD")) {
		lines = append(lines, strings.TrimRight(line, " \t\r\n\f"))
	}
	return &text{content: strings.Trim(strings.Join(lines, "\n"), "\n"), folder: path.Dir(name), sources: []string{m.String() + ": " + name}}, nil
}

// add adds a text to others, or its source to the one with the same content.
func add(texts []*text, t *text) []*text {
	for _, o := range texts {
		if o.content == t.content {
			o.sources = append(o.sources, t.sources...)
			return texts
		}
	}
	return append(texts, t)
}

var rule = strings.Repeat("=", 80) + "\n"

// noticeFile returns kubewright's notice, followed by those of its dependencies.
func noticeFile(notices []*text) []byte {
	var b bytes.Buffer
	b.WriteString("kubewright\nCopyright The kubewright authors\n\n" +
		"The program contains the dependencies that THIRD_PARTY_LICENSES lists with their licences. These are\n" +
		"the notices that some of them carry.\n")
	writeTexts(&b, notices)
	return b.Bytes()
}

// licenceFile returns a table of the modules with their licences, followed by the texts.
func licenceFile(modules []module, names map[string][]string, licences []*text) []byte {
	var b bytes.Buffer
	b.WriteString("Everything that is linked into the program kubewright, on any platform, and the licences of it.\n\n" +
		"The sources are those of the Go module in this version, unchanged. To get them:\n" +
		"go mod download -json MODULE@VERSION\n\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, m := range modules {
		all := names[m.String()]
		slices.Sort(all)
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.path, cmp.Or(m.version, "-"), strings.Join(slices.Compact(all), ", "))
	}
	w.Flush() // a bytes.Buffer takes everything
	writeTexts(&b, licences)
	return b.Bytes()
}

func writeTexts(b *bytes.Buffer, texts []*text) {
	for _, t := range texts {
		b.WriteString("\n" + rule)
		if len(t.licences) > 0 {
			fmt.Fprintf(b, "%s\n\n", strings.Join(t.licences, ", "))
		}
		for _, s := range t.sources {
			fmt.Fprintf(b, "%s\n", s)
		}
		b.WriteString(rule + "\n" + t.content + "\n")
	}
}
