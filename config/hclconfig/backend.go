package hclconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state/safefile"
)

// blocksOf returns the blocks of a type and ignores everything else in the body.
func blocksOf(body hcl.Body, name, label string) hcl.Blocks {
	header := hcl.BlockHeaderSchema{Type: name}
	if label != "" {
		header.LabelNames = []string{label}
	}
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{header}})
	return content.Blocks
}

// backendOf returns the backend of the settings; nil if none is written.
func (e *evaluator) backendOf(settings *template) *config.Backend {
	var out *config.Backend
	var first *template
	for _, en := range settings.entries {
		switch {
		case en.block != nil && en.block.row == encryptionBlock:
		case en.block == nil:
			e.errorAt(en.dynamic.at, "Dynamic block not allowed", "The settings of the configuration are read before anything else: write the block out.")
		case first != nil:
			e.errorAt(en.block.at, "Duplicate backend block", "A backend was already declared at %s. A state is kept in one place.", place(first.at))
		default:
			first = en.block
			out = e.backend(en.block)
		}
	}
	return out
}

// backend reads a backend block: only literals, since nothing else is known yet.
func (e *evaluator) backend(t *template) *config.Backend {
	out := &config.Backend{Type: t.label, Settings: map[string]string{}, Sensitive: sensitiveRows(t.row), Source: source(t.at)}
	if t.row == backendBlock {
		return nil // of an unknown type, which is reported
	}
	for _, a := range slices.SortedFunc(maps.Values(t.attrs), byPlace) {
		if text, ok := e.literal(t.row.Attribute(a.Name), a.Expr); ok {
			out.Settings[a.Name] = text
		}
	}
	return out
}

func sensitiveRows(row *Block) map[string]bool {
	out := map[string]bool{}
	for _, a := range row.Attributes {
		if a.Sensitive {
			out[a.Name] = true
		}
	}
	return out
}

// literal returns the text of a value without references; ok is false if it is null or, with a
// finding, invalid.
func (e *evaluator) literal(row *Attribute, x hcl.Expression) (text string, ok bool) {
	v, diags := e.meter.value(x, nil)
	if stoppedBy(diags) {
		e.report(diags)
		return "", false
	}
	if diags.HasErrors() {
		what := "Something is computed"
		switch refs := x.Variables(); {
		case len(refs) == 0 && diags[0].Summary == "Function calls not allowed":
			what = "A function is called"
		case len(refs) > 0 && row.Sensitive:
			what = "Something without quotes is named" // the name may be the secret itself
		case len(refs) > 0:
			what = traversalString(refs[0]) + " is named"
		}
		e.errorAt(x.Range(), "Only literals here", "%s here, but where the state is kept is read before anything else. Write the value out, or give it with -backend-config=%s=VALUE or in the environment, as docs/reference/backends.md says.", what, row.Name)
		return "", false
	}
	if v.IsNull() {
		return "", false
	}
	fitted, err := convert.Convert(v, row.Type.cty)
	if err == nil && !numbersInRange(fitted) {
		err = errOutOfRange
	}
	if err != nil {
		e.errorAt(x.Range(), "Incorrect attribute value type", "Inappropriate value for attribute %q: %s", row.Name, sentence(conversionError(err)))
		return "", false
	}
	plain, err := convert.Convert(fitted, cty.String)
	if err != nil {
		e.errorAt(x.Range(), "Incorrect attribute value type", "Inappropriate value for attribute %q: %s", row.Name, sentence(conversionError(err)))
		return "", false
	}
	return plain.AsString(), true
}

// BackendTypes returns the labels that a backend block can have.
func BackendTypes() []string {
	var out []string
	for _, row := range backendBlock.Variants {
		out = append(out, row.Name)
	}
	return out
}

// BackendDefaults returns the default values of a backend's settings, by name.
func BackendDefaults(typ string) map[string]string {
	out := map[string]string{}
	if row := backendBlock.variant(typ); row != nil {
		for i := range row.Attributes {
			if v := row.Attributes[i].Value(); !v.IsNull() {
				text, _ := convert.Convert(v, cty.String)
				out[row.Attributes[i].Name] = text.AsString()
			}
		}
	}
	return out
}

