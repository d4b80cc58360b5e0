package kubeadm

import (
	"crypto/md5"
	_ "embed"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/dump"
	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/state/cache"
)

// StaticPodHash returns the hash by which the kubelet distinguishes versions of a static pod: the
// mirror pod's annotation kubernetes.io/config.hash, which is also its UID. It identifies the file
// that a pod was made from, so a plan can wait for exactly what it wrote.
//
// The kubelet hashes its view of the pod: decoded, defaulted, converted to its internal types and
// printed with their names, then the node's name and the file's path. The types are data here
// (podtypes.txt, made by cmd/lab/oracle/podtypes from each version's source), so the result is
// exact for the manifests that the table covers. For any other manifest, such as one with a field
// that kubeadm never writes and the table lacks, the result is empty: unknown.
//
// kubeletVersion is the version of the kubelet on the node, which may be older than the cluster's;
// path is the path of the manifest on the node.
func StaticPodHash(manifest []byte, path, nodeName, kubeletVersion string) string {
	minor, _ := minorPatch(kubeletVersion)
	pod := podHashes.Of(hashKey{string(manifest), minor})
	if pod.begun == nil {
		return pod.uid
	}
	h := podHash(minor)
	if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(pod.begun); err != nil {
		panic("internal error: a hash does not know its own state: " + err.Error())
	}
	fmt.Fprintf(h, "host:%sfile:%s", nodeName, path)
	return hex.EncodeToString(h.Sum(nil))
}

// podHash returns the hash function of the kubelet of a minor version.
func podHash(minor int) hash.Hash {
	if minor == 34 {
		return md5.New()
	}
	return fnv.New128a()
}

// hashKey is a manifest and the minor version of the kubelet that reads it.
type hashKey struct {
	manifest string
	minor    int
}

// begunHash is the state of a hash after writing the pod as a kubelet prints it, to be continued
// for each node; or the UID in the manifest, which replaces the hash; or neither: unknown.
type begunHash struct {
	begun []byte
	uid   string
}

var podHashes = cache.New(func(k hashKey) begunHash {
	var pod map[string]any
	if yaml.Unmarshal([]byte(k.manifest), &pod) != nil || pod["kind"] != "Pod" {
		return begunHash{}
	}
	if uid := at[string](pod, "metadata", "uid"); uid != "" {
		return begunHash{uid: uid}
	}
	if k.minor < MinMinor || k.minor > MaxMinor {
		return begunHash{}
	}
	pod, _ = dropNulls(pod).(map[string]any)
	if !defaultPod(pod, k.minor) {
		return begunHash{}
	}
	delete(pod, "kind") // internal objects carry neither
	delete(pod, "apiVersion")
	d := dumper{types: podTypes(k.minor)}
	d.field("*core.Pod", pod)
	if d.unknown != "" {
		return begunHash{}
	}
	h := podHash(k.minor)
	_, _ = io.WriteString(h, d.out.String()) // it never fails
	begun, err := h.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		panic("internal error: the state of a hash cannot be kept: " + err.Error())
	}
	return begunHash{begun: begun}
})

// ComponentHash returns the StaticPodHash of a component's manifest at kubeadm's path, for the
// kubelet that runs on the node now.
func ComponentHash(in Input, component string, manifest []byte) string {
	return StaticPodHash(manifest, manifestsDir+"/"+component+".yaml", in.nodeName(), firstOf(in.RunningKubelet, in.hostFacts().KubeletVersion, in.Cluster.KubernetesVersion))
}

// podTypesText lists the structures of a pod inside the kubelet: a line each
// with NAME@MINOR and its fields in order, valid from that minor on; then named
// scalars with their kind.
//
//go:embed podtypes.txt
var podTypesText string

// typedField is a field of a structure.
type typedField struct{ name, typ string }

// typeTable is podtypes.txt for one minor.
type typeTable struct {
	structs map[string][]typedField
	scalars map[string]string
}

func podTypes(minor int) typeTable { return podTables.Of(minor) }

var podTables = cache.New(func(minor int) typeTable {
	t := typeTable{structs: map[string][]typedField{}, scalars: map[string]string{}}
	for _, kind := range []string{"string", "bool", "int", "int32", "int64", "uint64"} {
		t.scalars[kind] = kind
	}
	for line := range strings.Lines(podTypesText) {
		words := strings.Fields(line)
		name, since, versioned := strings.Cut(words[0], "@")
		if !versioned {
			t.scalars[name] = words[1]
			continue
		}
		if from, _ := strconv.Atoi(since); from > minor {
			continue
		}
		fields := make([]typedField, 0, len(words)-1)
		for _, w := range words[1:] {
			field, typ, _ := strings.Cut(w, "=")
			fields = append(fields, typedField{field, typ})
		}
		t.structs[name] = fields
	}
	return t
})

// dumper prints a tree as go-spew would print the corresponding Go value with the flags of
// k8s.io/utils/dump.ForHash: types, field names, sorted keys.
type dumper struct {
	types   typeTable
	out     strings.Builder
	unknown string // the first thing that could not be printed
}

func (d *dumper) fail(what string) {
	if d.unknown == "" {
		d.unknown = what
	}
}

