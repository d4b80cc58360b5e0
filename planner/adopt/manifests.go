package adopt

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
)

// staticPods reads how manifests differ from what the cluster's configuration renders: by kubeadm's
// patches, which kubeadm stores nowhere, or by manual edits.
func (r *reader) staticPods() error {
	for _, p := range r.planes() {
		for _, component := range components {
			if component == "etcd" && r.cluster.Etcd.External != nil || !p.host.Files[manifest(component)].Exists {
				continue
			}
			patches, err := r.patches(p, component)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", manifest(component), p.host.Name, err)
			}
			p.node.Patches = append(p.node.Patches, patches...)
		}
	}
	return nil
}

// render returns a manifest as kubeadm of its component's version would write it.
func (r *reader) render(p plane, component string) ([]byte, error) {
	in := r.input(p.node, p.host)
	if component == "etcd" {
		return kubeadm.EtcdPod(in, "", false)
	}
	return kubeadm.StaticPod(written(in, release(p.host.image(component))), component)
}

// patches returns the patches that turn the rendered manifest into the observed one.
func (r *reader) patches(p plane, component string) ([]config.Patch, error) {
	text, err := r.render(p, component)
	if err != nil {
		return nil, err
	}
	var base, seen corev1.Pod
	if err := yaml.Unmarshal(text, &base); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(p.host.Files[manifest(component)].Content, &seen); err != nil {
		return nil, nil // the plan shows it as it is
	}
	if len(base.Spec.Containers) == 0 || len(seen.Spec.Containers) == 0 {
		return nil, nil
	}
	seen.Spec.Containers[0].Image = base.Spec.Containers[0].Image // see images
	was, is := base.Spec.Containers[0].Command, seen.Spec.Containers[0].Command
	operations, fits := commandPatch(was, is, p.owns)
	var out []config.Patch
	if fits {
		seen.Spec.Containers[0].Command = was
	}
	if len(operations) > 0 {
		content, err := yaml.Marshal(operations)
		if err != nil {
			return nil, err
		}
		out = append(out, config.Patch{Target: component, Type: "json", Content: string(content)})
	}
	rest, err := strategic(&base, &seen)
	if err != nil || rest == "" {
		return out, err
	}
	return append(out, config.Patch{Target: component, Type: config.DefaultPatchType, Content: rest}), nil
}

// strategic returns the strategic merge patch between two pods as YAML; empty when they are the
// same.
func strategic(base, seen *corev1.Pod) (string, error) {
	from, err := json.Marshal(base)
	if err != nil {
		return "", err
	}
	to, err := json.Marshal(seen)
	if err != nil {
		return "", err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(from, to, corev1.Pod{})
	if err != nil {
		return "", err
	}
	var whole any
	if err := json.Unmarshal(patch, &whole); err != nil {
		return "", err
	}
	plain, _ := json.Marshal(withoutOrder(whole))
	// The order of lists that merge by name is rarely intended.
	if result, err := strategicpatch.StrategicMergePatch(from, plain, corev1.Pod{}); err == nil && samePod(result, to) {
		patch = plain
	}
	if string(patch) == "{}" {
		return "", nil
	}
	text, err := yaml.JSONToYAML(patch)
	return string(text), err
}

// samePod reports whether two manifests are equivalent.
func samePod(a, b []byte) bool {
	x, errX := kubeadm.StaticPodAttributes(a)
	y, errY := kubeadm.StaticPodAttributes(b)
	return errX == nil && errY == nil && x.Equal(y)
}

// withoutOrder drops the directives that only order lists.
func withoutOrder(x any) any {
	switch x := x.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range x {
			if !strings.HasPrefix(key, "$setElementOrder/") {
				out[key] = withoutOrder(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = withoutOrder(x[i])
		}
		return out
	}
	return x
}
