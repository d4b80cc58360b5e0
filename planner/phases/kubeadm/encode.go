package kubeadm

import (
	"encoding/json"

	"go.yaml.in/yaml/v2"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubewright/kubewright/state/cache"
)

// marshalYAML writes an API type down as kubeadm does, which uses sigs.k8s.io/yaml:
// through JSON, keys sorted. The detour of that package, which reads the JSON as
// YAML, takes longer than everything else together.
func marshalYAML(object any) ([]byte, error) {
	content, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return asYAML(content)
}

// asYAML writes JSON as YAML.
func asYAML(content []byte) ([]byte, error) {
	out := yamlOfJSON.Of(string(content))
	return []byte(out.text), out.err
}

// yamlText is a document, or why there is none.
type yamlText struct {
	text string
	err  error
}

var yamlOfJSON = cache.New(func(content string) yamlText {
	var tree any
	if err := utiljson.Unmarshal([]byte(content), &tree); err != nil {
		return yamlText{err: err}
	}
	text, err := yaml.Marshal(tree)
	return yamlText{string(text), err}
})
