package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A declaration is a function, or one of the other declarations at the top of a file: a type, a
// variable, or a whole block of constants.
type declaration struct {
	// id is FILE:NAME, or FILE:RECEIVER.NAME of a method.
	id string
	// names are the identifiers by which other code refers to it.
	names []string
	// receiver is the name of a method's receiver type.
	receiver string
	function bool
	// always reports whether it takes effect without a reference: init, main, var _ = ….
	always bool
	// first and last are its lines in the file.
	first, last int
	// digest is the digest of its code without comments; signature is that of a function's head.
	digest, signature string
	// uses are the identifiers in it.
	uses map[string]bool
}

// A tree is source of the repository: its declarations by file, and digests of its other files.
type tree struct {
	files map[string][]*declaration
	other map[string]string
	// imports are the folders of the packages that a file imports from this repository.
	imports map[string][]string
}

// read reads the source below folders of a repository, except for what keep refuses.
func read(root string, folders []string, keep func(path string) bool) (*tree, error) {
	t := &tree{files: map[string][]*declaration{}, other: map[string]string{}, imports: map[string][]string{}}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil || !keep(filepath.ToSlash(name)) {
				return err
			}
			return t.add(path, filepath.ToSlash(name))
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *tree) add(path, name string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(name, ".go") {
		t.other[name] = digest(text)
		return nil
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution) // without comments
	if err != nil {
		return err
	}
	if lines := directives(text); len(lines) > 0 {
		t.other[name] = digest(lines)
	}
	for _, i := range file.Imports {
		if path, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ours {
			t.imports[name] = append(t.imports[name], path)
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			t.files[name] = append(t.files[name], function(fset, name, d))
		case *ast.GenDecl:
			t.files[name] = append(t.files[name], others(fset, name, d)...)
		}
	}
	return nil
}

// directives returns the comments of a file that the compiler reads, such as //go:embed.
func directives(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("//go:")) {
			out = append(append(out, line...), '\n')
		}
	}
	return out
}

func function(fset *token.FileSet, file string, d *ast.FuncDecl) *declaration {
	out := describe(fset, d)
	name := d.Name.Name
	out.function, out.names = true, []string{name}
	out.always = name == "init" || name == "main" || name == "TestMain"
	if d.Recv != nil {
		ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && out.receiver == "" {
				out.receiver = id.Name
			}
			return true
		})
		name = out.receiver + "." + name
	}
	out.id = file + ":" + name
	head := *d
	head.Body = nil
	out.signature = describe(fset, &head).digest
	return out
}

// others returns the declarations of a block; constants belong together, as iota counts them.
func others(fset *token.FileSet, file string, d *ast.GenDecl) []*declaration {
	var out []*declaration
	for _, spec := range d.Specs {
		var names []string
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names = []string{s.Name.Name}
		case *ast.ValueSpec:
			for _, n := range s.Names {
				names = append(names, n.Name)
			}
		default:
			continue // an import: what it brings is used by name
		}
		if d.Tok == token.CONST && len(out) > 0 {
			out[0].names = append(out[0].names, names...)
			continue
		}
		one := describe(fset, spec)
		if d.Tok == token.CONST {
			one = describe(fset, d)
		}
		one.names, one.always = names, slices.Contains(names, "_")
		one.id = file + ":" + strings.Join(names, ",")
		out = append(out, one)
	}
	return out
}

// describe returns a declaration's code and identifiers.
func describe(fset *token.FileSet, node ast.Node) *declaration {
	var b bytes.Buffer
	if err := printer.Fprint(&b, fset, node); err != nil {
		panic(err) // what was parsed can be printed
	}
	out := &declaration{
		digest: digest(b.Bytes()), uses: map[string]bool{},
		first: fset.Position(node.Pos()).Line, last: fset.Position(node.End()).Line,
	}
	ast.Inspect(node, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			out.uses[id.Name] = true
		}
		return true
	})
	return out
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// at returns the declaration in a line of a file, or nil.
func (t *tree) at(file string, line int) *declaration {
	for _, d := range t.files[file] {
		if d.first <= line && line <= d.last {
			return d
		}
	}
	return nil
}

// parts returns, as "ID DIGEST", the declarations that matter where the given ones take effect:
// those that they refer to, by name, and so on. Functions for which runs returns false do not
// matter, unless they are methods of types that do: then their heads matter, as they decide which
// interfaces the type implements.
func (t *tree) parts(begin []*declaration, runs func(*declaration) bool) map[string]string {
	byName, methods := map[string][]*declaration{}, map[string][]*declaration{}
	queue := slices.Clone(begin)
	for _, declarations := range t.files {
		for _, d := range declarations {
			for _, name := range d.names {
				byName[name] = append(byName[name], d)
			}
			if d.receiver != "" {
				methods[d.receiver] = append(methods[d.receiver], d)
			}
			if d.always && (!d.function || runs(d)) {
				queue = append(queue, d)
			}
		}
	}
	out, used := map[string]string{}, map[string]bool{}
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		if out[d.id] == d.digest {
			continue
		}
		out[d.id] = d.digest
		for name := range d.uses {
			if used[name] {
				continue
			}
			used[name] = true
			for _, next := range byName[name] {
				if !next.function || runs(next) {
					queue = append(queue, next)
				}
			}
			for _, m := range methods[name] {
				if _, ok := out[m.id]; !ok {
					out[m.id] = fmt.Sprintf("head %s", m.signature)
				}
			}
		}
	}
	return out
}
