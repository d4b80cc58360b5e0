package kubeadm

import (
	"encoding/json"

	"go.yaml.in/yaml/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// podYAML is marshalYAML of a pod. Nearly all of a pod's hundreds of fields are empty, and
// encoding/json asks for each of them. The protobuf form, which holds all but kind and
// version, is made in a fifth of that time, and what a pod is written as is kept by it.
func podYAML(pod *corev1.Pod) ([]byte, error) {
	fields, err := pod.Marshal()
	if err != nil {
		return nil, err
	}
	out := yamlOfPod.Of(podForm{pod.TypeMeta, string(fields)})
	return []byte(out.text), out.err
}

// podForm is a pod, comparable.
type podForm struct {
	kind   metav1.TypeMeta
	fields string // in protobuf
}

var yamlOfPod = cache.New(func(f podForm) yamlText {
	pod := corev1.Pod{}
	if err := pod.Unmarshal([]byte(f.fields)); err != nil {
		return yamlText{err: err}
	}
	pod.TypeMeta = f.kind
	text, err := marshalYAML(pod)
	return yamlText{string(text), err}
})

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
