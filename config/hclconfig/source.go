package hclconfig

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// source converts an hcl range to a position.
func source(r hcl.Range) state.Source {
	return state.Source{
		File: r.Filename, Line: r.Start.Line, Column: r.Start.Column,
		EndLine: r.End.Line, EndColumn: r.End.Column,
		StartByte: r.Start.Byte, EndByte: r.End.Byte,
	}
}

// fromHCL converts an hcl finding. whole is the evaluated expression, or nil.
func fromHCL(d *hcl.Diagnostic, whole hcl.Expression, text func(file string) []byte) *diag.Diagnostic {
	out := &diag.Diagnostic{Severity: diag.Error, Summary: strings.TrimSuffix(d.Summary, "."), Detail: d.Detail}
	if d.Severity == hcl.DiagWarning {
		out.Severity = diag.Warning
	}
	if d.Subject != nil {
		out.Subject = within(source(*d.Subject), text)
	}
	if d.Context != nil && (d.Subject == nil || d.Context.Start.Line != d.Subject.Start.Line) {
		out.Context = within(source(*d.Context), text)
	}
	explainUnsupported(out, text)
	nameFunction(out, d)
	if d.Expression != nil && d.EvalContext != nil {
		out.Values = describeVariables(d.Expression, d.EvalContext)
	}
	if secrets := secretsBehind(d, whole); len(secrets) > 0 {
		withhold(out, d, secrets)
	}
	return out
}

// within truncates a position at the end of its file: hcl's JSON parser can report a syntax
// error after it.
func within(s state.Source, text func(file string) []byte) state.Source {
	b := text(s.File)
	if b == nil {
		return s
	}
	s.EndByte = min(s.EndByte, len(b))
	s.StartByte = min(s.StartByte, s.EndByte)
	return s
}

// explainUnsupported adds to "unsupported" what to write instead: for a name that other tools
// have, and for a misplaced one.
func explainUnsupported(d *diag.Diagnostic, text func(file string) []byte) {
	switch d.Summary {
	case "Unsupported block type", "Unsupported argument", "Extraneous JSON object property":
	default:
		return
	}
	b := text(d.Subject.File)
	if d.Subject.StartByte < 0 || d.Subject.EndByte > len(b) || d.Subject.StartByte >= d.Subject.EndByte {
		return
	}
	explainElsewhere(d, strings.Trim(string(b[d.Subject.StartByte:d.Subject.EndByte]), `"`))
}

// nameFunction suggests the nearest function, always the same one. hcl suggests any similar
// one.
func nameFunction(out *diag.Diagnostic, d *hcl.Diagnostic) {
	called, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d)
	if !ok || called.CalledFunctionNamespace() != "" {
		return
	}
	var names []string
	for c := d.EvalContext; c != nil; c = c.Parent() {
		names = slices.AppendSeq(names, maps.Keys(c.Functions))
	}
	slices.Sort(names)
	name := called.CalledFunctionName()
	out.Detail = "There is no function named " + strconv.Quote(name) + "." + suggest(name, names)
}

// report adds hcl findings, each once.
func (e *evaluator) report(diags hcl.Diagnostics) { e.reportOf(nil, diags) }

// reportOf is report for findings from the evaluation of an expression.
func (e *evaluator) reportOf(x hcl.Expression, diags hcl.Diagnostics) {
	for _, d := range diags {
		out := fromHCL(d, x, e.text)
		if text := e.text(out.Subject.File); text != nil && e.cover != nil {
			withoutCovered(out, text, e.cover(out.Subject.File))
		}
		e.add(out)
	}
}

// add adds a finding unless it was already found at the same position: otherwise each element
// of a for_each would repeat a mistake.
func (e *evaluator) add(ds ...*diag.Diagnostic) {
	for _, d := range ds {
		key := [2]any{d.Subject, d.Summary + "\x00" + d.Detail}
		if d.Subject.File != "" && e.seen[key] {
			continue
		}
		e.seen[key] = true
		e.nameElement(d)
		e.diags.Append(d)
	}
}

// nameElement adds the element of a for_each that a finding is about: the others may be fine,
// or have the same mistake.
func (e *evaluator) nameElement(d *diag.Diagnostic) {
	if len(e.stack) == 0 {
		return
	}
	t := e.stack[len(e.stack)-1]
	each, ok := t.scope.find("each")
	if !ok || t.expr == nil || !slices.ContainsFunc(t.expr.Variables(), func(ref hcl.Traversal) bool { return ref.RootName() == "each" }) {
		return
	}
	said := "each.key " + describe(each.GetAttr("key"))
	if !slices.Contains(d.Values, said) {
		d.Values = append(d.Values, said)
		slices.Sort(d.Values)
	}
}

// errorAt adds an error at a range.
func (e *evaluator) errorAt(r hcl.Range, summary, format string, args ...any) {
	e.add(diag.Errorf(summary, format, args...).At(source(r)))
}
