package hclconfig

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
)

// envPrefix begins the names of environment variables that set variables.
const envPrefix = "KUBEWRIGHT_VAR_"

// terraformPrefix begins the environment variables that Terraform reads.
const terraformPrefix = "TF_VAR_"

// VarArg is one option of the command line: -var NAME=VALUE, or -var-file FILE.
type VarArg struct {
	// Assignment is NAME=VALUE.
	Assignment string
	// File is a path, relative to the working directory.
	File string
}

// variable is a variable block.
type variable struct {
	block     *block
	name      string
	typ       cty.Type
	defaults  *typeexpr.Defaults
	sensitive bool
	nullable  bool
	fallback  cty.Value // NilVal: required
	// unanswered is why asking for a value returned none.
	unanswered error
}

// given is a value from outside, before its conversion.
type given struct {
	from string // the option, the environment variable, or FILE:LINE
	// text is the value of an option or environment variable; expr is the expression of a file.
	text string
	expr hcl.Expression
	// sensitive reports whether its source says that it is a secret.
	sensitive bool
}

// declare reads a variable block.
func (e *evaluator) declare(t *template) *variable {
	b := bind(t, "var."+t.label, "", nil)
	v := &variable{block: b, name: t.label, typ: cty.DynamicPseudoType}
	if a := t.attrs["type"]; a != nil {
		typ, defaults, diags := e.meter.typeConstraint(a.Expr)
		e.report(diags)
		v.typ, v.defaults = typ, defaults
		if diags.HasErrors() {
			v.typ, v.fallback = cty.DynamicPseudoType, failedValue(cty.DynamicPseudoType)
			return v
		}
	}
	v.sensitive, v.nullable = e.boolean(b, "sensitive"), e.boolean(b, "nullable")
	e.str(b, "description")
	if a := t.attrs["default"]; a != nil {
		v.fallback = e.declaredDefault(v, a)
	}
	return v
}

// declaredDefault returns the default of a variable, which is a constant.
func (e *evaluator) declaredDefault(v *variable, a *hcl.Attribute) cty.Value {
	if refs := a.Expr.Variables(); len(refs) > 0 {
		e.errorAt(refs[0].SourceRange(), "Variables not allowed", "The default of a variable is a constant. Use a locals block for what is made of other values.")
		return failedValue(v.typ)
	}
	value, diags := e.meter.value(a.Expr, nil)
	e.report(diags)
	if diags.HasErrors() {
		return failedValue(v.typ)
	}
	if found := e.meter.unifies(v.typ, value, a.Expr.Range()); found != nil {
		e.report(hcl.Diagnostics{found})
		return failedValue(v.typ)
	}
	value, err := v.convert(value)
	if err != nil {
		e.errorAt(a.Expr.Range(), "Invalid default value for variable", "The default is not of the variable's type %s: %s.", typeName(v.typ), v.unfit(err, false))
		return failedValue(v.typ)
	}
	if value.IsNull() && !v.nullable {
		e.errorAt(a.Expr.Range(), "Invalid default value for variable", "The default is null, but nullable is false.")
		return failedValue(v.typ)
	}
	return value
}

// convert converts a value to the type with its optional attributes.
func (v *variable) convert(value cty.Value) (cty.Value, error) {
	if v.defaults != nil && !value.IsNull() {
		value = v.defaults.Apply(value)
	}
	value, err := convert.Convert(value, v.typ)
	if err == nil && !numbersInRange(value) {
		return cty.NilVal, errOutOfRange
	}
	return value, err
}

// unfit returns why a value does not convert. For a sensitive value it does not even name keys.
func (v *variable) unfit(err error, sensitive bool) string {
	if (v.sensitive || sensitive) && !v.typ.IsPrimitiveType() && !errors.Is(err, errOutOfRange) {
		return "it is not of the type " + typeName(v.typ)
	}
	return conversionError(err)
}

// collect returns the given values in the order of their precedence; the last one of a name
// wins.
func (l *loader) collect() map[string]given {
	out := map[string]given{}
	for _, kv := range l.options.Env {
		name, text, ok := strings.Cut(kv, "=")
		if short, prefixed := strings.CutPrefix(name, envPrefix); ok && prefixed {
			if l.declared[short] != nil {
				out[short] = given{from: "the environment variable " + name, text: text}
			}
		}
	}
	names, err := l.files.listed(".kwvars", ".kwvars.json")
	if err != nil {
		return out
	}
	l.unreadVariables()
	for _, name := range variableFiles(names) {
		b, err := l.files.read(name)
		if err != nil {
			l.eval.add(diag.Errorf("Cannot read file", "%s: %s.", name, err))
			l.unread = true
			continue
		}
		l.variableFile(out, name, b)
	}
	for _, arg := range l.options.Vars {
		if arg.File != "" {
			l.argumentFile(out, arg.File)
		} else {
			l.assignment(out, arg.Assignment)
		}
	}
	testVariables(l, out)
	l.unreadEnvironment(out)
	return out
}

