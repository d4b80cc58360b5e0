package kubeadm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/cache"
)

// StaticPodAttributes parses the manifest of a static pod. It loses nothing, so that any edit
// shows, and equivalent manifests have equal attributes, whatever their formatting:
//
//	image         of the first container
//	command       its program
//	args          its arguments; a word that is not --name=value is named by its quoted self
//	env           by name: the value, or a map where it comes from elsewhere
//	mounts        by name, without the name
//	volumes       by name, without the name
//	probes        liveness, readiness, startup
//	resources     of the first container
//	labels        of the pod
//	annotations   of the pod
//	pod           everything else; "container" in it is the rest of the first container
//
// A list with repeated names stays a list.
func StaticPodAttributes(manifest []byte) (state.Value, error) {
	doc, err := yamlMap(manifest)
	if err != nil {
		return state.Value{}, err
	}
	pod := fields(doc)
	metadata, spec := fields(pod.take("metadata")), fields(pod.take("spec"))
	containers := spec.take("containers").AsList()
	if len(containers) == 0 {
		return state.Value{}, errors.New("the manifest has no containers")
	}
	container := fields(containers[0])
	out := fieldMap{}
	out.put("labels", metadata.take("labels"))
	out.put("annotations", metadata.take("annotations"))
	out.put("volumes", byName(spec.take("volumes")))
	out.putCommand(container.take("command"))
	out.put("image", container.take("image"))
	out.put("env", environment(container.take("env")))
	out.put("mounts", byName(container.take("volumeMounts")))
	out.put("resources", container.take("resources"))
	probes := fieldMap{}
	for _, p := range []string{"liveness", "readiness", "startup"} {
		probes.put(p, container.take(p+"Probe"))
	}
	out.put("probes", state.Map(probes))
	// Remove empty values that encoders leave behind.
	dropEmpty(pod, "status")
	spec.put("container", state.Map(container))
	if len(containers) > 1 {
		spec.put("containers", state.List(containers[1:]...))
	}
	pod.put("metadata", state.Map(metadata))
	pod.put("spec", state.Map(spec))
	out.put("pod", state.Map(pod))
	return state.Map(out), nil
}

// YAMLAttributes parses a YAML document that is a map, and omits null fields.
func YAMLAttributes(content []byte) (state.Value, error) { return yamlMap(content) }

// YAMLDocument parses a YAML document that is a map, and keeps null fields.
func YAMLDocument(content []byte) (state.Value, error) {
	tree := yamlTrees.Of(string(content))
	return tree.whole, tree.err
}

// KubeletFlagsAttributes parses kubeadm-flags.env: args are the kubelet's flags, other are the
// remaining variables of the file.
func KubeletFlagsAttributes(content []byte) (state.Value, error) {
	var args []state.Arg
	var other []state.Value
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		value, ours := strings.CutPrefix(line, EnvFileVariable+"=")
		if !ours {
			other = append(other, state.String(line))
			continue
		}
		text, err := unquote(value)
		if err != nil {
			return state.Value{}, err
		}
		args = parseArgs(strings.Fields(text)) // the last assignment counts
	}
	out := map[string]state.Value{"args": state.Args(args)}
	if len(other) > 0 {
		out["other"] = state.List(other...)
	}
	return state.Map(out), nil
}

// unquote removes the quotes of a value: double ones with escapes, as kubeadm writes them, or
// single ones, as in manual edits.
func unquote(value string) (string, error) {
	switch {
	case strings.HasPrefix(value, `"`):
		text, err := strconv.Unquote(value)
		if err != nil {
			return "", fmt.Errorf("cannot read the value of %s: the quotes do not match", EnvFileVariable)
		}
		return text, nil
	case len(value) > 1 && strings.HasPrefix(value, "'") && strings.HasSuffix(value, "'"):
		return value[1 : len(value)-1], nil
	}
	return value, nil
}

// parseArgs parses words of the form --name=value; any other word becomes an argument whose name is
// the quoted word.
func parseArgs(words []string) []state.Arg {
	args := make([]state.Arg, 0, len(words))
	for _, w := range words {
		flag, dashed := strings.CutPrefix(w, "--")
		name, value, ok := strings.Cut(flag, "=")
		if !dashed || !ok || name == "" {
			name, value = strconv.Quote(w), ""
		}
		args = append(args, state.Arg{Name: name, Value: value})
	}
	return args
}

func yamlMap(content []byte) (state.Value, error) {
	tree := yamlTrees.Of(string(content))
	return tree.value, tree.err
}

// yamlTree is the content of a YAML map, complete and without nulls, or the error of parsing it.
type yamlTree struct {
	whole, value state.Value
	err          error
}

var yamlTrees = cache.New(func(content string) yamlTree {
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(content), &tree); err != nil {
		return yamlTree{err: fmt.Errorf("cannot parse YAML: %w", err)}
	}
	whole := state.FromGo(tree)
	return yamlTree{whole: whole, value: withoutNulls(whole)}
})

// withoutNulls drops null fields, which is how some encoders write "not set".
func withoutNulls(v state.Value) state.Value {
	switch v.Kind() {
	case state.KindMap:
		m := fieldMap{}
		for k, e := range v.AsMap() {
			m.put(k, withoutNulls(e))
		}
		return state.Map(m)
	case state.KindList:
		list := make([]state.Value, len(v.AsList()))
		for i, e := range v.AsList() {
			list[i] = withoutNulls(e)
		}
		return state.List(list...)
	}
	return v
}

// fieldMap is a map that is being taken apart or built.
type fieldMap map[string]state.Value

func fields(v state.Value) fieldMap {
	m := make(fieldMap, len(v.AsMap()))
	for k, e := range v.AsMap() {
		m[k] = e
	}
	return m
}

func (m fieldMap) take(key string) state.Value {
	v := m[key]
	delete(m, key)
	return v
}

// put sets a field, except to null or, at this level, an empty map.
func (m fieldMap) put(key string, v state.Value) {
	if !v.IsNull() {
		m[key] = v
	}
}

func dropEmpty(m fieldMap, key string) {
	if isEmpty(m[key]) {
		delete(m, key)
	}
}

func (m fieldMap) putCommand(command state.Value) {
	words := make([]string, 0, len(command.AsList()))
	for _, w := range command.AsList() {
		words = append(words, w.AsString())
	}
	if len(words) > 0 {
		m["command"] = state.String(words[0])
		words = words[1:]
	}
	m["args"] = state.Args(parseArgs(words))
}

// byName turns a list of named elements into a map; with missing or repeated names it stays a list.
func byName(list state.Value) state.Value {
	m := fieldMap{}
	for _, e := range list.AsList() {
		rest := fields(e)
		name := rest.take("name").AsString()
		if _, twice := m[name]; name == "" || twice {
			return list
		}
		m[name] = state.Map(rest)
	}
	if len(m) == 0 {
		return state.Value{}
	}
	return state.Map(m)
}

// environment converts variables into a map of name to value.
func environment(list state.Value) state.Value {
	v := byName(list)
	if v.Kind() != state.KindMap {
		return v
	}
	m := fieldMap{}
	for name, e := range v.AsMap() {
		m[name] = e
		if e.Get("valueFrom").IsNull() && len(e.AsMap()) <= 1 {
			m[name] = state.String(e.Get("value").AsString())
		}
	}
	return state.Map(m)
}
