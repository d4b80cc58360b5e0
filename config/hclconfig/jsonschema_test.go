package hclconfig_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/santhosh-tekuri/jsonschema/v6"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/kubewright/kubewright/config/hclconfig"
)

// configSchema returns docs/config.schema.json, which has to be what JSONSchema returns.
func configSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	b, err := hclconfig.JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("..", "..", "docs", "config.schema.json"), append(b, '\n'))
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func decoded(t *testing.T, b []byte) any {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestJSONSchemaAcceptsExamples checks that every example, and a configuration with every attribute, fits the
// schema when written in JSON, and gives the same model.
func TestJSONSchemaAcceptsExamples(t *testing.T) {
	t.Parallel()
	schema := configSchema(t)
	written, err := os.ReadFile(filepath.Join("testdata", "valid", "json", "main.hcl.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(decoded(t, written)); err != nil {
		t.Errorf("a file written by hand: %v", err)
	}
	names, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "main.hcl"))
	if err != nil || len(names) == 0 {
		t.Fatal("no examples", err)
	}
	for _, name := range append(names, filepath.Join("testdata", "valid", "complete", "main.hcl")) {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			b := toJSON(t, src)
			if err := schema.Validate(decoded(t, b)); err != nil {
				t.Fatalf("%v\n%s", err, b)
			}
			fsys := withCA(t, filepath.Dir(name))
			fsys["etcd/ca.crt"], fsys["etcd/client.crt"] = fsys["ca.crt"], fsys["ca.crt"]
			o := hclconfig.Options{FS: fsys, ToolVersion: "0.1.0"}
			for _, variable := range []string{"ca_key", "etcd_client_key"} {
				if bytes.Contains(src, []byte(`variable "`+variable+`"`)) {
					o.Env = append(o.Env, "KUBEWRIGHT_VAR_"+variable+"="+string(fsys["ca.key"].Data))
				}
			}
			native, diags := hclconfig.Load(o)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			delete(fsys, "main.hcl")
			fsys["main.hcl.json"] = &fstest.MapFile{Data: b}
			inJSON, diags := hclconfig.Load(o)
			if diags.HasErrors() {
				t.Fatalf("%v\n%s", diags, b)
			}
			if got, want := meaning(t, modelJSON(t, inJSON)), meaning(t, modelJSON(t, native)); !reflect.DeepEqual(got, want) {
				t.Errorf("in JSON it means\n%v\ninstead of\n%v", got, want)
			}
		})
	}
}

// meaning returns a model without positions.
func meaning(t *testing.T, model []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(model, &v); err != nil {
		t.Fatal(err)
	}
	var strip func(any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				if k == "Source" || k == "Origins" {
					delete(v, k)
				}
				strip(e)
			}
		case []any:
			for _, e := range v {
				strip(e)
			}
		}
	}
	strip(v)
	return v
}

// TestJSONSchemaRefusesInvalid checks that the schema is not so wide that it says nothing.
func TestJSONSchemaRefusesInvalid(t *testing.T) {
	t.Parallel()
	schema := configSchema(t)
	const good = `{"cluster": {"c": {"kubernetes_version": "1.36.3", "network": {"pod_subnet": "10.244.0.0/16"}, "addon": {"a": {"manifest": "x"}}}},
		"node": {"n": {"cluster": "cluster.c", "role": "worker", "address": "192.0.2.1", "taints": [{"key": "k", "effect": "NoSchedule"}]}}}`
	if err := schema.Validate(decoded(t, []byte(good))); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{`"role": "worker", `, ``},
		{`"role"`, `"rol"`},
		{`"cluster": {"c"`, `"clusters": {"c"`},
		{`"cluster.c"`, `"c"`},
		{`{"pod_subnet": "10.244.0.0/16"}`, `"10.244.0.0/16"`},
		{`{"pod_subnet": "10.244.0.0/16"}`, `[{}, {}]`},
		{`"network"`, `"bind_port": "many", "network"`},
		{`"network"`, `"bind_port": 6443.5, "network"`},
		{`"network"`, `"upload_certs": "perhaps", "network"`},
		{`"network"`, `"ignore_preflight_errors": "all", "network"`},
		{`"network"`, `"feature_gates": {"X": 1}, "network"`},
		{`"network"`, `"proxy_env": ["NO_PROXY"], "network"`},
		{`"network"`, `"certificates": {"validity": 5}, "network"`},
		{`{"manifest": "x"}`, `"x"`},
		{`"key": "k", `, ``},
		{`"taints"`, `"dynamic": {"taint": {"content": {}}}, "taints"`},
	} {
		bad := strings.Replace(good, c[0], c[1], 1)
		if bad == good {
			t.Fatalf("%s is not there", c[0])
		}
		if schema.Validate(decoded(t, []byte(bad))) == nil {
			t.Errorf("the schema accepts %s", bad)
		}
	}
}

