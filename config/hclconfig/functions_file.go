package hclconfig

import (
	"cmp"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/kubewright/kubewright/config/hclconfig/sourcetext"
)

// addFileFunctions adds the functions that read files below the folder.
func (l *loader) addFileFunctions(f map[string]function.Function, m *meter) {
	plain := maps.Clone(f)
	f["file"] = l.ofFile(func(name string, b []byte) (string, error) {
		if !utf8.Valid(b) {
			return "", fmt.Errorf("%q is no text in UTF-8; use filebase64 for other files", name)
		}
		return string(b), nil
	})
	f["filebase64"] = l.ofFile(func(_ string, b []byte) (string, error) { return base64.StdEncoding.EncodeToString(b), nil })
	f["file_age"] = fileAge(l)
	f["filemd5"] = l.ofFile(func(_ string, b []byte) (string, error) { s := md5.Sum(b); return hex.EncodeToString(s[:]), nil })
	f["filesha1"] = l.ofFile(func(_ string, b []byte) (string, error) { s := sha1.Sum(b); return hex.EncodeToString(s[:]), nil })
	f["filesha256"] = l.ofFile(func(_ string, b []byte) (string, error) { s := sha256.Sum256(b); return hex.EncodeToString(s[:]), nil })
	f["filesha512"] = l.ofFile(func(_ string, b []byte) (string, error) { s := sha512.Sum512(b); return hex.EncodeToString(s[:]), nil })
	f["fileexists"] = l.fileExists()
	f["fileset"] = l.fileSet()
	maps.Copy(plain, f)
	f["templatefile"] = l.templateFile(plain, m)
	f["templatestring"] = m.templateString(plain)
}

// fileAge reads a file that is encrypted with age. Its content is sensitive.
func fileAge(l *loader) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			b, err := l.readLocal(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			plain, err := decrypted(l.options.Decrypt, args[0].AsString(), b)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.StringVal(plain).Mark(sensitive), nil
		},
	})
}

// decrypted returns the content of a file that is encrypted with age.
func decrypted(decrypt func([]byte) ([]byte, error), name string, b []byte) (string, error) {
	if decrypt == nil {
		return "", fmt.Errorf("%q is not decrypted here, because this command has no use for secrets", name)
	}
	plain, err := decrypt(b)
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot decrypt %q: %w", name, err)
	case !utf8.Valid(plain):
		return "", fmt.Errorf("%q holds no text in UTF-8", name)
	}
	return string(plain), nil
}

// localPath makes a path relative to the folder and refuses one that leaves it.
func localPath(name string) (string, error) {
	clean := path.Clean(name)
	switch {
	case strings.HasPrefix(name, "~"), path.IsAbs(clean), clean == "..", strings.HasPrefix(clean, "../"), strings.ContainsRune(name, 0):
		return "", fmt.Errorf("%q lies outside the configuration folder; only files below it are read, so that the configuration is all that a plan depends on", name)
	}
	return clean, nil
}

// readLocal reads a file below the folder.
func (l *loader) readLocal(name string) ([]byte, error) {
	clean, err := localPath(name)
	if err != nil {
		return nil, err
	}
	b, err := l.files.read(clean)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %q below the configuration folder", name)
	case err != nil:
		return nil, fmt.Errorf("cannot read %q: %w", name, err)
	}
	return b, nil
}

func (l *loader) ofFile(convert func(name string, b []byte) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			b, err := l.readLocal(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			s, err := convert(args[0].AsString(), b)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.StringVal(s), nil
		},
	})
}

func (l *loader) fileExists() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			clean, err := localPath(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			info, err := fs.Stat(l.files.fsys, clean)
			found := err == nil && info.Mode().IsRegular()
			l.files.answers["fileexists "+clean] = strconv.FormatBool(found)
			return cty.BoolVal(found), nil
		},
	})
}

// fileSet lists the files below a folder that match a pattern.
func (l *loader) fileSet() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "pattern", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Set(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			dir, err := localPath(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			sub, err := fs.Sub(l.files.fsys, dir)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, withoutPath(err))
			}
			names, err := matchFiles(sub, args[1].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(1, err)
			}
			l.files.answers["fileset "+dir+" "+args[1].AsString()] = strings.Join(names, "\n")
			if len(names) == 0 {
				return cty.SetValEmpty(cty.String), nil
			}
			return literalSet(names), nil
		},
	})
}

