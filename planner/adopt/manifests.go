package adopt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
)

// staticPods reads how manifests depart from what the cluster's configuration
// makes of them: by kubeadm's patches, which are kept nowhere, or by hand.
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

// render is a manifest as kubeadm would write it.
func (r *reader) render(p plane, component string) ([]byte, error) {
	in := r.input(p.node, p.host)
	if component == "etcd" {
		return kubeadm.EtcdPod(in, "", false)
	}
	return kubeadm.StaticPod(in, component)
}

// founding are arguments of a member that mean nothing once it has data.
var founding = []string{"--initial-cluster=", "--initial-cluster-state="}

// patches are those that make of the rendered manifest the one that is there.
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
	operations, fits := commandPatch(withoutFounding(was), withoutFounding(is), was)
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

func withoutFounding(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return slices.ContainsFunc(founding, func(prefix string) bool { return strings.HasPrefix(w, prefix) })
	})
}

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value,omitempty"`
}

// commandPatch are the operations that turn one command line into another. In
// front of each that names a place stands a test of what is there, so that a
// version which orders its arguments otherwise is an error, not a surprise. false
// when operations on single arguments do not suffice.
func commandPatch(from, to, all []string) ([]operation, bool) {
	at := func(word string) string { return "/spec/containers/0/command/" + strconv.Itoa(slices.Index(all, word)) }
	var changed, gone, added []operation
	result := []string{}
	rest := slices.Clone(to)
	for _, word := range from {
		i := slices.Index(rest, word)
		if i < 0 {
			i = slices.IndexFunc(rest, func(w string) bool { return argName(w) == argName(word) && !slices.Contains(from, w) })
		}
		test := operation{Op: "test", Path: at(word), Value: word}
		switch {
		case i < 0:
			gone = slices.Insert(gone, 0, test, operation{Op: "remove", Path: at(word)})
			continue
		case rest[i] != word:
			changed = append(changed, test, operation{Op: "replace", Path: at(word), Value: rest[i]})
		}
		result = append(result, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	for _, word := range rest {
		added = append(added, operation{Op: "add", Path: "/spec/containers/0/command/-", Value: word})
		result = append(result, word)
	}
	if !slices.Equal(result, to) {
		return nil, false
	}
	return slices.Concat(changed, gone, added), true
}

func argName(word string) string {
	name, _, _ := strings.Cut(word, "=")
	return name
}

// strategic is the strategic merge patch between two pods as YAML; empty when
// they are the same.
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
	// The order of lists that merge by name is rarely anybody's wish.
	if result, err := strategicpatch.StrategicMergePatch(from, plain, corev1.Pod{}); err == nil && samePod(result, to) {
		patch = plain
	}
	if string(patch) == "{}" {
		return "", nil
	}
	text, err := yaml.JSONToYAML(patch)
	return string(text), err
}

// samePod tells that two manifests mean the same.
func samePod(a, b []byte) bool {
	x, errX := kubeadm.StaticPodAttributes(a)
	y, errY := kubeadm.StaticPodAttributes(b)
	return errX == nil && errY == nil && x.Equal(y)
}

// withoutOrder drops the directives that only order lists, and what is then empty.
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