// toJSON converts a file from native syntax to JSON: constants as values, the rest as
// expressions.
func toJSON(t *testing.T, src []byte) []byte {
	t.Helper()
	f, diags := hclsyntax.ParseConfig(src, "main.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	w := jsonWriter{t, src}
	b, err := json.MarshalIndent(w.body(f.Body.(*hclsyntax.Body), hclconfig.Schema()), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type jsonWriter struct {
	t   *testing.T
	src []byte
}

func (w jsonWriter) body(b *hclsyntax.Body, row *hclconfig.Block) map[string]any {
	out := map[string]any{"//": "a comment"}
	if row.Free {
		delete(out, "//")
	}
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		x := b.Attributes[name].Expr
		i := slices.IndexFunc(row.Attributes, func(a hclconfig.Attribute) bool { return a.Name == name })
		if i >= 0 && row.Attributes[i].Type.Static {
			out[name] = w.static(x)
		} else {
			out[name] = w.value(x)
		}
	}
	for _, c := range b.Blocks {
		before, _ := out[c.Type].([]any)
		out[c.Type] = append(before, w.block(c, row))
	}
	return out
}

// block returns a block as an element of the array for its type.
func (w jsonWriter) block(c *hclsyntax.Block, parent *hclconfig.Block) any {
	find := func(name string) *hclconfig.Block {
		for _, b := range parent.Blocks {
			if b.Name == name {
				return b
			}
		}
		w.t.Fatalf("there is no block %s", name)
		return nil
	}
	if c.Type == "dynamic" {
		content := c.Body.Blocks[0]
		out := map[string]any{"content": w.body(content.Body, find(c.Labels[0]))}
		for name, a := range c.Body.Attributes {
			out[name] = w.value(a.Expr)
		}
		return map[string]any{c.Labels[0]: out}
	}
	row := find(c.Type)
	for _, v := range row.Variants {
		if v.Name == c.Labels[0] {
			row = v
		}
	}
	body := w.body(c.Body, row)
	if len(c.Labels) > 0 {
		return map[string]any{c.Labels[0]: body}
	}
	return body
}

// static returns an attribute that is not evaluated: a reference, or a list of them.
func (w jsonWriter) static(x hclsyntax.Expression) any {
	if list, ok := x.(*hclsyntax.TupleConsExpr); ok {
		out := []any{}
		for _, e := range list.Exprs {
			out = append(out, w.text(e))
		}
		return out
	}
	return w.text(x)
}

func (w jsonWriter) text(x hclsyntax.Expression) string {
	if text, ok := x.(*hclsyntax.TemplateExpr); ok && text.IsStringLiteral() {
		v, _ := text.Value(nil)
		return v.AsString()
	}
	return string(x.Range().SliceBytes(w.src))
}

func (w jsonWriter) value(x hclsyntax.Expression) any {
	v, diags := x.Value(nil)
	if diags.HasErrors() {
		return "${" + string(x.Range().SliceBytes(w.src)) + "}"
	}
	b, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		w.t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		w.t.Fatal(err)
	}
	return escaped(out)
}

// escaped returns a value in whose strings nothing is a template.
func escaped(v any) any {
	switch v := v.(type) {
	case string:
		return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(v)
	case map[string]any:
		for k, e := range v {
			v[k] = escaped(e)
		}
	case []any:
		for i, e := range v {
			v[i] = escaped(e)
		}
	}
	return v
}