// unreadEnvironment warns about environment variables that Terraform would read and kubewright
// does not, if nothing else gives the variable a value.
func (l *loader) unreadEnvironment(out map[string]given) {
	for _, kv := range l.options.Env {
		name, _, _ := strings.Cut(kv, "=")
		short, prefixed := strings.CutPrefix(name, terraformPrefix)
		if _, set := out[short]; !prefixed || set || l.declared[short] == nil {
			continue
		}
		l.eval.add(diag.Warningf("Variables are not read", "%s is the name of an environment variable that Terraform looks for. Its value is not used: set %s%s to it.", name, envPrefix, short))
	}
}

// unreadVariables warns about files with variables that Terraform would read and kubewright
// does not. Beside files of Terraform they belong to those.
func (l *loader) unreadVariables() {
	if l.files.ofTerraform() != "" {
		return
	}
	names, _ := l.files.listed(".tfvars", ".tfvars.json")
	for _, name := range names {
		base, ending, _ := strings.Cut(name, ".tfvars")
		here, isAuto := base+".kwvars"+ending, strings.HasSuffix(base, ".auto")
		if base == "terraform" {
			here = "kubewright.kwvars" + ending
		} else if !isAuto {
			continue // only read if -var-file names it
		}
		l.eval.add(diag.Warningf("Variables are not read", "%s is a name that Terraform looks for. Nothing in that file is used: call it %s, or give it with -var-file=%s.", name, here, name))
	}
}

// variableFiles returns the files that are read without being named, in their order.
func variableFiles(names []string) []string {
	var out []string
	for _, fixed := range []string{"kubewright.kwvars", "kubewright.kwvars.json"} {
		if slices.Contains(names, fixed) {
			out = append(out, fixed)
		}
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".auto.kwvars") || strings.HasSuffix(name, ".auto.kwvars.json") {
			out = append(out, name)
		}
	}
	return out
}

// argumentFile reads a file of -var-file, which may be anywhere.
func (l *loader) argumentFile(out map[string]given, name string) {
	b, err := l.options.readFile(name)
	if err != nil {
		l.eval.add(diag.Errorf("Cannot read variables file", "-var-file=%s: %s.", name, withoutPath(err)))
		l.unread = true
		return
	}
	l.files.named[name] = b
	l.variableFile(out, name, b)
}

// variableFile takes the values of the attributes of a file of variables.
func (l *loader) variableFile(out map[string]given, name string, b []byte) {
	file, diags := parseText(b, name)
	if file == nil || diags.HasErrors() {
		l.eval.report(diags)
		l.unread = true
		return
	}
	l.eval.report(duplicateKeys(file.Body))
	attrs, diags := file.Body.JustAttributes()
	l.eval.report(diags)
	l.unread = l.unread || diags.HasErrors()
	if outputs := terraformOutputs(attrs); len(outputs) > 0 {
		takeOutputs(l, out, name, outputs)
		return
	}
	for _, a := range sortedAttributes(attrs) {
		if l.declared[a.Name] == nil {
			l.eval.add(diag.Warningf("Value for undeclared variable",
				"The file sets the variable %q, which no variable block declares.%s", a.Name, suggest(a.Name, l.variableNames())).At(source(a.NameRange)))
			continue
		}
		out[a.Name] = given{from: place(a.Range), expr: a.Expr}
	}
}

// sortedAttributes returns attributes in their written order.
func sortedAttributes(attrs hcl.Attributes) []*hcl.Attribute {
	return slices.SortedFunc(maps.Values(attrs), byPlace)
}

func byPlace(a, b *hcl.Attribute) int { return a.Range.Start.Byte - b.Range.Start.Byte }

// assignment takes NAME=VALUE from the command line.
func (l *loader) assignment(out map[string]given, text string) {
	name, value, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		l.eval.add(diag.Errorf("Invalid -var option", "-var=%q is not of the form -var=\"NAME=VALUE\".", text))
		return
	}
	if l.declared[name] == nil {
		l.eval.add(diag.Errorf("Value for undeclared variable", "A variable named %q was given by -var, but no variable block declares it.%s", name, suggest(name, l.variableNames())))
		return
	}
	out[name] = given{from: "the option -var=\"" + name + "=…\"", text: value}
}

func (l *loader) variableNames() []string { return slices.Sorted(maps.Keys(l.declared)) }

