package hclconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig/sourcetext"
	"github.com/kubewright/kubewright/examples"
	"github.com/kubewright/kubewright/state/safefile"
)

// MaxFile limits, in bytes, every file that is read.
const MaxFile = 16 << 20

// maxRead limits all files of a configuration together, and maxParsed those that are written in
// the language.
const (
	maxRead   = 256 << 20
	maxParsed = 16 << 20
)

// readLimited reads a regular file of at most MaxFile.
func readLimited(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &safefile.NotRegular{Mode: info.Mode().Type()}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

// readAll reads at most MaxFile.
func readAll(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", MaxFile>>20)
	}
	return b, nil
}

// files are the texts of a configuration by name.
type files struct {
	fsys  fs.FS
	texts map[string][]byte
	// named are the texts of files that the command line names. The configuration depends on
	// the values in them, and not on their text or place.
	named map[string][]byte
	// answers are what functions learned about files without reading them.
	answers map[string]string
	// size is the total size of all texts.
	size int
}

// text returns the text of a file that was read, or nil.
func (f *files) text(name string) []byte {
	if b, ok := f.named[name]; ok {
		return b
	}
	return f.texts[name]
}

// read reads a file once and remembers it for the digest and for excerpts.
func (f *files) read(name string) ([]byte, error) {
	if b, ok := f.texts[name]; ok {
		return b, nil
	}
	b, err := readLimited(f.fsys, name)
	if err != nil {
		return nil, withoutPath(err)
	}
	if f.size += len(b); f.size > maxRead {
		return nil, fmt.Errorf("with it the files that the configuration reads are larger than %d MiB", maxRead>>20)
	}
	f.texts[name] = b
	return b, nil
}

// withoutPath removes operation and path from an error, since the caller gives a better
// context.
func withoutPath(err error) error {
	if err != nil && strings.HasSuffix(err.Error(), "path escapes from parent") { // os.Root has no error value for it
		return errors.New("it is a link that leads out of the configuration folder, and nothing outside is read. " +
			"Put a copy in the place of the link; values of variables can come from elsewhere with -var-file")
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		if errors.Is(pe.Err, fs.ErrInvalid) && !fs.ValidPath(pe.Path) {
			return errors.New("its name is no text in UTF-8")
		}
		return pe.Err
	}
	return err
}

// ignoredName reports whether a name is hidden, or a file that an editor leaves behind.
func ignoredName(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#")
}