// CompleteBackend merges the settings of a backend: the values of -backend-config, NAME=VALUE
// or the name of a file with such lines, take precedence over the block, and the block over the
// environment and the defaults. The block itself is not changed.
func CompleteBackend(b *config.Backend, given []string, getenv func(string) string) (*config.Backend, diag.Diagnostics) {
	row := backendBlock.variant(b.Type)
	if row == nil {
		panic("internal error: the schema has no backend " + b.Type)
	}
	e := &evaluator{seen: map[[2]any]bool{}, text: func(string) []byte { return nil }, meter: newMeter()}
	out := *b
	out.Sensitive, out.Settings = sensitiveRows(row), BackendDefaults(b.Type)
	out.From, out.Sure = map[string]config.Given{}, map[string][]string{}
	sure := func(name, value, by string) {
		out.From[name] = config.Given{By: by}
		out.Sure[name] = append(out.Sure[name], value)
	}
	for _, a := range row.Attributes {
		variable := "KUBEWRIGHT_" + strings.ToUpper(b.Type+"_"+a.Name)
		if text := getenv(variable); text != "" {
			e.set(&out, a.Name, text, "the environment variable "+variable)
			sure(a.Name, text, variable)
		}
	}
	for name, value := range b.Settings {
		out.Settings[name] = value
		delete(out.From, name)
	}
	for _, arg := range given {
		if name, value, ok := strings.Cut(arg, "="); ok {
			name = strings.TrimSpace(name)
			e.set(&out, name, value, "-backend-config="+name)
			sure(name, value, "-backend-config="+name)
			continue
		}
		e.setFile(&out, arg)
	}
	return &out, e.diags
}

// set sets one setting from outside the block.
func (e *evaluator) set(b *config.Backend, name, text, from string) {
	row := backendBlock.variant(b.Type)
	a := row.Attribute(name)
	if a == nil {
		var names []string
		for _, a := range row.Attributes {
			names = append(names, a.Name)
		}
		e.add(diag.Errorf("Unknown setting of the backend", "%s: the backend %q has no setting %q.%s It has %s.", from, b.Type, name, suggest(name, names), strings.Join(names, ", ")))
		return
	}
	v, err := convert.Convert(cty.StringVal(text), a.Type.cty)
	if err == nil && !numbersInRange(v) {
		err = errOutOfRange
	}
	if err == nil {
		v, err = convert.Convert(v, cty.String)
	}
	if err != nil {
		e.add(diag.Errorf("Incorrect setting of the backend", "%s: %s", from, sentence(conversionError(err))))
		return
	}
	b.Settings[name] = v.AsString()
}

// setFile sets the settings in a file: lines NAME = VALUE, as in the block.
func (e *evaluator) setFile(b *config.Backend, name string) {
	text, err := safefile.ReadGiven(name, MaxFile)
	if err != nil {
		e.add(diag.Errorf("Cannot read the backend's settings", "-backend-config=%s: %s. It is NAME=VALUE, or a file with such lines.", name, withoutPath(err)))
		return
	}
	e.text = func(string) []byte { return text }
	e.cover = func(name string) []byte { return Cover(Options{}, strings.TrimSuffix(name, ".hcl"), text) }
	file, diags := parseText(text, name)
	e.report(diags)
	if file == nil || diags.HasErrors() {
		return
	}
	attrs, diags := file.Body.JustAttributes()
	e.report(diags)
	for _, a := range slices.SortedFunc(maps.Values(attrs), byPlace) {
		row := backendBlock.variant(b.Type).Attribute(a.Name)
		if row == nil {
			e.set(b, a.Name, "", "-backend-config="+name)
			continue
		}
		if value, ok := e.literal(row, a.Expr); ok {
			b.Settings[a.Name], b.From[a.Name] = value, config.Given{By: name, File: true}
		}
	}
}
