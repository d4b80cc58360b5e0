package hclconfig

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"
)

// schemaFormat is the version of SchemaJSON's format; fields are only added.
const schemaFormat = "1.0"

type blockJSON struct {
	Name       string          `json:"name"`
	Label      string          `json:"label,omitempty"`
	Repeat     bool            `json:"repeat,omitempty"`
	Free       bool            `json:"free,omitempty"`
	Doc        string          `json:"doc"`
	Since      string          `json:"since,omitempty"`
	Attributes []attributeJSON `json:"attributes,omitempty"`
	Blocks     []blockJSON     `json:"blocks,omitempty"`
	// Variants are the possible contents of the block, by label.
	Variants []blockJSON `json:"variants,omitempty"`
}

type attributeJSON struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Required  bool   `json:"required,omitempty"`
	Default   any    `json:"default,omitempty"`
	Derived   string `json:"derived,omitempty"`
	Computed  bool   `json:"computed,omitempty"`
	Doc       string `json:"doc"`
	Since     string `json:"since,omitempty"`
	Sensitive bool   `json:"sensitive,omitempty"`
	Cost      Cost   `json:"cost"`
}

type functionJSON struct {
	Name       string          `json:"name"`
	Parameters []parameterJSON `json:"parameters,omitempty"`
	// Variadic describes any further arguments.
	Variadic *parameterJSON `json:"variadic,omitempty"`
}

type parameterJSON struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// SchemaJSON returns the language for editors and other programs: the schema table,
// and the functions that expressions can call.
func SchemaJSON() ([]byte, error) {
	return json.MarshalIndent(struct {
		Format    string         `json:"format_version"`
		Blocks    []blockJSON    `json:"blocks"`
		Functions []functionJSON `json:"functions"`
	}{schemaFormat, jsonBlocks(root.Blocks), jsonFunctions()}, "", "  ")
}

func jsonBlocks(rows []*Block) []blockJSON {
	var out []blockJSON
	for _, r := range rows {
		b := blockJSON{Name: r.Name, Label: r.Label, Repeat: r.Repeat, Free: r.Free, Doc: r.Doc, Since: r.Since, Blocks: jsonBlocks(r.Blocks), Variants: jsonBlocks(r.Variants)}
		for _, a := range r.Attributes {
			b.Attributes = append(b.Attributes, attributeJSON{
				Name: a.Name, Type: a.Type.Name, Required: a.Required, Default: a.Default, Derived: a.Derived, Computed: a.Computed,
				Doc: a.Doc, Since: a.Since, Sensitive: a.Sensitive, Cost: a.Cost,
			})
		}
		out = append(out, b)
	}
	return out
}

func jsonFunctions() []functionJSON {
	all := (&loader{}).functions(newMeter())
	var out []functionJSON
	for _, name := range functionNames() {
		f := functionJSON{Name: name}
		for _, p := range all[name].Params() {
			f.Parameters = append(f.Parameters, parameterJSON{p.Name, parameterType(p.Type)})
		}
		if p := all[name].VarParam(); p != nil {
			f.Variadic = &parameterJSON{p.Name, parameterType(p.Type)}
		}
		out = append(out, f)
	}
	return out
}

// parameterType returns a type as a user writes it; any for an expression that the function
// evaluates itself, as try does.
func parameterType(t cty.Type) string {
	if t.IsCapsuleType() {
		t = cty.DynamicPseudoType
	}
	return typeName(t)
}
