package hclconfig

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config/diag"
)

// terraformOutput is one output as "terraform output -json" prints it.
type terraformOutput struct {
	name      hcl.Range
	value     hcl.Expression
	sensitive bool
}

// terraformOutputs returns the outputs in a file of variables that "terraform output -json" has
// written, by name, and nil for any other file: there each attribute is an object of sensitive,
// type and value.
func terraformOutputs(attrs hcl.Attributes) map[string]terraformOutput {
	out := map[string]terraformOutput{}
	for name, a := range attrs {
		parts := map[string]hcl.Expression{}
		pairs, diags := hcl.ExprMap(a.Expr)
		for _, p := range pairs {
			key, more := p.Key.Value(nil)
			diags = append(diags, more...)
			if more.HasErrors() || key.Type() != cty.String {
				return nil
			}
			parts[key.AsString()] = p.Value
		}
		if diags.HasErrors() || len(parts) != 3 || parts["type"] == nil || parts["value"] == nil || parts["sensitive"] == nil {
			return nil
		}
		secret, diags := parts["sensitive"].Value(nil)
		if diags.HasErrors() || secret.IsNull() || secret.Type() != cty.Bool {
			return nil
		}
		out[name] = terraformOutput{name: a.NameRange, value: parts["value"], sensitive: secret.True()}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// takeOutputs takes the outputs of Terraform as values of the variables with their names. The others
// are for other readers.
func (l *loader) takeOutputs(out map[string]given, file string, outputs map[string]terraformOutput) {
	taken := false
	for name, o := range outputs {
		if l.declared[name] == nil {
			continue
		}
		taken = true
		out[name] = given{from: place(o.value.Range()), expr: o.value, sensitive: o.sensitive}
	}
	if !taken {
		names := slices.Sorted(maps.Keys(outputs))
		l.eval.add(diag.Warningf("No output is used",
			"%s has outputs of Terraform, and no variable block has the name of one of them. Declare a variable for each that the configuration needs, for example variable %q.", file, names[0]).
			At(source(outputs[names[0]].name)))
	}
}
