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

// source returns a range of hcl's as a place of ours.
func source(r hcl.Range) state.Source {
	return state.Source{
		File: r.Filename, Line: r.Start.Line, Column: r.Start.Column,
		EndLine: r.End.Line, EndColumn: r.End.Column,
		StartByte: r.Start.Byte, EndByte: r.End.Byte,
	}
}

// notYet are blocks and arguments of Terraform's that people will try.
var notYet = map[string]string{
	"postcondition":         "Use a check block.",
	"create_before_destroy": "A node is one host: it leaves before it joins again.",
	"replace_triggered_by":  "Use -replace=ADDRESS to create a node again.",
	"count":                 "Use for_each with a map or a set of strings: its keys stay the same when the number changes.",
	"module":                "A folder is one configuration; write several clusters into it, or use several folders.",
	"resource":              "Write cluster and node blocks.",
	"data":                  "Write cluster and node blocks, and variables for what comes from outside.",
	"provider":              "Hosts are reached as connection blocks say.",
	"terraform":             "Write a kubewright block.",
	"depends_on":            "The order follows from what nodes and clusters are.",
}

// fromHCL converts a finding of hcl's. Whole is the expression that was evaluated, or nil.
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

// within cuts a place off at the end of its file: hcl's parser of JSON can
// place a syntax error behind it.
func within(s state.Source, text func(file string) []byte) state.Source {
	b := text(s.File)
	if b == nil {
		return s
	}
	s.EndByte = min(s.EndByte, len(b))
	s.StartByte = min(s.StartByte, s.EndByte)
	return s
}

// explainUnsupported says more than "unsupported" of what Terraform has, and of what
// belongs elsewhere.
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
	name := strings.Trim(string(b[d.Subject.StartByte:d.Subject.EndByte]), `"`)
	hint, ok := notYet[name]
	if !ok {
		explainElsewhere(d, name)
		return
	}
	d.Summary = "Not available in this version"
	d.Detail = strings.TrimSpace("This version of kubewright has no " + name + ". " + hint)
}

// nameFunction names the function that was meant: the nearest one, and the same
// each time. hcl names any that is near.
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

// report adds findings of hcl's, each once.
func (e *evaluator) report(diags hcl.Diagnostics) { e.reportOf(nil, diags) }

// reportOf is report for what the evaluation of an expression found.
func (e *evaluator) reportOf(x hcl.Expression, diags hcl.Diagnostics) {
	for _, d := range diags {
		out := fromHCL(d, x, e.text)
		if text := e.text(out.Subject.File); text != nil && e.cover != nil {
			withoutCovered(out, text, e.cover(out.Subject.File))
		}
		e.add(out)
	}
}

// add adds a finding unless the same was found at the same place before: for
// each element of a for_each the same mistake would be.
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

// nameElement says which element of a for_each a finding is about: the others may be
// well, or are wrong in the same way.
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