// listed returns the names in the folder, without those that editors leave behind, and without
// test files unless they are asked for.
func (f *files) listed(suffixes ...string) ([]string, error) {
	entries, err := fs.ReadDir(f.fsys, ".")
	if err != nil {
		return nil, withoutPath(err)
	}
	var names []string
	for _, en := range entries {
		name := en.Name()
		if en.IsDir() || ignoredName(name) || isTest(name) && !slices.Contains(suffixes, TestSuffix) {
			continue
		}
		if slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// parse reads and parses all files of the configuration.
func (f *files) parse() ([]*hcl.File, hcl.Diagnostics, diag.Diagnostics) {
	names, err := f.listed(".hcl", ".hcl.json")
	if err != nil {
		return nil, nil, diag.Diagnostics{diag.Errorf("Cannot read the configuration folder", "%s.", err)}
	}
	if len(names) == 0 {
		return nil, nil, diag.Diagnostics{diag.Errorf("No configuration files", "The folder has no file whose name ends in .hcl or .hcl.json.%s Change to the folder of your configuration, or name it with -chdir.\n\n%s", f.ofTerraform(), examples.Hint())}
	}
	var (
		parsed []*hcl.File
		syntax hcl.Diagnostics
		diags  diag.Diagnostics
	)
	for _, name := range names {
		b, err := f.read(name)
		if err != nil {
			diags.Append(diag.Errorf("Cannot read file", "%s: %s. Each file whose name ends in .hcl or .hcl.json is read: correct it, or give it another name.", name, err))
			continue
		}
		if f.size > maxParsed {
			diags.Append(diag.Errorf("Configuration too large", "%s: with it the files whose names end in .hcl or .hcl.json are larger than %d MiB. Put large values into files of their own, for file, jsondecode or yamldecode; or split the configuration into several folders.", name, maxParsed>>20))
			break
		}
		file, more := parseText(b, name)
		syntax = append(syntax, more...)
		if file != nil {
			parsed = append(parsed, file)
		}
	}
	return parsed, syntax, diags
}

// ofTerraform says that a folder has files of Terraform; empty if it has none.
func (f *files) ofTerraform() string {
	names, _ := f.listed(".tf", ".tf.json")
	if len(names) == 0 {
		return ""
	}
	return " It has " + names[0] + ", and files whose names end in .tf are Terraform's: those of kubewright are called main.hcl, for example."
}

// parseText parses HCL or, by the name, its JSON form.
func parseText(b []byte, name string) (*hcl.File, hcl.Diagnostics) {
	if d := noText(b, name); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	if rest, marked := bytes.CutPrefix(b, []byte(byteOrderMark)); marked && strings.HasSuffix(name, ".json") {
		b = slices.Concat([]byte("   "), rest) // each byte keeps its position
	}
	if d := sourcetext.Check(b, name); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	if strings.HasSuffix(name, ".json") {
		file, diags := json.Parse(b, name)
		return file, withoutValues(diags)
	}
	file, diags := hclsyntax.ParseConfig(b, name, hcl.InitialPos)
	return file, withoutEchoes(diags)
}

// byteOrderMark is the prefix of UTF-8 files from some Windows editors.
const byteOrderMark = "\ufeff"

// noText reports a file in another encoding once, instead of each of its characters.
func noText(b []byte, name string) *hcl.Diagnostic {
	at := hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
	d := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Invalid character encoding", Subject: &at}
	zero := bytes.IndexByte(b, 0)
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		d.Detail = "The file is in UTF-16. Save it as UTF-8."
		at.End = hcl.Pos{Line: 1, Column: 3, Byte: 2}
	case zero >= 0:
		d.Detail = "There is a zero byte, which no text has. Take it out, or save the file as UTF-8 if it is in another encoding."
		line := bytes.LastIndexByte(b[:zero], '\n') + 1
		at.Start = hcl.Pos{Line: 1 + bytes.Count(b[:zero], []byte("\n")), Column: 1 + zero - line, Byte: zero}
		at.End = hcl.Pos{Line: at.Start.Line, Column: at.Start.Column + 1, Byte: zero + 1}
	default:
		return nil
	}
	return d
}

// withoutValues drops an unquoted word from hcl's errors about a JSON value, for it may be a
// secret: the position is enough. It also drops the error that no object was found, which
// follows from others.
func withoutValues(diags hcl.Diagnostics) hcl.Diagnostics {
	if len(diags) > 1 {
		diags = slices.DeleteFunc(diags, func(d *hcl.Diagnostic) bool { return d.Summary == "Root value must be object" })
	}
	for _, d := range diags {
		if d.Summary == "Invalid JSON keyword" {
			d.Detail = "A value of JSON is in quotes, unless it is a number, true, false or null."
		}
	}
	return diags
}

// openQuote is hcl's summary for a quote that is not closed, which it repeats for every line
// that follows.
const openQuote = "Invalid multi-line string"

// withoutEchoes keeps only the first finding about an open quote: one missing quote is one
// mistake.
func withoutEchoes(diags hcl.Diagnostics) hcl.Diagnostics {
	said := false
	return slices.DeleteFunc(diags, func(d *hcl.Diagnostic) bool {
		echo := said && d.Summary == openQuote
		said = said || d.Summary == openQuote
		return echo
	})
}

// parseExpression parses an expression that a user gave outside of a file.
func parseExpression(text, name string) (hcl.Expression, hcl.Diagnostics) {
	if d := sourcetext.Check([]byte(text), name); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	x, diags := hclsyntax.ParseExpression([]byte(text), name, hcl.InitialPos)
	return x, withoutEchoes(diags)
}

// below reads all files of a folder whose names have these suffixes, by their path in it; none
// if there are too many. A folder that does not exist has none.
func (f *files) below(dir string, suffixes ...string) (map[string][]byte, error) {
	var names []string
	err := fs.WalkDir(f.fsys, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case name == dir && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll
		case err != nil:
			return withoutPath(err)
		case d.IsDir() || !slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) }):
			return nil
		case len(names) == maxSupplied:
			return fmt.Errorf("it holds more than %d files", maxSupplied)
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte, len(names))
	for _, name := range names {
		if out[strings.TrimPrefix(name, dir+"/")], err = f.read(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}

// maxSupplied limits the files of one folder; a control plane has seventeen.
const maxSupplied = 200_000
