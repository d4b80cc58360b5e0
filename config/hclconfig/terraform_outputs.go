package hclconfig

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config/diag"
)

// terraformOutputs returns the values in a file of variables that "terraform output -json" has
// written, by name, and nil for any other file: there each attribute is an object of sensitive,
// type and value.
func terraformOutputs(attrs hcl.Attributes) map[string]given {
	out := map[string]given{}
	for name, a := range attrs {
		parts := map[string]hcl.Expression{}
		pairs, diags := hcl.ExprMap(a.Expr)
		for _, p := range pairs {
			key, more := p.Key.Value(nil)
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
		out[name] = given{from: place(parts["value"].Range()), expr: parts["value"], sensitive: secret.True()}
	}
	return out
}

// takeOutputs takes the outputs of Terraform as values of the variables with their names. The others
// are for other readers.
func takeOutputs(l *loader, out map[string]given, file string, outputs map[string]given) {
	names := slices.Sorted(maps.Keys(outputs))
	taken := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return l.declared[name] == nil })
	for _, name := range taken {
		out[name] = outputs[name]
	}
	if len(taken) == 0 {
		l.eval.add(diag.Warningf("No output is used",
			"%s has outputs of Terraform, and no variable block has the name of one of them. Declare a variable for each that the configuration needs, for example variable %q.", file, names[0]).
			At(source(outputs[names[0]].expr.Range())))
	}
}