// matchFiles walks a folder; ** in the pattern stands for any number of folders.
func matchFiles(fsys fs.FS, pattern string) ([]string, error) {
	if _, err := path.Match(strings.ReplaceAll(pattern, "**", "*"), ""); err != nil {
		return nil, err
	}
	var names []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && matchPath(strings.Split(pattern, "/"), strings.Split(name, "/")) {
			names = append(names, name)
		}
		if len(names) > maxNodes {
			return fmt.Errorf("more than %d files match", maxNodes)
		}
		return nil
	})
	return names, err
}

func literalSet(names []string) cty.Value {
	vs := make([]cty.Value, len(names))
	for i, name := range names {
		vs[i] = cty.StringVal(name)
	}
	return cty.SetVal(vs)
}

func matchPath(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		for i := range len(name) + 1 {
			if matchPath(pattern[1:], name[i:]) {
				return true
			}
		}
		return false
	}
	if len(name) == 0 {
		return false
	}
	ok, _ := path.Match(pattern[0], name[0])
	return ok && matchPath(pattern[1:], name[1:])
}

// templateFile renders a file below the folder with the given variables.
func (l *loader) templateFile(functions map[string]function.Function, m *meter) function.Function {
	load := func(name cty.Value) (hclsyntax.Expression, error) {
		b, err := l.readLocal(name.AsString())
		if err != nil {
			return nil, err
		}
		return parseTemplate(b, name.AsString())
	}
	return m.templateFunc("path", load, functions)
}

// templateText is the file name in positions inside the text of templatestring.
const templateText = "<template>"

// templateString renders a string with the given variables.
func (m *meter) templateString(functions map[string]function.Function) function.Function {
	load := func(text cty.Value) (hclsyntax.Expression, error) {
		return parseTemplate([]byte(text.AsString()), templateText)
	}
	return m.templateFunc("template", load, functions)
}

func parseTemplate(b []byte, name string) (hclsyntax.Expression, error) {
	switch d := sourcetext.CheckTemplate(b, name); {
	case d == nil:
	case d.Summary == sourcetext.OutOfRange:
		return nil, errOutOfRange
	case d.Summary == sourcetext.TooManyTokens:
		return nil, errors.New(strings.TrimSuffix(d.Detail, "."))
	default:
		return nil, errors.New("the template is nested too deeply. " + strings.TrimSuffix(d.Detail, "."))
	}
	x, diags := hclsyntax.ParseTemplate(b, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	return x, nil
}

func (m *meter) templateFunc(first string, load func(cty.Value) (hclsyntax.Expression, error), functions map[string]function.Function) function.Function {
	render := func(args []cty.Value) (cty.Value, error) {
		x, err := load(args[0])
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return m.renderTemplate(x, args[1], functions)
	}
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: first, Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType}},
		Type: func(args []cty.Value) (cty.Type, error) {
			if !args[0].IsKnown() || !args[1].IsWhollyKnown() {
				return cty.DynamicPseudoType, nil
			}
			v, err := render(args)
			if err != nil {
				return cty.NilType, err
			}
			return v.Type(), nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return render(args) },
	})
}

// renderTemplate evaluates a template with an object's attributes as variables.
func (m *meter) renderTemplate(x hclsyntax.Expression, vars cty.Value, functions map[string]function.Function) (cty.Value, error) {
	if t := vars.Type(); !t.IsObjectType() && !t.IsMapType() {
		return cty.NilVal, function.NewArgErrorf(1, "an object of variables is required")
	}
	all := vars.AsValueMap()
	for name := range all {
		if !hclsyntax.ValidIdentifier(name) {
			return cty.NilVal, function.NewArgErrorf(1, "%q is no name for a variable of a template", name)
		}
	}
	for _, ref := range x.Variables() {
		if _, ok := all[ref.RootName()]; !ok {
			return cty.NilVal, function.NewArgErrorf(1, "the template needs a variable %q at %s, and is given %s", ref.RootName(), place(ref.SourceRange()), cmp.Or(strings.Join(slices.Sorted(maps.Keys(all)), ", "), "none"))
		}
	}
	v, diags := m.as(x, plain).Value(&hcl.EvalContext{Variables: all, Functions: functions})
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	return v, nil
}
