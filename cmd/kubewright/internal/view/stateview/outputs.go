package stateview

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// Expression prints the value of an expression as HCL, or that it is sensitive.
func Expression(w io.Writer, v state.Value, o ui.Options) error {
	p := ui.NewPage(o)
	p.Line(ui.HCL(v, ""))
	return p.Flush(w)
}

// Output prints one output: as HCL, as JSON, or raw for a script. A raw value is printed unchanged
// and without a line break.
func Output(w io.Writer, v state.Value, raw, asJSON bool, o ui.Options) error {
	switch {
	case v.Kind() == state.KindSensitive:
		return fmt.Errorf("the output is sensitive, and its value is kept nowhere: the state has a fingerprint of it. Take it from where the configuration has it")
	case v.Kind() == state.KindPending && (raw || asJSON):
		return fmt.Errorf("the output is known only after an apply")
	case asJSON:
		return ui.WriteJSON(w, ui.JSONValue(v))
	case !raw:
		return Expression(w, v, o)
	}
	switch v.Kind() {
	case state.KindString, state.KindNumber:
		_, err := io.WriteString(w, v.AsString())
		return err
	case state.KindBool:
		_, err := io.WriteString(w, ui.Inline(v))
		return err
	}
	return fmt.Errorf("only a string, number or boolean can be printed bare; use -json for others")
}

// OutputList prints outputs as assignments, without a heading.
func OutputList(w io.Writer, outputs map[string]state.Value, o ui.Options) error {
	p := ui.NewPage(o)
	if len(outputs) == 0 {
		p.Line(p.Bold(p.Yellow("Warning: ")), p.Bold("No outputs found"))
		p.Line()
		p.Prose("The state has no outputs: the configuration defines none, or it was not applied since it does.")
		return p.Flush(w)
	}
	assign(p, outputs)
	return p.Flush(w)
}

// Outputs prints the outputs at the end of an apply; nothing if there are none.
func Outputs(w io.Writer, outputs map[string]state.Value, o ui.Options) error {
	if len(outputs) == 0 {
		return nil
	}
	p := ui.NewPage(o)
	p.Line()
	p.Line(p.BoldGreen("Outputs:"))
	p.Line()
	assign(p, outputs)
	return p.Flush(w)
}

// assign prints values as assignments, aligned.
func assign(p *ui.Page, values map[string]state.Value) {
	width := 0
	for name := range values {
		width = max(width, len(name))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p.Line(ui.Fill(ui.Clean(name), width), " = ", ui.HCL(values[name], ""))
	}
}
