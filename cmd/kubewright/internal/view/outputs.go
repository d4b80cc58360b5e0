package view

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/state"
)

// Expression prints what an expression came to, as HCL; of what is sensitive, that it is.
func Expression(w io.Writer, v state.Value, o Options) error {
	p := newPage(o)
	p.line(hcl(v, ""))
	return p.flush(w)
}

// Output prints one output: as HCL, as JSON, or bare for a script. A bare
// value is printed as it is and without a line break.
func Output(w io.Writer, v state.Value, raw, asJSON bool, o Options) error {
	switch {
	case v.Kind() == state.KindSensitive:
		return fmt.Errorf("the output is sensitive, and its value is kept nowhere: the state has a fingerprint of it. Take it from where the configuration has it")
	case v.Kind() == state.KindPending && (raw || asJSON):
		return fmt.Errorf("the output is known only after an apply")
	case asJSON:
		return WriteJSON(w, known(v))
	case !raw:
		return Expression(w, v, o)
	}
	switch v.Kind() {
	case state.KindString, state.KindNumber:
		_, err := io.WriteString(w, v.AsString())
		return err
	case state.KindBool:
		_, err := io.WriteString(w, inline(v))
		return err
	}
	return fmt.Errorf("only a string, number or boolean can be printed bare; use -json for others")
}

// OutputList prints outputs as assignments, without a heading.
func OutputList(w io.Writer, outputs map[string]state.Value, o Options) error {
	p := newPage(o)
	if len(outputs) == 0 {
		p.line(p.bold(p.yellow("Warning: ")), p.bold("No outputs found"))
		p.line()
		p.prose("The state has no outputs: the configuration defines none, or it was not applied since it does.")
		return p.flush(w)
	}
	assign(p, outputs)
	return p.flush(w)
}

// Outputs prints the outputs block that ends an apply; nothing when there are none.
func Outputs(w io.Writer, outputs map[string]state.Value, o Options) error {
	if len(outputs) == 0 {
		return nil
	}
	p := newPage(o)
	p.line()
	p.line(p.boldGreen("Outputs:"))
	p.line()
	assign(p, outputs)
	return p.flush(w)
}

// assign prints values as assignments, aligned.
func assign(p *page, values map[string]state.Value) {
	width := 0
	for name := range values {
		width = max(width, len(name))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p.line(fill(Clean(name), width), " = ", hcl(values[name], ""))
	}
}
