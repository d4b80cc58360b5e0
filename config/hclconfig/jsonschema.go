package hclconfig

import (
	"encoding/json"
	"slices"
	"strings"
)

// object is a part of a JSON Schema.
type object = map[string]any

// JSONSchema returns a JSON Schema for *.hcl.json files (draft 7, which editors support), made
// from the table. Expressions are strings with ${…} in them, as in HCL's JSON syntax; their
// values are not checked here.
func JSONSchema() ([]byte, error) {
	definitions := object{}
	for name, forms := range jsonTypes {
		if name != typeAny.Name {
			definitions["type "+name] = object{"anyOf": forms}
			definitions["type "+name+" or null"] = object{"anyOf": append(forms[:len(forms):len(forms)], object{"type": "null"})}
		}
	}
	for _, row := range root.Blocks {
		define(row, row.Name, definitions)
	}
	definitions["file"] = bodyOf(root, "")
	file := object{"$ref": definition("file")}
	return json.MarshalIndent(object{
		"$schema":     "http://json-schema.org/draft-07/schema#",
		"$comment":    "Written from the schema table in config/hclconfig. UPDATE=1 go test ./config/hclconfig writes it again.",
		"title":       "Configuration of kubewright",
		"description": "A *.hcl.json file of a configuration folder.",
		"definitions": definitions,
		"anyOf":       []any{file, object{"type": "array", "items": file}},
	}, "", " ")
}

// definition returns a reference; a space in it is escaped as in a URL.
func definition(name string) string { return "#/definitions/" + strings.ReplaceAll(name, " ", "%20") }

// define adds the body of a block, and those of its nested blocks.
func define(row *Block, path string, into object) {
	into[path] = bodyOf(row, path)
	for _, b := range slices.Concat(row.Blocks, row.Variants) {
		define(b, path+"."+b.Name, into)
	}
}

// bodyOf returns the schema of a block's content.
func bodyOf(row *Block, path string) object {
	out := object{"type": "object"}
	if row.Doc != "" {
		out["description"] = row.Doc
	}
	if row.Free {
		return out
	}
	// HCL's JSON syntax takes this name for a comment.
	properties := object{"//": object{"description": "A comment."}}
	var required []string
	for i := range row.Attributes {
		a := &row.Attributes[i]
		if a.Computed {
			continue
		}
		properties[a.Name] = attributeOf(a)
		if a.Required {
			required = append(required, a.Name)
		}
	}
	dynamic := object{}
	for _, b := range row.Blocks {
		body := object{"$ref": "#/definitions/" + b.Name}
		if path != "" {
			body = object{"$ref": "#/definitions/" + path + "." + b.Name}
		}
		properties[b.Name] = occurrencesOf(b, body)
		dynamic[b.Name] = manyOf(dynamicOf(b, body), 0)
	}
	if row != root && len(dynamic) > 0 {
		properties["dynamic"] = manyOf(object{"type": "object", "properties": dynamic, "additionalProperties": false}, 0)
		properties["dynamic"].(object)["description"] = "Blocks that are made of the elements of a collection."
	}
	out["properties"], out["additionalProperties"] = properties, false
	if required != nil {
		out["required"] = required
	}
	return out
}

// occurrencesOf returns the schema of a block, or of several: an array, or with labels an
// object by label.
func occurrencesOf(row *Block, body object) object {
	most := 1
	if row.Repeat {
		most = 0
	}
	out := manyOf(body, most)
	switch {
	case len(row.Variants) > 0:
		variants := object{}
		for _, v := range row.Variants {
			variants[v.Name] = manyOf(object{"$ref": body["$ref"].(string) + "." + v.Name}, 1)
		}
		out = manyOf(object{"type": "object", "properties": variants, "additionalProperties": false}, 1)
	case row.Label != "":
		out = manyOf(object{"type": "object", "additionalProperties": out}, 0)
	}
	out["description"] = row.Doc
	return out
}

// manyOf allows one of something or an array of it; a most of 0 is no limit.
func manyOf(one object, most int) object {
	several := object{"type": "array", "items": one}
	if most > 0 {
		several["maxItems"] = most
	}
	return object{"anyOf": []any{one, several}}
}

// dynamicOf returns the schema of a dynamic block that makes such blocks.
func dynamicOf(row *Block, body object) object {
	properties := object{
		"//":       object{"description": "A comment."},
		"for_each": object{"description": "The elements: a map, a set or a list."},
		"iterator": object{"type": "string", "description": "What the element is called in content; the name of the block without it."},
		"content":  manyOf(body, 1),
	}
	required := []string{"for_each", "content"}
	if row.Label != "" {
		properties["labels"] = object{"allOf": []any{object{"$ref": definition("type " + typeStrings.Name)}}, "description": "The label of each block, as a list of one string."}
		required = append(required, "labels")
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// attributeOf returns the schema of an attribute's value.
func attributeOf(a *Attribute) object {
	if jsonTypes[a.Type.Name] == nil {
		panic("internal error: the type " + a.Type.Name + " has no form in JSON")
	}
	out := object{"description": a.Doc}
	if a.Default != nil {
		out["default"] = a.Default
	}
	if a.Type.Name == typeAny.Name {
		return out // anything
	}
	name := "type " + a.Type.Name
	if !a.Required {
		name += " or null"
	}
	// Some readers ignore keywords beside a $ref: allOf separates it.
	out["allOf"] = []any{object{"$ref": definition(name)}}
	return out
}

// JSON forms of scalar values; any value that converts to the type is accepted.
var (
	jsonExpression = object{"type": "string", "pattern": "[$%]\\{"}
	jsonString     = object{"type": []string{"string", "number", "boolean"}}
	jsonBool       = object{"enum": []any{true, false, "true", "false"}}
)

// jsonTypes are the JSON forms of each type of the table, by its name.
var jsonTypes = map[string][]any{
	typeString.Name:     {jsonString},
	typeNumber.Name:     {object{"type": "integer"}, object{"type": "string", "pattern": "^-?[0-9]+$"}, jsonExpression},
	typeBool.Name:       {jsonBool, jsonExpression},
	typeStrings.Name:    {object{"type": "array", "items": jsonString}, jsonExpression},
	typeStringMap.Name:  {object{"type": "object", "additionalProperties": jsonString}, jsonExpression},
	typeBoolMap.Name:    {object{"type": "object", "additionalProperties": object{"anyOf": []any{jsonBool, jsonExpression}}}, jsonExpression},
	typeDuration.Name:   {object{"type": "string", "pattern": "^[-+0-9.a-zµμ]+$"}, jsonExpression},
	typeTree.Name:       {object{"type": "object"}, jsonExpression},
	typeAny.Name:        {},
	typeOneOrMore.Name:  {object{"type": "string"}, object{"type": "array", "items": jsonString}},
	typeTaints.Name:     {object{"type": "array", "items": jsonTaint}, jsonExpression},
	typeForEach.Name:    {object{"type": "object"}, jsonExpression},
	typeReference.Name:  {object{"type": "string", "pattern": "^cluster\\."}},
	typeConstraint.Name: {object{"type": "string"}},
	typeAddress.Name:    {object{"type": "string", "pattern": "^(cluster|node)\\."}},
	typeIgnored.Name:    {object{"type": "array", "items": object{"type": "string"}}},
}

var jsonTaint = object{
	"anyOf": []any{object{
		"type":                 "object",
		"properties":           object{"key": jsonString, "value": object{"type": []string{"string", "number", "boolean", "null"}}, "effect": jsonString},
		"required":             []string{"key", "effect"},
		"additionalProperties": false,
	}, jsonExpression},
}
