package kubeadm

import (
	"encoding/json"

	"go.yaml.in/yaml/v2"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// marshalYAML writes an API type down as kubeadm does, which uses sigs.k8s.io/yaml:
// through JSON, keys sorted. The detour of that package, which reads the JSON as
// YAML, takes longer than everything else together.
func marshalYAML(object any) ([]byte, error) {
	content, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := utiljson.Unmarshal(content, &tree); err != nil {
		return nil, err
	}
	return yaml.Marshal(tree)
}