// field prints a value with its type before it.
func (d *dumper) field(typ string, v any) {
	d.out.WriteString("(" + typ + ")")
	if elem, pointer := strings.CutPrefix(typ, "*"); pointer {
		if v == nil {
			d.out.WriteString("<nil>")
			return
		}
		typ = elem
	}
	d.value(typ, v)
}

// value prints a value without its type.
func (d *dumper) value(typ string, v any) {
	switch {
	case typ == "intstr.IntOrString":
		d.intOrString(v)
	case typ == "resource.Quantity":
		d.quantity(v)
	case typ == "core.ResourceList":
		d.mapOf("resource.Quantity", v)
	case strings.HasPrefix(typ, "map[string]"):
		d.mapOf(strings.TrimPrefix(typ, "map[string]"), v)
	case strings.HasPrefix(typ, "[]"):
		d.list(strings.TrimPrefix(typ, "[]"), v)
	case d.types.scalars[typ] != "":
		d.scalar(d.types.scalars[typ], v)
	default:
		d.structure(typ, v)
	}
}

func (d *dumper) scalar(kind string, v any) {
	switch v := v.(type) {
	case nil:
		d.out.WriteString(map[string]string{"string": "", "bool": "false"}[kind])
		if kind != "string" && kind != "bool" {
			d.out.WriteString("0")
		}
		return
	case string:
		if kind == "string" {
			d.out.WriteString(v)
			return
		}
	case bool:
		if kind == "bool" {
			d.out.WriteString(strconv.FormatBool(v))
			return
		}
	case float64:
		if kind != "string" && kind != "bool" && v == float64(int64(v)) {
			d.out.WriteString(strconv.FormatInt(int64(v), 10))
			return
		}
	}
	d.fail(fmt.Sprintf("%v for a %s", v, kind))
}

func (d *dumper) list(elem string, v any) {
	if v == nil {
		d.out.WriteString("<nil>")
		return
	}
	list, ok := v.([]any)
	if !ok || strings.HasPrefix(elem, "*") {
		d.fail("list of " + elem)
		return
	}
	d.out.WriteByte('[')
	for i, e := range list {
		if i > 0 {
			d.out.WriteByte(' ')
		}
		d.value(elem, e)
	}
	d.out.WriteByte(']')
}

func (d *dumper) mapOf(elem string, v any) {
	if v == nil {
		d.out.WriteString("<nil>")
		return
	}
	m, ok := v.(map[string]any)
	if !ok {
		d.fail("map of " + elem)
		return
	}
	d.out.WriteString("map[")
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			d.out.WriteByte(' ')
		}
		d.out.WriteString(key + ":")
		d.value(elem, m[key])
	}
	d.out.WriteByte(']')
}

// inlined are fields whose own fields are one level higher in JSON.
var inlined = map[string]bool{"TypeMeta": true, "VolumeSource": true, "ProbeHandler": true}

// structure prints all fields of a structure. The names in JSON are the field names except for the
// case of letters.
func (d *dumper) structure(typ string, v any) {
	fields, ok := d.types.structs[typ]
	m, isMap := v.(map[string]any)
	if !ok || v != nil && !isMap {
		d.fail("structure " + typ)
		return
	}
	rest := maps.Clone(m)
	d.fieldsOf(fields, rest)
	for key := range rest {
		d.fail(typ + "." + key)
	}
}

// fieldsOf prints fields and removes them from the map.
func (d *dumper) fieldsOf(fields []typedField, m map[string]any) {
	d.out.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			d.out.WriteByte(' ')
		}
		d.out.WriteString(f.name + ":")
		if inlined[f.name] {
			d.out.WriteString("(" + f.typ + ")")
			d.fieldsOf(d.types.structs[f.typ], m)
			continue
		}
		name := f.name
		if name == "ObjectMeta" {
			name = "metadata"
		}
		d.field(f.typ, takeFold(m, name))
	}
	d.out.WriteByte('}')
}

// takeFold removes a key from a map, ignoring case.
func takeFold(m map[string]any, name string) any {
	for key, v := range m {
		if strings.EqualFold(key, name) {
			delete(m, key)
			return v
		}
	}
	return nil
}

func (d *dumper) intOrString(v any) {
	number, isNumber := v.(float64)
	text, isText := v.(string)
	kind := 0
	if isText {
		kind = 1
	}
	if !isText && !isNumber && v != nil {
		d.fail(fmt.Sprintf("port %v", v))
	}
	fmt.Fprintf(&d.out, "{Type:(intstr.Type)%d IntVal:(int32)%d StrVal:(string)%s}", kind, int32(number), text)
}

// quantity makes go-spew print a real quantity, rounded up to thousandths like in the API's
// defaults.
func (d *dumper) quantity(v any) {
	text, err := json.Marshal(v)
	var q resource.Quantity
	if err != nil || q.UnmarshalJSON(text) != nil {
		d.fail(fmt.Sprintf("quantity %v", v))
		return
	}
	q.RoundUp(resource.Milli)
	d.out.WriteString(strings.TrimPrefix(dump.ForHash(q), "(resource.Quantity)"))
}
