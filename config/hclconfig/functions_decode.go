package hclconfig

import (
	"errors"
	"fmt"
	"strings"

	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config/hclconfig/sourcetext"
)

var (
	jsonDecodeFunc = guarded(stdlib.JSONDecodeFunc, func(text string) error {
		switch d := sourcetext.CheckJSON([]byte(text), ""); {
		case d == nil:
			return nil
		case d.Summary == sourcetext.OutOfRange:
			return errOutOfRange
		}
		return errTooDeep
	})
	yamlDecodeFunc = guarded(ctyyaml.YAMLDecodeFunc, checkYAML)
)

var errTooDeep = fmt.Errorf("the text is nested more than %d deep", sourcetext.MaxDepth)

// guarded returns a decoding function that checks its text before it decodes: a few lines of a
// manifest from elsewhere must not be able to exhaust the process.
func guarded(decode function.Function, check func(text string) error) function.Function {
	return function.New(&function.Spec{
		Params: decode.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if args[0].IsKnown() && !args[0].IsNull() {
				if err := check(args[0].AsString()); err != nil {
					return cty.NilType, function.NewArgError(0, err)
				}
			}
			return decode.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return decode.Call(args) },
	})
}

// checkYAML refuses aliases that multiply and deep nesting. The decoder reports other mistakes.
func checkYAML(text string) error {
	var v any
	err := yaml.Unmarshal([]byte(text), &v)
	switch {
	case err == nil && depthOf(v) > sourcetext.MaxDepth:
		return errTooDeep
	case err != nil && (strings.Contains(err.Error(), "excessive aliasing") || strings.Contains(err.Error(), "max depth")):
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	case err != nil && strings.Count(text, "*") > sourcetext.MaxOperators:
		return fmt.Errorf("the text holds more than %d asterisks, and what they may stand for is too much", sourcetext.MaxOperators)
	}
	return nil
}

// depthOf returns how deep lists and maps are nested.
func depthOf(v any) int {
	deepest := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			deepest = max(deepest, depthOf(e))
		}
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depthOf(e))
		}
	default:
		return 0
	}
	return deepest + 1
}