// assign gives every declared variable its value.
func (l *loader) assign(values map[string]given) {
	for _, name := range l.variableNames() {
		v := l.declared[name]
		value := l.valueOf(v, values)
		if v.sensitive || values[name].sensitive {
			value = value.Mark(sensitive)
		}
		l.eval.variables[name] = &thunk{name: "var." + name, at: v.block.at, status: done, value: value}
	}
	for _, name := range l.variableNames() {
		l.validate(l.declared[name])
	}
}

// valueOf returns the value of a variable, or a failed one with an error.
func (l *loader) valueOf(v *variable, values map[string]given) cty.Value {
	g, ok := values[v.name]
	if !ok {
		if v.fallback != cty.NilVal {
			return v.fallback
		}
		l.missing = append(l.missing, v)
		return failedValue(v.typ)
	}
	raw, ok := l.raw(v, g)
	if !ok {
		return failedValue(v.typ)
	}
	if raw.IsNull() && !v.nullable && v.fallback != cty.NilVal {
		return v.fallback
	}
	if g.expr != nil {
		if found := l.eval.meter.unifies(v.typ, raw, g.expr.Range()); found != nil {
			l.badValue(v, g, found.Detail)
			return failedValue(v.typ)
		}
	}
	value, err := v.convert(raw)
	switch {
	case err != nil:
		l.badValue(v, g, v.unfit(err, g.sensitive))
	case value.IsNull() && !v.nullable:
		l.badValue(v, g, "it is null, and nullable is false")
	default:
		return value
	}
	return failedValue(v.typ)
}

// raw evaluates a given value. Text is a string if the variable has a primitive type or none,
// otherwise an expression.
func (l *loader) raw(v *variable, g given) (cty.Value, bool) {
	if g.expr == nil {
		if v.typ.IsPrimitiveType() || v.block.template.attrs["type"] == nil {
			return cty.StringVal(g.text), true
		}
		x, diags := parseExpression(g.text, "<value>")
		if diags.HasErrors() {
			l.badValue(v, g, "it is no expression of the type "+typeName(v.typ)+"; text in it must be quoted, as in [\"a\", \"b\"]")
			return cty.NilVal, false
		}
		if duplicateKeys(x).HasErrors() {
			l.badValue(v, g, "an object in it has a key twice, and only one of its values would count")
			return cty.NilVal, false
		}
		g.expr = x
	}
	value, diags := l.eval.meter.value(g.expr, nil)
	if diags.HasErrors() {
		diags = constantOnly(diags)
		if g.text != "" {
			d := diag.Errorf(diags[0].Summary, "%s", diags[0].Detail)
			withoutQuotes(d, "", g.text) // all of it may be secret
			l.badValue(v, g, d.Detail)
		} else {
			l.eval.report(diags)
		}
		return cty.NilVal, false
	}
	return value, true
}

// constantOnly explains a name in a value from outside: there are no other values to refer to,
// and an unquoted text looks like a name. It drops the expression and its context, since a for
// may iterate over a part of the value.
func constantOnly(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		d.Expression, d.EvalContext = nil, nil
		if d.Summary == "Variables not allowed" {
			d.Detail = "A value from outside is a constant, and this is the name of another value. If it is a text, write it in quotes."
		}
	}
	return diags
}

// badValue reports a value from outside, at its position if it has one. The value itself is not
// quoted: it may be secret.
func (l *loader) badValue(v *variable, g given, why string) {
	d := diag.Errorf("Invalid value for variable", "The value of var.%s from %s is not suitable: %s", v.name, g.from, sentence(why))
	at := source(v.block.at)
	if g.expr != nil && g.text == "" {
		at = source(g.expr.Range())
	}
	l.eval.add(d.At(at))
}

// validate evaluates the validation blocks of a variable.
func (l *loader) validate(v *variable) {
	value := l.eval.variables[v.name].value
	if _, marks := value.UnmarkDeep(); failed(marks) {
		return
	}
	for _, b := range l.eval.all(v.block, "validation") {
		text, broken := l.eval.broken(b)
		if !broken {
			continue
		}
		l.eval.add(diag.Errorf("Invalid value for variable", "%s\n\nThis was checked by the validation rule at %s.", text, place(b.at)).At(source(v.block.at)))
	}
}

// readFile reads a file of the command line.
func (o Options) readFile(name string) ([]byte, error) {
	if o.ReadFile != nil {
		return o.ReadFile(name)
	}
	return safefile.ReadGiven(name, MaxFile)
}

// Missing is a required variable without a value, which may be asked for on a terminal.
type Missing struct {
	Name        string
	Description string
	Sensitive   bool
	Source      state.Source
}
