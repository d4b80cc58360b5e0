package file

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// ParseYAML parses a document into a tree whose numbers keep their digits.
func ParseYAML(content []byte) (map[string]any, error) {
	asJSON, err := yaml.YAMLToJSON(content)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(asJSON))
	dec.UseNumber()
	var tree map[string]any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("not a mapping: %w", err)
	}
	return tree, nil
}
