package verdict

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	proxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/kubewright/kubewright/config/componentflag"
)

// Components are the components that are asked, as config names them.
var Components = []string{"kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "etcd"}

// Generate returns mutations for a minor version: of each flag and field some by its type, chosen
// by the seed, and all pairs. The same seed gives the same mutations.
func Generate(seed uint64, minor, each int) []Mutation {
	g := &generator{seed: seed, minor: minor, each: each, known: map[string]bool{}}
	for _, component := range Components {
		flags := componentflag.Flags[component]
		for _, name := range slices.Sorted(maps.Keys(flags)) {
			if slices.Contains(flags[name].Minors, strconv.Itoa(minor)) {
				g.flag(component, name, flags[name].Type)
			}
		}
	}
	g.fields("kubelet", reflect.TypeFor[kubeletconfig.KubeletConfiguration](), nil)
	g.fields("kube-proxy", reflect.TypeFor[proxyconfig.KubeProxyConfiguration](), nil)
	for _, m := range pairs {
		g.add(m)
	}
	return g.out
}

type generator struct {
	seed uint64
	// rand is of the flag or field alone, so that its mutations do not depend on the others.
	rand  *rand.Rand
	minor int
	// each is how many mutations a flag or a field gets.
	each  int
	known map[string]bool
	out   []Mutation
}

// begin begins with another flag or field.
func (g *generator) begin(component, name string) {
	h := fnv.New64a()
	h.Write([]byte(component + " " + name))
	g.rand = rand.New(rand.NewPCG(g.seed, h.Sum64()))
}

func (g *generator) add(m Mutation) {
	if text := m.String(); !g.known[text] {
		g.known[text] = true
		g.out = append(g.out, m)
	}
}

// some returns some of the values in a random order.
func some[T any](g *generator, values []T) []T {
	out := slices.Clone(values)
	g.rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(len(out), g.each)]
}

// flag adds mutations of one flag.
func (g *generator) flag(component, name, of string) {
	g.begin(component, name)
	kind, set, _ := strings.Cut(of, ":")
	values := slices.Clone(valuesOf[kind])
	if hints := valuesOfFlag[component+" "+name]; hints != nil {
		values = slices.Concat(values, hints)
	}
	if set != "" {
		values = append(values, g.ofSet(set)...)
	}
	switch kind {
	case "gates":
		values = append(values, g.gates(component)...)
	case "int", "int32", "uint", "uint32":
		values = append(values, strconv.Itoa(g.rand.IntN(2000)), strconv.Itoa(-1-g.rand.IntN(2000)))
	case "duration":
		values = append(values, strconv.Itoa(g.rand.IntN(2000))+"s", strconv.Itoa(g.rand.IntN(100))+"m")
	}
	for _, v := range some(g, values) {
		g.add(Mutation{Component: component, Flags: []string{name + "=" + v}})
	}
	if g.rand.IntN(12) == 0 {
		g.add(Mutation{Component: component, Flags: []string{misspelt(g, name) + "=" + "1"}})
	}
}

// ofSet returns values of a set, and misspelt ones.
func (g *generator) ofSet(set string) []string {
	known := componentflag.ValuesOf(set, g.minor)
	if len(known) == 0 {
		return nil
	}
	v := known[g.rand.IntN(len(known))]
	w := known[g.rand.IntN(len(known))]
	return []string{v, w, v + "," + v, v + "," + w, misspelt(g, v), strings.ToUpper(v), strings.ToLower(v), v + ",,", " " + v}
}

// gates returns feature gates: known, locked to the other value, unknown, and badly written.
func (g *generator) gates(component string) []string {
	if component == "etcd" {
		out := g.ofSet("etcd-gates")
		return []string{out[0] + "=true", out[1] + "=maybe", out[4] + "=true"}
	}
	known := componentflag.Gates[g.minor]
	names := slices.Sorted(maps.Keys(known))
	var free, locked []string
	for _, n := range names {
		if known[n].Locked == "" {
			free = append(free, n)
		} else {
			locked = append(locked, n)
		}
	}
	f, l := free[g.rand.IntN(len(free))], locked[g.rand.IntN(len(locked))]
	other := map[string]string{"true": "false", "false": "true"}[known[l].Locked]
	return []string{f + "=maybe", l + "=" + known[l].Locked, l + "=" + other, misspelt(g, f) + "=true", "Nothing=true", f, "=true", ",", f + "=1,", "kube:" + l + "=" + other}
}

// misspelt returns a word with one letter too many, or one too few.
func misspelt(g *generator, word string) string {
	if len(word) < 3 {
		return word + "x"
	}
	i := 1 + g.rand.IntN(len(word)-2)
	if g.rand.IntN(2) == 0 {
		return word[:i] + word[i+1:]
	}
	return word[:i] + "q" + word[i:]
}

// fields adds mutations of each field of a configuration.
func (g *generator) fields(component string, t reflect.Type, path []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue // inlined: apiVersion and kind
		}
		at := append(slices.Clone(path), name)
		g.begin(component, strings.Join(at, "."))
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		values := fieldValues(kind)
		values = append(values, valuesOfField[component+" "+strings.Join(at, ".")]...)
		for _, v := range some(g, values) {
			g.add(Mutation{Component: component, Config: nested(at, v)})
		}
		if g.rand.IntN(8) == 0 {
			g.add(Mutation{Component: component, Config: nested(append(slices.Clone(path), misspelt(g, name)), 1)})
		}
		if kind.Kind() == reflect.Struct && kind.Name() != "Duration" && kind.Name() != "Time" {
			g.fields(component, kind, at)
		}
	}
}

// nested returns an object with one value at a path.
func nested(path []string, v any) map[string]any {
	for _, name := range slices.Backward(path[1:]) {
		v = map[string]any{name: v}
	}
	return map[string]any{path[0]: v}
}

// fieldValues returns values for a field by its type.
func fieldValues(t reflect.Type) []any {
	switch {
	case t.Name() == "Duration":
		return []any{"", "0s", "-1s", "1m", 5, "5", "1x", "100h", "1ms"}
	case t.Kind() == reflect.Struct:
		return []any{map[string]any{}, "x", []any{}}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return []any{[]any{}, []any{""}, []any{"x"}, []any{"x", "x"}, "x", []any{1}}
	case t.Kind() == reflect.Slice:
		return []any{[]any{}, []any{map[string]any{}}, "x"}
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Bool:
		return []any{map[string]any{}, map[string]any{"Nothing": true}, map[string]any{"GracefulNodeShutdown": "x"}, map[string]any{"AllAlpha": false}}
	case t.Kind() == reflect.Map:
		return []any{map[string]any{}, map[string]any{"x": "1"}, map[string]any{"x": ""}, "x"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return []any{true, false, "true", 1}
	case reflect.Int32, reflect.Int64, reflect.Int, reflect.Uint, reflect.Uint32:
		return []any{0, -1, -2, 1, 300, 70000, 2147483647, 4294967296, "1", 1.5}
	case reflect.Float32, reflect.Float64:
		return []any{0, -1, 0.5, "1"}
	}
	return []any{"", "x", "X", 1, "/x", "1.2.3", "10.0.0.2", " "}
}
