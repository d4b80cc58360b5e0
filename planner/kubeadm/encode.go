package kubeadm

import (
	"encoding/json"

	"go.yaml.in/yaml/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubewright/kubewright/state/cache"
)

// marshalYAML encodes an API type like kubeadm, which uses sigs.k8s.io/yaml: through JSON, with
// sorted keys. It avoids that package's detour of reading the JSON as YAML, which takes longer than
// everything else together.
func marshalYAML(object any) ([]byte, error) {
	content, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return asYAML(content)
}

// podYAML is marshalYAML for a pod. Nearly all of a pod's hundreds of fields are empty, and
// encoding/json visits each of them. The protobuf form, which holds everything except kind and
// version, takes a fifth of that time and is the cache key of the YAML.
func podYAML(pod *corev1.Pod) ([]byte, error) {
	fields, err := pod.Marshal()
	if err != nil {
		return nil, err
	}
	out := yamlOfPod.Of(podForm{pod.TypeMeta, string(fields)})
	return []byte(out.text), out.err
}

// podForm is a pod in comparable form.
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

// asYAML converts JSON to YAML.
func asYAML(content []byte) ([]byte, error) {
	out := yamlOfJSON.Of(string(content))
	return []byte(out.text), out.err
}

// yamlText is a document, or the error of encoding it.
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
