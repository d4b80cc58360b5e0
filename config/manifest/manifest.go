// Package manifest reads Kubernetes manifests: the objects in them, in the form in which the
// API returns them.
package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/state"
)

// Parse returns the objects in YAML with one or more documents, each in its canonical form
// (Canonical). It splits a List into its items. The error names the document, the object if
// known, and the field.
func Parse(text string) ([]Object, error) {
	var out []Object
	r := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for i := 1; ; i++ {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		objects, err := parseDocument(doc)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		for _, o := range objects {
			object, err := Canonical(o)
			if err != nil {
				return nil, fmt.Errorf("document %d: %w", i, err)
			}
			out = append(out, object)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it holds no object")
	}
	return out, nil
}

func parseDocument(doc []byte) ([]state.Value, error) {
	b, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if string(bytes.TrimSpace(b)) == "null" {
		return nil, nil
	}
	var v state.Value
	if err := v.UnmarshalJSON(b); err != nil {
		return nil, err
	}
	if v.Kind() != state.KindMap {
		return nil, errors.New("it is no object: a Kubernetes object begins with apiVersion and kind")
	}
	if kind := v.Get("kind").AsString(); strings.HasSuffix(kind, "List") && v.Get("items").Kind() == state.KindList {
		items := v.Get("items").AsList()
		for i, item := range items {
			if err := checkObject(item); err != nil {
				return nil, fmt.Errorf("item %d of the list: %w", i, err)
			}
		}
		return items, nil
	}
	return []state.Value{v}, checkObject(v)
}

// checkObject requires the fields that every object has.
func checkObject(v state.Value) error {
	for _, field := range []string{"apiVersion", "kind", "metadata.name"} {
		if v.Get(field).Kind() != state.KindString || v.Get(field).AsString() == "" {
			if field == "metadata.name" && v.Get("metadata.generateName").AsString() != "" {
				return errors.New("it has generateName instead of metadata.name; an object that is kept equal needs a fixed name")
			}
			return fmt.Errorf("%s is missing", field)
		}
	}
	return nil
}
